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

"""Plan a motion that excites a robot for identification and keeps every limit, and write it as a trajectory.

A few seconds of search; for a robot of your own let it search on (docs/reference/commands/excite.md).
"""

from pathlib import Path

from joint_dynamics import ExcitationSettings, LimitSettings, RobotModel, optimise
from joint_dynamics.excitation import to_csv
from joint_dynamics.simulation import ur5e_urdf

model = RobotModel.load(ur5e_urdf())
settings = ExcitationSettings(
    period=8.0,
    harmonics=3,
    starts=1,
    candidates=1,
    processes=1,
    seed=1,
    limits=LimitSettings(safety_factor=0.8, floor=0.0),
)
result = optimise(model, settings)

print(
    f'condition number {result.condition_number:.1f}, of the random motion it began with'
    f' {result.before.condition_number:.1f}'
)
for limit, margin in result.margins.items():
    print(f'{limit:14s} {margin}')
samples = result.trajectory.sample(500.0)
print(f'{samples.time[-1]:.1f} s, {len(samples.time)} samples of {model.n} joints')
Path('trajectory.csv').write_text(to_csv(samples), encoding='utf-8')
