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

"""Parameters and topics of the estimator node."""

from __future__ import annotations

from typing import Any

from joint_dynamics.estimation import QUANTITIES, EstimationSettings, HealthThresholds
from joint_dynamics.nodes.framework.tables import ParameterRow, at_once, publishes, service
from joint_dynamics.nodes.interfaces.input_parameters import INPUT_PARAMETERS, INPUT_TOPICS
from joint_dynamics.settings import declarations

_NO_TEMPERATURE = -273.15
# Parameters that are fields of EstimationSettings by the same name; `tuple` fields are lists here.
CONFIGURED = ('window', 'taper', 'friction', 'stiffness_order', 'stiffness_scale', 'payload')
"""Those that take effect when the node is configured next."""
TUNING = tuple(
    ParameterRow.of(EstimationSettings, name, applies='configure' if name in CONFIGURED else 'at once')
    for name in declarations(EstimationSettings)
    if name != 'temperature'
)

PARAMETERS = (
    ParameterRow('sample_rate', 0.0, 'samples per second of the inputs; 0: from their stamps', 'Hz', 0, 10000),
    ParameterRow(
        'max_gap',
        0.1,
        'longest stretch without samples that is bridged; after a longer one the filters restart',
        's',
        0.002,
        10,
    ),
    at_once('learn', True, 'adapt parameters; false: estimate torques with the present ones'),
    *TUNING,
    ParameterRow.of(
        EstimationSettings, 'temperature', name='default_temperature', default=_NO_TEMPERATURE, applies='at once'
    ),
    at_once('torque_rate', 100.0, 'how often torques are published, at most; 0: with every sample', 'Hz', 0, 10000),
    ParameterRow('parameter_rate', 5.0, 'how often parameters are published', 'Hz', 0.1, 100),
    ParameterRow(
        'save_period',
        60.0,
        'how often the adapted dynamics description is published and written, when something was learnt; 0: only on'
        ' `~/save` and at the end',
        's',
        0,
        86400,
    ),
    ParameterRow(
        'output_folder',
        '',
        'folder of dynamics.yaml; empty: `joint_dynamics` and the name of the node, in `$ROS_HOME` or `~/.ros`',
        applies='start',
    ),
    ParameterRow('resume', True, 'continue from that file, if it is an adapted copy of the same dynamics description'),
    ParameterRow(
        'working_range', 1e-3, 'deformation up to which the stiffness is compared with its reference', 'rad', 1e-6, 1
    ),
    ParameterRow.of(HealthThresholds, 'stiffness', name='stiffness_change'),
    ParameterRow.of(HealthThresholds, 'friction', name='friction_change'),
    *INPUT_PARAMETERS,
)

_TABLE = "rows of joints in the robot's order"
TOPICS = (
    *INPUT_TOPICS,
    publishes(
        '~/joint_torques',
        'sensor_msgs/JointState',
        'effort: transmission torque in N·m, fused; position and velocity: smoothed; all stamped '
        'with the time they belong to, `window`/2 and some ms ago',
    ),
    publishes(
        '~/external_torques',
        'sensor_msgs/JointState',
        'effort: torque of the links on their surroundings, N·m; a push in the direction of q is negative',
    ),
    publishes('~/friction_torques', 'sensor_msgs/JointState', 'effort: friction torque on the motor coordinate, N·m'),
    publishes('~/friction_parameters', 'std_msgs/Float64MultiArray', f'{_TABLE}, columns α1 and α2 in N·m·s/rad'),
    publishes('~/friction_covariance', 'std_msgs/Float64MultiArray', 'their covariance, joints × 2 × 2'),
    publishes(
        '~/stiffness_parameters',
        'std_msgs/Float64MultiArray',
        f'{_TABLE}, columns the coefficients of φ, φ³, … in N·m/rad, N·m/rad³, …',
    ),
    publishes('~/stiffness_covariance', 'std_msgs/Float64MultiArray', 'their covariance, joints × order × order'),
    *(
        publishes(
            f'~/estimates/{name}', 'sensor_msgs/JointState', f'position: {meaning} [{unit}]; effort: standard deviation'
        )
        for name, (unit, meaning) in QUANTITIES.items()
    ),
    publishes(
        '~/payload',
        'geometry_msgs/InertiaStamped',
        'mass in kg and centre of mass in m, in the frame of the last joint, its name as frame_id (with `payload`, '
        'or after a load was picked up; once it is known)',
    ),
    publishes('~/dynamics_description', 'std_msgs/String', 'the adapted dynamics description (YAML), latched'),
    service('~/reset', 'discard all estimates and restart from the dynamics description'),
    service('~/save', 'write the adapted dynamics description now; the answer is the path'),
)

TUNED = {*(row.name for row in TUNING), 'default_temperature'}
"""Parameters that make up the settings of the estimation."""


def settings_of(values: Any) -> EstimationSettings:
    """Return the settings that the parameters state; raises JointDynamicsError where they contradict each other."""
    fields: dict[str, Any] = {row.name: values[row.name] for row in TUNING}
    warm = values['default_temperature']
    return EstimationSettings(**fields, temperature=None if warm == _NO_TEMPERATURE else warm)
