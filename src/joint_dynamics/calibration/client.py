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

"""A client of the nodes: calls services, changes parameters, and listens, while a function watches over processes.

`own_domain` keeps simulated robots apart from real ones on the same network.
"""

from __future__ import annotations

import fcntl
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.run import RANGE, without_shared_memory
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.python_process import held_back

TRANSITIONS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
    'cleanup': Transition.TRANSITION_CLEANUP,
}
_TICK = 0.05
ASK_AGAIN = 5.0
"""Seconds after which a state is asked for again."""
# Above 101 the ports of a domain reach into the range from which the system picks ports for itself; 0 is where robots
# are.
DOMAINS = range(1, 102)


class RosClient:
    """See the module; `ros_client()` makes one.

    Whatever waits calls `watch` twenty times a second: it raises when there is nothing left to wait for, and may show
    progress.
    """

    def __init__(self, node: Node, executor: SingleThreadedExecutor, watch: Callable[[], None]):
        self.node, self._executor, self._watch = node, executor, watch
        self._clients: dict[str, Client] = {}

    def until(self, condition: Callable[[], Any], what: str, timeout: float = 60.0) -> Any:
        """Spin until `condition()` is true, and return it.

        Raises
        ------
        JointDynamicsError
            Naming `what` after `timeout` s.
        """
        end = time.monotonic() + timeout
        while not (value := condition()):
            self._watch()
            if time.monotonic() > end:
                raise JointDynamicsError(f'expected {what} within {timeout:g} s, found nothing')
            with held_back():
                self._executor.spin_once(timeout_sec=_TICK)
        return value

    def listen(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: QoSProfile = LATCHED, raw: bool = False
    ) -> Any:
        """Subscribe; `callback` is called while waiting. Latched by default."""
        return self.node.create_subscription(kind, topic, callback, qos, raw=raw)

    def silence(self, subscription: Any) -> None:
        """End a subscription."""
        self.node.destroy_subscription(subscription)

    def call(self, kind: type, name: str, request: Any, timeout: float = 60.0, again_after: float = math.inf) -> Any:
        """Call a service and return its response; raise JointDynamicsError when there is none in time.

        Each service has one client for as long as this one lives: a server that has not discovered a new client's
        reader yet drops its answer.
        again_after: s after which a request that changes nothing is made once more.
        """
        client = self._clients.get(name) or self._clients.setdefault(name, self.node.create_client(kind, name))
        self.until(client.service_is_ready, f'the service {name}', timeout)
        requests = [(time.monotonic(), client.call_async(request))]

        def answered() -> Any:
            if time.monotonic() - requests[-1][0] > again_after:
                requests.append((time.monotonic(), client.call_async(request)))
            return next((future for _, future in requests if future.done()), None)

        return self.until(answered, f'the answer of {name}', timeout).result()

    def trigger(self, name: str, timeout: float = 60.0) -> str:
        """Call a `std_srvs/Trigger`; return its message, or raise JointDynamicsError with it where it was refused."""
        answer = self.call(Trigger, name, Trigger.Request(), timeout)
        if not answer.success:
            raise JointDynamicsError(f'{name}: {answer.message}')
        return str(answer.message)

    def set_parameters(self, node_name: str, **values: Any) -> None:
        """Set parameters of a node (`__` in a name stands for a dot); raise JointDynamicsError where one is refused."""
        request = SetParameters.Request(
            parameters=[
                Parameter(name.replace('__', '.'), value=value).to_parameter_msg() for name, value in values.items()
            ]
        )
        results = self.call(SetParameters, f'{node_name}/set_parameters', request).results
        for name, result in zip(values, results, strict=True):
            if not result.successful:
                raise JointDynamicsError(f'{node_name}: {name}: {result.reason}')

    def get_parameters(self, node_name: str, *names: str) -> list[Any]:
        """Return the values of parameters of a node; raise JointDynamicsError where it does not answer."""
        request = GetParameters.Request(names=list(names))
        values = self.call(GetParameters, f'{node_name}/get_parameters', request).values
        return [parameter_value_to_python(value) for value in values]

    def transition(self, node_name: str, verb: str) -> None:
        """Ask a lifecycle node to `configure`, `activate`, `deactivate` or `cleanup`.

        Raise JointDynamicsError where it does not.
        """
        request = ChangeState.Request(transition=Transition(id=TRANSITIONS[verb]))
        if not self.call(ChangeState, f'{node_name}/change_state', request).success:
            raise JointDynamicsError(f'{node_name}: expected it to {verb}, found that it refused (see its log)')

    def reconfigure(self, node_name: str, **parameters: Any) -> None:
        """Set parameters of a node in whatever state, and leave it active; raise JointDynamicsError as `transition`."""
        for state, verb in (('active', 'deactivate'), ('inactive', 'cleanup')):
            if self.state(node_name) == state:
                self.transition(node_name, verb)
        self.set_parameters(node_name, **parameters)
        for verb in ('configure', 'activate'):
            self.transition(node_name, verb)

    def state(self, node_name: str, timeout: float = 60.0) -> str:
        """Return the label of a node's lifecycle state, which it tells within `timeout` s."""
        name = f'{node_name}/get_state'
        return str(self.call(GetState, name, GetState.Request(), timeout, ASK_AGAIN).current_state.label)

    def until_active(self, node_name: str, timeout: float = 60.0) -> None:
        """Wait until a node that starts by itself is active."""
        end = time.monotonic() + timeout
        # One that is being configured answers when that is done.
        while self.state(node_name, timeout) != 'active':
            if time.monotonic() > end:
                raise JointDynamicsError(
                    f'{node_name}: expected it to be active within {timeout:g} s, found that it is not (its log '
                    'says why)'
                )
            self.rest(0.1)

    def until_ok(self, status_name: str) -> None:
        """Wait until /diagnostics reports a status as OK.

        Raises JointDynamicsError with its last message where it does not.
        """
        last = ['no status came']

        def take(message: DiagnosticArray) -> None:
            last.extend(
                '' if status.level == DiagnosticStatus.OK else status.message
                for status in message.status
                if status.name == status_name
            )

        listener = self.listen(DiagnosticArray, '/diagnostics', take, QoSProfile(depth=100))
        try:
            self.until(lambda: not last[-1], f'{status_name} to be OK')
        except JointDynamicsError as error:
            raise JointDynamicsError(f'{error} ({last[-1]})') from None
        finally:
            self.silence(listener)

    def rest(self, seconds: float) -> None:
        """Let `seconds` of the wall's time pass."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, 'time to advance', seconds + 60.0)


@contextmanager
def ros_client(watch: Callable[[], None] = lambda: None, name: str = 'calibration') -> Iterator[RosClient]:
    """Start rclpy without its signal handlers (the caller handles Ctrl-C), and yield the client.

    Both are shut down at the end.
    """
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        executor = SingleThreadedExecutor()
        node = rclpy.create_node(name, start_parameter_services=False)
        executor.add_node(node)
        try:
            yield RosClient(node, executor, watch)
        finally:
            executor.remove_node(node)
            node.destroy_node()
            executor.shutdown()
    finally:
        rclpy.try_shutdown()


@contextmanager
def own_domain() -> Iterator[int]:
    """Put a free ROS_DOMAIN_ID, kept to this machine, into the environment for this process and those it starts.

    Free means: no other demonstration or test of this package on this machine has it (they lock the same files).

    Raises
    ------
    JointDynamicsError
        Where all are taken.
    """
    for domain in DOMAINS:
        try:
            lock = (Path(tempfile.gettempdir()) / f'joint_dynamics_test_domain_{domain}.lock').open('w')
        except OSError:  # another user's
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            own = {'ROS_DOMAIN_ID': str(domain), RANGE: 'LOCALHOST'}
            own |= without_shared_memory({**os.environ, **own})
            with _environment(**own):
                yield domain
            return
    raise JointDynamicsError(
        'demo: expected a free ROS_DOMAIN_ID, found all of them locked by other demonstrations and tests'
    )


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
