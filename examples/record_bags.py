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

"""Move a simulated UR5e twice and write the messages of a driver: robot.urdf, rosbag2 folders run1 and run2."""

from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, record, ur5e_description

store = get_typestore(Stores.ROS2_JAZZY)
kind = 'sensor_msgs/msg/JointState'
types = {name.rpartition('/')[2]: cls for name, cls in store.types.items()}


def random_motion(seed: int, seconds: float = 20.0) -> TrajectoryPoints:
    """Return a Fourier series for six joints, at rest at both ends, at 100 points per second."""
    time = np.arange(0.0, seconds, 0.01)
    omega = 2 * np.pi * 0.05 * np.arange(1, 11)[:, None]
    a, b = np.random.default_rng(seed).normal(scale=0.2, size=(2, 10, 6))
    a[-1] -= a.sum(axis=0)  # the fastest wave brings speed and acceleration to zero at both ends
    b[-1] -= (b * omega).sum(axis=0) / omega[-1]
    sine, cosine = np.sin(omega * time).T, np.cos(omega * time).T
    q = sine @ (a / omega) - (cosine - 1) @ (b / omega)
    return TrajectoryPoints(time, q, cosine @ a + sine @ b, cosine @ (b * omega) - sine @ (a * omega))


Path('robot.urdf').write_text(ur5e_description(), encoding='utf-8')
robot = FlexibleJointRobot(seed=1)
for bag, seed in (('run1', 1), ('run2', 2)):
    run = record(robot, random_motion(seed), torque=True, every=5)
    assert run.dq is not None and run.tau is not None
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        topic = writer.add_connection('/joint_states', kind, typestore=store)
        for time, *row in zip(run.time, run.q, run.dq, run.tau, strict=True):
            stamp = round(1e9 * time)
            header = types['Header'](types['Time'](*divmod(stamp, 10**9)), '')
            data = store.serialize_cdr(types['JointState'](header, list(run.joint_names), *row), kind)
            writer.write(topic, stamp, data)
    print(f'{bag}: {run.samples} messages, {run.duration:.0f} s, {run.rate:.0f} Hz')
