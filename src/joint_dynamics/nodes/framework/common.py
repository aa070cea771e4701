"""The parameters and topics that every node has, or every node that needs the robot or the dynamics description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joint_dynamics.nodes.framework.parameters import ParameterRow, row_of
from joint_dynamics.nodes.framework.topics import TopicRow, publishes, subscribes
from joint_dynamics.robot.model import JOINTS, MOUNTING

if TYPE_CHECKING:
    from collections.abc import Iterable


COMMON_PARAMETERS = (
    ParameterRow(
        'autostart',
        False,
        'configure and activate as soon as the documents the node starts from are there',
        applies='start',
    ),
    ParameterRow(
        'executor',
        'single_threaded',
        'single_threaded takes streams of messages apart from all else; events is that of rclpy, experimental there',
        choices=('single_threaded', 'events'),
        applies='start',
    ),
)


def service_parameters(topics: Iterable[TopicRow]) -> tuple[ParameterRow, ...]:
    """Return the parameter by which a launch withholds services of `topics`; nothing where there are none."""
    names = [row.name.removeprefix('~/') for row in topics if row.direction == 'service' and not row.ends]
    if not names:
        return ()
    return (
        ParameterRow(
            'services',
            names,
            "the services that are offered, beside those that only end what was begun; `['']`: none",
            choices=tuple(names),
            applies='start',
        ),
    )


COMMON_TOPICS = (
    publishes(
        '/diagnostics',
        'diagnostic_msgs/DiagnosticArray',
        'state of the node and what is wrong, with reasons; every second and on change',
    ),
)
SOURCE_PARAMETERS = (
    ParameterRow(
        'description_timeout',
        5.0,
        'how long configuring waits for a latched document that has not come yet',
        's',
        0,
        60,
    ),
)
ROBOT_PARAMETERS = (
    ParameterRow('robot_file', '', 'URDF or MDH table; empty: the topic `robot_description`'),
    row_of(JOINTS),
    row_of(MOUNTING),
    ParameterRow(
        'world_frame',
        '',
        'a tf frame whose z axis is up: with `mounting` empty, that follows from the static transforms between this '
        'and the base (needs tf2_msgs and tf_transformations)',
    ),
    ParameterRow('base_frame', '', 'tf frame of the base; empty: the first link of the URDF'),
)
ROBOT_TOPICS = (
    subscribes('robot_description', 'std_msgs/String', 'the URDF, latched; read when the node is configured'),
    subscribes(
        '/tf_static',
        'tf2_msgs/TFMessage',
        'with `world_frame`: how the base stands; heard by a node `<name>_tf` while the node is configured',
    ),
)
DESCRIPTION_PARAMETERS = (
    ParameterRow('description_file', '', 'dynamics description (YAML); empty: the topic `dynamics_description`'),
)
DESCRIPTION_TOPICS = (
    subscribes(
        'dynamics_description',
        'std_msgs/String',
        'the dynamics description (YAML), latched; read when the node is configured',
    ),
)
