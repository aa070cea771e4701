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

"""`joint-dynamics calibrate`: look at a robot, plan two motions, play and record them, identify, hand over.

The steps use the nodes' services and the commands of this package, each of which can be run again by hand from the
files in the calibration's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STEPS = ('look', 'plan', 'move', 'identify', 'hand over')
"""In this order; a step that is done is not repeated by `--resume`."""


@dataclass(frozen=True)
class CalibrationSettings:
    """Options of one calibration.

    Attributes
    ----------
    robot_file
        URDF; '' : the topic `robot_description`.
    preset
        name of a parameter file in `config/` for nodes that this command starts.
    namespace
        of the robot and of all nodes.
    controller
        trajectory controller that moves the robot, for nodes that this command starts.
    wait
        s in which nodes that run already may answer.
    config
        YAML with further settings (`excitation`, `identification`, …); '' : none.
    effort
        meaning of `effort` in `joint_states`; '' : as the preset or the running nodes state it.
    tests
        (test, joint) pairs of joint tests to play as well.
    use_sim_time
        whether the nodes take the time from `/clock`.
    """

    robot_file: str = ''
    preset: str = ''
    namespace: str = ''
    controller: str = 'joint_trajectory_controller'
    wait: float = 3.0
    config: str = ''
    effort: str = ''
    tests: Sequence[tuple[str, str]] = ()
    use_sim_time: bool = False
