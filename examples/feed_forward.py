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

"""Feed torque forward: identify a robot, let a law fill in `effort`, see the robot follow closer."""

import numpy as np

from joint_dynamics import Arm, IdentificationSettings, RobotModel, fill_effort, identify
from joint_dynamics.control import Path, create
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, play, record, ur5e_urdf

model = RobotModel.load(ur5e_urdf())
home = np.deg2rad([0.0, -90.0, 60.0, -60.0, -90.0, 0.0])


def motion(seed: int, points: int) -> Path:
    """Return a smooth motion from home through postures 1.2 s apart, each joint up to 40° away, and back."""
    away = np.random.default_rng(seed).uniform(-0.7, 0.7, size=(points, model.n))
    away[[0, -1]] = 0.0
    return Path(1.2 * np.arange(points), home + away)


def sampled(path: Path) -> TrajectoryPoints:
    """Return the motion at 100 points per second, as a robot's controller takes it."""
    time = np.arange(0.0, path.end, 0.01)
    q, dq, ddq = np.moveaxis(path.sample(time), 1, 0)[:3]
    return TrajectoryPoints(time, q, dq, ddq)


print('Simulates and identifies a UR5e; the first run compiles the plant for half a minute.', flush=True)
run = record(FlexibleJointRobot(seed=1), sampled(motion(seed=1, points=21)), torque=True, every=5)
result = identify(model, [run], settings=IdentificationSettings(selection=False))
arm = Arm.from_description(model, result.description)
filled = fill_effort(create('computed_torque', arm, friction='static'), motion(seed=2, points=6))
print(f'{result}\n{len(filled.time)} points, torque up to {np.abs(filled.effort).max():.1f} N·m')

errors = {}
for name, effort in (('feedback alone', None), ('with feedforward', filled.effort)):
    trajectory = TrajectoryPoints(filled.time, filled.q, filled.dq, filled.ddq, effort)
    samples = play(FlexibleJointRobot(seed=1), trajectory)
    away = samples.theta - trajectory.sample(samples.time - samples.time[0]).q
    errors[name] = np.sqrt(np.mean(away**2, axis=0))
    print(f'{name:17s} rms distance of the motors from the motion', np.round(1e3 * errors[name], 2), 'mrad')
