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

"""A description belongs to one robot; another one is refused, naming joint and quantity."""

import logging
import re

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription, export_urdf, identity_of
from joint_dynamics.description.description import tell_unchecked
from joint_dynamics.description.identity import TOLERANCE, differences
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import INERTIAL, RobotModel

URDF = """<robot name="two"><link name="base"/>
<link name="l1"><inertial><origin xyz="0 0 0.1"/><mass value="4"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="l2"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="3" effort="4"/></joint>
<joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0.3 0 0" rpy="1.5708 0 0"/>
  <axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="3" effort="4"/></joint></robot>"""


def described(model, scale=1.0, **changes):
    link = dict.fromkeys(INERTIAL, 0.0)
    standard = {name: {**link, 'M': scale * mass} for name, mass in zip(model.joint_names, (4.0, 2.0), strict=True)}
    robot = {'joint_names': list(model.joint_names), **model.kinematics(), 'identity': identity_of(model), **changes}
    stated = {key: value for key, value in robot.items() if value is not None}
    joints = {name: {} for name in model.joint_names}
    return DynamicsDescription({'robot': stated, 'inertial': {'standard': standard}, 'joints': joints})


@pytest.fixture
def model():
    return RobotModel.from_urdf(URDF)


HEAVY = URDF.replace('mass value="4"', 'mass value="40"').replace('mass value="2"', 'mass value="20"')
OTHERS = {
    'another length': (('0.3 0 0', '0.35 0 0'), r'offset \[m\] of j2 is \[0.3, 0, 0\] in the .*, \[0.35, 0, 0\] of'),
    'another rotation': (('1.5708', '1.4708'), r'rotation \(.*\) \[rad\] of j2 is \[1.5708, 0, 0\] .*, \[1.4708, 0,'),
    'another axis': (
        ('<axis xyz="0 0 1"/>\n', '<axis xyz="0 0 -1"/>\n'),
        r'axis of j2 is \[0, 0, 1\] .*, \[0, 0, -1\] of',
    ),
    'another type': (
        ('name="j1" type="revolute"', 'name="j1" type="prismatic"'),
        'type of j1 is revolute .* prismatic of the robot',
    ),
    'ten times heavier': ((URDF, HEAVY), 'mass of the moving links is 6 kg in the URDF of the description, 60 kg in'),
    'another name': (('"j2"', '"j3"'), 'joint j2 is in the description only; joint j3 is in the robot only'),
}
OTHERS = {name: (URDF.replace(*change), message) for name, (change, message) in OTHERS.items()}


@pytest.mark.parametrize(('text', 'message'), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize('stored', [True, False], ids=['with identity', 'by its kinematics'])
def test_another_robot_is_refused_with_what_differs(model, text, message, stored):
    description = described(model, identity=identity_of(model) if stored else None)
    other = RobotModel.from_urdf(text)
    for use in (description.check_robot, lambda robot: description.standard_parameters(robot)):
        with pytest.raises(JointDynamicsError, match=message) as caught:
            use(other)
        assert '\n' not in str(caught.value)


def test_coupling_belongs_to_the_identity(model):
    coupled = RobotModel.from_urdf(URDF, coupling=[[1, 0], [0.5, 1]])
    with pytest.raises(JointDynamicsError, match=r'motor of j2 is none in the description, \[0.5, 1\] of the robot'):
        described(model).check_robot(coupled)


def test_the_same_robot_is_the_same_however_it_is_written(model, ur, ur_table, tmp_path):
    description = described(model)
    stored = DynamicsDescription.from_yaml(description.to_yaml())
    stored.check_robot(stored.robot_model())
    assert identity_of(stored.robot_model())['hash'] == identity_of(model)['hash']
    near = URDF.replace('0.3 0 0', f'{0.3 + 0.4 * TOLERANCE} 0 0').replace('1.5708', '1.57079632679')
    stored.check_robot(RobotModel.from_urdf(near))
    limited = re.sub(r'<limit[^>]*>', '<limit lower="-1" upper="1" velocity="2" effort="2"/>', URDF)
    stored.check_robot(RobotModel.from_urdf(limited, mounting=[np.pi, 0, 0]))
    assert differences(identity_of(RobotModel.from_mdh(ur_table)), identity_of(ur)) == []


def test_a_pitch_of_a_quarter_turn_is_one_rotation(model):
    turned = {
        yaw: RobotModel.from_urdf(URDF.replace('1.5708 0 0', f'{yaw} 1.5707963267949 {yaw}')) for yaw in (0.0, 0.3)
    }
    described(turned[0.0]).check_robot(turned[0.3])


def test_a_urdf_with_the_identified_masses_is_this_robot(model):
    described(model, scale=10.0).check_robot(RobotModel.from_urdf(HEAVY))


def test_the_identity_can_be_read(model):
    identity = identity_of(model)
    assert identity['version'] == 1
    assert identity['mass'] == 6.0
    assert identity['joints']['j2'] == {
        'type': 'revolute', 'parent': 'j1', 'offset': [0.3, 0.0, 0.0], 'rotation': [1.5708, 0.0, 0.0],
        'axis': [0.0, 0.0, 1.0],
    }  # fmt: skip
    assert re.fullmatch('[0-9a-f]{16}', identity['hash'])


def test_an_old_description_loads_with_one_warning(model, caplog):
    old = described(model, identity=None, urdf=None)
    tell_unchecked.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            old.standard_parameters(model)
            old.check_robot(RobotModel.from_urdf(OTHERS['another length'][0]))
    assert [record.message for record in caplog.records] == [
        'the dynamics description has no robot.identity: only joint names are'
        ' compared with the robot; identify again to add it'
    ]


def test_export_into_the_urdf_of_another_robot_is_refused(model, tmp_path):
    (tmp_path / 'other.urdf').write_text(OTHERS['another length'][0])
    with pytest.raises(JointDynamicsError, match=r'offset \[m\] of j2'):
        export_urdf(described(model), tmp_path / 'other.urdf', tmp_path / 'out.urdf')
    assert not (tmp_path / 'out.urdf').exists()
