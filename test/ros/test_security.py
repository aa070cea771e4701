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

"""Nodes that need SROS2 and cannot have it end; none runs unprotected."""

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


def enforced(keystore):
    return {'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce', 'ROS_SECURITY_KEYSTORE': str(keystore)}


def ended(keystore):
    """Start a node that cannot run; return its status and its output."""
    arguments = ['--ros-args', '--enclave', '/gazebo_model']
    command = [sys.executable, '-m', 'joint_dynamics.nodes.gazebo_model.node', *arguments]
    done = subprocess.run(
        command, env={**os.environ, **enforced(keystore)}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.usefixtures('ros_domain')
def test_without_an_enclave_a_node_ends_with_one_line(tmp_path):
    status, said = ended(tmp_path)
    assert status == 2
    assert said.startswith('gazebo_model: start: expected ROS 2 to take the node, found: ')
    assert str(tmp_path / 'enclaves') in said
    assert said.count('\n') == 1
