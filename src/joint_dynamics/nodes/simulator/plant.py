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

"""The simulated robot, built from the parameters of its node, and changes of it while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.nodes.framework.tables import NodeParameters
from joint_dynamics.nodes.interfaces.messages import trajectory_arrays
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import ParameterValues
from joint_dynamics.simulation import (
    FlexibleJointRobot,
    ModelErrors,
    Payload,
    Sensors,
    TrajectoryPoints,
    ur5e_description,
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
