"""Topics and services of a node from one table, so that the documentation page shows what the node really has.

How its messages travel: the quality of service, and what is chosen of Fast DDS before a node is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
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


RANGE, LOCALHOST_ONLY, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS'
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
"""Of Fast DDS 3 and 2."""
LOCALHOST = Path(__file__).with_name('fastdds_localhost.xml')


def without_shared_memory(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that Fast DDS uses UDP alone.

    A process that is killed while it holds a lock in shared memory stops every other that writes to the same reader:
    within `publish`, for good, and with Python's lock held. Over UDP nobody waits for a process that is gone.

    Returns
    -------
    dict
        Empty where the environment says already what Fast DDS is to use, or names another middleware. For discovery
        on this machine alone rmw_fastrtps adds shared memory whatever is said, so a profile takes the place of that
        range; static peers go with no profile, and nothing is changed then.
    """
    middleware = environment.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp'
    if not middleware.startswith('rmw_fastrtps') or any(environment.get(name) for name in (TRANSPORTS, *PROFILES)):
        return {}
    if environment.get(RANGE) != 'LOCALHOST' and environment.get(LOCALHOST_ONLY) != '1':
        return {TRANSPORTS: 'UDPv4'}
    if environment.get(PEERS):
        return {}
    changes = {RANGE: 'SYSTEM_DEFAULT', **dict.fromkeys(PROFILES, str(LOCALHOST))}
    # it comes before the range, and rcl warns of it wherever it is not empty
    return {**changes, LOCALHOST_ONLY: ''} if environment.get(LOCALHOST_ONLY) else changes


def leave_out_shared_memory() -> None:
    """Set these variables for this process and those it starts; before `rclpy.init`."""
    os.environ.update(without_shared_memory(os.environ))
