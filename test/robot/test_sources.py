"""Robots from files: what is understood, and one clear line for what is not."""

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
from joint_dynamics.robot.model import MOUNTING
from joint_dynamics.robot.urdf import stripped_urdf
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


def test_a_joint_that_mimics_moves_with_the_one_that_it_follows():
    both = RobotModel.from_urdf(MIMIC, joints=['j1', 'grip'])
    assert (both.joint_names, both.link_names, both.held) == (('j1', 'grip'), ('j1', 'grip', 'grip2'), {'j2': 0.0})
    with pytest.raises(JointDynamicsError, match='that move by themselves, found grip2, which follows grip:'):
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
def test_the_parser_behind_has_nothing_to_add(change, capfd):
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
def test_more_joints_than_an_arm_has_are_refused_before_anything_is_made_of_them(build):
    assert build(MAX_JOINTS).n == MAX_JOINTS
    for n in (MAX_JOINTS + 1, 400):
        with pytest.raises(JointDynamicsError, match=f'at most {MAX_JOINTS} joints .*, found {n}: name those'):
            build(n)


def test_an_arm_of_a_large_robot_is_taken_out_of_it():
    model = RobotModel.from_urdf(chain_of(499), joints=['j3', 'j250', 'j498'])
    assert model.joint_names == ('j3', 'j250', 'j498')


NAMES = [' ', 'j1 ', 'j\n1', 'ј1', 'j\u200b1', 'j' * 100_000]


@pytest.mark.parametrize('name', NAMES, ids=ascii)
def test_a_name_that_looks_like_another_is_refused(name):
    shown = name.replace('\n', '&#10;')
    for build in (
        lambda: RobotModel.from_urdf(ARM.replace('"j1"', f'"{shown}"')),
        lambda: load_mdh({'joints': [{**table_of(1)['joints'][0], 'name': name}]}),
        lambda: DynamicsDescription(
            {'format': 'joint_dynamics', 'version': VERSION, 'robot': {'joint_names': [name]}, 'joints': {name: {}}}
        ),
    ):
        with pytest.raises(JointDynamicsError, match='expected a name of') as caught:
            build()
        assert len(str(caught.value)) < 250


def test_a_robot_of_one_joint():
    model = RobotModel.from_urdf(ARM, joints=['j1'])
    assert model.regressor([0.1], [0.2], [0.3]).shape == (1, 14)


def test_a_locked_gripper_moves_nothing():
    model = RobotModel.from_urdf(ARM, joints=['j2', 'j1'], locked={'grip': 0.02})
    assert model.joint_names == ('j1', 'j2'), 'the order is that of the chain'
    assert model.n == 2


def test_a_link_may_have_the_name_of_a_joint():
    robot = RobotModel.from_urdf(ARM.replace('"two"', '"grip"'), joints=['j1', 'j2'])
    assert robot.held == {'grip': 0.0}
    bodies = [frame.name for frame in robot.pinocchio.frames if frame.type.name == 'BODY']
    assert bodies == ['base', 'one', 'grip', 'finger', 'other']


@pytest.mark.parametrize(
    ('printed', 'angle'),
    [('1.57', np.pi / 2), ('-3.1416', -np.pi), ('1.5708e0', np.pi / 2), ('1.6', 1.6), ('1.56', 1.56), ('3', 3.0)],
)
def test_an_angle_printed_as_a_multiple_of_a_right_one_is_that(printed, angle):
    rounded, exact = (RobotModel.from_urdf(ARM.replace('1.5708', text)) for text in (printed, repr(angle)))
    assert np.array_equal(*(robot.pinocchio.jointPlacements[2].rotation for robot in (rounded, exact)))


def test_a_path_and_its_text_give_the_same_robot(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM)
    (tmp_path / 'late.urdf').write_text(f'\n  {ARM}')
    for name in ('arm.urdf', 'late.urdf'):
        assert RobotModel.load(tmp_path / name).joint_names == RobotModel.from_urdf(ARM).joint_names


def test_kinematics_build_the_same_robot_again(ur, ur_table):
    again = RobotModel.from_mdh(ur.kinematics()['mdh'])
    states = ur.random_states(3, np.random.default_rng(0))
    assert np.array_equal(again.regressor(*states), ur.regressor(*states))
    arm = RobotModel.from_urdf(ARM)
    assert RobotModel.from_urdf(arm.kinematics()['urdf']).joint_names == arm.joint_names


def test_mounting_in_every_form_is_the_same():
    rpy = [0.3, -0.4, 1.2]
    matrix = mounting_rotation(rpy)
    from scipy.spatial.transform import Rotation

    quaternion = Rotation.from_matrix(matrix).as_quat()
    for form in (quaternion, matrix, {'rpy': rpy}, {'quaternion': list(quaternion)}):
        assert np.allclose(mounting_rotation(form), matrix)


@pytest.mark.parametrize(
    ('source', 'message'),
    [
        ('<robot', 'text that does not parse'),
        ('<sdf/>', 'expected the root element <robot>, found <sdf>'),
        ('<robot name="x"><link name="base"/></robot>', 'at least one movable joint, found none'),
        (ARM.replace('"revolute"', '"planar"').replace('"continuous"', '"floating"'), r'found j1 \(planar\), j2'),
        (ARM.replace('lower="-1" upper="2"', 'lower="-360" upper="360"'), 'limits in rad .*: are they degrees'),
        (ARM.replace('0.3 0 0', '1_0.3 0 0'), "joint j2: expected a number for origin xyz, found '1_0.3'"),
        (ARM.replace('</robot>', '<x:arm xmlns:x="http://www.ros.org/wiki/xacro"/></robot>'), 'URDF, found xacro'),
    ],
)
def test_a_urdf_that_cannot_be_used_is_refused(source, message):
    with pytest.raises(JointDynamicsError, match=message):
        RobotModel.from_urdf(source)


def test_an_unknown_joint_is_named():
    with pytest.raises(JointDynamicsError, match=r"expected joint 'j9', found the movable joints j1, j2, grip"):
        RobotModel.from_urdf(ARM, joints=['j1', 'j9'])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda table: table['joints'][1].pop('alpha'), r'joints\[2\]: expected alpha, a, d and theta, found no alpha'),
        (lambda table: table['joints'][0].update(a='long'), r'joints\[1\]: expected numbers'),
        (lambda table: table['joints'][0].update(a=float('nan')), r'joints\[1\]: expected finite numbers'),
        (lambda table: table['joints'][0].update(type='screw'), ".*expected revolute or prismatic, found 'screw'"),
        (lambda table: table['joints'][0].update(name='joint_2'), '.*each joint name once'),
        (lambda table: table.update(joints=[[1, 2, 3, 4]]), r'joints\[1\]: expected a mapping .*\[1, 2, 3, 4\]$'),
        (lambda table: table.update(joints=[]), 'expected a list `joints` of MDH rows, found none$'),
        *(
            (lambda table, given=given: table.update(velocity_limit_rad_s=given), f'velocity_limit_rad_s: {message}$')
            for given, message in (
                ([1, 2], r'expected shape \(6,\), found \(2,\)'),
                ([1, 2, 0, 3, 4, 5], r'expected numbers above 0, found \[1.0, 2.0, 0.0, 3.0, 4.0, 5.0\]'),
                (['a'] * 6, r"expected numbers, found \['a', 'a', 'a', 'a', 'a', 'a'\]"),
                ('fast', "expected numbers, found 'fast'"),
            )
        ),
        (lambda table: table.update(position_coupling_R=[[1.0]]), r'position_coupling_R: expected shape \(6, 6\)'),
    ],
)
def test_an_mdh_table_that_cannot_be_used_is_refused(ur_table, change, message):
    table = copy.deepcopy(ur_table)
    change(table)
    with pytest.raises(JointDynamicsError, match=f'^robot MDH table: {message}'):
        load_mdh(table)


def test_files_that_are_no_robot(tmp_path):
    with pytest.raises(JointDynamicsError, match='No such file'):
        RobotModel.load(tmp_path / 'missing.urdf')
    (tmp_path / 'empty.urdf').write_text(' \n')
    for source in (tmp_path / 'empty.urdf', str(tmp_path / 'empty.urdf'), '', ' \n'):
        with pytest.raises(JointDynamicsError, match='expected a URDF or an MDH table, found one that is empty'):
            RobotModel.load(source)
    (tmp_path / 'x').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(JointDynamicsError, match='binary'):
        RobotModel.load(tmp_path / 'x')
    for text, message in (
        ('joints: 3', 'y: expected a list `joints`'),
        ('[]', 'y: expected a list `joints` of MDH rows, found none$'),
        ('joints: [1, 2', r"^robot .*y: expected YAML, found: .*',' or '\]' \(line 2, column 1\)$"),
    ):
        (tmp_path / 'y').write_text(text)
        with pytest.raises(JointDynamicsError, match=message):
            RobotModel.load(tmp_path / 'y')


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


@pytest.mark.parametrize('attribute', ['lower', 'upper', 'velocity', 'effort'])
def test_a_limit_that_is_no_number_is_named(attribute):
    text = arm_with().replace(f'{attribute}="', f'{attribute}="much')
    with pytest.raises(JointDynamicsError, match=f"joint j1: expected a number for {attribute}, found 'much"):
        RobotModel.from_urdf(text)


def test_a_continuous_joint_has_one_angle_without_bounds():
    for j1 in ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="3" effort="4"/>'):
        model = RobotModel.from_urdf(arm_with(j1=j1, kind='continuous'))
        assert model.n == model.pinocchio.nq == 1
        assert (model.limits.lower[0], model.limits.upper[0]) == (-np.inf, np.inf)
        assert model.pinocchio.upperPositionLimit[0] >= 1e9
        assert model.pinocchio.lowerPositionLimit[0] <= -1e9


@pytest.mark.parametrize('axis', [(1, 0, 0), (0, 1, 0), (0, 0, -1), (0.6, 0.0, 0.8)])
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_axis_and_kind_of_a_joint_are_read_off(kind, axis):
    text = arm_with(
        j1=f'<axis xyz="{" ".join(map(str, axis))}"/><limit lower="-1" upper="2" velocity="3" effort="4"/>', kind=kind
    )
    model = RobotModel.from_urdf(text)
    assert model.chain.prismatic.tolist() == [kind == 'prismatic']
    np.testing.assert_allclose(model.chain.axis[0], axis, atol=1e-12)


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


def test_the_stripped_text_has_what_moves_and_nothing_to_look_at():
    text = stripped_urdf(arm_with(INERTIAL_TAG))
    for gone in ('visual', 'collision', 'gazebo', 'material'):
        assert gone not in text
    np.testing.assert_array_equal(
        RobotModel.from_urdf(text).parameters, RobotModel.from_urdf(arm_with(INERTIAL_TAG)).parameters
    )


def test_parameters_of_a_urdf_leave_room_for_coupled_motors():
    two = arm_with(INERTIAL_TAG).replace(
        '</robot>',
        '<link name="two"/><joint name="j2" type="continuous"><parent link="one"/><child link="two"/></joint></robot>',
    )
    plain = RobotModel.from_urdf(two)
    model = RobotModel.from_urdf(two, coupling=[[1.0, 0.0], [1.0, 1.0]])
    assert model.parameter_names[28:] == ['Ia_m2', 'Fv_m2', 'Fs_m2']
    np.testing.assert_array_equal(model.parameters, [*plain.parameters, 0.0, 0.0, 0.0])
    # built from pinocchio's model alone, nothing says that its inertias are more than placeholders
    assert RobotModel(plain.pinocchio, plain.limits).parameters is None


def test_what_was_locked_is_kept_with_the_kinematics():
    model = RobotModel.from_urdf(ARM, joints=['j1'], locked={'j2': 0.5, 'grip': 0.02})
    assert model.locked == model.kinematics()['locked'] == {'j2': 0.5, 'grip': 0.02}
    assert RobotModel.from_urdf(ARM).locked == {}
    assert 'locked' not in RobotModel.from_urdf(ARM).kinematics()
    assert 'coupling' not in RobotModel.from_urdf(ARM).kinematics()


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
    ('mounting', 'message'),
    [
        ('up', 'expected numbers'),
        ([1, 2], 'shape'),
        ([2, 0, 0, 0], 'norm 2'),
        (np.diag([1, 1, -1]), 'right-handed'),
        ([np.nan, 0, 0], r'^mounting: expected finite numbers, found \[nan, 0.0, 0.0\]$'),
        ({'euler': [0, 0, 0]}, r"^mounting: expected one key rpy or quaternion, found \['euler'\]$"),
        ({'rpy': [0, 0, 0], 1: 2}, r"^mounting: expected one key rpy or quaternion, found \[1, 'rpy'\]$"),
        (2 * np.eye(3), '^mounting: expected a rotation matrix'),
        ((1 + 1e-6) * np.eye(3), '^mounting: expected a rotation matrix'),
        ([0, 0, 0, 1.01], '^mounting: expected a unit quaternion .* found one of norm 1.01$'),
    ],
)
def test_mountings_that_are_none(mounting, message):
    with pytest.raises(JointDynamicsError, match=message):
        mounting_rotation(mounting)


@pytest.mark.parametrize('count', range(6))
def test_the_parameter_of_the_mounting_takes_angles_or_a_quaternion(count):
    given = [0.5] * count
    if count in (0, 3, 4):
        assert MOUNTING.value(given) == given
    else:
        with pytest.raises(JointDynamicsError, match=r'^mounting: expected nothing, roll-pitch-yaw \(3 numbers\) or a'):
            MOUNTING.value(given)


def test_the_same_arm_stands_otherwise(ur_table):
    """What is not named stays as it is: mounting, coupling, whether masses are known."""
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


@pytest.mark.parametrize(
    ('matrix', 'message'),
    [
        (np.eye(6)[:5], r'^coupling: expected a square matrix, found shape \(5, 6\)$'),
        (np.zeros((6, 6)), 'regular matrix'),
        (np.eye(4), '^coupling: expected 6 rows for 6 joints, found 4$'),
        (np.eye(6)[::-1], '^coupling: expected a regular matrix of finite numbers without zeros on the diagonal'),
    ],
)
def test_couplings_that_do_not_fit(ur_table, matrix, message):
    with pytest.raises(JointDynamicsError, match=message):
        RobotModel.from_mdh(ur_table, coupling=matrix)
