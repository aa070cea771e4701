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

"""A prior with numbers that no robot has is refused by file and place; MuJoCo itself compiles such a model."""

import pytest

from joint_dynamics.description.import_inertials import import_inertials
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

INERTIAL = '<inertial><mass value="4"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
URDF = f"""<robot name="one"><link name="base"/><link name="l1">{INERTIAL}</link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="3" effort="4"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="l1" pos="0 0 0.5"><joint name="j1" axis="0 0 1"/>
<inertial pos="0.1 0 0" mass="4" diaginertia="1 1 1"/></body></worldbody></mujoco>"""


@pytest.fixture
def model():
    return RobotModel.from_urdf(URDF)


# what takes the place of what
NUMBERS = {
    'pos': ('0 0 0.5', '0 0 {}'),
    'pos of inertial': ('0.1 0 0', '{} 0 0'),
    'mass': ('mass="4"', 'mass="{}"'),
    'inertia': ('"1 1 1"', '"{0} {0} {0}"'),
}


@pytest.mark.parametrize('value', ['nan', 'inf', '1e308'])
@pytest.mark.parametrize(('old', 'new'), NUMBERS.values(), ids=NUMBERS)
def test_mjcf_prior_of_no_robot_is_refused_by_link(old, new, value, model, tmp_path, capfd):
    pytest.importorskip('mujoco')
    path = tmp_path / 'prior.xml'
    path.write_text(MJCF.replace(old, new.format(value)))
    with pytest.raises(JointDynamicsError, match=f'{path}, body l1: .*found') as caught:
        import_inertials(path, model)
    assert '\n' not in str(caught.value) and not any(capfd.readouterr())


def test_mjcf_prior_in_another_unit_is_refused_by_link(model, tmp_path):
    pytest.importorskip('mujoco')
    path = tmp_path / 'prior.xml'
    path.write_text(MJCF.replace('diaginertia="1 1 1"', 'diaginertia="1e9 1e9 1e9"'))
    with pytest.raises(JointDynamicsError, match=f'{path}, body l1: .* 4 kg, found 1e'):
        import_inertials(path, model)


@pytest.mark.parametrize('value', ['nan', 'inf', '1e308', '1e9'])
def test_urdf_prior_of_no_robot_is_refused_by_link(value, model, tmp_path):
    path = tmp_path / 'prior.urdf'
    path.write_text(URDF.replace('izz="1"', f'izz="{value}"'))
    with pytest.raises(JointDynamicsError, match=f'{path.name}, link l1: .* found'):
        import_inertials(path, model)
