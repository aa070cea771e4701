# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Stiffness from a force gauge, from locked current, and from motion on both sides."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.hysteresis import identify_hysteresis
from joint_dynamics.identification.joint_tests.identify_joint import run_test
from joint_dynamics.identification.joint_tests.stiffness import StiffnessSettings, identify_stiffness
from joint_dynamics.joint import FrictionModel, PeriodicMap

LEVELS = np.r_[np.linspace(0, 120, 9), np.linspace(120, -120, 17), np.linspace(-120, 0, 9)]


def gauge(joint, levels=LEVELS, **more):
    """A standing joint pushed in steps of 0.4 s; the gauge has 0.5 N·m of noise."""
    load = gaussian_filter1d(np.repeat(levels, 400), 30)
    data = joint.data(np.full(load.size, 0.4), load=load, **more)
    return data if data.tau_J is None else replace(data, tau_J=load + 0.5 * joint.rng.standard_normal(load.size))


@pytest.fixture(scope='module')
def moving(make_joint, motions):
    joint = make_joint(seed=4)
    maps = identify_hysteresis([joint.data(motions.reciprocating())])
    part = maps.document
    t = np.arange(0, 20, 1e-3)
    theta = 1.2 * np.sin(2 * np.pi * 0.3 * t) + 0.3 * np.sin(2 * np.pi * 0.9 * t)
    load = 100 * np.sin(theta) + 8 * np.gradient(np.gradient(theta, 1e-3), 1e-3)
    return joint, joint.data(theta, load=load), part


def test_from_motion_on_the_link_side_within_two_percent(moving):
    joint, data, part = moving
    error = PeriodicMap.from_dict(part['kinematic_error'])
    friction = FrictionModel.from_dict(part['friction'], error)
    result = identify_stiffness([data], base=friction, kinematic_error=error)
    assert result.quality['source'] == 'load'
    for k in (0, 1):
        assert abs(result.parameters[f'alpha_{k + 1}'].value / joint.stiffness[k] - 1) < 0.02
    assert abs(result.parameters['lost_motion'].value - 1) < 0.05
    # The backlash is as large as the deformation itself.
    alone = identify_stiffness([data], kinematic_error=error)
    assert alone.quality['fit_percent'] < result.quality['fit_percent'] - 20


@pytest.mark.parametrize('width', [0.0, 1e-7])
def test_an_insignificant_backlash_is_ignored(moving, width):
    # `identify` writes the backlash with its deviation also where the recordings did not show any.
    _, data, part = moving
    described = {key: part[key] for key in ('friction', 'kinematic_error')}
    unsure = PeriodicMap.constant(width).to_dict() | {'standard_deviations': [5e-4]}
    without = run_test('stiffness', [data], StiffnessSettings(), described)
    with_it = run_test('stiffness', [data], StiffnessSettings(), described | {'backlash': unsure})
    assert any('joints.joint.backlash' in warning for warning in with_it.warnings)
    assert abs(without.parameters['lost_motion'].value - 1) < 0.05
    for name, item in without.parameters.items():
        assert with_it.parameters[name].value == item.value


def test_too_small_a_load_is_flagged(make_joint):
    small = identify_stiffness([gauge(make_joint(), LEVELS / 60)])
    assert any(reason.startswith('alpha_2 = ') for reason in small.reasons)


T = 1e-3 * np.arange(12000)


LOAD = 100.0 * np.sin(2.0 * T)


@pytest.fixture(scope='module')
def pushed(signals):
    def make(a=2e4, b=0.0, load=LOAD, where=0.3, noise=1e-7, **more):
        """A standing joint under a load that changes slowly: φ of a φ + b φ³ = load."""
        phi = load / a
        for _ in range(60):
            phi = phi - (a * phi + b * phi**3 - load) / (a + 3 * b * phi**2)
        q = np.full(len(T), where)
        return signals(q, q + phi + noise * np.random.default_rng(0).normal(size=len(T)), tau_J=load, **more), phi

    return make


def test_stiffness_of_a_standing_joint_by_load_or_locked_current(pushed):
    data, phi = pushed(b=2e8)
    found = identify_stiffness([data])
    assert found.parameters['alpha_1'].value == pytest.approx(2e4, rel=1e-3)
    assert found.parameters['alpha_2'].value == pytest.approx(2e8, rel=1e-2)
    for name, truth in (('alpha_1', 2e4), ('alpha_2', 2e8)):
        assert abs(found.parameters[name].value - truth) < 4 * found.parameters[name].std
    assert found.reasons == [] and found.warnings == []
    assert (found.quality['source'], found.quality['moving']) == ('load', False)
    assert found.quality['deformation_range'] == pytest.approx([phi.min(), phi.max()], rel=0.02)
    assert found.quality['torque_range'] == pytest.approx([-100.0, 100.0], rel=0.02)
    assert found.quality['rows'] == len(range(51, 12000 - 51, 20)) and found.quality['fit_percent'] > 99.9
    assert 'damping' not in found.document
    flat = identify_stiffness([data], StiffnessSettings(order=1))
    assert list(flat.parameters) == ['alpha_1', 'phi_0']
    current, _ = pushed()
    locked = identify_stiffness([JointData(**{**vars(current), 'tau': LOAD, 'tau_J': None})])
    assert locked.quality['source'] == 'current'
    assert len(locked.warnings) == 1


def test_a_stiffness_that_bends_over_and_a_load_in_one_direction(signals, pushed):
    phi = 4e-3 * np.sin(2.0 * T)
    load = 2e4 * phi - 6e8 * phi**3
    q = np.full(len(T), 0.3)
    found = identify_stiffness([signals(q, q + phi + 1e-7 * np.random.default_rng(1).normal(size=len(T)), tau_J=load)])
    assert len(found.reasons) == 1
    one, _ = pushed(load=60.0 + 50.0 * np.sin(2.0 * T))
    found = identify_stiffness([one], StiffnessSettings(order=1))
    assert any('one direction' in reason for reason in found.reasons)


def test_damping_of_a_moving_joint_goes_into_its_document(signals):
    phi = 2e-3 * np.sin(3.0 * T) + 1e-3 * np.sin(7.0 * T)
    rate = 6e-3 * np.cos(3.0 * T) + 7e-3 * np.cos(7.0 * T)
    q = np.sin(0.7 * T)
    load = 2e4 * phi + 40.0 * rate + 0.05 * np.random.default_rng(2).normal(size=len(T))
    found = identify_stiffness([signals(q, q + phi, tau_J=load)], StiffnessSettings(order=1))
    assert found.quality['source'] == 'load' and found.quality['moving'] is True
    D = found.parameters['D']
    assert D.value == pytest.approx(40.0, rel=0.01) and D.unit == 'N·m·s/rad'
    assert found.document['damping'] == {
        'value': D.value, 'std': D.std, 'unit': 'N·m·s/rad', 'method': 'stiffness from motion',
    }  # fmt: skip


def test_missing_motor_angle_or_load_is_refused(signals, make_joint):
    q = np.sin(T)
    bare = signals(q, q + 1e-3 * np.sin(2 * T), tau=LOAD)
    for data in (bare, replace(gauge(make_joint()), two_sided=False)):
        with pytest.raises(JointDynamicsError):
            identify_stiffness([data])
