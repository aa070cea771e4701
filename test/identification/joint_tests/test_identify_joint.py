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

"""One call from recordings of a robot to a joint's physics and a description: settings, merging, examples of docs/."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from joint_dynamics import JointDynamicsError, JointSettings, Recording, identify_joint
from joint_dynamics.arm import Arm
from joint_dynamics.control.applied import check_compensation
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.joint_tests.data import joint_data
from joint_dynamics.identification.joint_tests.identify_joint import JointPrior, merged_description, moving_joint
from joint_dynamics.identification.joint_tests.result import JointTestResult
from joint_dynamics.joint import PeriodicMap
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


@pytest.fixture(scope='module')
def constant_speeds():
    """Joint b at constant speeds with friction 3 sgn q̇ + 2 q̇ [N·m] and current of it at 4 N·m/A, joint a at rest."""
    rng = np.random.default_rng(4)
    omega = np.concatenate([np.full(400, speed * way) for speed in (0.2, 0.5, 0.9, 1.4) for way in (1, -1)])
    q = np.cumsum(omega) / 500
    torque = 3.0 * np.sign(omega) + 2.0 * omega + 0.05 * rng.standard_normal(q.size)
    still = np.zeros_like(q)
    return Recording(
        ('a', 'b'), np.arange(q.size) / 500, np.column_stack([still, q]), current=np.column_stack([still, torque / 4.0])
    )


def test_the_gain_comes_from_settings_or_description(constant_speeds):
    """Recordings alone, one or several; what an earlier test knew stays in the description, the gain among it."""
    settings = {'drive_gains': {'b': 4.0}, 'friction': {'model': 'viscous'}}
    first = identify_joint('friction', constant_speeds, settings=settings)
    assert (first.joint, first.reliable) == ('b', True)
    # the deviations of the mean of 400 samples of 0.05 N·m are 0.0025 N·m: within ten of them
    assert first.parameters['F_C'].value == pytest.approx(3.0, abs=0.025)
    assert first.parameters['F_V1'].value == pytest.approx(2.0, abs=0.025)
    assert first.description.joint('b')['friction']['parameters']['F_C0'] == first.parameters['F_C'].value
    assert first.description.joint('a') == {}
    first.description.document['joints']['b']['drive_gain'] = {'value': 4.0}
    both, viscous = [constant_speeds, constant_speeds], JointSettings.from_mapping({'friction': {'model': 'viscous'}})
    again = identify_joint('friction', both, 'b', description=first.description, settings=viscous)
    assert again.parameters['F_C'].value == pytest.approx(first.parameters['F_C'].value, abs=0.01)
    assert again.description.joint('b')['drive_gain'] == {'value': 4.0}


def test_the_joint_under_test_is_the_only_one_that_moves(constant_speeds):
    assert moving_joint([constant_speeds]) == 'b'
    assert moving_joint([constant_speeds.select(['a'])]) == 'a'
    both = Recording(('a', 'b'), constant_speeds.time, constant_speeds.q[:, [1, 1]])
    with pytest.raises(JointDynamicsError, match='found 2: a, b'):
        moving_joint([both])


@pytest.mark.parametrize('given', [('wobble', 'b'), ('friction', 'c'), ('friction', 'b')])
def test_unknown_test_or_joint_and_missing_torque_are_refused(constant_speeds, given):
    with pytest.raises(JointDynamicsError):
        identify_joint(given[0], constant_speeds, given[1])


DOCS = Path(__file__).parents[3] / 'docs'


def example(page):
    return yaml.safe_load(
        re.search(r'```yaml\n(.*?)```', (DOCS / page).read_text(encoding='utf-8'), re.DOTALL).group(1)
    )


def test_the_examples_of_the_docs_are_valid():
    part = example('reference/joint_models.md')
    description = DynamicsDescription({'robot': {'joint_names': ['joint_1']}, 'joints': {'joint_1': part}})
    arm = Arm.of_joints(description)
    assert arm.friction.maxwell_slip.operators == 4
    assert arm.stiffness.coefficients.shape == (1, 2)
    [first, second] = check_compensation(arm, example('reference/commands/check-compensation.md')['joints'])
    assert first.positive.temperature == 20
    assert second.positive.temperature == 45
    JointSettings.from_mapping(example('reference/commands/identify-joint.md')['joint'])


def friction_result(**parameters):
    result = JointTestResult('friction', 'a')
    result.document = {'friction': {'parameters': parameters, 'standard_deviations': {}}}
    return result


def test_results_merge_and_keep_what_was_known():
    first, _ = merged_description(('a', 'b'), friction_result(F_C0=5.0, F_V1=1.0), None)
    second, _ = merged_description(('a', 'b'), friction_result(F_C1=0.01), first)
    assert second.document['joints']['a']['friction']['parameters'] == {'F_C0': 5.0, 'F_V1': 1.0, 'F_C1': 0.01}
    assert first.document['joints']['a']['friction']['parameters'] == {'F_C0': 5.0, 'F_V1': 1.0}
    slip = JointTestResult('hysteresis', 'a')
    for limits in ([0.5, 1.0], [0.1, 0.5, 1.0]):
        operators = {'operators': len(limits), 'limits': limits, 'presliding': 1e-3}
        slip.document = {'friction': {'parameters': {}, 'maxwell_slip': operators}}
        second, _ = merged_description(('a', 'b'), slip, second)
    assert second.document['joints']['a']['friction']['maxwell_slip']['operators'] == 3


def test_what_is_measured_is_the_friction_as_it_is_now():
    """A new level beside the α of an earlier day would count the wear twice."""
    worn, _ = merged_description(('a', 'b'), friction_result(F_C0=5.0, F_C1=0.01, F_V1=1.0), None)
    worn.document['joints']['a']['friction'] |= {'scale': [1.4, 0.5], 'quadrants': {'dq_s': 0.1}}
    result = friction_result(F_C0=7.0)
    merged, warnings = merged_description(('a', 'b'), result, worn)
    friction = merged.document['joints']['a']['friction']
    assert friction['parameters'] == pytest.approx({'F_C0': 7.0, 'F_C1': 0.014, 'F_V1': 1.5})
    assert 'scale' not in friction
    assert any('friction.quadrants' in warning for warning in warnings)


def test_the_load_includes_payload_and_mounting():
    """Link torque of the robot as described: a payload and a mounting count, identified links before the URDF's."""
    robot = RobotModel.from_urdf(ur5e_urdf())
    description = DynamicsDescription(
        {
            'robot': {'joint_names': list(robot.joint_names)},
            'joints': {name: {} for name in robot.joint_names},
            'mounting': [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]],
            'payload': {'mass': {'value': 4.0}, 'first_moments': [0.0, 0.4, 0.3]},
        }
    )
    t = np.arange(0.0, 6.0, 2e-3)
    q = 0.3 * np.sin(t)[:, None] * np.arange(1, 7) / 6
    recording = Recording(robot.joint_names, t, q, tau=np.zeros_like(q))
    arm = Arm.from_description(robot, description)
    data, bare = (joint_data(recording, 'elbow_joint', arm=each) for each in (arm, Arm(robot)))
    inside = slice(200, -200)
    dq, ddq = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    # A low-pass at 10 Hz leaves of a motion of 0.16 Hz and of its differences far less than a millinewton metre.
    np.testing.assert_allclose(data.tau_J[inside], arm.link_torque(q, dq, ddq)[inside, 2], atol=1e-2)
    assert data.load_source == 'robot model' and not data.tau.any()
    assert np.abs(data.tau_J - bare.tau_J)[inside].max() > 5.0


def test_what_a_prior_does_not_take_off_is_remarked():
    part = {
        'friction': {'parameters': {'F_C0': 5.0, 'F_V1': 2.0}, 'scale': [1.2, 0.1]}, 'validity': {'speed': 2.0},
        'backlash': {'constant': 3e-4}, 'rotor_inertia': {'value': 0.7}, 'stiffness': {'coefficients': [1e4, 1e7]},
    }  # fmt: skip
    part['backlash'] = PeriodicMap.constant(3e-4).to_dict() | {'standard_deviations': [2e-4]}
    known = JointPrior.of('j', part)
    assert [remark.partition(':')[0] for remark in known.remarks] == ['joints.j.validity', 'joints.j.backlash']
    assert known.backlash is None and known.kinematic_error is None and known.rotor_inertia == 0.7
    assert known.friction.level()[0] == pytest.approx(6.0) and known.stiffness.coefficients.tolist() == [1e4, 1e7]
    sure = JointPrior.of('j', {'backlash': PeriodicMap.constant(3e-4).to_dict() | {'standard_deviations': [1e-4]}})
    assert sure.backlash is not None and sure.remarks == () and sure.rotor_inertia is None and sure.friction is None


def test_a_result_in_a_description():
    found = JointTestResult('load', 'j')
    found.document = {'friction': {'parameters': {'F_C1': 1e-3, 'tau_max': 50.0}}, 'damping': {'value': 3.0}}
    alone, warnings = merged_description(('i', 'j'), found, None)
    # A friction without Coulomb level is left out, with a warning.
    assert alone.document['joints'] == {'i': {}, 'j': {'damping': {'value': 3.0}}}
    assert len(warnings) == 1
    with pytest.raises(JointDynamicsError, match="found 'k'"):
        merged_description(('j',), JointTestResult('load', 'k'), alone)
