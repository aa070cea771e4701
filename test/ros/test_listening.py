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

"""A look at live topics: the doctor beside a robot that moves."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.simulation import ur5e_urdf

JOINTS = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint', 'wrist_2_joint', 'wrist_3_joint')
# in the simulator's time, and patient: on a busy machine both are slow
SLOWLY = ('--sim-time', '--wait', '100')
HOME = np.array((0.0, -1.2, 1.4, -1.7, -1.5, 0.3))


def doctor(ros, *arguments):
    """`joint-dynamics doctor --live` as a user starts it; (status, output)."""
    command = [sys.executable, '-m', 'joint_dynamics', 'doctor', '--live', '--robot', str(ur5e_urdf()), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ros.PATIENCE)
    return done.returncode, done.stdout + done.stderr


def wave(seconds):
    """A motion of all joints, speeds up to about 1 rad/s, that begins at rest at home."""
    rng = np.random.default_rng(4)
    k = 2 * np.pi / 8.0 * np.arange(1, 5)
    a, b = 0.3 * rng.normal(size=(2, 4, 6))
    message = JointTrajectory(joint_names=list(JOINTS))
    for t in np.arange(0.0, seconds, 0.04):
        ease = min(1.0, t / 4.0)
        shape = np.sin(k * t) @ (a / k[:, None]) + (1 - np.cos(k * t)) @ (b / k[:, None])
        message.points.append(
            JointTrajectoryPoint(
                positions=list(HOME + ease**2 * shape), time_from_start=Duration(sec=int(t), nanosec=round(t % 1 * 1e9))
            )
        )
    return message


@pytest.mark.slow
def test_a_unit_that_is_wrong_is_told_of_a_robot_that_moves(ros, tmp_path):
    simulator = ros.process('joint_dynamics.nodes.simulator.node', namespace='/arm', parameters={'autostart': 'true'})
    ros.until_state('/arm/simulator', 'active')

    def topics():
        return [name for name, kinds in ros.probe.get_topic_names_and_types() if 'JointTrajectory' in kinds[0]]

    # a node may be active before its topics are known over here
    ros.until(topics)
    commands = ros.probe.create_publisher(JointTrajectory, topics()[0], 10)
    ros.until(commands.get_subscription_count)
    commands.publish(wave(120.0))
    status, said = doctor(ros, '--namespace', '/arm', '--seconds', '8', *SLOWLY)
    # the simulator states amperes, as a UR does, and the doctor was told nothing: it takes them for newton metres
    assert status == 3, said
    assert 'wrong: ' in said
    assert 'current' in said
    config = tmp_path / 'config.yaml'
    config.write_text('recording: {joint_states: {topic: joint_states, effort: current}}\n')
    status, said = doctor(ros, '--namespace', '/arm', '--seconds', '3', '--config', str(config), *SLOWLY)
    assert 'rms, A' in said
    assert status in (0, 3)
    ros.stop(simulator)


@pytest.mark.slow
def test_a_topic_that_is_silent_is_named_with_what_is_there(ros):
    simulator = ros.process('joint_dynamics.nodes.simulator.node', namespace='/arm', parameters={'autostart': 'true'})
    ros.until_state('/arm/simulator', 'active')
    status, said = doctor(ros, '--wait', '20')
    assert status == 2
    assert 'expected messages on /joint_states' in said
    assert '/arm/joint_states' in said
    ros.stop(simulator)
    status, said = doctor(ros, '--namespace', '/nobody')
    assert status == 2
    assert 'ROS_DOMAIN_ID' in said
