"""Exports of robots whose joints follow others, read back and computed by their readers."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription, export_urdf, not_exported
from joint_dynamics.description.export_mjcf import export_mjcf
from joint_dynamics.description.export_pinocchio import export_pinocchio, pinocchio_model
from joint_dynamics.description.export_sdf import export_sdf
from joint_dynamics.description.identity import check_identity, identity_of
from joint_dynamics.description.import_inertials import import_inertials
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

PARALLELOGRAM = {'j4': {'j2': -1.0, 'j3': -0.5, 'offset': 0.2}}
PAYLOAD = {'mass': {'value': 2.0}, 'first_moments': [0.1, -0.2, 0.1]}


@pytest.fixture(params=[0, 1, 2, 'several'])
def robot(request, urdf_of):
    if request.param == 'several':
        text = urdf_of(np.random.default_rng(9), joints=6, branches=False)
        return RobotModel.from_urdf(text, parallelograms=PARALLELOGRAM)
    rng = np.random.default_rng(500 + request.param)
    return RobotModel.from_urdf(urdf_of(rng, joints=7, mimics=3), mounting=[0.4, -0.7, 0.2])


@pytest.fixture
def description(robot):
    standard = robot.standard(robot.parameters)
    standard.links[:] *= np.linspace(0.7, 1.4, len(robot.link_names))[:, None]
    document = {
        'robot': {'joint_names': list(robot.joint_names), **robot.kinematics(), 'identity': identity_of(robot)},
        'joints': {name: {'rotor_inertia': {'value': 0.3}} for name in robot.joint_names},
        'inertial': {'standard': {name: standard.link_document(k) for k, name in enumerate(robot.link_names)}},
        'payload': PAYLOAD,
    }
    if robot.mounting is not None:
        document['mounting'] = robot.standing().mounting and pinocchio.rpy.rpyToMatrix(*robot.mounting).tolist()
    return DynamicsDescription(document)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(np.abs(expected).max(), 1.0))


def states(robot):
    return zip(*robot.random_states(15, np.random.default_rng(1)), strict=True)


def test_the_description_is_of_the_same_robot_when_it_is_read_back(robot, description):
    back = DynamicsDescription.from_yaml(description.to_yaml()).robot_model()
    assert (back.joint_names, back.link_names) == (robot.joint_names, robot.link_names)
    ours, theirs = Arm.from_description(robot, description), Arm.from_description(None, description)
    for state in states(robot):
        close(theirs.link_torque(*state), ours.link_torque(*state))


def test_a_robot_whose_joints_follow_otherwise_is_another_one(robot, description):
    name, follows = next(iter(robot.chain.tree.dependent.items()))
    other = {name: {key: 1.1 * ratio for key, ratio in follows.ratios.items()}}
    changed = RobotModel.from_urdf(robot.urdf, parallelograms={**robot.parallelograms, **other})
    with pytest.raises(JointDynamicsError, match=f'factors of the joints that it follows of {name}'):
        check_identity(identity_of(robot), changed)
    standing = RobotModel.from_urdf(robot.urdf, joints=robot.joint_names, locked={name: 0.0})
    with pytest.raises(JointDynamicsError, match='in the description only'):
        check_identity(identity_of(robot), standing)


def test_a_urdf_has_the_links_and_who_follows_one_joint(robot, description, tmp_path):
    unphysical = export_urdf(description, robot.urdf, tmp_path / 'out.urdf')
    assert unphysical == []
    several = {name: entry for name, entry in robot.parallelograms.items() if len(entry) > 2}
    assert [line for line in not_exported(description) if 'parallelograms' in line] == [
        f'robot.parallelograms.{name}: follows several joints' for name in several
    ]
    back = RobotModel.from_urdf(tmp_path / 'out.urdf', mounting=robot.mounting, parallelograms=several)
    arm = Arm.from_description(robot, description)
    for state in states(robot):
        close(back.inverse_dynamics(*state), arm.link_torque(*state))


def test_an_mjcf_has_the_links_and_an_equality_for_who_follows(robot, description, tmp_path):
    mujoco = pytest.importorskip('mujoco', reason='the extra `mujoco` is not installed')
    export_mjcf(description, robot, tmp_path / 'arm.xml')
    model = mujoco.MjModel.from_xml_path(str(tmp_path / 'arm.xml'))
    tree, arm = robot.chain.tree, Arm.from_description(robot, description)
    data = mujoco.MjData(model)
    place = [int(model.joint(name).qposadr[0]) for name in tree.names]
    for q, dq, ddq in states(robot):
        model.opt.disableflags = 0
        data.qpos[place] = tree.positions(q)
        mujoco.mj_forward(model, data)
        equal = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        assert equal.sum() == len(tree.dependent)
        np.testing.assert_allclose(data.efc_pos[equal], 0.0, atol=1e-12)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data.qpos[place], data.qvel[place], data.qacc[place] = tree.positions(q), tree.rates(dq), tree.rates(ddq)
        mujoco.mj_inverse(model, data)
        wanted = arm.link_torque(q, dq, ddq) + 0.3 * ddq
        np.testing.assert_allclose(
            tree.torques(data.qfrc_inverse[place].copy()), wanted, rtol=0, atol=1e-6 * np.abs(wanted).max()
        )


def test_an_sdf_has_the_links_and_says_who_follows_one_joint(robot, description, tmp_path):
    export_sdf(description, robot, tmp_path / 'arm.sdf')
    links = robot.standard(import_inertials(tmp_path / 'arm.sdf', robot)).links
    expected = robot.standard(description.standard_parameters(robot)).with_payload(description.payload()).links
    np.testing.assert_allclose(links, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    root = ET.parse(tmp_path / 'arm.sdf').getroot()
    assert root.get('version') == '1.11'
    for name, follows in robot.chain.tree.dependent.items():
        mimic = root.find(f".//joint[@name='{name}']/axis/mimic")
        if len(follows.ratios) > 1:
            assert mimic is None
            continue
        ((leader, ratio),) = follows.ratios.items()
        assert (mimic.get('joint'), float(mimic.find('multiplier').text)) == (leader, ratio)
        assert float(mimic.find('offset').text) == follows.offset


def test_pinocchio_has_all_joints_and_the_file_maps_them(robot, description, tmp_path):
    if not hasattr(pinocchio.Model(), 'armature'):
        pytest.skip('pinocchio models have an armature from 3 on')
    arm, tree, model = Arm.from_description(robot, description), robot.chain.tree, pinocchio_model(description)
    data = model.createData()
    export_pinocchio(description, robot, tmp_path / 'arm.py')
    module = {}
    exec((tmp_path / 'arm.py').read_text(), module)
    built = module['build']()
    for q, dq, ddq in states(robot):
        wanted = arm.link_torque(q, dq, ddq) + 0.3 * ddq
        tau = pinocchio.rnea(model, data, tree.positions(q), tree.rates(dq), tree.rates(ddq))
        close(tree.torques(tau), wanted)
        close(module['inverse_dynamics'](built, built.createData(), q, dq, ddq), wanted)
