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

"""Golden vectors: motor torques along motions, to which the C++ library `dynamics_model` is held within 1e-9 N·m.

A case holds the URDF, the description and the options of an arm, a desired motion, and its torques as the Python
package computes them. `make test-controllers` writes the cases and runs the tests of the library on them.
"""

from dataclasses import asdict, dataclass

import numpy as np

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.arm.sample import drives_along
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.laws import mapped
from joint_dynamics.joint.stiffness import check_range
from joint_dynamics.robot import RobotModel

DRIVEN = 0.02  # rad/s, desired speed below which `rest_gain` reduces the hysteresis, as in the laws


@dataclass(frozen=True)
class GoldenOptions:
    """Options of the C++ class `ArmOptions`, by its names."""

    mounting: tuple = ()  # roll-pitch-yaw rad, or quaternion x y z w; empty: the description's
    payload_mass: float = 0.0  # kg
    payload_center: tuple = (0.0, 0.0, 0.0)  # m
    gravity: bool = True  # whether the torque holds gravity
    friction: str = 'hysteresis'  # or 'none', 'static'
    friction_gain: float = 1.0
    rest_gain: float = 1.0
    friction_smoothing: float = 0.0  # rad/s


def arm_of(urdf, document, options):
    """Return the arm of a description on the robot of a URDF, None: that of the description, as a controller uses it.

    Raises JointDynamicsError for whatever the controller has to refuse as well.
    """
    description, robot = DynamicsDescription(document), None
    if urdf is not None or options.mounting:
        given, kinematics = description.joint_names, description.document['robot']
        links = {key: kinematics[key] for key in ('locked', 'parallelograms') if key in kinematics}
        text = kinematics['urdf'] if urdf is None else urdf
        robot = RobotModel.from_urdf(text, joints=given, mounting=options.mounting or None, **links)
    arm = Arm.from_description(robot, description).with_payload(options.payload_mass, options.payload_center)
    arm.check_drives()
    if arm.stiffness is not None:
        check_range(arm.stiffness, arm.joint_names, arm.effort_limit)
    if options.friction != 'none' and arm.friction is None:
        raise JointDynamicsError('friction: expected a friction model in the dynamics description, found none')
    return with_reversal(arm)[0] if options.friction == 'hysteresis' else arm


def golden_case(urdf, document, options, motion, temperature=None, scale=None):
    """Return a case as plain data.

    Parameters
    ----------
    urdf
        text of the URDF; None: that of the description.
    document
        the dynamics description.
    options
        of the arm.
    motion
        q, q̇, q̈ (3, N, n) [rad, rad/s, rad/s²].
    temperature
        (N, n) [°C]; None: T0.
    scale
        α (N, n, 2) of the estimator; None: that of the description.

    Raises
    ------
    JointDynamicsError
        Where the description cannot be used.
    """
    arm = arm_of(urdf, document, options)
    q, dq, ddq = (np.ascontiguousarray(values) for values in motion)
    load = arm.link_torque(q, dq, ddq)
    if options.friction == 'hysteresis':
        driven = options.rest_gain + (1.0 - options.rest_gain) * np.minimum(np.abs(dq) / DRIVEN, 1.0)
        H = arm.slip_direction(arm.motor_angle(q, load), dq) * driven
    else:
        H = np.tanh(dq / options.friction_smoothing) if options.friction_smoothing > 0 else np.sign(dq)
    share = np.full(arm.n, options.friction_gain if options.friction != 'none' else 0.0)
    alpha = np.tile(arm.friction_scale, (len(q), 1, 1)) if scale is None else scale
    warm = np.full(q.shape, np.nan) if temperature is None else temperature
    drives = [
        mapped(drives_along, (arm.constants, alpha[k], share), arm.n, H[k], q[k], dq[k], ddq[k], load[k], warm[k])
        for k in range(len(q))
    ]
    still = np.zeros_like(q)
    gravity = arm.link_torque(q, still, still)
    torque = load + np.array(drives) - (0.0 if options.gravity else 1.0) * gravity
    case = {
        'urdf': urdf or '',
        'description': DynamicsDescription(document).to_yaml(),
        'joints': list(arm.joint_names),
        'options': asdict(options),
        'q': q,
        'dq': dq,
        'ddq': ddq,
        'temperature': temperature,
        'alpha': None if scale is None else scale.reshape(len(q), -1),
        'torque': torque,
        'gravity': gravity,
        'inertia_torque': arm.link_torque(q, still, ddq) - gravity + arm.rotor_torque(ddq),
    }
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in case.items()}
