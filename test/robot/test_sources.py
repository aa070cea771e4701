"""Robots from files: what is understood, and one clear line for what is not."""
import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel, mounting_rotation
from joint_dynamics.robot.mdh import load_mdh

ARM = """<robot name="arm"><link name="base"/><link name="one"/><link name="two"/><link name="finger"/><link name="other"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/><limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
<joint name="j2" type="continuous"><parent link="one"/><child link="two"/><origin xyz="0.3 0 0" rpy="1.5708 0 0"/><axis xyz="0 0 1"/></joint>
<joint name="grip" type="prismatic"><parent link="two"/><child link="finger"/><axis xyz="1 0 0"/><limit lower="0" upper="0.05" velocity="1" effort="9"/></joint>
<joint name="grip2" type="prismatic"><parent link="two"/><child link="other"/><axis xyz="-1 0 0"/><limit lower="0" upper="0.05" velocity="1" effort="9"/>
<mimic joint="grip"/></joint></robot>"""


def test_mimic_joints_are_left_out_and_limits_read():
    model = RobotModel.from_urdf(ARM)
    assert model.joint_names == ('j1', 'j2', 'grip')
    assert model.limits.lower.tolist() == [-1, -np.inf, 0]
    assert model.limits.velocity.tolist() == [3, np.inf, 1]
    assert model.parameters is None, 'no inertials: fine for identification'


def test_a_robot_of_one_joint():
    model = RobotModel.from_urdf(ARM, joints=['j1'])
    assert model.regressor([0.1], [0.2], [0.3]).shape == (1, 14)


def test_a_locked_gripper_moves_nothing():
    model = RobotModel.from_urdf(ARM, joints=['j2', 'j1'], locked={'grip': 0.02})
    assert model.joint_names == ('j1', 'j2'), 'the order is that of the chain'
    assert model.n == 2


def test_a_path_and_its_text_give_the_same_robot(tmp_path):
    (tmp_path / 'arm.urdf').write_text(ARM)
    assert RobotModel.load(tmp_path / 'arm.urdf').joint_names == RobotModel.from_urdf(ARM).joint_names


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


@pytest.mark.parametrize(('source', 'message'), [
    ('<robot', 'text that does not parse'),
    ('<sdf/>', 'expected the root element <robot>, found <sdf>'),
    ('<robot name="x"><link name="base"/></robot>', 'at least one movable joint, found none'),
    (ARM.replace('type="continuous"', 'type="floating"'), r'j2 \(floating\)'),
    (ARM.replace('velocity="3"', 'velocity="fast"'), "joint j1: expected a number for velocity, found 'fast'"),
])
def test_a_urdf_that_cannot_be_used_is_refused(source, message):
    with pytest.raises(JointDynamicsError, match=message):
        RobotModel.from_urdf(source)


def test_an_unknown_joint_is_named():
    with pytest.raises(JointDynamicsError, match=r"expected joint 'j9', found the movable joints j1, j2, grip"):
        RobotModel.from_urdf(ARM, joints=['j1', 'j9'])


@pytest.mark.parametrize(('change', 'message'), [
    (lambda rows: rows[1].pop('alpha'), r'joints\[2\]: expected alpha, a, d and theta, found no alpha'),
    (lambda rows: rows[0].update(a='long'), r'joints\[1\]: expected numbers'),
    (lambda rows: rows[0].update(a=float('nan')), 'finite numbers'),
    (lambda rows: rows[0].update(type='screw'), "expected revolute or prismatic, found 'screw'"),
    (lambda rows: rows[0].update(name='joint_2'), 'each joint name once'),
])
def test_an_mdh_table_that_cannot_be_used_is_refused(ur_table, change, message):
    rows = [dict(row) for row in ur_table['joints']]
    change(rows)
    with pytest.raises(JointDynamicsError, match=message):
        load_mdh({'joints': rows})


def test_files_that_are_no_robot(tmp_path):
    with pytest.raises(JointDynamicsError, match='No such file'):
        RobotModel.load(tmp_path / 'missing.urdf')
    (tmp_path / 'x').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(JointDynamicsError, match='binary'):
        RobotModel.load(tmp_path / 'x')
    (tmp_path / 'y').write_text('joints: 3')
    with pytest.raises(JointDynamicsError, match='expected a list `joints`'):
        RobotModel.load(tmp_path / 'y')


@pytest.mark.parametrize(('mounting', 'message'), [('up', 'expected numbers'), ([1, 2], 'shape'), ([2, 0, 0, 0], 'norm 2'), (np.diag([1, 1, -1]), 'right-handed')])
def test_mountings_that_are_none(mounting, message):
    with pytest.raises(JointDynamicsError, match=message):
        mounting_rotation(mounting)


def test_a_coupling_that_cannot_be_inverted(ur_table):
    with pytest.raises(JointDynamicsError, match='regular matrix'):
        RobotModel.from_mdh(ur_table, coupling=np.zeros((6, 6)))
