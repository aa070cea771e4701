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

"""Beyond the range of validity friction is the friction at its limit, in every part of it, and who holds it says so."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, RangeWatch, Validity
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSettings, JointEstimator

LIMIT = {'speed': 0.5, 'load': 4.0, 'temperature': [28.0, 33.0]}
FURTHER = [
    {'document': {'friction': 'F_V3'}, 'values': [2.0]},
    {'document': {'friction': 'F_T1', 'T_0': 30.0}, 'values': [0.5]},
    {'document': {'friction': 'load_gain'}, 'values': [0.3]},
    {'document': {'fourier': [1]}, 'values': [5.0, -4.0]},
    {'document': {'power': 0.7}, 'values': [3.0]},
]


def arm_of(tools, robot, validity=None, F_Cl=0.3, **changes):
    document = tools.described(robot)
    for part in document['joints'].values():
        part['friction']['parameters'].update(F_V2=3.0, F_Cl=F_Cl, F_T1=0.4)
        part['friction']['scale'] = [1.2, 0.8]
        part['terms'] = FURTHER
        part.update(changes)
        if validity:
            part['validity'] = validity
    return Arm.from_description(robot, DynamicsDescription(document))


def drives(arm, speed, load, temperature):
    n = arm.n
    return arm.drive_torque(
        np.sign(speed) * np.ones(n), np.full(n, 0.3), *(np.full(n, v) for v in (speed, 0.0, load, temperature))
    )


@pytest.mark.parametrize('sign', [1, -1])
def test_friction_and_terms_are_held_at_their_limits(tools, arm3, sign):
    arm = arm_of(tools, arm3, LIMIT)
    at = drives(arm, sign * 0.5, sign * 4.0, 33.0)
    np.testing.assert_allclose(drives(arm, sign * 2.5, sign * 40.0, 60.0), at, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        drives(arm, sign * 0.3, sign, 12.0), drives(arm, sign * 0.3, sign, 28.0), rtol=0, atol=1e-12
    )
    free = arm_of(tools, arm3)
    assert (np.abs(drives(free, sign * 2.5, sign * 40.0, 60.0) - at) > 1.0).all()


def test_within_the_range_nothing_changes(tools, arm3):
    held, free = arm_of(tools, arm3, LIMIT), arm_of(tools, arm3)
    rng = np.random.default_rng(3)
    for _ in range(50):
        state = rng.uniform(-0.5, 0.5), rng.uniform(-4.0, 4.0), rng.uniform(28.0, 33.0)
        np.testing.assert_array_equal(drives(held, *state), drives(free, *state))


@pytest.mark.parametrize('temperature', [[20.0, 20.0], [-9.0, -3.0], [90.0, 120.0]])
def test_reference_temperature_outside_the_range_stays(tools, arm3, temperature):
    """The part of temperature vanishes at T_0; a friction that has none does not care."""
    arm = arm_of(tools, arm3, {'temperature': temperature}, terms=[])
    p = arm.friction.parameters
    assert (p['T_min'] <= p['T_0']).all()
    assert (p['T_0'] <= p['T_max']).all()
    plain = Arm.from_description(arm3, DynamicsDescription(tools.described(arm3))).friction_torque
    cold, warm = (plain(np.ones(3), np.ones(3), np.zeros(3), T) for T in (5.0, 80.0))
    np.testing.assert_array_equal(cold, warm)


@pytest.mark.parametrize(('validity', 'path'), [
    ({'speed': 0.0}, 'speed'), ({'load': -1.0}, 'load'), ({'temperature': [30.0, 20.0]}, 'temperature'),
    ({'temperature': [30.0]}, 'temperature'), ({'acceleration': 1.0}, 'acceleration'),
])  # fmt: skip
def test_wrong_ranges_are_refused(tools, arm3, validity, path):
    document = tools.described(arm3)
    document['joints']['j2']['validity'] = validity
    with pytest.raises(JointDynamicsError, match=f'joints.j2.validity.{path}: expected'):
        DynamicsDescription(document)


RANGE = Validity.of([{'speed': 1.0, 'load': 5.0}, None, {'temperature': [20.0, 40.0], 'load': 3.0}])


def test_range_covers_only_quantities_of_the_friction(tools, arm3):
    """Of each joint: quantities of its friction, or of one of its terms."""
    limit = {'speed': 1.0, 'load': 5.0, 'temperature': [20.0, 40.0]}
    document = tools.described(arm3)
    for part in document['joints'].values():
        part['validity'] = limit
    document['joints']['j1']['friction']['parameters'].update(F_Cl=0.1, F_T1=0.1)
    document['joints']['j3']['terms'] = [
        {'document': {'friction': 'load_gain'}, 'values': [0.1]},
        {'document': {'friction': 'F_T2', 'T_0': 30.0}, 'values': [0.1]},
        {'document': {'friction': 'F_V2'}, 'values': [1.0]},
    ]
    arm = Arm.from_description(arm3, DynamicsDescription(document))
    assert arm.validity.speed.tolist() == [1.0] * 3
    assert arm.validity.load.tolist() == [5.0, np.inf, 5.0]
    assert arm.validity.low.tolist() == [20.0, -np.inf, 20.0]
    assert arm.validity.high.tolist() == [40.0, np.inf, 40.0]
    assert arm.friction.parameters['tau_max'].tolist() == [5.0, 400.0, 5.0]
    with pytest.raises(JointDynamicsError, match=r'validity of 3 joints, found 2'):
        Arm(arm3, validity=Validity.of([limit, limit]))


def test_range_watch_names_what_left_the_range():
    """Each joint and quantity once, with its limit."""
    watch = RangeWatch(RANGE, ('a', 'b', 'c'))
    watch.update(np.array([[0.5, 99.0, 0.0], [-2.5, 0.0, 0.0]]), np.array([[1.0, 99.0, -1.0], [0.0, 0.0, -4.0]]))
    watch.update_temperature([[99.0, 0.0, 25.0], [99.0, 0.0, 55.5]])
    watch.update_temperature([0.0, 0.0, 12.5])
    watch.update(np.full((1, 3), np.nan), np.full((1, 3), np.nan))
    fields = [f'joints.{field}' for field in ('a.validity.speed', 'c.validity.load', *['c.validity.temperature'] * 2)]
    assert [line.partition(':')[0] for line in watch.notes()] == fields
    for line, side in zip(watch.notes(), ('above 1', 'above 3', 'above 40', 'below 20'), strict=True):
        assert f' {side} ' in line
    watch.reset()
    # at the limit is within it
    watch.update(np.array([1.0, 0.0, 0.0]), np.array([5.0, 0.0, -3.0]))
    watch.update_temperature([[0.0, 0.0, 40.0], [0.0, 0.0, 20.0]])
    assert watch.notes() == []


@pytest.mark.parametrize(('speed', 'named'), [(0.01, True), (50.0, False)])
def test_law_names_joints_outside_the_range(tools, arm3, speed, named):
    document = tools.described(arm3)
    document['joints']['j2']['validity'] = {'speed': speed, 'load': 1e-6, 'temperature': [29.9, 30.1]}
    bench = tools.Bench(arm3, document)
    for law in tools.LAWS:
        _, _, made = bench.law(law)
        # Load and temperature do not matter to this friction, and are not spoken of.
        assert [note.partition(':')[0] for note in made.validity_violations] == ['joints.j2.validity.speed'] * named
        made.reset()
        assert made.validity_violations == ()


@pytest.mark.parametrize('friction', ['none', 'adaptive'])
def test_estimator_holds_its_friction_and_names_the_joint(tools, arm3, friction):
    period, speed = 2e-3, np.array([0.4, -0.4, 0.4])
    found = []
    for omega in (speed, 2.0 * speed):
        arm = arm_of(tools, arm3, {'speed': 0.3}, F_Cl=0.0, terms=FURTHER[:1])
        estimator = JointEstimator(arm, period, EstimationSettings(friction=friction, window=0.02), effort='torque')
        estimator.learning = False
        for k in range(200):
            q = omega * k * period
            theta = q + 1e-3
            theta = theta + arm.kinematic_error(theta)
            estimator.update(q, np.full(3, 5.0), theta)
        found.append([estimator.friction_torque, estimator.rotor_torque])
        assert [note.partition(':')[0] for note in estimator.watch.notes()] == [
            f'joints.j{k}.validity.speed' for k in (1, 2, 3)
        ]
        estimator.reset()
        assert estimator.watch.notes() == []
    # Rounding of the smoother, on torques of some 10 N·m.
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-8)
