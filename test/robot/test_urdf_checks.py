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

"""A URDF is one tree of links, with numbers that a robot can have."""

import pytest

from joint_dynamics.cli.main import main
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="4"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"'
    ' izz="1"/></inertial>'
)
ARM = f"""<robot name="two"><link name="base"/><link name="l1">{INERTIAL}</link><link name="l2"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="3" effort="4"/></joint>
<joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="3" effort="4"/></joint></robot>"""
JOINT = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint></robot>'
AXIS = '<axis xyz="0 0 1"/>'
END = '</robot>'
MASS = 'mass value="4"'
# Text, its replacement, and the places that the error names.
CASES = [
    (END, JOINT.format('j3', 'l2', 'base'), 'loop', 'j3'),
    (END, '<link name="a"/>' + JOINT.format('j3', 'a', 'a'), 'loop', 'j3'),
    (END, JOINT.format('j3', 'base', 'l2'), 'l2', 'j2', 'j3'),
    (END, '<link name="other"/></robot>', 'base', 'other'),
    ('child link="l2"', 'child link="l3"', 'j2', 'l3'),
    ('<parent link="l1"/>', '', 'j2', 'parent'),
    ('"j2"', '"j1"', 'j1'),
    ('lower="-3"', 'lower="5"', '5', '3'),
    ('velocity="3"', 'velocity="-3"', '-3'),
    (MASS, 'mass value="-4"', 'l1', 'mass', '-4'),
    (MASS, 'mass value="nan"', 'l1', 'mass', 'nan'),
    (MASS, 'mass value=""', 'l1', 'mass'),
    ('ixx="1"', 'ixx="inf"', 'l1', 'ixx', 'inf'),
    ('izz="1"', 'izz="1e9"', 'l1', '1e+09'),
    ('ixy="0"', 'ixy="1e308"', 'l1', '1e+308'),
    ('mass value="4"/><inertia ixx="1"', 'mass value="0.01"/><inertia ixx="1e3"', 'l1', '1000'),
    ('0.3 0 0', '1e300 0 0', 'j2', 'origin xyz', '1e300'),
    ('xyz="0.3 0 0"', 'rpy="0 1e9 0"', 'j2', 'origin rpy'),
    ('0.3 0 0', '0.3 0', 'j2', 'origin xyz', '0.3 0'),
    (AXIS, '<axis xyz="0 inf 1"/>', 'j1', 'axis', 'inf'),
    (AXIS, '<axis xyz="0 0 1e-7"/>', 'j1', 'axis', '1e-7'),
    (END, ''.join(f'<link name="x{k}"/>' for k in range(3000)) + END, '3003'),
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case[1][:30])
def test_wrong_urdfs_are_refused_with_the_place(case, tmp_path, capsys):
    old, new, *named = case
    text = ARM.replace(old, new, 1)
    with pytest.raises(JointDynamicsError, match=r'^robot robot_description') as caught:
        RobotModel.from_urdf(text)
    assert '\n' not in str(caught.value)
    assert all(word in str(caught.value) for word in named), str(caught.value)
    (tmp_path / 'arm.urdf').write_text(text)
    assert main(['excite', '--robot', str(tmp_path / 'arm.urdf'), '--out', str(tmp_path / 'out')]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize('moments', [('ixx="1"', 'ixx="2.1"'), ('ixx="1"', 'ixx="-1"'), ('ixy="0"', 'ixy="2"')])
def test_impossible_inertias_are_reported_once(moments, caplog, tmp_path):
    # said once per process, whatever the file: by a name of its own
    link = f'l_{moments[1]}'.replace('"', '')
    text = ARM.replace(*moments).replace('"l1"', f'"{link}"')
    (tmp_path / 'arm.urdf').write_text(text)
    for source in (text, tmp_path / 'arm.urdf'):
        assert RobotModel.from_urdf(source).n == 2
    (record,) = caplog.records
    assert 'expected inertias that a body can have' in record.message and link in record.message


@pytest.mark.parametrize('moment', ['ixx="2.02"', 'ixx="1.99"'])
def test_rounded_inertias_are_accepted(moment, caplog):
    """A plate, ixx = iyy + izz, in numbers of two or three digits."""
    RobotModel.from_urdf(ARM.replace('ixx="1"', moment))
    assert not caplog.records


@pytest.mark.parametrize('part', [' ixy="0"', ' izz="1"', '<mass value="4"/>', ' value="4"'])
def test_incomplete_inertials_are_refused(part):
    """urdfdom skips an unreadable inertial in silence."""
    assert part in ARM
    with pytest.raises(JointDynamicsError, match='link l1: '):
        RobotModel.from_urdf(ARM.replace(part, ''))


def test_greatest_magnitudes_are_accepted():
    text = ARM.replace('xyz="0.3 0 0"', 'xyz="1000 -1000 0"').replace('mass value="4"', 'mass value="1e6"')
    model = RobotModel.from_urdf(text.replace('ixx="1"', 'ixx="9e8"').replace('izz="1"', 'izz="9e8"'))
    assert model.chain.translation[1].tolist() == [1000.0, -1000.0, 0.0]
    assert model.parameters[9] == 1e6
    assert RobotModel.from_urdf(ARM.replace('mass value="4"', 'mass value="0"')).parameters[9] == 0.0


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        *(('joints', value) for value in ([['j1']], 'j1', [None], 3)),
        *(('locked', value) for value in (['j1'], {'j2': 'x'}, {'j2': 10**400})),
        *(('coupling', value) for value in ([['a']], [[1], [1, 2]], [[1e300, 0], [0, 1]])),
        *(('mounting', value) for value in ([10**400, 0, 0], [[1], [2, 3]])),
    ],
)
def test_wrong_options_are_refused(option, value):
    with pytest.raises(JointDynamicsError) as caught:
        RobotModel.from_urdf(ARM, **{option: value})
    assert '\n' not in str(caught.value)
