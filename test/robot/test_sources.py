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

"""Robots from files, and one clear line for an invalid file."""

import copy

import numpy as np
import pytest
import yaml

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.description.schema import VERSION
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel, gravity_in_base, mounting_rotation
from joint_dynamics.robot.limits import MAX_JOINTS
from joint_dynamics.robot.mdh import load_mdh
from joint_dynamics.simulation import ur5e_urdf

ARM = """<robot name="arm"><link name="base"/><link name="one"/><link name="two"/><link name="finger"/>
  <link name="other"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
<joint name="j2" type="continuous"><parent link="one"/><child link="two"/><origin xyz="0.3 0 0" rpy="1.5708 0 0"/>
  <axis xyz="0 0 1"/></joint>
<joint name="grip" type="prismatic"><parent link="two"/><child link="finger"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="0.05" velocity="1" effort="9"/></joint>
<joint name="grip2" type="fixed"><parent link="two"/><child link="other"/></joint></robot>"""
MIMIC = ARM.replace('name="grip2" type="fixed"', 'name="grip2" type="prismatic"').replace(
    '<child link="other"/>',
    '<child link="other"/><axis xyz="-1 0 0"/><limit lower="0" upper="0.05" velocity="1" effort="9"/>'
    '<mimic joint="grip" multiplier="1"/>',
)


def test_mimic_joints_move_with_their_leader():
    both = RobotModel.from_urdf(MIMIC, joints=['j1', 'grip'])
    assert (both.joint_names, both.link_names, both.held) == (('j1', 'grip'), ('j1', 'grip', 'grip2'), {'j2': 0.0})
    with pytest.raises(JointDynamicsError, match='grip2, which follows grip'):
        RobotModel.from_urdf(MIMIC, joints=['j1', 'grip2'])
    without = RobotModel.from_urdf(MIMIC, joints=['j1', 'j2'], locked={'grip': 0.02})
    assert without.joint_names == without.link_names == ('j1', 'j2')
    assert without.held == {'grip': 0.02, 'grip2': 0.02}


@pytest.mark.parametrize(
    'change',
    [
        ('multiplier="1"', 'multiplier="nan"'),
        ('<mimic joint="grip"', '<mimic joint="nobody"'),
        (' velocity="3" effort="4"/>', '/>'),
        ('<limit lower="-1" upper="2" velocity="3" effort="4"/>', ''),
        ('velocity="3"', 'velocity="3 4"'),
    ],
)
def test_urdf_parser_prints_nothing(change, capfd):
    """urdfdom writes lines of its own to the console."""
    assert change[0] in MIMIC
    with pytest.raises(JointDynamicsError):
        RobotModel.from_urdf(MIMIC.replace(*change), joints=['j1', 'j2'])
    RobotModel.from_urdf(MIMIC.replace('<mimic', '<dynamics damping="nan"/><mimic'), joints=['j1', 'j2'])
    assert capfd.readouterr() == ('', '')


def table_of(n):
    return {'joints': [{'alpha': 1.5 * (k % 2), 'a': 0.1, 'd': 0.0, 'theta': 0.0} for k in range(n)]}


def chain_of(n):
    links = ''.join(f'<link name="l{k}"/>' for k in range(n + 1))
    joints = ''.join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/></joint>'
        for k in range(n)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


@pytest.mark.parametrize('build', [lambda n: load_mdh(table_of(n)), lambda n: RobotModel.from_urdf(chain_of(n))])
def test_too_many_joints_are_refused(build):
    assert build(MAX_JOINTS).n == MAX_JOINTS
    for n in (MAX_JOINTS + 1, 400):
        with pytest.raises(JointDynamicsError, match=f'{MAX_JOINTS} .* {n}'):
            build(n)


NAMES = [' ', 'j1 ', 'j\n1', 'ј1', 'j\u200b1', 'j' * 100_000]


@pytest.mark.parametrize('name', NAMES, ids=ascii)
def test_confusable_names_are_refused(name):
    shown = name.replace('\n', '&#10;')
    for build in (
        lambda: RobotModel.from_urdf(ARM.replace('"j1"', f'"{shown}"')),
        lambda: load_mdh({'joints': [{**table_of(1)['joints'][0], 'name': name}]}),
        lambda: DynamicsDescription(
            {'format': 'joint_dynamics', 'version': VERSION, 'robot': {'joint_names': [name]}, 'joints': {name: {}}}
        ),
    ):
        with pytest.raises(JointDynamicsError, match='name') as caught:
            build()
        assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ('printed', 'angle'),
    [('1.57', np.pi / 2), ('-3.1416', -np.pi), ('1.5708e0', np.pi / 2), ('1.6', 1.6), ('1.56', 1.56), ('3', 3.0)],
)
def test_rounded_right_angles_are_exact(printed, angle):
    rounded, exact = (RobotModel.from_urdf(ARM.replace('1.5708', text)) for text in (printed, repr(angle)))
    assert np.array_equal(*(robot.pinocchio.jointPlacements[2].rotation for robot in (rounded, exact)))


def test_mounting_in_every_form_is_the_same():
    rpy = [0.3, -0.4, 1.2]
    matrix = mounting_rotation(rpy)
    from scipy.spatial.transform import Rotation

    quaternion = Rotation.from_matrix(matrix).as_quat()
    for form in (quaternion, matrix, {'rpy': rpy}, {'quaternion': list(quaternion)}):
        assert np.allclose(mounting_rotation(form), matrix)


@pytest.mark.parametrize(
    ('source', 'found'),
    [
        ('<robot', 'parse'),
        ('<sdf/>', '<sdf>'),
        ('<robot name="x"><link name="base"/></robot>', 'none'),
        (ARM.replace('"revolute"', '"planar"').replace('"continuous"', '"floating"'), r'j1 \(planar\), j2'),
        (ARM.replace('lower="-1" upper="2"', 'lower="-360" upper="360"'), 'degrees'),
        (ARM.replace('0.3 0 0', '1_0.3 0 0'), 'j2.*1_0.3'),
        (ARM.replace('</robot>', '<x:arm xmlns:x="http://www.ros.org/wiki/xacro"/></robot>'), 'xacro'),
    ],
)
def test_unusable_urdfs_are_refused(source, found):
    with pytest.raises(JointDynamicsError, match=found):
        RobotModel.from_urdf(source)


@pytest.mark.parametrize(
    ('change', 'place'),
    [
        (lambda table: table['joints'][1].pop('alpha'), r'joints\[2\].*alpha'),
        (lambda table: table['joints'][0].update(a='long'), r'joints\[1\]'),
        (lambda table: table['joints'][0].update(a=float('nan')), r'joints\[1\]'),
        (lambda table: table['joints'][0].update(type='screw'), 'screw'),
        (lambda table: table['joints'][0].update(name='joint_2'), 'name once'),
        (lambda table: table.update(joints=[[1, 2, 3, 4]]), r'joints\[1\]'),
        (lambda table: table.update(joints=[]), '`joints`'),
        (lambda table: table.update(velocity_limit_rad_s=[1, 2]), r'velocity_limit_rad_s.*\(2,\)'),
        (lambda table: table.update(velocity_limit_rad_s=[1, 2, 0, 3, 4, 5]), 'velocity_limit_rad_s.*0.0'),
        (lambda table: table.update(velocity_limit_rad_s='fast'), 'velocity_limit_rad_s.*fast'),
        (lambda table: table.update(position_coupling_R=[[1.0]]), 'position_coupling_R'),
    ],
)
def test_unusable_mdh_tables_are_refused(ur_table, change, place):
    table = copy.deepcopy(ur_table)
    change(table)
    with pytest.raises(JointDynamicsError, match=f'^robot MDH table: .*{place}'):
        load_mdh(table)


@pytest.mark.parametrize(
    'content',
    [b' \n', b'\xff\xfe\x00', b'joints: 3', b'[]', b'joints: [1, 2'],
    ids=['empty', 'binary', 'joints', 'list', 'yaml'],
)
def test_unusable_files_are_refused(tmp_path, content):
    (tmp_path / 'robot').write_bytes(content)
    with pytest.raises(JointDynamicsError, match=r'robot') as caught:
        RobotModel.load(tmp_path / 'robot')
    assert '\n' not in str(caught.value)
    with pytest.raises(JointDynamicsError, match=r'missing\.urdf'):
        RobotModel.load(tmp_path / 'missing.urdf')


def arm_with(
    inertial='', j1='<axis xyz="0 0 1"/><limit lower="-1" upper="2" velocity="3" effort="4"/>', kind='revolute'
):
    return f"""<robot name="arm"><gazebo/><material name="grey"/><link name="base"/>
  <link name="one">{inertial}<visual/><collision/></link>
<joint name="j1" type="{kind}"><parent link="base"/><child link="one"/>{j1}</joint></robot>"""


@pytest.mark.parametrize(
    ('limit', 'expected'),
    [
        ('<limit lower="-1" upper="2" velocity="3" effort="4"/>', (-1, 2, 3, 4)),
        ('<limit upper="2" velocity="3" effort="4"/>', (-np.inf, 2, 3, 4)),
        ('<limit lower="-1" velocity="0" effort="0"/>', (-1, np.inf, np.inf, np.inf)),
        ('<limit lower="0" upper="0" velocity="3" effort="0"/>', (-np.inf, np.inf, 3, np.inf)),
        ('<limit effort="4" velocity="3"/>', (-np.inf, np.inf, 3, 4)),
    ],
)
def test_limits_are_those_of_the_urdf_and_zero_means_unknown(limit, expected):
    model = RobotModel.from_urdf(arm_with(j1=f'<axis xyz="0 0 1"/>{limit}'))
    assert tuple(float(getattr(model.limits, name)[0]) for name in ('lower', 'upper', 'velocity', 'effort')) == expected


def test_a_continuous_joint_has_one_angle_without_bounds():
    for j1 in ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="3" effort="4"/>'):
        model = RobotModel.from_urdf(arm_with(j1=j1, kind='continuous'))
        assert model.n == model.pinocchio.nq == 1
        assert (model.limits.lower[0], model.limits.upper[0]) == (-np.inf, np.inf)
        assert model.pinocchio.upperPositionLimit[0] >= 1e9
        assert model.pinocchio.lowerPositionLimit[0] <= -1e9


INERTIAL_TAG = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3"'
    ' izz="1.2"/></inertial>'
)


def test_inertials_become_parameters_about_the_joint_frame():
    values = RobotModel.from_urdf(arm_with(INERTIAL_TAG)).parameters
    m, centre = 2.0, np.array([0.1, 0.2, 0.3])
    about_centre = np.array([[1, 0.1, 0.2], [0.1, 1.5, 0.3], [0.2, 0.3, 1.2]])
    inertia = about_centre + m * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    np.testing.assert_allclose(values[:10], [*inertia[np.triu_indices(3)], *m * centre, m], rtol=1e-12)
    assert not values[10:].any()
    assert RobotModel.from_urdf(arm_with()).parameters is None


def test_kinematics_of_joints_that_slide_and_of_coupled_drives(scara_table):
    matrix = np.eye(4)
    matrix[3, 2] = 0.5
    table = {**scara_table, 'position_coupling_R': (np.diag([10.0, 20, 30, 40]) @ matrix).tolist()}
    model = RobotModel.from_mdh({**table, 'velocity_limit_rad_s': [1, 2, 3, 4]})
    np.testing.assert_allclose(model.coupling.matrix, matrix)
    document = model.kinematics()
    again = RobotModel.from_mdh(document['mdh'], coupling=document['coupling'])
    assert again.chain.prismatic.tolist() == [False, False, True, False]
    assert again.limits.velocity.tolist() == model.limits.velocity.tolist() == [1, 2, 3, 4]
    states = model.random_states(3, np.random.default_rng(0))
    np.testing.assert_array_equal(again.regressor(*states), model.regressor(*states))
    assert RobotModel.from_mdh(scara_table).coupling is None
    assert 'velocity_limit_rad_s' not in RobotModel.from_mdh(scara_table).kinematics()['mdh']


@pytest.mark.parametrize('option', [{'joints': ['joint_1']}, {'locked': {'joint_1': 0.1}}])
def test_options_of_a_urdf_are_refused_for_a_table(tmp_path, ur_table, option):
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(ur_table))
    (name,) = option
    with pytest.raises(JointDynamicsError, match=f'arm.yaml: expected a URDF where `{name}` is given, found an MDH'):
        RobotModel.load(tmp_path / 'arm.yaml', **option)
    assert RobotModel.load(tmp_path / 'arm.yaml', joints=None, mounting=[np.pi, 0, 0]).chain.gravity[2] > 9


@pytest.mark.parametrize(
    ('mounting', 'found'),
    [
        ('up', 'up'),
        ([1, 2], 'shape'),
        ([2, 0, 0, 0], 'norm 2'),
        (np.diag([1, 1, -1]), 'right-handed'),
        ([np.nan, 0, 0], 'nan'),
        ({'euler': [0, 0, 0]}, 'euler'),
        ((1 + 1e-6) * np.eye(3), 'rotation matrix'),
    ],
)
def test_wrong_mountings_are_refused(mounting, found):
    with pytest.raises(JointDynamicsError, match=found):
        mounting_rotation(mounting)


def test_standing_changes_only_the_given_fields(ur_table):
    """Mounting, coupling and known masses stay unless they are given."""
    coupling = np.eye(6)
    coupling[5, 4] = 1.0
    table = RobotModel.from_mdh(ur_table, mounting=[0.1, 0.2, 0.3], coupling=coupling)
    hung = table.standing([np.pi, 0, 0])
    np.testing.assert_allclose(hung.chain.gravity, [0, 0, 9.81], atol=1e-12)
    np.testing.assert_array_equal(hung.coupling.matrix, coupling)
    assert hung.parameters is table.parameters is None
    plain = table.standing(coupling=np.eye(6))
    np.testing.assert_allclose(plain.chain.gravity, table.chain.gravity)
    assert not np.array_equal(plain.chain.gravity, hung.chain.gravity)
    urdf = RobotModel.from_urdf(ur5e_urdf())
    assert urdf.standing([np.pi, 0, 0]).parameters.tolist() == urdf.parameters.tolist()
    assert urdf.standing().coupling is None


def test_a_mounting_turns_gravity():
    assert np.array_equal(mounting_rotation(None), np.eye(3))
    np.testing.assert_allclose(gravity_in_base(None), [0, 0, -9.81])
    # hung from the ceiling, and on a wall whose normal is the world's −y axis
    np.testing.assert_allclose(gravity_in_base([np.pi, 0, 0]), [0, 0, 9.81], atol=1e-12)
    np.testing.assert_allclose(gravity_in_base([np.pi / 2, 0, 0]), [0, -9.81, 0], atol=1e-12)
