"""How the nodes are connected with each other and with the robot's controllers: for the launch files and the policies.

Nothing here needs ROS.
"""

from __future__ import annotations

from collections.abc import Mapping

CONTROLLERS: Mapping[str, str] = {
    'initial_joint_controller': 'joint_trajectory_controller',
    'effort_controller': 'forward_effort_controller',
}
"""Launch arguments that name a controller, and their defaults."""
TRAJECTORIES = '{initial_joint_controller}/joint_trajectory'
ACTION = '{initial_joint_controller}/follow_joint_trajectory'
WIRING: Mapping[str, Mapping[str, str]] = {
    'excitation': {
        '~/joint_trajectory': TRAJECTORIES,
        '~/follow_joint_trajectory': ACTION,
        'controller_state': '{initial_joint_controller}/controller_state',
    },
    'identifier': {'motion_status': 'excitation/status'},
    'estimator': {'dynamics_description': 'identifier/dynamics_description'},
    'feedforward': {
        'dynamics_description': 'identifier/dynamics_description',
        '~/joint_trajectory': TRAJECTORIES,
        '~/follow_joint_trajectory': ACTION,
        '~/commands': '{effort_controller}/commands',
        'friction_parameters': 'estimator/friction_parameters',
        'joint_torques': 'estimator/joint_torques',
        'controller_state': '{initial_joint_controller}/controller_state',
    },
}
"""Remappings of each node that is launched beside a robot; in braces, the launch argument that names a controller."""


def enclave(node: str, namespace: str = '') -> str:
    """Return the path of a node's SROS2 enclave: its name in its namespace, from the root."""
    return '/' + '/'.join(part for part in (*namespace.split('/'), node) if part)
