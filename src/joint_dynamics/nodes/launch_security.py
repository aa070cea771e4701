"""What a launch file adds to a node so that it runs in its own SROS2 enclave; needs ROS 2's launch."""

from __future__ import annotations

from typing import Any


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
