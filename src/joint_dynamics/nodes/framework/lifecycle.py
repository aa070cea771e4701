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

"""The base of every node: a lifecycle node that fails with one clear line, tells /diagnostics, and stays usable."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import ChangeState
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleState, Node, TransitionCallbackReturn

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN, Diagnostics, clock_jump
from joint_dynamics.nodes.framework.entities import (
    COMMON_PARAMETERS,
    DESCRIPTION_PARAMETERS,
    ROBOT_PARAMETERS,
    SOURCE_PARAMETERS,
    EntityNode,
    create_sources,
    service_parameters,
)
from joint_dynamics.nodes.framework.mounting import mounting_from_tf
from joint_dynamics.nodes.framework.tables import NodeParameters, ParameterRow, refuse_gone
from joint_dynamics.python_process import interruptible
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import ParameterValues

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription

CONFIGURED = ('inactive', 'active', 'activating', 'deactivating')
SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
FAULT = TransitionCallbackReturn.ERROR


class DynamicsNode(EntityNode):
    """A lifecycle node; several run under one rclpy executor. `options` go to rclpy's Node (namespace, context, …).

    A node sets the class attributes and fills in the hooks `configure`, `activate`, `deactivate`, `cleanup`,
    `on_time_jump`, `check_parameters`, `parameters_changed`; one of the transitions that raises JointDynamicsError
    fails with that line. What `configure` creates through `subscribe`, `advertise`, `serve` and `every` is destroyed
    on cleanup.

    Attributes
    ----------
    NAME, PARAMETERS
        name, and parameters beside the rows of every node; TOPICS, ROBOT, DESCRIPTION: see `EntityNode`.
    GONE
        parameters that are gone since 0.3.0, each with its remedy.
    robot, description
        set before `configure` is called, where ROBOT and DESCRIPTION say so.
    sources
        of the documents `robot` and `description`.
    parameters : NodeParameters
        present values by name.
    diagnostics
        conditions of the node.
    is_active
        whether the state is active.
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[tuple[ParameterRow, ...]] = ()
    GONE: ClassVar[Mapping[str, str]] = {}

    robot: RobotModel
    description: DynamicsDescription | None

    def __init__(self, node_name: str | None = None, **options: Any):
        super().__init__(node_name or self.NAME, **options)
        refuse_unfit_transitions(self)
        self.is_active = False
        self.description = None
        self.parameters = NodeParameters(
            self,
            self.parameter_rows(),
            self._parameters_changed,
            lambda: self._state_machine.current_state[1] in CONFIGURED,
            self._check_parameters,
        )
        self.diagnostics = Diagnostics(self)
        self.diagnostics.set('state', OK, 'unconfigured')
        self.sources = create_sources(self)
        # Simulated time that is set back, or a recording that loops: state built on the old time is worthless.
        self._jump = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False),
            post_callback=self._time_jump,
        )
        self._autostart = None
        if self.parameters['autostart']:
            self._autostart = self.create_timer(0.1, self._try_start, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @classmethod
    def parameter_rows(cls) -> tuple[ParameterRow, ...]:
        """Return all parameters of the node, those of the framework first."""
        return (
            *COMMON_PARAMETERS,
            *service_parameters(cls.TOPICS),
            *(SOURCE_PARAMETERS if cls.ROBOT or cls.DESCRIPTION != 'none' else ()),
            *(ROBOT_PARAMETERS if cls.ROBOT else ()),
            *(DESCRIPTION_PARAMETERS if cls.DESCRIPTION != 'none' else ()),
            *cls.PARAMETERS,
        )

    # Hooks.

    def configure(self) -> None:
        """Build everything for the parameters; robot and description are loaded."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Stop; also called before shutdown when the node is active, with the publishers still working."""

    def cleanup(self) -> None:
        """Release everything that `configure` built except topics, services and timers."""

    def on_time_jump(self, delta: float) -> None:
        """Drop state that depends on time: the node's clock went back by `delta` < 0 s; called while configured."""

    def check_parameters(self, values: ParameterValues, changed: Sequence[str]) -> None:
        """Raise JointDynamicsError where parameters with effect `at once` cannot be as in `values`.

        Called before the change, with all values as they would be and the names of those that change, while configured:
        whoever sets them is refused with that line.
        """

    def parameters_changed(self, changed: dict[str, Any]) -> None:
        """Apply parameters with effect `at once`.

        Called after the change, with new values by name, while configured.
        """

    def clock_time(self) -> float:
        """Return the time of the node's clock, s."""
        return self.get_clock().now().nanoseconds * 1e-9

    def output_folder(self, name: str) -> Path:
        """Return where files go: the parameter `output_folder`; empty: `name`, which says the node, in $ROS_HOME."""
        return results_folder(self.parameters['output_folder'], name)

    def close(self) -> None:
        """Shut down in good order (deactivate, clean up) while the publishers still work, then destroy the node."""
        try:
            if self._state_machine.current_state[1] in ('unconfigured', 'inactive', 'active'):
                self.trigger_shutdown()
        finally:
            self.destroy_node()

    def destroy_node(self) -> None:
        """Destroy the node and all it has in the ROS graph; nothing happens the second time."""
        super().destroy_node()
        end_state_machine(self)

    def _load_robot(self, timeout: float) -> RobotModel:
        text = self.parameters['robot_file'] or self.sources['robot'].text(timeout)
        joints, mounting, world = (self.parameters[name] or None for name in ('joints', 'mounting', 'world_frame'))
        robot = RobotModel.load(text, joints=joints, mounting=mounting)
        if mounting is not None or world is None:
            return robot
        base = self.parameters['base_frame'] or robot.pinocchio.frames[1].name
        return RobotModel.load(text, joints=joints, mounting=mounting_from_tf(self, world, base, timeout))

    # Transitions, called by rclpy.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load robot and description, then call the hook; a signal breaks it off."""

        def work() -> None:
            refuse_gone(self.parameters.unknown(), self.GONE)
            timeout = self.parameters['description_timeout'] if self.sources else 0.0
            if self.ROBOT:
                self.robot = self._load_robot(timeout)
                self.parameters.declare_joints(self.robot.joint_names)
            if self.DESCRIPTION == 'required' or (
                self.DESCRIPTION == 'optional' and self.sources['description'].available
            ):
                from joint_dynamics.description import DynamicsDescription

                self.description = DynamicsDescription.from_yaml(self.sources['description'].text(timeout))
                if self.ROBOT:
                    self.description.check_robot(self.robot)
            self.configure()

        with interruptible():
            result = self._transition('configure', 'inactive', work, lambda: Node.on_configure(self, state))
        if result != SUCCESS:
            self.destroy_entities()
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Enable the publishers, then call the hook."""

        def work() -> None:
            Node.on_activate(self, state)
            self.activate()

        result = self._transition('activate', 'active', work)
        self.is_active = result == SUCCESS
        if result != SUCCESS:
            Node.on_deactivate(self, state)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call the hook, then silence the publishers."""
        self.is_active = False
        return self._transition('deactivate', 'inactive', self.deactivate, lambda: Node.on_deactivate(self, state))

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call the hook, then destroy the topics, services and timers of the configuration."""
        return self._transition('clean up', 'unconfigured', self.cleanup, self.destroy_entities)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up."""

        def work() -> None:
            if self.is_active:
                self.is_active = False
                self.deactivate()
            if state.label != 'unconfigured':
                self.cleanup()

        return self._transition('shut down', 'finalized', work, self.destroy_entities)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go back to unconfigured after a fault."""
        self.is_active = False
        self.destroy_entities()
        return SUCCESS

    # Inside.

    def _transition(self, verb: str, reached: str, *steps: Callable[[], Any]) -> TransitionCallbackReturn:
        try:
            for step in steps:
                step()
        except (JointDynamicsError, ParameterException) as error:
            self.get_logger().error(f'cannot {verb}: {one_line(error)}')
            self.diagnostics.set('state', ERROR, f'cannot {verb}: {one_line(error)}')
            return FAILURE
        except Exception:
            # rclpy would swallow it; a defect must be seen.
            self.get_logger().fatal(f'defect while trying to {verb}:\n{traceback.format_exc()}')
            self.diagnostics.set('state', ERROR, f'defect while trying to {verb}, see the log')
            return FAULT
        self.diagnostics.set('state', OK, reached)
        return SUCCESS

    def _try_start(self) -> None:
        needed = [source for name, source in self.sources.items() if name == 'robot' or self.DESCRIPTION == 'required']
        if not all(source.available for source in needed):
            waiting = ', '.join(source.origin for source in needed if not source.available)
            self.diagnostics.set('state', WARN, f'waiting for {waiting}')
            return
        assert self._autostart is not None
        self._autostart.cancel()
        if self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def _time_jump(self, jump: TimeJump) -> None:
        delta = jump.delta.nanoseconds * 1e-9
        if delta < 0 and self.entities:
            clock_jump(self, -delta)
            self.on_time_jump(delta)

    def _check_parameters(self, values: ParameterValues, changed: Sequence[str]) -> None:
        if self.entities:
            self.check_parameters(values, changed)

    def _parameters_changed(self, changed: dict[str, Any]) -> None:
        if self.entities:
            self.parameters_changed(changed)


def results_folder(given: str, name: str) -> Path:
    """Return where the files of a node go: its parameter `output_folder`, or $ROS_HOME/joint_dynamics and its name."""
    home = Path(os.environ.get('ROS_HOME') or Path.home() / '.ros')
    return Path(given).expanduser().absolute() if given else home / 'joint_dynamics' / name


def refuse_unfit_transitions(node: Node) -> None:
    """Answer a request of `~/change_state` that the present state does not offer with success False.

    Stay in that state.

    rclpy triggers whatever it is asked for; a transition that is not there raises RCLError out of the executor.
    """
    service = node._service_change_state
    change_state = service.callback

    def respond(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
        offered = {label: number for number, label, *_ in node._state_machine.available_transitions}
        asked = request.transition
        if asked.label not in offered if asked.label else asked.id not in offered.values():
            state = node._state_machine.current_state[1]
            node.get_logger().error(
                f'transition {asked.label or asked.id}: expected one of {", ".join(offered) or "none"} in the state '
                f'{state}, stays there'
            )
            response.success = False
            return response
        if asked.label:
            request.transition.id, request.transition.label = offered[asked.label], ''
        return change_state(request, response)

    service.callback = respond


class Ended:
    """Stands where the state machine of a destroyed node was: reading that one would end the process."""

    initialized = False
    current_state = (State.PRIMARY_STATE_FINALIZED, 'finalized')
    available_states: ClassVar[tuple[()]] = ()
    available_transitions: ClassVar[tuple[()]] = ()
    transition_graph: ClassVar[tuple[()]] = ()


def end_state_machine(node: Node) -> None:
    """Destroy the lifecycle services and the publisher of transitions of a node that is destroyed.

    They belong to the state machine, which holds the node too, and with it the DDS participant. Left to the garbage
    collector they stay in the ROS graph as services without answers. When they vanish together later, Fast DDS can lose
    count of the remaining ones, and their clients wait forever.
    """
    state_machine, node._state_machine = node._state_machine, Ended()
    if not isinstance(state_machine, Ended):
        state_machine.destroy_when_not_in_use()
