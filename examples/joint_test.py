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

"""Identify the friction of one joint against speed from a test made for it: constant speeds, both directions.

The joint is the base joint of the simulated UR5e, whose axis is along gravity: nothing has to be subtracted.
"""

import numpy as np

from joint_dynamics import identify_joint
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, record

robot = FlexibleJointRobot(seed=1)
joint = robot.joint_names[0]
# 1.2 s of every speed, forth and back; 0.1 s from one to the next
speeds = np.ravel([(speed, -speed) for speed in np.geomspace(0.05, 2.0, 10)])
time = np.concatenate([[0.0], np.cumsum(np.tile([0.1, 1.2], speeds.size))])
dq = np.zeros((time.size, robot.n))
dq[1:, 0] = np.repeat(speeds, 2)
q = np.tile(np.deg2rad([0.0, -90.0, 0.0, -90.0, 0.0, 0.0]), (time.size, 1))
q[1:, 0] = np.cumsum(np.diff(time) * 0.5 * (dq[1:, 0] + dq[:-1, 0]))
run = record(robot, TrajectoryPoints(time, q, dq), torque=True)

result = identify_joint('friction', run, joint)
print(f'{joint}: model {result.quality["model"]}, reliable: {result.reliable}', *result.reasons)
for name, item in result.parameters.items():
    print(f'{name:8s} {item.value:10.4g} ± {item.std or np.nan:.2g} {item.unit}')
result.description.save('joint.yaml')
