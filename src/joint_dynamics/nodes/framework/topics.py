"""Topics and services of a node from one table, so that the documentation page shows what the node really has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

SENSOR = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For input from the robot: best effort matches publishers of either kind.

A depth of 5 loses messages under load, 100 none.
"""
RELIABLE_SENSOR = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""The same where no sample may be lost; hears reliable publishers only."""
STATE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""For what a node publishes."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For models and parameters (never for torques): whoever comes later still gets the last one."""
STATUS = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For what a node is doing: steps that follow each other at once must not replace one another on the way.

Who asks for a depth of 1 gets the last.
"""


@dataclass(frozen=True)
class TopicRow:
    """One topic or service: name as given to rclpy (`~/…` private, else relative), type, direction, meaning, units.

    A service with `ends` only ends what was begun, and no launch can withhold it.
    """

    name: str
    type: str
    direction: Literal['subscribes', 'publishes', 'service', 'action client']
    description: str
    ends: bool = False


def subscribes(name: str, kind: str, description: str) -> TopicRow:
    """Return the row of a topic `name` that a node listens to, of the message `kind`; `description` as in the class."""
    return TopicRow(name, kind, 'subscribes', description)


def publishes(name: str, kind: str, description: str) -> TopicRow:
    """Return the row of a topic `name` that a node publishes, of the message `kind`; `description` as in the class."""
    return TopicRow(name, kind, 'publishes', description)


def service(name: str, description: str, ends: bool = False) -> TopicRow:
    """Return the row of a service `name` (Trigger); `description` and `ends` as in the class."""
    return TopicRow(name, 'std_srvs/Trigger', 'service', description, ends)


def topic_table(rows: Iterable[TopicRow]) -> str:
    """Return the rows as the Markdown table that stands in docs/."""
    lines = ['| name | type | | meaning |', '| --- | --- | --- | --- |']
    lines += [f'| `{row.name}` | `{row.type}` | {row.direction} | {row.description} |' for row in rows]
    return '\n'.join(lines)
