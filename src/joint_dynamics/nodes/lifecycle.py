"""The base of every node: a lifecycle node that fails with one clear line, says so in /diagnostics.

Stays usable.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import ParameterException
from rclpy.lifecycle import LifecycleState, Node, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from rclpy.task import Future
from std_srvs.srv import Trigger

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes import common
from joint_dynamics.nodes.console import clock_jump
from joint_dynamics.nodes.diagnostics import ERROR, OK, WARN, Diagnostics
from joint_dynamics.nodes.documents import LatchedText
from joint_dynamics.nodes.mounting import mounting_from_tf
from joint_dynamics.nodes.parameters import NodeParameters, ParameterRow
from joint_dynamics.nodes.topics import SENSOR, STATE, TopicRow
from joint_dynamics.nodes.transitions import refuse_unfit_transitions
from joint_dynamics.robot import RobotModel

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription

CONFIGURED = ('inactive', 'active', 'activating', 'deactivating')
SUCCESS, FAILURE, FAULT = (
    TransitionCallbackReturn.SUCCESS,
    TransitionCallbackReturn.FAILURE,
    TransitionCallbackReturn.ERROR,
)


class DynamicsNode(Node):
    """A composable lifecycle node. `options` go to rclpy's Node (namespace, parameter_overrides, context, …).

    A node sets the class attributes and fills in the hooks `configure`, `activate`, `deactivate`, `cleanup`,
    `on_time_jump`, `parameters_changed`; a hook that raises JointDynamicsError makes the transition fail with that
    line. What `configure` creates through `subscribe`, `advertise`, `serve` and `every` is destroyed on cleanup.

    Attributes
    ----------
    NAME, PARAMETERS, TOPICS
        what the node is called, takes, and offers beside the rows every node has.
    ROBOT
        whether it needs the robot (`robot_description` or `robot_file`); DESCRIPTION: whether the dynamics description.
    robot, description
        set before `configure` is called, as far as ROBOT and DESCRIPTION say.
    sources
        where the documents come from: `robot` and `description`, as far as the node takes them.
    parameters
        present values by name. diagnostics: what is wrong and why. is_active: whether the state is active.
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[tuple[ParameterRow, ...]] = ()
    TOPICS: ClassVar[tuple[TopicRow, ...]] = ()
    ROBOT: ClassVar[bool] = True
    DESCRIPTION: ClassVar[Literal['none', 'optional', 'required']] = 'none'

    robot: RobotModel
    description: DynamicsDescription | None

    def __init__(self, node_name: str | None = None, **options: Any):
        super().__init__(node_name or self.NAME, **options)
        refuse_unfit_transitions(self)
        self.is_active = False
        self.description = None
        self._owned: list[tuple[Callable, Any]] = []
        self._topic_names = {row.name for row in self.topic_rows()}
        self.parameters = NodeParameters(
            self,
            self.parameter_rows(),
            self._parameters_changed,
            lambda: self._state_machine.current_state[1] in CONFIGURED,
        )
        self.diagnostics = Diagnostics(self)
        self.diagnostics.set('state', OK, 'unconfigured')
        self.sources = self._create_sources()
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
            *common.COMMON_PARAMETERS,
            *common.service_parameters(cls.TOPICS),
            *(common.SOURCE_PARAMETERS if cls.ROBOT or cls.DESCRIPTION != 'none' else ()),
            *(common.ROBOT_PARAMETERS if cls.ROBOT else ()),
            *(common.DESCRIPTION_PARAMETERS if cls.DESCRIPTION != 'none' else ()),
            *cls.PARAMETERS,
        )

    @classmethod
    def topic_rows(cls) -> tuple[TopicRow, ...]:
        """Return all topics and services of the node."""
        return (
            *(common.ROBOT_TOPICS if cls.ROBOT else ()),
            *(common.DESCRIPTION_TOPICS if cls.DESCRIPTION != 'none' else ()),
            *cls.TOPICS,
            *common.COMMON_TOPICS,
        )

    # Hooks.

    def configure(self) -> None:
        """Build what the parameters ask for; robot and description are there."""

    def activate(self) -> None:
        """Begin to work."""

    def deactivate(self) -> None:
        """Stop; also called before shutdown when the node is active, with the publishers still working."""

    def cleanup(self) -> None:
        """Let go of what `configure` built, beside the topics, services and timers."""

    def on_time_jump(self, delta: float) -> None:
        """Drop state that depends on time: the node's clock went back by `delta` < 0 s; called while configured."""

    def parameters_changed(self, changed: dict[str, Any]) -> None:
        """Apply parameters with effect `at once`.

        Called after the change, with new values by name, while configured.
        """

    # What a node uses.

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable,
        qos: QoSProfile = SENSOR,
        *,
        row: str | None = None,
        raw: bool = False,
        events: SubscriptionEventCallbacks | None = None,
    ) -> Any:
        """Create a subscription that lives until cleanup; `row`: the name in TOPICS, where a parameter gives the topic.

        Parameters
        ----------
        raw
            to the bytes.
        events
            of its quality of service.
        """
        return self._own(
            self.destroy_subscription,
            topic if row is None else row,
            self.create_subscription,
            kind,
            topic,
            callback,
            qos,
            raw=raw,
            event_callbacks=events,
        )

    def advertise(
        self, kind: type, topic: str, qos: QoSProfile = STATE, *, when_inactive: bool = False, row: str | None = None
    ) -> Any:
        """Create a publisher that lives until cleanup and, unless `when_inactive`.

        Is silent when the node is not active.
        """
        row = topic if row is None else row
        if when_inactive:
            return self._own(self.destroy_publisher, row, self.create_publisher, kind, topic, qos)
        return self._own(self.destroy_lifecycle_publisher, row, self.create_lifecycle_publisher, kind, topic, qos)

    def serve(self, name: str, action: Callable[[], str | Future]) -> Any:
        """Offer a `std_srvs/Trigger` that lives until cleanup; nothing where the launch withholds it (None).

        `action` returns the message, JointDynamicsError refuses.

        Where the answer takes time, `action` returns a Future of the Trigger.Response; the executor goes on meanwhile.
        """

        def respond(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response | Future:
            try:
                answer = action()
                if isinstance(answer, Future):
                    return answer
                response.message, response.success = answer or 'done', True
            except JointDynamicsError as error:
                response.message, response.success = one_line(error), False
                self.get_logger().error(f'{name}: {response.message}')
            return response

        if name in self.withheld:
            return None
        service = self._own(self.destroy_service, name, self.create_service, Trigger, name, respond)
        send = service.send_response

        # A coroutine would do in the SingleThreadedExecutor; the EventsExecutor of Jazzy sends whatever the callback
        # returns.
        def send_response(response: Trigger.Response | Future, header: Any) -> None:
            if isinstance(response, Future):
                response.add_done_callback(lambda future: send(future.result(), header))
            else:
                send(response, header)

        service.send_response = send_response
        return service

    @property
    def withheld(self) -> tuple[str, ...]:
        """Services of the table that the launch does not let this node offer (parameter `services`), as `~/name`."""
        rows = [row for row in self.topic_rows() if row.direction == 'service' and not row.ends]
        return tuple(row.name for row in rows if row.name.removeprefix('~/') not in self.parameters['services'])

    def every(self, period: float, callback: Callable, *, steady: bool = False) -> Any:
        """Call back every `period` s of the node's clock.

        Parameters
        ----------
        steady
            of the wall, also while simulated time stands still.
        """
        clock = Clock(clock_type=ClockType.STEADY_TIME) if steady else self.get_clock()
        return self._own(self.destroy_timer, None, self.create_timer, period, callback, clock=clock)

    def close(self) -> None:
        """Shut down in good order (deactivate, clean up) while the publishers still work, then destroy the node."""
        try:
            if self._state_machine.current_state[1] in ('unconfigured', 'inactive', 'active'):
                self.trigger_shutdown()
        finally:
            self.destroy_node()

    # Transitions, called by rclpy.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load robot and description, then call the hook."""

        def work() -> None:
            timeout = self.parameters['description_timeout'] if self.sources else 0.0
            if self.ROBOT:
                self.robot = self._load_robot(timeout)
                self.parameters.declare_joints(self.robot.joint_names)
            if self.DESCRIPTION == 'required' or (
                self.DESCRIPTION == 'optional' and self.sources['description'].available
            ):
                self.description = self._load_description(timeout)
                if self.ROBOT:
                    self.description.check_robot(self.robot)
            self.configure()

        result = self._transition('configure', 'inactive', work, lambda: Node.on_configure(self, state))
        if result != SUCCESS:
            self._let_go()
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
        """Call the hook, then destroy what was created while configuring."""
        return self._transition('clean up', 'unconfigured', self.cleanup, self._let_go)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up as far as needed."""

        def work() -> None:
            if self.is_active:
                self.is_active = False
                self.deactivate()
            if state.label != 'unconfigured':
                self.cleanup()

        return self._transition('shut down', 'finalized', work, self._let_go)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go back to unconfigured after a fault."""
        self.is_active = False
        self._let_go()
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

    def _own(self, destroy: Callable, documented: str | None, create: Callable, *arguments: Any, **options: Any) -> Any:
        if documented is not None and documented not in self._topic_names:
            raise ValueError(f'{documented} is not in the table of topics of {type(self).__name__}')
        entity = create(*arguments, **options)
        self._owned.append((destroy, entity))
        return entity

    @property
    def entities(self) -> list[Any]:
        """What `subscribe`, `advertise`, `serve` and `every` have made and cleanup destroys."""
        return [entity for _, entity in self._owned]

    def _let_go(self) -> None:
        while self._owned:
            destroy, entity = self._owned.pop()
            destroy(entity)

    def _create_sources(self) -> dict[str, LatchedText]:
        def source(name: str, topic: str) -> LatchedText:
            return LatchedText(
                self, topic, lambda: self.parameters[f'{name}_file'], lambda: self._source_changed(topic)
            )

        sources = {}
        if self.ROBOT:
            sources['robot'] = source('robot', 'robot_description')
        if self.DESCRIPTION != 'none':
            sources['description'] = source('description', 'dynamics_description')
        return sources

    def _source_changed(self, topic: str) -> None:
        self.diagnostics.set(
            topic, WARN, 'changed since the node was configured: clean up and configure again to use it'
        )

    def _load_robot(self, timeout: float) -> RobotModel:
        source = self.parameters['robot_file'] or self.sources['robot'].text(timeout)
        joints, mounting, world = (self.parameters[name] or None for name in ('joints', 'mounting', 'world_frame'))
        robot = RobotModel.load(source, joints=joints, mounting=mounting)
        if mounting is not None or world is None:
            return robot
        base = self.parameters['base_frame'] or robot.pinocchio.frames[1].name
        return RobotModel.load(source, joints=joints, mounting=mounting_from_tf(self, world, base, timeout))

    def _load_description(self, timeout: float) -> DynamicsDescription:
        from joint_dynamics.description import DynamicsDescription

        return DynamicsDescription.from_yaml(self.sources['description'].text(timeout))

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
        if delta < 0 and self._owned:
            clock_jump(self, -delta)
            self.on_time_jump(delta)

    def _parameters_changed(self, changed: dict[str, Any]) -> None:
        if self._owned:
            self.parameters_changed(changed)


def one_line(error: Exception) -> str:
    """Return the message of an error on one line."""
    return ' '.join(str(error).split())
