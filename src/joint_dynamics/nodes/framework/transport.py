"""How the messages of a process travel: what is chosen of Fast DDS before a node is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

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
