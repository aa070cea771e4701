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

"""Kinematic error, backlash and Maxwell-slip from slow reversals of a joint with another hysteresis."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.transmission_maps import fit_transmission_maps, travel_since_reversal
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness

GRID = np.linspace(0, 2 * np.pi, 1500)


@pytest.fixture(scope='module')
def turn(make_joint, motions):
    joint = make_joint(seed=8)
    data = joint.data(motions.reciprocating())
    return joint, data, identify_hysteresis([data], HysteresisSettings(estimation_fraction=0.25))


def test_kinematic_error_map_within_five_percent(turn):
    joint, _, result = turn
    truth = joint.kinematic_error(GRID)
    found = PeriodicMap.from_dict(result.document['kinematic_error'])(GRID)
    assert np.max(np.abs(found - truth)) < 0.05 * np.ptp(truth) / 2


def test_backlash_map_is_half_the_width_not_all_of_it(turn):
    joint, _, result = turn
    found = PeriodicMap.from_dict(result.document['backlash'])(GRID)
    assert np.max(np.abs(found / joint.width(GRID) - 1)) < 0.02
    assert result.quality['coverage'] == 1


def test_maxwell_slip_beats_the_static_map_on_held_out_data(turn):
    _, _, result = turn
    score = {name: result.quality[name]['validation_percent'] for name in ('maxwell_slip', 'static_map')}
    assert score['maxwell_slip'] > score['static_map'] + 1
    assert result.reliable


def test_coulomb_level_and_document(turn):
    joint, data, result = turn
    model = FrictionModel.from_dict(
        result.document['friction'], PeriodicMap.from_dict(result.document['kinematic_error'])
    )
    # The slow motion stays within the Stribeck range: the level lies between F_C and F_S.
    assert joint.F_C < model.level()[0] < joint.F_S
    predicted = model.run(data.theta, 0.0)
    assert np.corrcoef(predicted, data.tau)[0, 1] > 0.97


def test_deviations_of_the_maps_cover_their_errors(turn):
    joint, data, _ = turn
    maps = fit_transmission_maps([data])
    grid = np.arange(240) * 2 * np.pi / 240
    ratio = (maps.kinematic_error.tables[0] - joint.kinematic_error(grid)) / maps.kinematic_error_std
    assert np.mean(np.abs(ratio) < 2) > 0.9


def test_part_of_a_turn_is_a_warning(make_joint, motions):
    data = replace(make_joint().data(motions.reciprocating(turn=0.25)), tau=None)
    result = identify_hysteresis([data])
    share = f'{100 * result.quality["coverage"]:.0f} %'
    assert any(share in warning for warning in result.warnings)
    assert 0.2 < result.document['backlash']['coverage'] < 0.3


def test_one_direction_only_and_swapped_signs_are_refused(make_joint, motions):
    joint = make_joint()
    with pytest.raises(NotReliableError):
        identify_hysteresis([joint.data(motions.trapezoids([0.1], hold=6.0))])
    data = joint.data(motions.reciprocating(turn=0.1))
    with pytest.raises(NotReliableError):
        identify_hysteresis([replace(data, q=2 * data.theta - data.q)])
    with pytest.raises(JointDynamicsError):
        identify_hysteresis([replace(data, two_sided=False)])


def test_torque_without_friction_is_not_reliable(make_joint, motions):
    data, few = make_joint().data(motions.reciprocating(turn=0.1)), HysteresisSettings(operators=1)
    noise = replace(data, tau=0.3 * np.random.default_rng(0).standard_normal(data.samples))
    result = identify_hysteresis([noise], few)
    assert result.reasons
    with pytest.raises(NotReliableError):
        identify_hysteresis([replace(data, tau=-data.tau)], few)
    maps_only = identify_hysteresis([replace(data, tau=None)])
    assert maps_only.warnings and 'friction' not in maps_only.document


def test_friction_known_already_is_taken_off_and_its_level_kept(make_joint, motions):
    joint = make_joint(F_S=6.0, ripple=0.0)
    data = joint.data(motions.reciprocating(turn=0.1))
    known = FrictionModel(
        {'F_C0': joint.F_C, 'F_V1': joint.F_V1, 'F_V2': joint.F_V2, 'F_V3': joint.F_V3, 'T_0': joint.T_0}
    )
    result = identify_hysteresis([data], None, known)
    assert result.document['friction']['parameters'] == {} == result.document['friction']['standard_deviations']
    assert abs(result.parameters['F_C0'].value / joint.F_C - 1) < 0.03


@pytest.mark.parametrize('count', [1, 2])
def test_maps_and_operators_of_a_known_hysteresis(signals, reversing, count):
    """Of several recordings each is divided into samples for the fit and for its validation."""
    theta, H, width = reversing
    noise = 0.05 * np.random.default_rng(5).normal(size=len(theta))
    data = signals(theta - width * H, theta, tau=6.0 * H + 4.0 * np.gradient(theta, 1e-3) + noise)
    found = identify_hysteresis([data] * count, HysteresisSettings(points=60, operators=2))
    assert found.parameters['backlash_mean'].value == pytest.approx(width, rel=0.02)
    assert found.parameters['F_C0'].value == pytest.approx(6.0, rel=0.05)
    assert found.quality['backlash_range'] == pytest.approx([width, width], rel=0.02)
    friction = found.document['friction']
    slip, level = friction['maxwell_slip'], found.parameters['F_C0']
    assert slip['operators'] == len(slip['limits']) == len(slip['stiffness']) == 2
    assert (friction['parameters'], friction['standard_deviations']) == ({'F_C0': level.value}, {'F_C0': level.std})


def table(values, theta):
    """Periodic table of equally spaced values at θ, linear between them."""
    return np.interp(theta, np.arange(len(values)) * 2 * np.pi / len(values), values, period=2 * np.pi)


def test_maps_of_kinematic_error_and_backlash_come_back_exactly(of_speed):
    """Both are tables of the same points, so that their fit is exact; a known load's deformation is taken off."""
    rng, points = np.random.default_rng(3), 12
    grid = np.arange(points) * 2 * np.pi / points
    error, width = 1e-3 * np.sin(grid + 0.4), 1e-4 * (2.0 + np.cos(grid))
    stiffness = TorsionalStiffness([1e4])
    load = rng.normal(size=1600)
    omega = np.repeat([1.7, -1.7], 800)
    data = of_speed(
        omega, q=lambda theta, w: theta - table(error, theta) - np.sign(w) * table(width, theta) - load / 1e4,
        tau_J=load,
    )  # fmt: skip
    _, travel = travel_since_reversal(data)
    maps = fit_transmission_maps([data], points, settle=1e-3, stiffness=stiffness)
    np.testing.assert_allclose(maps.kinematic_error.tables[0], error, atol=2e-6)
    np.testing.assert_allclose(maps.backlash.tables[0], width, atol=2e-6)
    assert maps.covered.all() and maps.residual_rms < 1e-6
    np.testing.assert_array_equal(maps.engaged[0], travel > 1e-3)
    # With the deformation of the load, of 0.1 mrad as a root mean square, in it.
    assert fit_transmission_maps([data], points, settle=1e-3).residual_rms > 5e-5
    # engaged later than asked for where the backlash found is wider than that
    wide = fit_transmission_maps([data], points, settle=1e-5, stiffness=stiffness)
    assert travel[wide.engaged[0]].min() > 2.0 * width.max()


def test_maps_need_both_directions(of_speed):
    with pytest.raises(NotReliableError):
        fit_transmission_maps([of_speed(np.full(800, 1.7), q=lambda theta, w: theta)])
