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

"""ROS 2 nodes: parameters, topics, services, lifecycle; no mathematics. Only this package imports rclpy."""

from __future__ import annotations

from collections.abc import Mapping


def _trajectories_to(controller: str) -> dict[str, str]:
    return {
        '~/joint_trajectory': f'{{{controller}}}/joint_trajectory',
        '~/follow_joint_trajectory': f'{{{controller}}}/follow_joint_trajectory',
        'controller_state': f'{{{controller}}}/controller_state',
    }


WIRING: Mapping[str, Mapping[str, str]] = {
    'excitation': _trajectories_to('initial_joint_controller'),
    'identifier': {'motion_status': 'excitation/status'},
    'estimator': {'dynamics_description': 'identifier/dynamics_description'},
    'feedforward': {
        'dynamics_description': 'identifier/dynamics_description',
        **_trajectories_to('effort_trajectory_controller'),
        'friction_parameters': 'estimator/friction_parameters',
    },
}
"""Remappings of each node that is launched beside a robot; in braces, the launch argument that names a controller."""
