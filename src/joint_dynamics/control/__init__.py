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

"""Feedforward laws along desired motions, their registry, effort in trajectories (docs/explanation/control.md)."""

from joint_dynamics.control.follower import Follower, Points
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import Law, LawParameter, available, create, load
from joint_dynamics.control.laws import AdaptiveFriction, ComputedTorque, FlexibleJoint, torque_derivatives
from joint_dynamics.control.path import Path, order_joints
from joint_dynamics.control.trajectory import FilledTrajectory, FillSettings, check_motion, fill_effort

__all__ = [
    'AdaptiveFriction',
    'ComputedTorque',
    'FillSettings',
    'FilledTrajectory',
    'FlexibleJoint',
    'Follower',
    'FrictionCompensation',
    'Law',
    'LawParameter',
    'Path',
    'Points',
    'available',
    'check_motion',
    'create',
    'fill_effort',
    'load',
    'order_joints',
    'torque_derivatives',
]
