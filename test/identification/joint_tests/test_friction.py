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

"""Friction against speed: parameters come back, deviations are right, poor data is flagged."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests import friction
from joint_dynamics.identification.joint_tests.friction import FrictionSettings, identify_friction
from joint_dynamics.identification.joint_tests.plateaus import Plateau
from joint_dynamics.identification.joint_tests.speed_map import fit_speed_map
from joint_dynamics.joint import FrictionModel

SPEEDS = np.geomspace(0.01, 3.0, 14)
BOTH = np.ravel(np.column_stack([SPEEDS, -SPEEDS]))


@pytest.fixture(scope='module')
def swept(make_joint, motions):
    joint = make_joint(seed=4)
    return joint, joint.data(motions.trapezoids(BOTH, hold=2.0))


def test_coulomb_and_viscous_terms_within_three_percent(swept):
    joint, data = swept
    result = identify_friction([data])
    assert result.quality['model'] == 'stribeck'
    assert result.reliable
    for name in ('F_C', 'F_V1', 'F_V2', 'F_V3'):
        item = result.parameters[name]
        assert abs(item.value / getattr(joint, name) - 1) < 0.03, name
        assert abs(item.value - getattr(joint, name)) < 3 * item.std, name
    assert abs(result.parameters['F_S'].value / joint.F_S - 1) < 0.03
    # The description holds what a FrictionModel takes, under its own names.
    model = FrictionModel.from_dict(result.document['friction'])
    static = [joint.friction(np.linspace(0, s * 0.05, 400), np.full(400, s), 0.0, joint.T_0)[0][-1] for s in SPEEDS]
    assert np.allclose(model.static(SPEEDS[:, None])[:, 0], static, rtol=0.03)
    assert result.document['friction']['standard_deviations']['F_C0'] == result.parameters['F_C'].std


def test_the_model_is_as_rich_as_the_data_and_no_richer(make_joint, motions):
    joint = make_joint(F_S=6.0, F_V2=0.0, F_V3=0.0, ripple=0.0)
    few = identify_friction([joint.data(motions.trapezoids([0.5, -0.5, 1.0, -1.0, 2.0, -2.0]))])
    assert few.quality['model'] == 'viscous'
    with pytest.raises(NotReliableError):
        identify_friction([joint.data(motions.trapezoids([0.5, -0.5, 1.0, -1.0]))], FrictionSettings(model='stribeck'))


def test_deviations_cover_the_errors(make_joint, motions):
    # Over seeds, two stated deviations nearly always contain the truth, and the errors are of their size.
    ratios = []
    for seed in range(8):
        joint = make_joint(seed=seed, F_S=6.0, F_V2=0.0, F_V3=0.0)
        speeds = np.linspace(0.1, 2.5, 8)
        result = identify_friction(
            [joint.data(motions.trapezoids(np.ravel(np.column_stack([speeds, -speeds])), hold=0.6))],
            FrictionSettings(model='viscous'),
        )
        ratios += [
            (result.parameters[name].value - getattr(joint, name)) / result.parameters[name].std
            for name in ('F_C', 'F_V1')
        ]
    assert np.mean(np.abs(ratios) < 2) >= 0.85
    assert 0.5 < np.sqrt(np.mean(np.square(ratios))) < 1.5


def test_one_direction_only_is_flagged(make_joint, motions):
    result = identify_friction([make_joint().data(motions.trapezoids(SPEEDS[4:]))])
    assert len(result.reasons) == 1 and result.quality['directions'] == 1


def test_no_plateau_is_refused(make_joint, motions):
    t = np.arange(0, 10, 1e-3)
    data = make_joint().data(0.5 * np.sin(2 * np.pi * 0.5 * t))
    with pytest.raises(NotReliableError):
        identify_friction([data])
    with pytest.raises(NotReliableError):
        identify_friction([make_joint().data(np.zeros(3000))])
    with pytest.raises(JointDynamicsError):
        FrictionSettings.from_mapping({'method': 'motion'})


@pytest.mark.parametrize('seed', range(12))
def test_below_the_slowest_speed_nothing_wild_is_made_up(seed):
    """Whatever the torques of the slowest plateaus: no Stribeck part grows where no plateau shows it."""

    rng = np.random.default_rng(seed)
    speeds = np.geomspace(0.04, 1.5, 7)
    omega = np.concatenate([speeds, -speeds])
    torque = np.sign(omega) * 7.0 + 8.0 * omega + 0.1 * rng.normal(size=omega.size)
    slow = np.abs(omega) < 0.05
    torque[slow] += np.sign(omega[slow]) * rng.uniform(0.0, 0.5)
    found = fit_speed_map(omega, torque, np.full(omega.size, 0.1), 'stribeck_viscous', True)
    creep = np.geomspace(1e-4, 0.04, 50)[:, None]
    assert np.abs(found.friction.static(creep)).max() < 10.0


def test_friction_lost_in_noise_and_friction_that_falls_are_said(make_joint, motions):
    speeds = [0.3, -0.3, 1.0, -1.0, 2.0, -2.0]
    joint = make_joint(noise=300.0, backlash=0.0)
    joint.friction = lambda theta, omega, tau_J, T: (0.01 * np.sign(omega), np.sign(omega))
    lost = identify_friction([joint.data(motions.trapezoids(speeds))], FrictionSettings(model='viscous'))
    assert any(reason.startswith('F_C = ') for reason in lost.reasons)
    joint = make_joint()
    joint.friction = lambda theta, omega, tau_J, T: (9.0 * np.sign(omega) - 2.0 * omega, np.sign(omega))
    falling = identify_friction([joint.data(motions.trapezoids(speeds))])
    value = falling.parameters['F_V1'].value
    assert value < -1.5
    assert any(warning.startswith(f'F_V1 = {value:.3g}') for warning in falling.warnings)


SET = [0.1, -0.1, 0.4, -0.4, 1.0, -1.0, 1.7, -1.7]
VISCOUS = FrictionSettings(model='viscous')


def plateaus(torque, speeds=SET, **more):
    """Return plateaus with the torque of each speed; a list in `more` has a value for each of them."""
    fields = {'std': 0.02, 'load': None, 'temperature': None, 'trend': 0.01} | more
    rows = [{name: value[k] if isinstance(value, list) else value for name, value in fields.items()}
            for k in range(len(speeds))]  # fmt: skip
    return [Plateau(speed=speed, torque=torque(speed), **row) for speed, row in zip(speeds, rows, strict=True)]


def straight(w):
    return 6.0 * np.sign(w) + 2.0 * w


@pytest.fixture
def of_plateaus(monkeypatch):
    def identify(made, settings=VISCOUS, base=None, source='none'):
        """Identify the friction of given plateaus."""
        monkeypatch.setattr(friction, 'find_plateaus', lambda recordings, plateaus: made)
        return identify_friction([SimpleNamespace(joint='j', load_source=source)], settings, base)

    return identify


def test_two_lines_one_per_direction(of_plateaus, solved):
    """The parameters beside the symmetric map are half the difference of the directions."""
    rng = np.random.default_rng(3)
    made = plateaus(lambda w: (7.0 + 3.0 * w if w > 0 else -5.0 + 2.0 * w) + 0.01 * rng.normal())
    found = of_plateaus(made)
    w, y = np.array(SET), np.array([item.torque for item in made])
    for side, name in ((1, 'positive'), (-1, 'negative')):
        F_V1, constant = np.polyfit(w[np.sign(w) == side], y[np.sign(w) == side], 1)
        entry = found.document['friction']['directions'][name]
        assert entry['F_C'] == entry['F_S'] == pytest.approx(side * constant, rel=1e-8)
        assert entry['F_V1'] == pytest.approx(F_V1, rel=1e-8)
        for key in ('F_C', 'F_V1'):
            assert found.parameters[f'{key}_{name}'].value == entry[key]
            assert found.parameters[f'{key}_{name}'].std == entry[f'{key}_std'] > 0
    symmetric = solved({'F_C': np.sign(w), 'F_V1': w, 'offset': np.ones(8)}, y)
    assert {name: found.parameters[name].value for name in symmetric} == pytest.approx(symmetric, rel=1e-6)
    assert found.document['friction']['parameters'] == pytest.approx(
        {'F_C0': symmetric['F_C'], 'F_V1': symmetric['F_V1'], 'offset': symmetric['offset']}, rel=1e-6
    )
    assert (found.quality['plateaus'], found.quality['speeds'], found.quality['directions']) == (8, 4, 2)
    assert found.quality['speed_range'] == [0.1, 1.7]


def test_one_speed_and_few_speeds(of_plateaus):
    found = of_plateaus(plateaus(straight, 2 * [0.3, -0.3]), FrictionSettings())
    assert found.parameters['F_C'].value == pytest.approx(6.6) and found.quality['model'] == 'coulomb'
    assert any('0.3 rad/s' in reason for reason in found.reasons)
    for settings in (FrictionSettings(), FrictionSettings(model='cubic')):
        with pytest.raises(NotReliableError):
            of_plateaus(plateaus(straight, [0.3, -0.3]), settings)


@pytest.mark.parametrize(('source', 'remedy'), [('none', '--robot'), ('robot model', 'robot model')])
def test_gravity_in_a_plateau_is_named(of_plateaus, source, remedy):
    [reason] = of_plateaus(plateaus(straight, trend=[0.01] * 7 + [-6.0]), source=source).reasons
    assert '6 N·m' in reason and '-9.4 N·m' in reason and remedy in reason


def test_temperatures_of_the_plateaus(of_plateaus):
    warm = [20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 25.5]
    found = of_plateaus(plateaus(straight, temperature=warm))
    assert '6.0 °C' in found.warnings[0]
    assert found.document['friction']['range'] == {'speed': [0.1, 1.7], 'temperature': [20.0, 26.0]}
    assert found.document['friction']['parameters']['T_0'] == pytest.approx(np.mean(warm))
    cold = of_plateaus(plateaus(straight, temperature=[1.0] * 8))
    assert cold.document['friction']['parameters']['T_0'] == 5.0 and cold.warnings == []


def test_known_load_and_temperature_parts_are_subtracted(of_plateaus, solved):
    base = FrictionModel({'F_C0': 6.0, 'F_C1': 1e-3, 'F_T1': -0.1, 'T_0': 30.0})
    loads, warm = [50.0, -40.0, 30.0, 20.0, -60.0, 70.0, 10.0, 0.0], [35.0, 20.0, 30.0, 40.0, 25.0, 22.0, 33.0, 31.0]
    found = of_plateaus(plateaus(straight, load=loads, temperature=warm), base=base)
    w, load, T = np.array(SET), np.array(loads), np.array(warm)
    y = straight(w) - np.sign(w) * (1e-3 * load**2 - 0.1 * np.sqrt(np.abs(w)) * (T - 30.0))
    expected = solved({'F_C': np.sign(w), 'F_V1': w, 'offset': np.ones(8)}, y)
    assert {name: found.parameters[name].value for name in expected} == pytest.approx(expected, rel=1e-6)
