import xml.etree.ElementTree as ET

import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.simulation import ur5e_description


@pytest.fixture
def description_file(tmp_path):
    """A UR5e as its URDF has it, with rotors and friction."""

    def write(**inertia):
        robot = RobotModel.from_urdf(ur5e_description())
        standard = StandardParameters(robot.parameters, robot.n)
        links = {name: standard.link_document(k) for k, name in enumerate(robot.joint_names)}
        links['elbow_joint'].update(inertia)
        joints = {
            name: {
                'rotor_inertia': {'value': 0.5},
                'drive_gain': {'value': 10.0},
                'friction': {'parameters': {'F_C0': 3.0, 'F_V1': 4.0, 'offset': 0.2}, 'scale': [2.0, 0.5]},
            }
            for name in robot.joint_names
        }
        path = tmp_path / 'dynamics.yaml'
        document = {
            'robot': {'joint_names': list(robot.joint_names), **robot.kinematics()},
            'joints': joints,
            'inertial': {'standard': links},
        }
        DynamicsDescription(document).save(path)
        return path

    return write


def test_an_mjcf_is_written_and_what_it_has_no_place_for_is_said(run, description_file, tmp_path):
    done = run('export-mjcf', description_file(), '--out', tmp_path / 'arm.xml')
    assert done.status == 0
    assert 'drive_gain' in done.out
    assert 'offset' in done.out
    assert 'rotor_inertia' not in done.out
    joints = {joint.get('name'): joint for joint in ET.parse(tmp_path / 'arm.xml').iter('joint')}
    assert joints['elbow_joint'].get('armature') == '0.5'
    # At the present scale α of the friction.
    assert joints['elbow_joint'].get('damping') == '4.5'
    assert joints['elbow_joint'].get('frictionloss') == '6.0'


def test_a_link_that_is_no_body_is_named(run, description_file, tmp_path):
    done = run('export-mjcf', description_file(XX=-1.0), '--out', tmp_path / 'arm.xml')
    assert done.status == 3
    assert 'elbow_joint' in done.error
    assert (tmp_path / 'arm.xml').exists()
    refused = run('export-mjcf', description_file(M=-1.0), '--out', tmp_path / 'none.xml')
    assert refused.status == 2
    assert 'expected a positive mass behind elbow_joint' in refused.error
    assert not (tmp_path / 'none.xml').exists()
