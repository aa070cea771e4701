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

"""Parameters and topics of the simulator node, and the robot that the parameters describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.nodes.framework.entities import ROBOT_PARAMETERS
from joint_dynamics.nodes.framework.tables import NodeParameters, ParameterRow, at_once, publishes, service, subscribes
from joint_dynamics.nodes.interfaces.messages import trajectory_arrays
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import ParameterValues
from joint_dynamics.simulation import (
    CONTROLLERS,
    FlexibleJointRobot,
    ModelErrors,
    Payload,
    Sensors,
    TrajectoryPoints,
    ur5e_description,
)

UNITS = ('current', 'torque')


def _three(values: list[float]) -> str | None:
    return None if len(values) in (0, 3) else 'nothing or 3 numbers'


def _tensor(values: list[float]) -> str | None:
    return None if len(values) in (0, 6) else 'nothing or 6 numbers: xx xy xz yy yz zz'


ROBOT = tuple(row for row in ROBOT_PARAMETERS if row.name in ('joints', 'mounting'))
PARAMETERS = (
    ParameterRow('robot_file', '', 'URDF with inertials and torque limits; empty: a UR5e'),
    *ROBOT,
    ParameterRow('tf_prefix', '', 'put before the joint and link names of the UR5e; not applied to a robot_file'),
    ParameterRow('seed', 0, 'seed of drives, model errors and noise', '', 0, 2**31 - 1),
    ParameterRow('rate', 500.0, 'control ticks per second of simulated time', 'Hz', 400, 4000),
    ParameterRow('publish_every', 1, 'ticks per published sample', '', 1, 100),
    at_once('real_time_factor', 1.0, 'simulated seconds per second of wall time; 0: as fast as possible', '', 0, 1000),
    ParameterRow('batch', 0.01, 'longest simulated time between two reads of the inputs', 's', 0.001, 0.1),
    ParameterRow(
        'publish_clock',
        True,
        'publish /clock and stamp with simulated time from 1 s on; else stamps start at wall time. False by default '
        'in a namespace, because a graph may have one clock only',
    ),
    ParameterRow('clock_rate', 500.0, 'rate of /clock in simulated time, at most that of the samples', 'Hz', 1, 4000),
    ParameterRow(
        'follow_topics',
        [],
        'JointState outputs of other nodes, with the stamp of their sample: simulated time runs at most `max_lead` '
        'ahead of them',
    ),
    at_once('max_lead', 0.2, 'see `follow_topics`; must exceed the delay of their filters', 's', 0.002, 10),
    ParameterRow(
        'position', [], 'initial joint angles, rad; empty: a UR at its home posture, others at 0', element=float
    ),
    at_once('controller', CONTROLLERS[0], 'the active controller; others ignore commands', choices=CONTROLLERS),
    ParameterRow('trajectory_controller', 'joint_trajectory_controller', 'its name, for the topic of trajectories'),
    ParameterRow('effort_controller', 'forward_effort_controller', 'its name, for the topic of efforts'),
    ParameterRow('effort_joints', [], 'joint order of the effort controller; empty: that of the robot'),
    at_once('add_gravity', False, 'commanded efforts go on top of gravity, by the URDF, as on a UR'),
    ParameterRow('feedback', 'link', 'side of the position that the joint PID feeds back', choices=('link', 'motor')),
    ParameterRow(
        'effort',
        'current',
        'meaning of `effort` of joint_states: A, or N·m by the nominal gain of the drives',
        choices=UNITS,
    ),
    ParameterRow('motor_effort', 'current', 'meaning of `effort` of motor_states', choices=UNITS),
    ParameterRow(
        'motor_side',
        'reflected',
        'angles of motor_states: reflected to the joint side, or those of the motor shaft',
        choices=('reflected', 'shaft'),
    ),
    ParameterRow(
        'model_errors', 1.0, "factor of all effects that the models lack; 0: exactly the methods' model", '', 0, 3
    ),
    ParameterRow.of(
        ModelErrors,
        'inertia',
        name='inertia_error',
        description="relative spread of the true masses and inertias about the URDF's, times `model_errors`",
        upper=0.3,
    ),
    ParameterRow('ideal_sensors', False, 'no quantisation, no noise'),
    ParameterRow('temperature', 25.0, 'initial temperature of all parts', '°C', -20, 90),
    ParameterRow('ambient_temperature', 25.0, 'temperature of the surroundings', '°C', -20, 60),
    ParameterRow('heat_speed', 1.0, 'factor of the speed of heat flow', '', 0, 2000),
    ParameterRow('temperature_rate', 10.0, 'rate of the temperature topics, in simulated time', 'Hz', 0.1, 100),
    at_once('heating', 0.0, 'power that heats the gear from outside', 'W', -500, 500, per_joint=True),
    at_once(
        'wear', 0.0, 'level of wear: Coulomb friction up to +60 %, stiffness down to −25 %', '', 0, 1, per_joint=True
    ),
    at_once('wear_duration', 20.0, 'duration of wear from one level to the next, in simulated time', 's', 0, 1e5),
    at_once('external_torque', 0.0, 'torque on the link in the direction of q', 'N·m', -1000, 1000, per_joint=True),
    at_once('payload_mass', 0.0, 'mass of a body on the last link; 0: none', 'kg', 0, 100),
    at_once(
        'payload_com',
        [],
        'its centre of mass in the frame of the last joint; empty: at its origin',
        'm',
        -2,
        2,
        element=float,
        check=_three,
    ),
    at_once(
        'payload_inertia',
        [],
        'its inertia about that centre, xx xy xz yy yz zz; empty: a point mass',
        'kg·m²',
        -100,
        100,
        element=float,
        check=_tensor,
    ),
)
TOPICS = (
    subscribes(
        '<trajectory_controller>/joint_trajectory',
        'trajectory_msgs/JointTrajectory',
        'as joint_trajectory_controller: any joint order, rad, `effort` N·m as feedforward',
    ),
    subscribes('~/joint_trajectory', 'trajectory_msgs/JointTrajectory', 'the same'),
    subscribes(
        '<effort_controller>/commands',
        'std_msgs/Float64MultiArray',
        'as forward_command_controller: efforts in N·m in the order `effort_joints`, the last one held',
    ),
    subscribes(
        'joint_commands',
        'sensor_msgs/JointState',
        'as behind joint_state_topic_hardware_interface: position with velocity and effort, or effort alone',
    ),
    subscribes('<follow_topics>', 'sensor_msgs/JointState', 'stamps only: progress of that node'),
    publishes('joint_states', 'sensor_msgs/JointState', 'link side: position rad, velocity rad/s, effort A or N·m'),
    publishes('motor_states', 'sensor_msgs/JointState', 'motor side: position rad, velocity rad/s, effort A or N·m'),
    publishes('<joint>/temperature', 'sensor_msgs/Temperature', 'of each joint, °C; `frame_id` is the joint'),
    publishes('robot_description', 'std_msgs/String', 'the URDF, latched; without the model errors'),
    publishes('/clock', 'rosgraph_msgs/Clock', 'simulated time, with `publish_clock`'),
    publishes(
        '~/data_sheet',
        'std_msgs/String',
        'data sheet, JSON, latched: joint names, nominal drive gains N·m/A, gear ratios',
    ),
    publishes(
        '~/truth',
        'std_msgs/String',
        'true parameters of the plant, JSON, latched, every simulated second: for comparison only',
    ),
    publishes(
        '~/true_states',
        'sensor_msgs/JointState',
        'link side without sensors, effort: torque through the transmission N·m; for comparison only, sent when'
        ' somebody listens',
    ),
    service('~/reset', 'puts the robot at rest at its first position; heat, wear and time stay'),
)


def build_robot(value: NodeParameters) -> FlexibleJointRobot:
    """Return the robot; raises JointDynamicsError for parameters that do not fit each other."""
    source = value['robot_file'] or ur5e_description(value['tf_prefix'])
    model = RobotModel.from_urdf(source, joints=value['joints'] or None, mounting=value['mounting'] or None)
    scale = value['model_errors']
    errors = ModelErrors.none()
    if scale > 0.0:
        errors = replace(ModelErrors(), inertia=value['inertia_error']).scaled(scale)
    return FlexibleJointRobot(
        model,
        rate=value['rate'],
        seed=value['seed'],
        errors=errors,
        sensors=Sensors.ideal() if value['ideal_sensors'] else Sensors(),
        feedback=value['feedback'],
        position=value['position'] or None,
        temperature=value['temperature'],
        ambient=value['ambient_temperature'],
        heat_speed=value['heat_speed'],
    )


def plant_change(
    robot: FlexibleJointRobot, value: ParameterValues, name: str, at_once: bool = False
) -> Callable[[], None]:
    """Return a function that applies the parameter `name` to the robot; at_once: wear without its duration.

    Raises JointDynamicsError for values that do not fit the robot, before any change.
    """
    if name == 'heating':
        return partial(robot.set_heating, value.per_joint('heating'))
    if name == 'external_torque':
        return partial(robot.set_external_torque, value.per_joint('external_torque'))
    if name == 'wear':
        return partial(robot.set_wear, value.per_joint('wear'), 0.0 if at_once else value['wear_duration'])
    if name.startswith('payload'):
        tensor = np.zeros((3, 3))
        if value['payload_inertia']:
            xx, xy, xz, yy, yz, zz = value['payload_inertia']
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        payload = Payload(value['payload_mass'], value['payload_com'] or np.zeros(3), tensor)
        return partial(robot.attach_payload, payload)
    return lambda: None


def trajectory_points(message: JointTrajectory) -> TrajectoryPoints:
    """Return the points of a message as arrays; raise JointDynamicsError where the real controller rejects them."""
    times, fields = trajectory_arrays(message)
    dq, ddq, effort = map(fields.get, ('velocities', 'accelerations', 'effort'))
    return TrajectoryPoints(times, fields['positions'], dq, ddq, effort)
