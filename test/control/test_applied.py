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

"""Friction compensations of files and laws: their torque, refusals, and running away."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control.applied import AppliedCompensation, refuse_run_away, run_away
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError

PARAMETERS = {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.1, 'mu': 1.0, 'F_V1': 2.0}
SPEED = np.array([0.02, 0.1, 1.0])


def dry(coulomb, static, speed):
    return coulomb + (static - coulomb) * np.exp(-speed / 0.1)


def test_its_torque_opposes_friction_in_either_direction():
    made = AppliedCompensation('j', {'parameters': PARAMETERS})
    expected = dry(5.0, 7.0, SPEED) + 2.0 * SPEED
    np.testing.assert_allclose(made.torque(SPEED), expected)
    np.testing.assert_allclose(made.torque(-SPEED), -expected)
    assert made.loads == (0.0,)


def test_parameters_of_one_direction_replace_the_common_ones():
    document = {
        'parameters': {**PARAMETERS, 'offset': 0.5},
        'directions': {'positive': {'F_C': 6.0, 'F_V1': 1.0}, 'negative': {'F_C': 4.0, 'F_S': 9.0, 'F_V1': 3.0}},
    }
    made = AppliedCompensation('j', document)
    # Without F_S the Coulomb level of a direction is its static one; the offset counts in no direction.
    np.testing.assert_allclose(made.torque(SPEED), 6.0 + 1.0 * SPEED)
    np.testing.assert_allclose(made.torque(-SPEED), -(dry(4.0, 9.0, SPEED) + 3.0 * SPEED))
    half = AppliedCompensation('j', {**document, 'directions': {'positive': document['directions']['positive']}})
    np.testing.assert_allclose(half.torque(-SPEED), -(dry(5.0, 7.0, SPEED) + 2.0 * SPEED) + 0.5)


def test_load_and_temperature_count_where_it_depends_on_them():
    parameters = {'F_C0': 5.0, 'F_C1': 0.01, 'F_T1': -0.1, 'T_0': 30.0}
    made = AppliedCompensation('j', {'parameters': parameters, 'temperatures': [20, 40.5]}, 50.0)
    assert min(made.loads) < 0 < max(made.loads) or max(made.loads) == pytest.approx(50.0)
    assert max(np.abs(made.loads)) == pytest.approx(50.0)
    np.testing.assert_allclose(made.torque(SPEED, 30.0), 5.0 + 0.01 * 900)
    np.testing.assert_allclose(made.torque(SPEED, temperature=np.full(3, 40.0)), 5.0 - 0.1 * 10.0 * np.sqrt(SPEED))
    # one direction that depends on load is enough, none is not
    assert AppliedCompensation('j', {'parameters': {'F_C0': 5.0}}, 50.0).loads == (0.0,)


@pytest.mark.parametrize(
    ('document', 'message'),
    [
        ([1], 'applied: joints.j: expected a mapping, found [1]'),
        ({'spring': 1.0}, 'applied: joints.j: expected the key parameters'),
        ({'parameters': PARAMETERS, 'gain': 1}, 'applied: joints.j: expected the keys parameters, directions'),
        ({'parameters': {'F_C0': float('nan')}}, 'applied: joints.j.parameters.F_C0: expected a number, -1e+12'),
        ({'parameters': PARAMETERS, 'inertia': 0}, 'applied: joints.j.inertia: expected a number, > 0 kg·m²'),
        ({'parameters': PARAMETERS, 'temperatures': [True]}, 'applied: joints.j.temperatures[0]: expected a number'),
        ({'parameters': PARAMETERS, 'directions': {'positive': {'F_C': 1.0}}}, 'expected the key F_V1'),
        (
            {'parameters': PARAMETERS, 'directions': {'forward': {'F_C': 1.0, 'F_V1': 1.0}}},
            'applied: joints.j.directions: expected positive and negative, found',
        ),
    ],
)
def test_what_makes_no_sense_is_named(document, message):
    with pytest.raises(JointDynamicsError) as error:
        AppliedCompensation('j', document)
    assert message in str(error.value)


@pytest.fixture
def document(arm):
    """The friction of the arm as the description states it, at a present scale that is not the nominal one."""
    return {name: {**arm.friction.to_dict(k), 'scale': [1.2, 0.01]} for k, name in enumerate(arm.joint_names)}


@pytest.fixture
def describe(robot, document):
    """The arm of the description; the arguments replace fields of `elbow_joint`."""

    def make(friction=None, **elbow):
        joints = {name: {'friction': document[name], 'drive_gain': {'value': 10.0}} for name in robot.joint_names}
        joints['elbow_joint'] |= {'friction': {**document['elbow_joint'], **(friction or {})}, **elbow}
        names = {'robot': {'joint_names': list(robot.joint_names)}}
        return Arm.from_description(robot, DynamicsDescription({**names, 'joints': joints}))

    return make


@pytest.fixture
def described(describe):
    return describe()


@pytest.mark.parametrize('kind', ['static', 'hysteresis'])
@pytest.mark.parametrize('gain', [1.0, 0.9])
def test_the_description_compensated_as_it_is_does_not_run_away(make_law, described, kind, gain):
    np.testing.assert_array_equal(described.friction_scale[0], [1.2, 0.01])
    assert run_away(make_law('adaptive_friction', described, friction=kind, friction_gain=gain)) == []


def test_more_than_friction_runs_away_where_it_is_more(make_law, described):
    law = make_law('adaptive_friction', described, friction_gain=[1, 1, 1.1, 1, 1, 1])
    reasons = run_away(law)
    assert [reason.split(':')[0] for reason in reasons] == [
        f'elbow_joint in {side} direction' for side in ('positive', 'negative')
    ]
    speed, load = described.robot.limits.velocity[2], described.effort_limit[2]
    model = described.friction
    # At the speed limit and the torque limit: a tenth of the friction at the present scale.
    friction = (1.2 * model.level(load) + 0.01 * speed + model.speed_part(np.ones(6), np.full(6, speed)))[2]
    assert float(reasons[0].split(': ')[1].split(' N')[0]) == pytest.approx(0.1 * friction, rel=1e-2)
    assert f'under {load:.3g} N·m' in reasons[0].replace('-', '')
    with pytest.raises(JointDynamicsError, match=r'elbow_joint in positive direction.*lower friction_gain'):
        refuse_run_away(law)


def test_within_the_uncertainty_of_friction_it_is_not_refused(make_law, describe):
    law = make_law('adaptive_friction', describe(), friction_gain=1.05)
    assert len(run_away(law)) == 12
    uncertain = make_law('adaptive_friction', describe({'standard_deviations': {'F_V1': 2.0}}), friction_gain=1.05)
    assert len(run_away(uncertain)) == 10


def test_no_friction_no_check(make_law, described):
    assert run_away(make_law('computed_torque', described, friction_gain=1.5)) == []
