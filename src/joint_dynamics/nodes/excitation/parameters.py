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

"""Parameters and topics of the excitation node."""

from __future__ import annotations

from joint_dynamics.excitation.plan import NAMES
from joint_dynamics.nodes.framework.heartbeat import BEAT_ROW, listening_row
from joint_dynamics.nodes.framework.tables import ParameterRow, at_once, publishes, service, subscribes
from joint_dynamics.nodes.interfaces.trajectory_controller import ACTION_ROW, OUTPUT_ROW

PARAMETERS = (
    ParameterRow(
        'trajectory_file',
        '',
        '`summary.json` of `joint-dynamics excite`, or a JointTrajectory (`trajectory.yaml`); empty: `~/plan` plans '
        'one by `profile`',
    ),
    ParameterRow(
        'config_file',
        '',
        'YAML whose section `excitation` has limits, posture and the settings of the profile'
        ' (docs/reference/commands/excite.md)',
    ),
    ParameterRow('profile', 'fourier', 'kind of motion that is planned without a trajectory_file', choices=NAMES),
    ParameterRow('joint', '', 'the joint of a profile that moves one'),
    ParameterRow(
        'repeats',
        1,
        'how often the motion is played; of a Fourier series the period, between one pair of ramps',
        '',
        1,
        1000,
    ),
    ParameterRow(
        'rate', 100.0, 'points of the trajectory sent per second; a long one has 20,000 in all', 'Hz', 10, 1000
    ),
    ParameterRow(
        'approach_speed', 0.2, 'share of the allowed speed and acceleration on the way to the start', '', 0.01, 1
    ),
    at_once(
        'state_timeout',
        0.25,
        'age of joint states, by stamp or arrival, above which a start is refused and a motion stops',
        's',
        0.01,
        5,
    ),
    at_once(
        'standstill', 0.02, 'speed above which the robot does not rest, and `~/start` is refused', 'rad/s', 0.0001, 1
    ),
    at_once(
        'tracking_error',
        0.25,
        'distance of a joint from the motion at which the robot is stopped where it is',
        'rad',
        0.001,
        3,
    ),
    OUTPUT_ROW,
)
TOPICS = (
    listening_row('feedforward', 'if it is lost at work, a motion is braked on its path'),
    BEAT_ROW,
    subscribes(
        'joint_states',
        'sensor_msgs/JointState',
        'position of the robot: position rad, velocity rad/s; any order, by name, also in several messages',
    ),
    subscribes(
        'controller_state',
        'control_msgs/JointTrajectoryControllerState',
        'position of the trajectory controller in the motion; optional, needs control_msgs; remap it to '
        '`<controller>/controller_state`',
    ),
    publishes(
        '~/joint_trajectory',
        'trajectory_msgs/JointTrajectory',
        'the whole motion, approach included, with times from its '
        'start; remap it to the topic of the trajectory controller',
    ),
    ACTION_ROW,
    publishes(
        '~/status',
        'std_msgs/String',
        'no motion yet; planning; ready (condition number within `condition_limit`; `improving`: the search goes on); '
        'not ready (the search ended above it); starting; playing (with its duration); done; stopped, failed (with the '
        'reason); latched',
    ),
    service(
        '~/plan', 'without `trajectory_file`: plan a motion by `profile`, or another one; answers when it has begun'
    ),
    service(
        '~/start',
        'move to the start and play the motion, or the best so far of a running search; answers when the controller '
        'has accepted it (action) or it was sent (topic)',
    ),
    service('~/stop', 'come to rest at once, on the path of the motion', ends=True),
)
