"""An exported SDF, read by a reader of its own and computed by pinocchio."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest
from scipy.spatial.transform import Rotation

from joint_dynamics.description.export_sdf import export_sdf
from joint_dynamics.description.import_inertials import import_inertials
from joint_dynamics.description.sdf_kinematics import SdfKinematics
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel, StandardParameters

PAYLOAD = {'mass': {'value': 2.0}, 'first_moments': [0.1, -0.2, 0.1], 'inertia': [0.5, 0.02, 0.01, 0.6, 0.03, 0.7]}


class Read:
    """An SDF of version 1.7 or newer as pinocchio's bodies; poses as homogeneous matrices, found by name."""

    def __init__(self, path, names, gravity=None):
        model = ET.parse(path).getroot().find('.//model')
        self.elements = {item.get('name'): item for item in model if item.get('name')}
        self.names = names
        world = self.matrix(model.find('pose'))
        self.body = pinocchio.Model()
        self.body.gravity.linear = np.array([0, 0, -9.81]) if gravity is None else gravity
        self.index = {}
        joints = {item.findtext('child'): item for item in model.findall('joint')}
        ahead = [link.get('name') for link in model.findall('link')]
        while ahead:
            link = ahead.pop(0)
            joint = joints.get(link)
            parent = None if joint is None else joint.findtext('parent')
            if parent not in (None, 'world') and parent not in self.index:
                ahead.append(link)
                continue
            above, frame = self.index.get(parent, (0, np.linalg.inv(world)))
            here = self.in_model(link)
            if joint is None or joint.get('type') == 'fixed' or joint.get('name') not in names:
                number, origin = above, frame
            else:
                at = self.in_model(joint.get('name'))
                xyz = joint.find('axis/xyz')
                axis = np.array(xyz.text.split(), dtype=float)
                if xyz.get('expressed_in'):
                    axis = at[:3, :3].T @ self.in_model(xyz.get('expressed_in'))[:3, :3] @ axis
                axis /= np.linalg.norm(axis)
                kind = {'prismatic': pinocchio.JointModelPrismaticUnaligned}.get(
                    joint.get('type'), pinocchio.JointModelRevoluteUnaligned
                )
                place = pinocchio.SE3(np.linalg.inv(frame) @ at)
                number, origin = self.body.addJoint(above, kind(axis), place, joint.get('name')), at
            self.index[link] = (number, origin)
            inertial = self.elements[link].find('inertial')
            if inertial is not None and number:
                tensor = np.empty((3, 3))
                for row, a in enumerate('xyz'):
                    for column, b in enumerate('xyz'):
                        tensor[row, column] = float(inertial.findtext('inertia/i' + ''.join(sorted(a + b))))
                at = pinocchio.SE3(np.linalg.inv(origin) @ here @ self.matrix(inertial.find('pose')))
                own = pinocchio.Inertia(float(inertial.findtext('mass')), np.zeros(3), tensor)
                self.body.appendBodyToJoint(number, own, at)
        self.work = self.body.createData()
        self.damping = {name: float(self.elements[name].findtext('axis/dynamics/damping', '0')) for name in names}

    @staticmethod
    def matrix(pose):
        found = np.eye(4)
        if pose is not None:
            values = np.array(pose.text.split(), dtype=float)
            found[:3, :3], found[:3, 3] = Rotation.from_euler('xyz', values[3:]).as_matrix(), values[:3]
        return found

    def in_model(self, name):
        element = self.elements[name]
        pose = element.find('pose')
        base = None if pose is None else pose.get('relative_to')
        base = base or (element.findtext('child') if element.tag == 'joint' else element.get('attached_to'))
        own = self.matrix(pose)
        return own if base is None else self.in_model(base) @ own

    def torque(self, q, dq, ddq):
        order = [self.body.getJointId(name) - 1 for name in self.names]
        states = []
        for value in (q, dq, ddq):
            full = np.zeros(self.body.nv)
            full[order] = value
            states.append(full)
        tau = pinocchio.rnea(self.body, self.work, *states)[order]
        return tau + np.array([self.damping[name] for name in self.names]) * dq


@pytest.mark.parametrize('payload', ['merged', 'apart'])
def test_a_new_model_has_the_descriptions_torque(robot, payload, tmp_path, described_of, check_torque):
    rng = np.random.default_rng(5)
    description = described_of(robot, rng, rotors=False, payload={**PAYLOAD, 'attached': True})
    unphysical, apart = export_sdf(description, robot, tmp_path / 'arm.sdf', payload)
    assert apart == 0.0
    assert not unphysical
    check_torque(Read(tmp_path / 'arm.sdf', robot.joint_names), description, robot)
    links = [link.get('name') for link in ET.parse(tmp_path / 'arm.sdf').iter('link')]
    assert ('payload' in links) == (payload == 'apart')


def others_sdf(robot, rng, gripper=True):
    """The robot in frames of its own: links, joints and axes each in other ones, the base anywhere, with shapes.

    A plate is fixed to the last link, and a finger slides on it, with masses that nobody asked for.
    """

    def pose(matrix):
        angles = Rotation.from_matrix(matrix[:3, :3]).as_euler('xyz')
        return ' '.join(repr(float(value)) for value in (*matrix[:3, 3], *angles))

    def random_pose():
        found = np.eye(4)
        found[:3, :3], found[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-0.2, 0.2, 3)
        return found

    root = ET.Element('sdf', version='1.9')
    world = ET.SubElement(root, 'world', name='cell')
    ET.SubElement(world, 'light', name='sun', type='point')
    model = ET.SubElement(world, 'model', name='arm')
    base = random_pose()
    ET.SubElement(ET.SubElement(model, 'frame', name='corner'), 'pose').text = pose(base)
    in_model, names = [base], ['stand']
    ET.SubElement(ET.SubElement(model, 'link', name='stand'), 'pose', relative_to='corner').text = pose(np.eye(4))
    data = robot.pinocchio.createData()
    pinocchio.forwardKinematics(robot.pinocchio, data, np.zeros(robot.n))
    for k, name in enumerate(robot.joint_names):
        frame = base @ data.oMi[k + 1].homogeneous
        link_pose, joint_pose = frame @ random_pose(), frame.copy()
        # the joint's frame may lie anywhere on its axis, and be turned
        joint_pose[:3, :3] = frame[:3, :3] @ Rotation.random(random_state=rng).as_matrix()
        joint_pose[:3, 3] += frame[:3, :3] @ robot.chain.axis[k] * rng.uniform(-0.1, 0.1)
        link = ET.SubElement(model, 'link', name=f'part_{k}')
        relative = rng.random() < 0.5
        ET.SubElement(link, 'pose', {'relative_to': 'corner'} if relative else {}).text = pose(
            np.linalg.inv(base) @ link_pose if relative else link_pose
        )
        ET.SubElement(ET.SubElement(link, 'visual', name='shape'), 'geometry')
        joint = ET.SubElement(model, 'joint', name=name, type='prismatic' if robot.chain.prismatic[k] else 'revolute')
        parent = robot.pinocchio.parents[k + 1]
        ET.SubElement(joint, 'parent').text = names[parent]
        ET.SubElement(joint, 'child').text = f'part_{k}'
        within = rng.random() < 0.5
        ET.SubElement(joint, 'pose', {'relative_to': names[parent]} if within else {}).text = pose(
            np.linalg.inv(in_model[parent] if within else link_pose) @ joint_pose
        )
        axis = ET.SubElement(joint, 'axis')
        direction = frame[:3, :3] @ robot.chain.axis[k]
        where = rng.random() < 0.5
        turn = base if where else joint_pose
        xyz = ET.SubElement(axis, 'xyz', {'expressed_in': 'corner'} if where else {})
        xyz.text = ' '.join(repr(float(value)) for value in turn[:3, :3].T @ direction)
        dynamics = ET.SubElement(axis, 'dynamics')
        ET.SubElement(dynamics, 'spring_stiffness').text = '7'
        in_model.append(link_pose)
        names.append(f'part_{k}')
    if gripper:
        for name, kind, parent, mass in (
            ('plate', 'fixed', names[-1], '0.7'),
            ('finger', 'prismatic', 'plate', '0.05'),
        ):
            link = ET.SubElement(model, 'link', name=name)
            ET.SubElement(link, 'pose', relative_to=parent).text = pose(random_pose())
            inertial = ET.SubElement(link, 'inertial')
            ET.SubElement(inertial, 'pose').text = '0.01 0.02 0 0.1 0.2 0.3'
            ET.SubElement(inertial, 'mass').text = mass
            tensor = ET.SubElement(inertial, 'inertia')
            for key in ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'):
                ET.SubElement(tensor, key).text = '1e-5' if key[1] == key[2] else '0'
            joint = ET.SubElement(model, 'joint', name=f'{name}_joint', type=kind)
            ET.SubElement(joint, 'parent').text = parent
            ET.SubElement(joint, 'child').text = name
    return ET.tostring(root, encoding='unicode')


def test_into_an_sdf_with_other_frames(robot, tmp_path, described_of, check_torque):
    rng = np.random.default_rng(8)
    text = others_sdf(robot, rng)
    (tmp_path / 'in.sdf').write_text(text)
    description = described_of(robot, rng, rotors=False)
    unphysical, apart = export_sdf(description, robot, tmp_path / 'out.sdf', into=tmp_path / 'in.sdf')
    assert apart < 1e-9
    # what the finger weighs is taken off the last link, which need be no body any more
    assert set(unphysical) <= {robot.joint_names[-1]}
    base = Rotation.from_euler(
        'xyz', np.array(ET.fromstring(text).find('.//frame/pose').text.split(), dtype=float)[3:]
    ).as_matrix()
    links = StandardParameters(import_inertials(tmp_path / 'out.sdf', robot), robot.n).links
    wanted = description.standard_parameters(robot)
    np.testing.assert_allclose(
        links, StandardParameters(wanted, robot.n).links, rtol=0, atol=1e-9 * np.abs(wanted).max()
    )
    read = Read(tmp_path / 'out.sdf', robot.joint_names, base @ robot.pinocchio.gravity.linear)
    check_torque(read, description, robot)
    before, after = ET.fromstring(text), ET.parse(tmp_path / 'out.sdf').getroot()
    for path in ('.//light', './/visual', './/frame', './/spring_stiffness'):
        assert len(after.findall(path)) == len(before.findall(path)) > 0
    finger = next(link for link in after.iter('link') if link.get('name') == 'finger')
    assert finger.findtext('inertial/mass') == '0.05'


def test_another_robot_is_refused(urdf_of, tmp_path, described_of):
    rng = np.random.default_rng(3)
    one, other = (RobotModel.from_urdf(urdf_of(rng, joints=4)) for _ in range(2))
    (tmp_path / 'other.sdf').write_text(others_sdf(other, rng))
    with pytest.raises(JointDynamicsError, match=r'to move as in the robot file|model with the joints|to be one of'):
        export_sdf(described_of(one, rng), one, tmp_path / 'out.sdf', into=tmp_path / 'other.sdf')
    assert not (tmp_path / 'out.sdf').exists()


def test_what_hangs_on_a_link_in_a_loop_is_counted_once(urdf_of):
    """A gripper of bars: its last joint leads back to where the first one began."""
    rng = np.random.default_rng(4)
    robot = RobotModel.from_urdf(urdf_of(rng, joints=3))
    root = ET.fromstring(others_sdf(robot, rng))
    last = SdfKinematics(root, robot.joint_names, 'x').children[robot.joint_names[-1]]
    bars = ''.join(
        f'<link name="bar_{k}"/><joint name="pin_{k}" type="revolute"><parent>{"bar_" + str(k - 1) if k else last}'
        f'</parent><child>bar_{k}</child><axis><xyz>0 0 1</xyz></axis></joint>'
        for k in range(3)
    )
    loop = '<joint name="pin_3" type="revolute"><parent>bar_2</parent><child>bar_0</child></joint>'
    root.find('.//model').extend(ET.fromstring(f'<model>{bars}{loop}</model>'))
    hanging = SdfKinematics(root, robot.joint_names, 'x').hanging(robot.joint_names[-1])
    assert {name: hanging[name] for name in ('bar_0', 'bar_1', 'bar_2')} == dict.fromkeys(
        ('bar_0', 'bar_1', 'bar_2'), True
    )


@pytest.mark.parametrize(('before', 'after', 'message'), [
    ('<sdf ', '<sdf version="x" ', 'expected'), ('name="corner"', 'name="edge"', "found 'corner'"),
    ('<child>part_1</child>', '<child>lost</child>', 'expected a link as child of'),
    ('<pose relative_to="corner">', '<pose relative_to="corner">1 ', 'expected 6 numbers as the pose of'),
    ('type="revolute"', 'type="ball"', 'to be one of revolute, continuous, prismatic'),
    ('<joint name="', '<joint name="my_', 'expected one model with the joints'),
    ('</model>', ''.join(f'<link name="l{k}"/>' for k in range(600)) + '</model>', 'expected at most 500 links'),
])  # fmt: skip
def test_what_is_no_sdf_of_the_robot_is_refused(urdf_of, described_of, tmp_path, before, after, message):
    rng = np.random.default_rng(4)
    robot = RobotModel.from_urdf(urdf_of(rng, joints=3))
    text = others_sdf(robot, rng)
    assert before in text
    (tmp_path / 'in.sdf').write_text(text.replace(before, after))
    with pytest.raises(JointDynamicsError, match=message) as refused:
        export_sdf(described_of(robot, rng), robot, tmp_path / 'out.sdf', into=tmp_path / 'in.sdf')
    assert '\n' not in str(refused.value)
    assert not (tmp_path / 'out.sdf').exists()
