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

"""The verdict joint by joint, and that a description which carries it says so of weak and wrong joints alone."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.diagnostics import positive_inertia
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.identification.reliability.joints import JointVerdict, judge_joints, rated_torques, uses
from joint_dynamics.identification.reliability.verdict import CODES, Reason
from joint_dynamics.robot import RobotModel

NAMES = ('j1', 'j2', 'j3', 'j4')


@pytest.fixture(scope='module')
def fit():
    """j1 known within 1 % of its torque, j2 at the floor of its sensor, j3 half unexplained, j4 named by a reason."""
    tau = np.random.default_rng(0).normal(size=(400, 4))
    predicted = tau * (1 - np.array([0.01, 0.4, 0.5, 0.01]))
    return Fit('run', NAMES, np.arange(400.0), tau, predicted, np.ones((400, 4)), 0.1, (np.zeros(4), 0.0), None)


@pytest.fixture(scope='module')
def verdicts(fit):
    reason = Reason('stuck', 'run: the position of j4 stands still from 3 s on: leave it out', joints=('j4',))
    return judge_joints([fit], [reason], ['j2'], np.array([100.0, 100.0, np.nan, 100.0]))


def described(joints):
    document = {'robot': {'joint_names': list(NAMES)}, 'joints': {name: {} for name in NAMES}}
    return DynamicsDescription({**document, 'provenance': {'joints': joints}})


def test_each_joint_has_its_state_and_why(verdicts):
    assert [one.state for one in verdicts] == ['reliable', 'weak', 'weak', 'wrong']
    why = ['', 'at the floor of its sensor', 'little of its torque is explained', CODES['stuck']]
    assert [one.why for one in verdicts] == why
    assert verdicts[0].percent == pytest.approx(1.0) and verdicts[2].percent == pytest.approx(50.0)
    assert [one.rated for one in verdicts] == [100.0, 100.0, None, 100.0]


def test_fault_of_the_whole_arm_explains_large_residuals(fit):
    mounting = Reason('mounting', 'the base stands otherwise', mend={'robot': {'mounting': [0.0, 1.57, 0.0]}})
    joints = judge_joints([fit], [mounting], ['j2'], np.full(4, 100.0))
    assert [one.state for one in joints] == ['reliable', 'wrong', 'wrong', 'reliable']
    assert joints[1].why == joints[2].why == CODES['mounting']
    excitation = Reason('excitation', 'the motion does not excite the robot enough')
    assert judge_joints([fit], [excitation], ['j2'], np.full(4, 100.0))[2].state == 'weak'


def test_nothing_is_known_of_a_joint_that_does_not_move():
    tau = np.ones((9, 2))
    moving = np.tile([True, False], (9, 1))
    fit = Fit('run', ('turn', 'held'), np.arange(9.0), tau, 0.99 * tau, moving, 0.1, (np.zeros(2), 0.0), None)
    held = judge_joints([fit], [], [], np.full(2, 100.0))[1]
    assert held.state == 'weak' and '(it does not move; ' in str(held)
    assert 'nan' not in str(held) and held.summary()['error'] is None
    assert 'held' in uses([held], [], True, True)['contact'] and uses([held], [], True, True)['payload']


def test_a_sliding_joint_is_known_in_newtons():
    tau = np.ones((9, 2))
    raw = np.zeros(2), 0.0
    fit = Fit('run', ('lift', 'turn'), np.arange(9.0), tau, 0.9 * tau, tau, 0.1, raw, None, sliding=(True, False))
    joints = judge_joints([fit], [], ['lift', 'turn'], np.full(2, np.nan))
    assert 'within 0.1 N (' in str(joints[0]) and 'within 0.1 N·m (' in str(joints[1])
    document = {'robot': {'joint_names': ['lift', 'turn']}, 'joints': {'lift': {}, 'turn': {}}}
    document['provenance'] = {'joints': {one.name: one.summary() for one in joints}}
    lift, turn = DynamicsDescription(document).doubtful_joints()
    assert 'within 0.1 N;' in lift and 'within 0.1 N·m;' in turn


def test_negative_inertias_exclude_laws_and_simulators():
    good = [JointVerdict('turn', 'reliable', 0.1, 10.0, 100.0)]
    assert uses(good, [], True, True) == dict.fromkeys(('feedforward', 'contact', 'payload', 'simulation'), '')
    assert [use for use, why in uses(good, [], True, False).items() if why] == ['feedforward', 'simulation']


def test_forces_and_torques_do_not_add_up_to_one_percentage():
    """A lift of 1000 N known to 1 %, a wrist of 1 N·m with a residual of a third."""
    joints = [
        JointVerdict('lift', 'reliable', 10.0, 1000.0, None, unit='N'),
        JointVerdict('wrist', 'weak', 0.33, 1.0, None),
    ]
    assert uses(joints, [], True, True)['payload'] == 'the residual is 23 % of all torque'
    assert uses([replace(one, unit='N·m') for one in joints], [], True, True)['payload'] == ''


LIFT = """<robot name="lift"><link name="base"/>
<link name="column"><inertial><mass value="30"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="prismatic"><parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
<limit lower="0" upper="1" velocity="1" effort="{force}"/></joint>
<link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="arm" type="revolute"><parent link="column"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="1" effort="{torque}"/></joint></robot>"""


@pytest.mark.parametrize(('force', 'torque', 'believed'), [(2000, 50, True), (1000, 100, True), (9000, 100, False)])
def test_placeholder_limits_of_forces_and_torques(force, torque, believed):
    """The weight makes 314 N and 9.8 N·m: against the force, 50 or 100 N·m would be nothing."""
    rated, why = rated_torques(RobotModel.from_urdf(LIFT.format(force=force, torque=torque)))
    assert rated.tolist() == [force, torque] if believed else np.isnan(rated).all()
    assert ('9000 N, ' in why and '100 N·m, ' in why) != believed


def test_description_explains_weak_and_wrong_joints(verdicts):
    description = described({one.name: one.summary() for one in verdicts})
    description = DynamicsDescription.from_yaml(description.to_yaml())
    lines = description.doubtful_joints()
    assert len(lines) == 3
    for line, one in zip(lines, verdicts[1:], strict=True):
        assert line.startswith(f'{one.name} is {one.state} ') and one.why in line
        assert f'within {one.error:.3g} N·m' in line and one.summary()['help'] in line
    assert description.doubtful_joints(['j1', 'j3']) == lines[1:2]


@pytest.mark.parametrize('joints', [None, {}, {'j1': {'state': 'reliable'}}])
def test_no_warning_where_all_joints_are_reliable(joints):
    assert described(joints).doubtful_joints() == ()
    document = described(joints).document
    del document['provenance']
    assert DynamicsDescription(document).doubtful_joints() == ()


@pytest.mark.parametrize('joints', [['j1'], {'j1': 'weak'}, {'j1': {'state': 'weak'}}, {'j1': {'error': 0.1}}])
def test_what_identify_does_not_write_is_refused_with_its_path(joints):
    with pytest.raises(JointDynamicsError, match=r'provenance\.joints\.j1: '):
        described(joints).doubtful_joints()


def test_inertias_of_rotors_and_of_postures_below_zero_are_seen(model_and_robot, problem_of):
    model, robot = model_and_robot
    problem = problem_of(model, [robot.record(1, rate=100.0, noise=0.0)])
    chi = np.zeros(len(problem.names))
    chi[: problem.base.count] = problem.base.regroup(robot.standard.ravel())
    assert positive_inertia(problem, chi)
    rotor = next(k for k, name in enumerate(problem.names) if name.startswith('Ia_'))
    first = problem.names.index('ZZR_1')
    for index, value in ((rotor, -1e-6), (first, -100.0), (rotor, np.nan)):
        assert not positive_inertia(problem, np.where(np.arange(len(chi)) == index, value, chi))
