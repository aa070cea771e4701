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

"""The parameters of the feedforward node, those of the laws, and its topics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.control import FillSettings, Law, create, load
from joint_dynamics.control.laws import SHIPPED
from joint_dynamics.control.trajectory import LIMITS_PER_SECOND
from joint_dynamics.nodes.framework.heartbeat import BEAT_ROW, listening_row
from joint_dynamics.nodes.framework.tables import ParameterRow, publishes, row_of, subscribes
from joint_dynamics.nodes.interfaces.input_parameters import INPUT_PARAMETERS, INPUT_TOPICS
from joint_dynamics.nodes.interfaces.trajectory_controller import ACTION_ROW, OUTPUT_ROW
from joint_dynamics.settings import Parameter, ParameterValues

OWN_DEFAULT = 'default'
"""Value of a parameter whose default differs from law to law: that of the law."""
CONTROLLER = 'a torque per cycle is commanded by the C++ controller (docs/how-to/controller_plugin.md)'
GONE = dict.fromkeys(
    (
        'mode', 'reference', 'safe_command', 'ramp_time', 'on_shutdown', 'hold_time', 'tracking_tolerance',
        'velocity_margin', 'position_margin', 'jump_margin', 'kp', 'kd', 'ki', 'integral_limit', 'feedback_side',
        'torque_gain', 'torque_source', 'torque_limit',
    ),
    f'this node fills whole trajectories only, without this parameter; {CONTROLLER}',
)  # fmt: skip
"""Parameters of 0.2 that are gone since 0.3.0, and what to use."""


def _law_rows() -> tuple[Parameter, ...]:
    rows: dict[str, Parameter] = {}
    for law in SHIPPED:
        for parameter in law.PARAMETERS:
            known = rows.setdefault(parameter.name, parameter)
            if known.default != parameter.default:
                choices = (OWN_DEFAULT, *parameter.choices)
                rows[parameter.name] = replace(known, default=OWN_DEFAULT, choices=choices)
    return tuple(rows.values())


FILL_ROWS = (
    ParameterRow.of(FillSettings, 'effort_limit', upper=1e5, per_joint=True, infinite=False),
    ParameterRow.of(FillSettings, 'effort_rate', upper=1e7, per_joint=True, infinite=False),
    ParameterRow.of(FillSettings, 'plan_period'),
    ParameterRow.of(FillSettings, 'effort_tolerance'),
    ParameterRow.of(FillSettings, 'max_spacing'),
    ParameterRow.of(FillSettings, 'trajectory_side'),
    ParameterRow.of(FillSettings, 'speed_gain', default=0.0, per_joint=True),
)
LAW_ROWS = _law_rows()
"""Parameters of the shipped laws."""

PARAMETERS = (
    ParameterRow('law', 'computed_torque', 'name of an installed law (entry-point group `joint_dynamics.controllers`)'),
    ParameterRow('use_description', True, 'use a dynamics description; false: the URDF alone', applies='start'),
    ParameterRow(
        'interpolation',
        'smooth',
        'between the points of a trajectory: smooth, four times differentiable; as_given, as a joint trajectory '
        'controller does',
        choices=('smooth', 'as_given'),
    ),
    ParameterRow('start_tolerance', 0.1, 'largest distance of the start of a trajectory from the robot', 'rad', 0, 10),
    ParameterRow(
        'command_joints', [], 'joints of `~/joint_trajectory` in the order of the controller; empty: all of the robot'
    ),
    ParameterRow('payload_mass', 0.0, 'mass at the last link that the model lacks', 'kg', 0, 1000),
    ParameterRow(
        'payload_center',
        [0.0, 0.0, 0.0],
        'its centre in the frame of the last joint',
        'm',
        element=float,
        check=lambda value: None if len(value) == 3 else '3 numbers',
    ),
    *FILL_ROWS,
    replace(OUTPUT_ROW, name='trajectory_output'),
    ParameterRow('timeout', 0.05, 'largest age of the joint states that a trajectory is planned from', 's', 0.001, 5),
    ParameterRow(
        'slow_timeout', 30.0, 'largest age of temperatures and of the parameters of the estimator', 's', 0.1, 3600
    ),
    ParameterRow(
        'check_compensation',
        True,
        'whether activating is refused when the friction compensation would make a joint run away',
        applies='at once',
    ),
    *(row_of(row) for row in LAW_ROWS),
    *INPUT_PARAMETERS,
)

TOPICS = (
    subscribes('~/reference', 'trajectory_msgs/JointTrajectory', 'the desired motion'),
    subscribes(
        'controller_state',
        'control_msgs/JointTrajectoryControllerState',
        'whether the controller executes its trajectory; needs control_msgs',
    ),
    subscribes(
        'friction_parameters',
        'std_msgs/Float64MultiArray',
        'α of the estimator (remap to its `~/friction_parameters`): '
        "rows of joints in the robot's order, columns α1 and α2 in N·m·s/rad",
    ),
    publishes(
        '~/joint_trajectory',
        'trajectory_msgs/JointTrajectory',
        'the motion with velocities, accelerations and effort, for a joint trajectory controller with an effort'
        ' interface',
    ),
    ACTION_ROW,
    *INPUT_TOPICS,
    listening_row('excitation', 'if it is lost while it plays, the trajectory is braked on its path'),
    BEAT_ROW,
)


def foreign_rows(law: str) -> list[ParameterRow]:
    """Return the parameters of a law that is not shipped as `<law>_<parameter>`, so that they clash with no other."""
    kind = load(law)
    return [] if kind in SHIPPED else [row_of(row.replaced(name=f'{law}_{row.name}')) for row in kind.PARAMETERS]


def law_of(values: ParameterValues, arm: Arm) -> Law:
    """Return the law that the parameters name, for `arm` with the payload that they state."""
    if values['payload_mass'] > 0:
        arm = arm.with_payload(values['payload_mass'], values['payload_center'])
    name = values['law']
    kind = load(name)
    prefix = '' if kind in SHIPPED else f'{name}_'
    own: dict[str, Any] = {}
    for row in kind.PARAMETERS:
        key = prefix + row.name
        value = values.per_joint(key, arm.joint_names) if row.per_joint else values[key]
        if not (row.choices and value == OWN_DEFAULT):
            own[row.name] = value
    return create(name, arm, **own)


def fill_settings(values: ParameterValues, arm: Arm) -> FillSettings:
    """Return the settings of filled trajectories; a limit of 0 is that of the URDF, a rate of 0 the default."""
    limit, rate = (np.array(values.per_joint(name, arm.joint_names)) for name in ('effort_limit', 'effort_rate'))
    limit = np.where(limit > 0, limit, np.inf)
    rate = np.where(rate > 0, rate, LIMITS_PER_SECOND * np.minimum(limit, arm.effort_limit))
    return FillSettings(
        effort_limit=tuple(limit),
        effort_rate=tuple(rate),
        speed_gain=tuple(values.per_joint('speed_gain', arm.joint_names)),
        **{row.name: values[row.name] for row in FILL_ROWS if not row.per_joint},
    )
