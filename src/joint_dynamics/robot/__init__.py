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

"""The arm as rigid bodies: model from URDF or MDH, regressor, base parameters, mounting, coupled drives."""

from joint_dynamics.robot.base_parameters import BaseParameters
from joint_dynamics.robot.chain import GRAVITY, RigidBody, gravity_in_base, mounting_rotation
from joint_dynamics.robot.dependent import DriveCoupling, JointTree
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.robot.mdh import MdhTable, load_mdh
from joint_dynamics.robot.model import RobotModel
from joint_dynamics.robot.standard_parameters import INERTIAL, JOINT, PER_JOINT, StandardParameters

__all__ = [
    'GRAVITY',
    'INERTIAL',
    'JOINT',
    'PER_JOINT',
    'BaseParameters',
    'DriveCoupling',
    'JointLimits',
    'JointTree',
    'MdhTable',
    'RigidBody',
    'RobotModel',
    'StandardParameters',
    'gravity_in_base',
    'load_mdh',
    'mounting_rotation',
]
