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

"""How the nodes are connected with each other and with the robot's controllers: for the launch files and the policies.

Nothing here needs ROS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CONTROLLERS: Mapping[str, str] = {
    'initial_joint_controller': 'joint_trajectory_controller',
    'effort_trajectory_controller': 'joint_trajectory_controller',
}
"""Launch arguments that name a controller, and their defaults."""
DEFAULT_FROM: Mapping[str, str] = {'effort_trajectory_controller': 'initial_joint_controller'}
"""Argument that, where it is not given, has the value of another."""


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


def enclave(node: str, namespace: str = '') -> str:
    """Return the path of a node's SROS2 enclave: its name in its namespace, from the root."""
    return '/' + '/'.join(part for part in (*namespace.split('/'), node) if part)


def secured(node: str) -> dict[str, Any]:
    """Return arguments of a launch_ros `Node` that name its enclave and, with `security` given, enforce its policy.

    The enclave is the node's name in the launch argument `namespace` (as `wiring.enclave` says it). The launch argument
    `security` is the keystore; where it is empty or not declared, the environment decides, as everywhere in ROS.
    """
    # Here, because the Python packages of ROS bring no launch, and the modules of all nodes are imported for the docs.
    from launch.substitutions import (
        EnvironmentVariable,
        EqualsSubstitution,
        IfElseSubstitution,
        LaunchConfiguration,
        PythonExpression,
    )

    keystore = LaunchConfiguration('security', default='')
    path = ["'/' + '/'.join(part for part in '", LaunchConfiguration('namespace'), f"/{node}'.split('/') if part)"]

    def unless_given(name: str, default: str, value: Any) -> Any:
        return IfElseSubstitution(
            EqualsSubstitution(keystore, ''), EnvironmentVariable(name, default_value=default), value
        )

    return {
        'ros_arguments': ['--enclave', PythonExpression(path)],
        'additional_env': {
            'ROS_SECURITY_ENABLE': unless_given('ROS_SECURITY_ENABLE', 'false', 'true'),
            'ROS_SECURITY_STRATEGY': unless_given('ROS_SECURITY_STRATEGY', 'Permissive', 'Enforce'),
            'ROS_SECURITY_KEYSTORE': unless_given('ROS_SECURITY_KEYSTORE', '', keystore),
        },
    }
