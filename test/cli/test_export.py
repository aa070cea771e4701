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
    assert float(joints['elbow_joint'].get('armature')) == 0.5
    # At the present scale α of the friction.
    assert float(joints['elbow_joint'].get('damping')) == 4.5
    assert float(joints['elbow_joint'].get('frictionloss')) == 6.0


@pytest.mark.parametrize('name', ['arm.json', 'arm.sdf', 'arm.py'])
def test_unknown_and_former_formats_are_refused(run, description_file, tmp_path, name):
    refused = run('export', description_file(), '--out', tmp_path / name)
    assert refused.status == 2
    assert name in refused.error
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize('name', ['export-urdf', 'export-mjcf'])
def test_gone_command_suggests_its_successor(run, name):
    done = run(name, 'dynamics.yaml', '--out', 'x')
    assert done.status == 2
    assert 'did you mean export?' in done.err


def test_link_without_positive_density_is_named(run, description_file, tmp_path):
    done = run('export', description_file(XX=-1.0), '--out', tmp_path / 'arm.urdf')
    assert done.status == 3
    assert 'elbow_joint' in done.error
    assert (tmp_path / 'arm.urdf').exists()


@pytest.mark.parametrize('wrong', [{'XX': -1.0}, {'M': -1.0}])
def test_mjcf_needs_bodies(run, description_file, tmp_path, wrong):
    refused = run('export', description_file(**wrong), '--out', tmp_path / 'none.xml')
    assert refused.status == 2
    assert 'elbow_joint' in refused.error
    assert not (tmp_path / 'none.xml').exists()
