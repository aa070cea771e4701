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

"""Identify a robot from one recording of its motion and predict the torque of another.

The recordings come from the simulated UR5e, once through CSV files; yours are rosbag2 folders or CSV files:
docs/reference/recordings.md.
"""

import numpy as np

from joint_dynamics import IdentificationSettings, Recording, RobotModel, identify
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, record, ur5e_urdf


def random_motion(seed: int, seconds: float = 20.0) -> TrajectoryPoints:
    """Return a Fourier series for six joints, up to about 1 rad/s, at 100 points per second."""
    time = np.arange(0.0, seconds, 0.01)
    omega = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None]
    a, b = np.random.default_rng(seed).normal(scale=0.3, size=(2, 5, 6))
    sine, cosine = np.sin(omega * time).T, np.cos(omega * time).T
    q = sine @ (a / omega) - (cosine - 1) @ (b / omega)
    return TrajectoryPoints(time, q, cosine @ a + sine @ b, cosine @ (b * omega) - sine @ (a * omega))


robot = FlexibleJointRobot(seed=1)
for name, seed in (('run1', 1), ('run2', 2)):
    # current times the drive's gain, as drivers publish it in `effort`; every 5th sample of 1 kHz
    record(robot, random_motion(seed), torque=True, every=5).save_csv(f'{name}.csv')

model = RobotModel.load(ur5e_urdf())
training, validation = (Recording.load(f'{name}.csv', joint_names=model.joint_names) for name in ('run1', 'run2'))
result = identify(model, [training], [validation], IdentificationSettings(selection=False))
print(result)

predicted = result.predict(validation)
error = np.sqrt(np.mean((validation.torque() - predicted) ** 2, axis=0))
for joint, rmse in zip(model.joint_names, error, strict=True):
    print(f'{joint:22s} rms of measured minus predicted torque {rmse:6.3f} N·m')
result.description.save('dynamics.yaml')
