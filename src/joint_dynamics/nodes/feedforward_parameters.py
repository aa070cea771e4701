"""What the feedforward node takes and gives: its parameters, those of the laws, and its topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.control import (
    AdaptiveFriction,
    ComputedTorque,
    Controller,
    ControllerParameter,
    ControlLoop,
    FlexibleJoint,
    JointTorqueFeedback,
    LoopSettings,
    load,
)
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.heartbeat import BEAT_ROW, listening_row
from joint_dynamics.nodes.input_parameters import INPUT_PARAMETERS, INPUT_TOPICS
from joint_dynamics.nodes.parameters import ParameterRow
from joint_dynamics.nodes.topics import TopicRow
from joint_dynamics.nodes.trajectory_output import ACTION_ROW, OUTPUT_ROW
from joint_dynamics.robot import RobotModel

SHIPPED: tuple[type[Controller], ...] = (ComputedTorque, AdaptiveFriction, FlexibleJoint, JointTorqueFeedback)
#: A parameter whose default differs from law to law has this one, which stands for the law's own.
OWN_DEFAULT = 'default'


class Values(Protocol):
    """Parameters of the node by name: `NodeParameters`, or what else has them."""

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter."""

    def per_joint(self, name: str, joint_names: Sequence[str] | None = None) -> list[Any]:
        """Return the values of a parameter per joint."""


def row_of(parameter: ControllerParameter, prefix: str = '') -> ParameterRow:
    """Return the ROS parameter of a controller's parameter."""
    return ParameterRow(**{**vars(parameter), 'name': prefix + parameter.name})


def _shipped_rows() -> tuple[ParameterRow, ...]:
    rows: dict[str, ParameterRow] = {}
    for law in SHIPPED:
        for parameter in law.PARAMETERS:
            row = row_of(parameter)
            known = rows.setdefault(row.name, row)
            if known.default != row.default:
                rows[row.name] = replace(known, default=OWN_DEFAULT, choices=(OWN_DEFAULT, *row.choices))
    return tuple(rows.values())


LAW_PARAMETERS = _shipped_rows()


def foreign_rows(law: str, kind: type[Controller]) -> list[ParameterRow]:
    """Return the rows of a law that is not shipped: `<law>_<parameter>`, so that they meet no other parameter."""
    return [] if kind in SHIPPED else [row_of(parameter, f'{law}_') for parameter in kind.PARAMETERS]


def law_values(parameters: Values, law: str, kind: type[Controller], joint_names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of a law by their own names; those left at `default` are left out."""
    prefix = '' if kind in SHIPPED else f'{law}_'
    values = {}
    for row in kind.PARAMETERS:
        name = prefix + row.name
        value = parameters.per_joint(name, tuple(joint_names)) if row.per_joint else parameters[name]
        if not (row.choices and value == OWN_DEFAULT):
            values[row.name] = value
    return values


def loop_settings(values: Values, arm: Arm, gravity: bool) -> LoopSettings:
    """Return what the loop and its gate allow; gravity: whether the command holds it."""
    limit, rate = (np.array(values.per_joint(name, arm.joint_names)) for name in ('effort_limit', 'effort_rate'))
    limit = np.where(limit > 0, limit, arm.effort_limit)
    return LoopSettings(
        effort_limit=tuple(limit),
        effort_rate=tuple(np.where(rate > 0, rate, 50.0 * np.minimum(limit, arm.effort_limit))),
        ramp_time=values['ramp_time'],
        safe=values['safe_command'],
        timeout=values['timeout'],
        slow_timeout=values['slow_timeout'],
        tracking=values['tracking_tolerance'],
        velocity_margin=values['velocity_margin'],
        position_margin=values['position_margin'],
        jump_margin=values['jump_margin'],
        holds_gravity=gravity,
    )


def build_loop(values: Values, robot: RobotModel, description: DynamicsDescription | None) -> ControlLoop:
    """Return the loop around the law that the parameters name, on the arm as described, or as the URDF alone has it.

    values: by the names of the node's parameters. Raises JointDynamicsError when one part does not fit the other.
    """
    arm = Arm(robot) if description is None else Arm.from_description(robot, description)
    if values['payload_mass'] > 0:
        arm = arm.with_payload(values['payload_mass'], values['payload_center'])
    law = values['law']
    kind = load(law)
    chosen = law_values(values, law, kind, arm.joint_names)
    if values['mode'] != 'streaming' and not kind.OPEN_LOOP:
        raise JointDynamicsError(f'mode: expected streaming for the law {law}, which has to measure, found trajectory')
    return ControlLoop(kind(), arm, loop_settings(values, arm, bool(chosen.get('gravity', True))), chosen)


PARAMETERS = (
    ParameterRow(
        'mode',
        'trajectory',
        'trajectory: fill the effort into whole trajectories; streaming: a command with every joint state',
        choices=('trajectory', 'streaming'),
    ),
    ParameterRow(
        'law', 'computed_torque', 'name of an installed controller (entry-point group `joint_dynamics.controllers`)'
    ),
    ParameterRow(
        'use_description',
        True,
        'whether the dynamics description is needed; else the URDF alone has to do',
        applies='start',
    ),
    ParameterRow(
        'reference',
        'trajectory',
        'streaming follows: trajectory, the topic `~/reference`; controller_state, the reference in the '
        'state of a joint trajectory controller',
        choices=('trajectory', 'controller_state'),
    ),
    ParameterRow(
        'interpolation',
        'smooth',
        'between the points of a trajectory: smooth, four times differentiable; as_given, what a joint '
        'trajectory controller makes of them',
        choices=('smooth', 'as_given'),
    ),
    ParameterRow('start_tolerance', 0.1, 'a trajectory starts at most so far from where the robot is', 'rad', 0, 10),
    ParameterRow(
        'command_joints',
        [],
        'joint order of `~/commands`, as the controller that takes them has it; empty: that of the robot',
    ),
    ParameterRow('payload_mass', 0.0, 'mass at the last link that the model does not have yet', 'kg', 0, 1000),
    ParameterRow(
        'payload_center',
        [0.0, 0.0, 0.0],
        'its centre in the frame of the last joint',
        'm',
        element=float,
        check=lambda value: None if len(value) == 3 else '3 numbers',
    ),
    ParameterRow(
        'trajectory_side',
        'link',
        'trajectory mode: motor, positions of the motors for a controller that closes its loop there (law '
        '`flexible_joint`); link, those of the link',
        choices=('link', 'motor'),
    ),
    ParameterRow(
        'speed_gain',
        0.0,
        "trajectory mode with `flexible_joint`: derivative gain of the robot's controller where its position is the "
        "link's and its speed the motor's (A·s/rad for a current); 0: it is not so",
        'N·m·s/rad',
        0,
        1e5,
        per_joint=True,
    ),
    ParameterRow('plan_period', 0.002, 'trajectory mode: time between two evaluations of the law', 's', 0.0002, 0.05),
    ParameterRow(
        'effort_tolerance',
        0.002,
        'trajectory mode: largest error of the linear interpolation, as a share of the torque limit',
        '',
        1e-5,
        0.1,
    ),
    ParameterRow('max_spacing', 0.05, 'trajectory mode: largest time between two points', 's', 0.001, 1),
    replace(OUTPUT_ROW, name='trajectory_output', description=f'trajectory mode: {OUTPUT_ROW.description}'),
    ParameterRow.of(LoopSettings, 'effort_limit', upper=1e5, per_joint=True, infinite=False),
    ParameterRow.of(LoopSettings, 'effort_rate', upper=1e7, per_joint=True, infinite=False),
    ParameterRow.of(LoopSettings, 'ramp_time'),
    ParameterRow.of(LoopSettings, 'safe', name='safe_command'),
    ParameterRow(
        'on_shutdown',
        'hold_gravity',
        'streaming, what is commanded last when the node ends (shutdown, SIGTERM, SIGINT): '
        'hold_gravity, the safe command, for `hold_time`; zero',
        choices=('hold_gravity', 'zero'),
    ),
    ParameterRow(
        'hold_time',
        1.0,
        'how long the safe command is sent when the node ends, after the ramp to it; a launch file of your own '
        'has to give the node that time (launch: 5 s)',
        's',
        0,
        3,
    ),
    ParameterRow.of(LoopSettings, 'timeout'),
    ParameterRow.of(LoopSettings, 'slow_timeout', default=30.0),
    ParameterRow.of(
        LoopSettings,
        'tracking',
        name='tracking_tolerance',
        description='streaming: largest distance of the link from the desired position',
    ),
    ParameterRow.of(LoopSettings, 'velocity_margin'),
    ParameterRow.of(LoopSettings, 'position_margin'),
    ParameterRow.of(LoopSettings, 'jump_margin'),
    ParameterRow(
        'check_compensation',
        True,
        'whether activating is refused when the friction compensation would make a joint run away',
        applies='at once',
    ),
    *LAW_PARAMETERS,
    *INPUT_PARAMETERS,
)

TOPICS = (
    TopicRow(
        '~/reference',
        'trajectory_msgs/JointTrajectory',
        'subscribes',
        'the desired motion; in streaming mode one point at time 0 is '
        'a set point (position, velocity and acceleration needed)',
    ),
    TopicRow(
        'controller_state',
        'control_msgs/JointTrajectoryControllerState',
        'subscribes',
        'where control_msgs is installed: streaming with `reference` controller_state, what is followed;'
        ' trajectory mode, whether the controller takes what it is sent',
    ),
    TopicRow(
        'friction_parameters',
        'std_msgs/Float64MultiArray',
        'subscribes',
        'α of the estimator (remap to its `~/friction_parameters`): '
        "rows of joints in the robot's order, columns α1 and α2 in N·m·s/rad",
    ),
    TopicRow(
        'joint_torques',
        'sensor_msgs/JointState',
        'subscribes',
        'effort: transmission torque in N·m (remap to `~/joint_torques` of the '
        'estimator), for laws that claim the state `torque`',
    ),
    TopicRow(
        '~/joint_trajectory',
        'trajectory_msgs/JointTrajectory',
        'publishes',
        'trajectory mode: the motion with velocities, accelerations '
        'and effort, for a joint trajectory controller with an effort interface',
    ),
    ACTION_ROW,
    TopicRow(
        '~/commands',
        'std_msgs/Float64MultiArray',
        'publishes',
        'streaming mode: torque in N·m or current in A, in the order of `command_joints`',
    ),
    TopicRow(
        '~/joint_commands',
        'sensor_msgs/JointState',
        'publishes',
        'streaming mode, while somebody listens: the same by joint name, as effort, with a stamp (to plot)',
    ),
    *INPUT_TOPICS,
    listening_row(
        'excitation',
        'lost while it plays, a trajectory that is being followed is braked on its path; in '
        'trajectory mode the braking is sent to the controller',
    ),
    BEAT_ROW,
)
