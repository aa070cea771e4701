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

"""Run one node as a process: a clean end on SIGINT and SIGTERM, with status 0 and the node's own shutdown done.

Also sets the transport of Fast DDS before the node is made.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.framework.executor import StreamExecutor
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.python_process import Stop, leave

SIGNALS = signal.SIGINT, signal.SIGTERM
LOOK = 0.2  # s, longest time until the executor notices a signal
_SWITCH = 0.0005  # s, longest time for which a thread keeps the interpreter while the executor waits (Python: 0.005)
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
LOCALHOST_ONLY = 'ROS_LOCALHOST_ONLY'
PEERS = 'ROS_STATIC_PEERS'
TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')  # of Fast DDS 3 and 2
LOCALHOST = Path(__file__).with_name('fastdds_localhost.xml')


def without_shared_memory(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set so that Fast DDS uses UDP alone.

    A process that is killed while it holds a lock in shared memory stops every other that writes to the same reader:
    within `publish`, for good, and with Python's lock held. Over UDP no process waits for another.

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


def _begin(node_class: type[DynamicsNode], arguments: list[str] | None) -> DynamicsNode:
    leave_out_shared_memory()
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        return node_class()
    except RCLError as error:
        raise JointDynamicsError(f'start: expected ROS 2 to take the node, found: {one_line(error)}') from None


def run(node_class: type[DynamicsNode], arguments: list[str] | None = None) -> int:
    """Create the node, spin it until a signal, shut it down, and end the process.

    The exit status is 0, or 2: a parameter given at the start is wrong, or ROS 2 refuses (no enclave, no security).
    """
    node, executor = None, None
    status, stop = 0, Stop()
    try:
        sys.setswitchinterval(_SWITCH)
        node = _begin(node_class, arguments)
        executor = StreamExecutor()
        executor.add_node(node)
        while not stop.requested:
            executor.spin_once(LOOK)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (JointDynamicsError, ParameterException) as error:
        print(f'{node_class.NAME}: {one_line(error)}', file=sys.stderr)
        status = 2
    finally:
        stop.interrupts = False  # an interrupt that comes again would break off the shutdown
        if node is not None:
            node.close()
        if executor is not None:
            # its guard conditions belong to the context: it has to let go of them first
            executor.shutdown()
        rclpy.try_shutdown()
        # A terminal and launch both send theirs: while the interpreter ends, a second one would end it by the signal.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
    # The interpreter's own end waits for threads and destructors of C++ without a bound.
    leave(status)
    return status
