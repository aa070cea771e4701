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

"""What a description means for the arm, field by field, with every remark and refusal."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.arm.reading import RIGID
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import NO_PRESLIDING
from joint_dynamics.robot import INERTIAL

COUPLING = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
WALL = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]


@pytest.fixture
def document(tools, arm3):
    """Of j1, j2, j3; without kinematics, so that it fits the robot however it is mounted."""
    return tools.described(arm3, kinematics=False)


def read(robot, document):
    return Arm.from_description(robot, DynamicsDescription(document))


@pytest.fixture
def arm(arm3, document):
    """The arm of a document in which every field of j2 is another one."""
    part = document['joints']['j2']
    part['rotor_inertia']['identifiable'] = False
    part['damping'] = {'value': 7.0}
    part['friction']['scale'] = [1.2, 0.3]
    part['friction']['standard_deviations'] = {'F_C0': 0.2}
    part['friction']['directions'] = {'positive': {'F_C': 1, 'F_V1': 2.0}, 'negative': {'F_C': 3.0, 'F_V1': 4.0}}
    part['stiffness'] = {'coefficients': [3e4]}
    part['terms'] = [
        {'document': {'fourier': [1]}, 'values': [1.0, 2.0], 'std': [0.1, None]},
        {'document': {'friction': 'F_V2'}, 'values': [3.0]},
    ]
    part['validity'] = {'speed': 0.7}
    document['joints']['j3']['backlash']['standard_deviations'] = [2e-5, 3e-5]
    document['joints']['j2']['backlash'] |= {'load_shares': [0.9, 0.1], 'load_lag': 0.05}
    return read(arm3, document)


def test_every_drive_and_friction_arrives_at_its_joint(arm, document):
    assert arm.rotor_inertia.tolist() == pytest.approx([0.4, 0.45, 0.5])
    assert arm.rotor_identifiable.tolist() == [True, False, True]
    assert arm.drive_gain.tolist() == [9.0, 10.0, 11.0]
    assert arm.damping.tolist() == [3.0, 7.0, 3.0]
    assert arm.friction_scale.tolist() == [[1.0, 0.0], [1.2, 0.3], [1.0, 0.0]]
    assert arm.friction_details[1] == document['joints']['j2']['friction']
    assert arm.validity.speed.tolist() == [np.inf, 0.7, np.inf]


def test_every_transmission_and_term_arrives_at_its_joint(arm):
    assert arm.stiffness.coefficients.tolist() == [[2e4, 1e8], [3e4, 0.0], [2e4, 1e8]]
    assert [(j, term.kind, values.tolist()) for j, term, values in arm.terms.entries] == [
        (1, 'fourier', [1.0, 2.0]),
        (1, 'friction', [3.0]),
    ]
    assert [deviation.tolist() for deviation in arm.terms.deviations] == [[0.1, 0.0], [0.0]]
    np.testing.assert_allclose(arm.kinematic_error(np.zeros(3)), [0.0, 1e-4 * np.sin(1.0), 1e-4 * np.sin(2.0)])
    assert arm.backlash(np.zeros(3)).tolist() == [4e-4] * 3
    assert arm.backlash_deviation.tolist() == [0.0, 0.0, 3e-5]
    assert arm.load_shares.tolist() == [[0.5, 0.5], [0.9, 0.1], [0.5, 0.5]]
    assert arm.load_lag.tolist() == [0.1, 0.05, 0.1]
    assert arm.remarks == ()


def test_parts_may_be_described_for_some_joints_only(arm3, document):
    del document['joints']['j1']['friction']
    del document['joints']['j2']['friction']['maxwell_slip']
    del document['joints']['j2']['stiffness']
    del document['joints']['j3']['kinematic_error'], document['joints']['j3']['backlash']
    arm = read(arm3, document)
    assert [remark.partition(':')[0] for remark in arm.remarks] == ['joints.j1.friction', 'joints.j2.stiffness']
    assert arm.friction_described.tolist() == [False, True, True]
    assert arm.stiffness_described.tolist() == [True, False, True]
    assert arm.stiffness.coefficients[1].tolist() == [RIGID, 0.0]
    assert arm.friction.parameters['F_C0'][0] == arm.friction.parameters['F_S'][0] == 0.0
    lengths = [float(table[0]) for table in arm.friction.maxwell_slip.presliding.tables]
    assert lengths == [NO_PRESLIDING, NO_PRESLIDING, 5e-4]
    assert arm.kinematic_error(np.zeros(3))[2] == arm.backlash(np.zeros(3))[2] == 0.0


def test_unused_joints_are_named(arm3, document):
    document['joints']['j9'] = {}
    document['robot']['joint_names'].append('j9')
    document['inertial']['standard']['j9'] = dict(document['inertial']['standard']['j3'])
    assert [remark.partition(':')[0] for remark in read(arm3, document).remarks] == ['robot.joint_names']


PAYLOAD = {'mass': {'value': 4.0}, 'first_moments': [0.1, -0.2, 0.4], 'inertia': [0.5, 0.02, 0.01, 0.6, 0.03, 0.7]}
BODY = [0.5, 0.02, 0.01, 0.6, 0.03, 0.7, 0.1, -0.2, 0.4, 4.0]


@pytest.mark.parametrize('attached', [True, False])
def test_a_payload_is_carried_as_described(arm3, document, attached):
    arm = read(arm3, {**document, 'payload': {**PAYLOAD, 'attached': attached}})
    assert arm.payload.tolist() == (BODY if attached else [0.0] * 10)
    assert arm.remarks == (() if attached else ('payload: 4 kg described, but not attached',))


def test_a_payload_hangs_on_the_last_joint_of_the_description(arm3, document):
    document['robot']['joint_names'] = ['j3', 'j1', 'j2']
    with pytest.raises(JointDynamicsError, match=r'payload: expected j2 .*, found j3'):
        read(arm3, {**document, 'payload': PAYLOAD})
    assert not read(arm3, {**document, 'payload': {**PAYLOAD, 'attached': False}}).payload.any()
    nothing = {'mass': {'value': 0.0}, 'first_moments': [0.0] * 3}
    assert read(arm3, {**document, 'payload': nothing}).remarks == ()


def test_how_it_is_mounted(arm3, document):
    upright = np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(read(arm3, document).robot.chain.gravity, upright)
    described = read(arm3, {**document, 'mounting': WALL})
    np.testing.assert_allclose(described.robot.chain.gravity, np.array(WALL).T @ upright, atol=1e-12)
    assert described.remarks == ()
    # the robot's own goes before; the same in other words is no contradiction
    stated = arm3.standing(mounting=[np.pi, 0.0, 0.0])
    both = read(stated, {**document, 'mounting': WALL})
    np.testing.assert_allclose(both.robot.chain.gravity, -upright, atol=1e-12)
    assert both.remarks == ('mounting: not used, the robot states another one',)
    same = read(stated, {**document, 'mounting': np.diag([1.0, -1.0, -1.0]).tolist()})
    assert same.remarks == () and same.robot is stated
    assert read(arm3, {**document, 'mounting': np.eye(3).tolist()}).robot is arm3


def test_how_its_drives_are_coupled(arm3, document):
    document['robot']['coupling'] = [[20.0, 0.0, 0.0], [0.0, 30.0, 0.0], [0.0, 40.0, 40.0]]
    document['inertial']['coupling'] = {'Ia_m3': 0.3, 'Fv_m3': 5.0}
    for robot in (arm3, arm3.standing(coupling=COUPLING)):
        arm = read(robot, document)
        np.testing.assert_allclose(arm.robot.coupling.matrix, COUPLING)
        assert arm.parameters[-3:].tolist() == [0.3, 5.0, 0.0]
        assert arm.remarks == ()
    own = arm3.standing(coupling=COUPLING)
    assert read(own, document).robot is own
    wall = read(own, {**document, 'mounting': WALL})
    np.testing.assert_allclose(wall.robot.coupling.matrix, COUPLING)
    np.testing.assert_allclose(wall.robot.chain.gravity, np.array(WALL).T @ [0, 0, -9.81], atol=1e-12)


def test_another_coupling_is_refused(arm3, document):
    document['robot']['coupling'] = COUPLING
    other = arm3.standing(coupling=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 1.0]])
    with pytest.raises(
        JointDynamicsError, match=r"robot\.coupling: expected the robot's coupling of its drives, found"
    ):
        read(other, document)
    document['robot']['joint_names'] = ['j2', 'j1', 'j3']
    with pytest.raises(JointDynamicsError, match=r'in the order of the description \(j2, j1, j3\), found j1, j2, j3$'):
        read(arm3, document)


@pytest.mark.parametrize(
    'entry',
    [
        {'document': {'hysteresis': 1e-3}, 'values': [1.0]},
        {'document': {'fourier': [1]}, 'values': [1.0]},
        {'document': {'friction': 'F_V2'}, 'values': [1.0], 'std': [0.1, 0.2]},
    ],
)
def test_wrong_terms_are_named(arm3, document, entry):
    document['joints']['j2']['terms'] = [{'document': {'friction': 'F_V2'}, 'values': [1.0]}, entry]
    with pytest.raises(JointDynamicsError, match=r'^arm: joints\.j2\.terms\[1\]'):
        read(arm3, document)


@pytest.mark.parametrize('directions', [
    {'forward': {'F_C': 1.0, 'F_V1': 2.0}}, {'positive': {'F_C': 1.0}},
    {'positive': {'F_C': 1.0, 'F_V1': 2.0}, 'negative': {'F_C': 1.0, 'F_V1': True}},
    {'positive': {'F_C': 1.0, 'F_V1': 'x'}}, {'positive': {'F_C': 1.0, 'F_V1': float('inf')}}, {'positive': 3.0},
])  # fmt: skip
def test_wrong_directions_are_refused(document, directions):
    document['joints']['j2']['friction']['directions'] = directions
    with pytest.raises(JointDynamicsError, match=r'joints\.j2\.friction\.directions'):
        DynamicsDescription(document)


def test_joints_alone_have_drives_and_no_weight():
    friction = {'parameters': {'F_C0': 2.0}}
    document = {
        'robot': {'joint_names': ['a', 'b'], 'coupling': [[1.0, 0.0], [1.0, 1.0]]}, 'payload': PAYLOAD,
        'joints': {'a': {'rotor_inertia': {'value': 0.3}, 'friction': friction}, 'b': {'damping': {'value': 4.0}}},
        'inertial': {'standard': dict.fromkeys('ab', dict.fromkeys(INERTIAL, 3.0)), 'coupling': {'Fv_m2': 5.0}},
    }  # fmt: skip
    arm = Arm.of_joints(DynamicsDescription(document))
    assert arm.joint_names == ('a', 'b')
    assert arm.rotor_inertia.tolist() == [0.3, 0.0]
    assert arm.damping.tolist() == [0.0, 4.0]
    assert arm.parameters.tolist() == [0.0] * 28 + [0.0, 5.0, 0.0]
    assert not arm.link_torque(np.ones(2), np.ones(2), np.ones(2)).any()
    assert np.isinf(arm.effort_limit).all()
    assert not arm.payload.any()
    # c = [1, 1]: 5 (ω_a + ω_b) on both, less the own part of each
    np.testing.assert_allclose(arm.friction_torque(np.ones(2), np.array([0.2, 0.4]), np.zeros(2)), [2.0 + 2.0, 1.0])
    plain = Arm.of_joints(DynamicsDescription({'robot': {'joint_names': ['a', 'b']}, 'joints': document['joints']}))
    assert plain.coupled is None and plain.parameters.tolist() == [0.0] * 28
