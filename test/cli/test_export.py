import xml.etree.ElementTree as ET

import pinocchio
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.simulation import ur5e_description

ARMATURE = hasattr(pinocchio.Model(), 'armature')
"""Whether models of the installed pinocchio have rotors (from 3 on)."""


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
            'mounting': [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        }
        DynamicsDescription(document).save(path)
        return path

    return write


def test_an_mjcf_is_written_and_what_it_has_no_place_for_is_said(run, description_file, tmp_path):
    done = run('export', description_file(), '--out', tmp_path / 'arm.xml')
    assert done.status == 0
    assert 'drive_gain' in done.out
    assert 'offset' in done.out
    assert 'rotor_inertia' not in done.out
    assert 'mounting' not in done.out, 'it is the identity'
    (line,) = (line for line in done.out.splitlines() if line.startswith('not in'))
    assert line.startswith('not in an MJCF: all joints: drive_gain, friction.parameters')
    joints = {joint.get('name'): joint for joint in ET.parse(tmp_path / 'arm.xml').iter('joint')}
    assert joints['elbow_joint'].get('armature') == '0.5'
    # At the present scale α of the friction.
    assert joints['elbow_joint'].get('damping') == '4.5'
    assert joints['elbow_joint'].get('frictionloss') == '6.0'


def test_one_command_writes_every_format_and_says_what_it_cannot_hold(run, description_file, tmp_path):
    description = description_file()
    root = {'arm.urdf': '<robot', 'arm.xml': '<mujoco', 'arm.sdf': '<sdf', 'arm.py': 'def build'}
    rotors = {}
    if not ARMATURE:
        done = run('export', description, '--out', tmp_path / 'arm.py')
        assert done.status == 2
        assert 'expected pinocchio 3 or newer' in done.error
        del root['arm.py']
    for name, beginning in root.items():
        done = run('export', description, '--out', tmp_path / name)
        assert done.status == 0
        assert beginning in (tmp_path / name).read_text()
        assert 'drive_gain' in done.out
        rotors[name] = 'rotor_inertia' in done.out
    assert rotors == {name: name in ('arm.urdf', 'arm.sdf') for name in root}
    # --to where the ending says nothing
    assert run('export', description, '--to', 'mjcf', '--out', tmp_path / 'new.txt').status == 0
    texts = {(tmp_path / name).read_text() for name in ('new.txt', 'arm.xml')}
    assert len(texts) == 1
    refused = run('export', description, '--out', tmp_path / 'arm.json')
    assert refused.status == 2
    assert '--to urdf, mjcf, sdf, python' in refused.error


@pytest.mark.parametrize('name', ['export-urdf', 'export-mjcf'])
def test_commands_that_are_gone_name_what_takes_their_place(run, name):
    done = run(name, 'dynamics.yaml', '--out', 'x')
    assert done.status == 2
    assert 'joint-dynamics export DESCRIPTION' in done.error


def test_the_solver_needs_a_urdf(run, description_file, tmp_path):
    description = description_file()
    done = run('export', description, '--out', tmp_path / 'arm.sdf', '--solver', tmp_path / 'solver.yaml')
    assert done.status == 2
    assert '--to urdf' in done.error
    assert not (tmp_path / 'arm.sdf').exists()
    out = tmp_path / 'arm.urdf'
    assert run('export', description, '--out', out, '--solver', tmp_path / 'solver.yaml').status == 0
    assert 'robot_description' in (tmp_path / 'solver.yaml').read_text()


def test_into_its_own_sdf(run, description_file, tmp_path):
    description = description_file()
    assert run('export', description, '--out', tmp_path / 'arm.sdf').status == 0
    own = (tmp_path / 'arm.sdf').read_text().replace('</model>', '<plugin name="p" filename="f"/></model>')
    (tmp_path / 'mine.sdf').write_text(own.replace('<damping>4.5', '<damping>9'))
    done = run('export', description, '--into', tmp_path / 'mine.sdf', '--out', tmp_path / 'new.sdf')
    assert done.status == 0
    text = (tmp_path / 'new.sdf').read_text()
    assert '<damping>4.5' in text
    assert '<plugin' in text


def test_a_link_that_is_no_body_is_named(run, description_file, tmp_path):
    done = run('export', description_file(XX=-1.0), '--out', tmp_path / 'arm.xml')
    assert done.status == 3
    assert 'elbow_joint' in done.error
    assert (tmp_path / 'arm.xml').exists()
    refused = run('export', description_file(M=-1.0), '--out', tmp_path / 'none.xml')
    assert refused.status == 2
    assert refused.error.startswith(
        'joint-dynamics export: dynamics description: expected a positive mass behind elbow_joint, found -1 kg; '
        'identify with `physical: true`, or from a motion that excites more'
    )
    assert 'MDH' not in refused.error
    assert refused.error.count('export') == 1
    assert not (tmp_path / 'none.xml').exists()


def test_what_only_some_joints_have_is_said_of_them(run, description_file, tmp_path):
    path = description_file()
    description = DynamicsDescription.load(path)
    description.document['joints']['elbow_joint']['stiffness'] = {'coefficients': [1e4]}
    description.save(path)
    lines = run('export', path, '--out', tmp_path / 'arm.xml').out.splitlines()
    assert [line.removeprefix('not in an MJCF: ').split(': ')[:2] for line in lines[1:]] == [
        ['all joints', 'drive_gain, friction.parameters'],
        ['elbow_joint', 'stiffness'],
    ]
