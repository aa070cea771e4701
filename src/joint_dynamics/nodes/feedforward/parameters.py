"""What the feedforward node takes and gives: its parameters, those of the laws, and its topics."""

from __future__ import annotations

from dataclasses import replace

from joint_dynamics.control.loop_parameters import CHECK_COMPENSATION, GATE_PARAMETERS, LAW_PARAMETERS, LOOP_PARAMETERS
from joint_dynamics.nodes.framework.heartbeat import BEAT_ROW, listening_row
from joint_dynamics.nodes.framework.tables import ParameterRow, publishes, row_of, subscribes
from joint_dynamics.nodes.interfaces.input_parameters import INPUT_PARAMETERS, INPUT_TOPICS
from joint_dynamics.nodes.interfaces.trajectory_controller import ACTION_ROW, OUTPUT_ROW

#: Of the table that the controller plugin shares, by name.
_SHARED = {row.name: row_of(row) for row in LOOP_PARAMETERS}


PARAMETERS = (
    ParameterRow(
        'mode',
        'trajectory',
        'trajectory: fill the effort into whole trajectories; streaming: a command with every joint state',
        choices=('trajectory', 'streaming'),
    ),
    _SHARED['law'],
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
    _SHARED['payload_mass'],
    _SHARED['payload_center'],
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
    *(_SHARED[row.name] for row in GATE_PARAMETERS[:4]),
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
    *(_SHARED[row.name] for row in GATE_PARAMETERS[4:]),
    row_of(CHECK_COMPENSATION, applies='at once'),
    *(_SHARED[row.name] for row in LAW_PARAMETERS),
    *INPUT_PARAMETERS,
)

TOPICS = (
    subscribes(
        '~/reference',
        'trajectory_msgs/JointTrajectory',
        'the desired motion; in streaming mode one point at time 0 is '
        'a set point (position, velocity and acceleration needed)',
    ),
    subscribes(
        'controller_state',
        'control_msgs/JointTrajectoryControllerState',
        'where control_msgs is installed: streaming with `reference` controller_state, what is followed;'
        ' trajectory mode, whether the controller takes what it is sent',
    ),
    subscribes(
        'friction_parameters',
        'std_msgs/Float64MultiArray',
        'α of the estimator (remap to its `~/friction_parameters`): '
        "rows of joints in the robot's order, columns α1 and α2 in N·m·s/rad",
    ),
    subscribes(
        'joint_torques',
        'sensor_msgs/JointState',
        'effort: transmission torque in N·m (remap to `~/joint_torques` of the '
        'estimator), for laws that claim the state `torque`',
    ),
    publishes(
        '~/joint_trajectory',
        'trajectory_msgs/JointTrajectory',
        'trajectory mode: the motion with velocities, accelerations '
        'and effort, for a joint trajectory controller with an effort interface',
    ),
    ACTION_ROW,
    publishes(
        '~/commands',
        'std_msgs/Float64MultiArray',
        'streaming mode: torque in N·m or current in A, in the order of `command_joints`',
    ),
    publishes(
        '~/joint_commands',
        'sensor_msgs/JointState',
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
