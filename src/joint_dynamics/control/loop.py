"""A controller, its interfaces and the safety gate in one object, stepped by a node, a test or a simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.control.aged_interfaces import AgedInterfaces
from joint_dynamics.control.controller_adapter import ControllerAdapter
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.inputs import FINE
from joint_dynamics.control.interface import REFERENCES, STATES, Controller
from joint_dynamics.control.law import TorqueLaw, command_scale, delay_margin
from joint_dynamics.control.loop_sample import (
    BEYOND,
    BY_OTHERS,
    CLOSED,
    NO_TIME,
    NOT_YET,
    REFERENCE_FAULT,
    STATUS,
    Loop,
    begin,
    finish,
    hold,
)
from joint_dynamics.control.safety import Handover, LoopSettings, SafetyGate, taken_over
from joint_dynamics.control.shipped_laws import SHIPPED
from joint_dynamics.control.step_entry import entry_for

#: Inputs that change slowly or may be missing: their age is not that of the control loop.
SLOW = ('temperature', 'friction_scale', 'viscous_excess')
BOUNDS = ('desired position', 'distance from the desired position', 'desired speed', 'speed')
DELAY = BEYOND + len(BOUNDS)


class ControlLoop:
    """Run a controller: write `state` and `reference`, call `step`, send what it returns.

    Parameters
    ----------
    controller
        a law, not yet configured.
    arm
        the arm that the law uses.
    settings
        LoopSettings; None: the defaults.
    parameters : mapping
        of the controller, by name; defaults for those left out.

    Attributes
    ----------
    state, reference
        AgedInterfaces to `write`.
    output
        `effort` or `current`, the unit of the commands.
    handover
        Handover between the law and an external effort alone; its `time` may be set.
    sample
        the loop as `loop_sample` takes it.

    Raises
    ------
    JointDynamicsError
        When the controller refuses its configuration, or claims an interface that does not exist.
    """

    def __init__(
        self,
        controller: Controller,
        arm: Arm,
        settings: LoopSettings | None = None,
        parameters: Mapping[str, Any] | None = None,
    ):
        self.controller, self.arm = controller, arm
        self.settings = settings = settings or LoopSettings()
        self._law = ControllerAdapter(controller, arm, parameters)
        self.output, self.references = self._law.output, self._law.references
        names, limits = arm.joint_names, arm.robot.limits
        speed = limits.velocity * settings.velocity_margin
        ages = {name: settings.slow_timeout if name in SLOW else settings.timeout for name in self._law.states}
        self.state = AgedInterfaces(names, ages, tuple(STATES), reach=speed, margin=settings.jump_margin)
        self.reference = AgedInterfaces(names, dict.fromkeys(REFERENCES, settings.timeout))
        self.gate, self.handover = self._make_gate(), Handover(arm.n)
        bounds, room = self.gate.constants.bounds, settings.position_margin
        bounds['position_low'], bounds['position_high'] = limits.lower - room, limits.upper + room
        bounds['tracking'], bounds['speed'], bounds['delay'] = settings.tracking, speed, self._bearable_delay()
        self.sample = self._make_sample()

    def _bearable_delay(self) -> FloatArray | float:
        if not (isinstance(self.controller, TorqueLaw) and self.controller.compiled[1].options['feedback'][0]):
            return np.inf
        axes = self.controller.compiled[1].axes
        return delay_margin(axes['kp'], axes['kd'], axes['ki'])

    def _make_sample(self) -> Loop:
        if isinstance(self.controller, TorqueLaw) and type(self.controller) in SHIPPED:
            arm, law, memory = self.controller.compiled
        else:
            neutral = FrictionCompensation(self.arm, 'none')
            arm, law, memory = self.arm.constants, neutral.constants, neutral.memory
            law.axes['scale'] = self._scale
        n, status = self.arm.n, np.zeros(1, STATUS)
        status['time'] = status['stepped'] = np.nan
        status['gravity'] = self.settings.safe == 'gravity' and self.settings.holds_gravity
        return Loop(
            arm=arm,
            law=law,
            memory=memory,
            inputs=self.state.inputs,
            reference=self.reference.inputs,
            required=_rows(STATES, dict.fromkeys(('position', *self._law.required))),
            optional=_rows(STATES, self._law.optional),
            desired=_rows(REFERENCES, self.references),
            measured=np.full((len(STATES), n), np.nan),
            gate=self.gate.constants,
            handover=self.handover.constants,
            rest=self.handover.rest,
            status=status,
            external_effort=np.zeros(n),
            known=np.zeros(n),
            holding=np.zeros(n),
        )

    @property
    def is_compiled(self) -> bool:
        """Whether a step is one compiled function, as for the shipped laws; other laws are called in Python."""
        return type(self.controller) in SHIPPED

    @property
    def warning(self) -> str:
        """Which slow inputs are missing or old, '' if none."""
        time = float(self.sample.status['time'][0])
        return '' if np.isnan(time) else self._law.warning(self.state, time)

    @property
    def fallback_reason(self) -> str:
        """Why the last step did not follow the law, '' when it did."""
        if not self.gate.is_open:
            return 'not active'
        status = self.sample.status[0]
        fault, row, joint, value, time = (status[name] for name in ('fault', 'row', 'joint', 'value', 'time'))
        if self.gate.failure or fault in (FINE, NOT_YET):
            return self.gate.failure or ('' if fault == FINE else 'just activated')
        if fault == NO_TIME:
            return f'time does not go on: {value} s since the last step'
        if fault == DELAY:
            bound = self.gate.constants.bounds['delay'][joint]
            return (
                f'joint states reach the torque {value:.3g} s late on average, the gains of'
                f' {self.arm.joint_names[joint]} bear {bound:.3g} s: lower kp and kd'
                f' (joint-dynamics gains --plugin --delay {value:.2g}), or relieve the machine'
            )
        if fault >= BEYOND:
            what, bound = BOUNDS[fault - BEYOND], self.gate.constants.bounds[joint]
            low, high = (
                (bound['position_low'], bound['position_high'])
                if fault == BEYOND
                else np.array([-1.0, 1.0]) * bound['tracking' if fault == BEYOND + 1 else 'speed']
            )
            name = self.arm.joint_names[joint]
            return f'{what} of {name} is {value:.6g}, allowed are {low:.6g} … {high:.6g}'
        if fault > REFERENCE_FAULT:
            return self.reference.words_of(int(fault - REFERENCE_FAULT), int(row), int(joint), time, 'reference')
        return self.state.words_of(int(fault), int(row), int(joint), time, 'state')

    @property
    def delay(self) -> float:
        """Delay from measurement to torque within this loop, averaged over the last second [s]."""
        return float(self.sample.status['delay'][0])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Fields of the dynamics description that are ignored or used differently; to be shown once."""
        return getattr(self.controller, 'remarks', self.arm.remarks)

    @property
    def validity_violations(self) -> tuple[str, ...]:
        """Joints and quantities that have left the range of validity of the friction since activation."""
        return tuple(getattr(self.controller, 'validity_violations', ()))

    @property
    def safe_command(self) -> FloatArray:
        """The command on a fault (n,), N·m or A as `output`, at the last known position of the arm."""
        hold(self.sample)
        return self.gate.bounded(self.gate.constants.safe)

    def _make_gate(self) -> SafetyGate:
        arm, settings = self.arm, self.settings
        given = np.inf if settings.effort_limit is None else np.asarray(settings.effort_limit, float)
        limit = np.minimum(given, arm.effort_limit)
        rate = 50.0 * limit if settings.effort_rate is None else np.asarray(settings.effort_rate, float)
        self._scale = command_scale(arm, self.output)
        limit, rate = (np.broadcast_to(bound, (arm.n,)) * np.abs(self._scale) for bound in (limit, rate))
        return SafetyGate(limit, rate, settings.ramp_time, max_period=settings.max_period)

    def activate(
        self, position: FloatArray | None = None, measured: FloatArray | None = None, left: FloatArray | None = None
    ) -> None:
        """Open the gate; earlier measurements and references are discarded.

        Where the position is given, the command begins with the torque that holds the joints (`safety.taken_over`): the
        law takes over from it within the hand-over time or, where only gravity is known, from gravity within the ramp
        time. Otherwise it begins at zero.

        Parameters
        ----------
        position
            (n,) rad, of the links at this moment; None, or not finite: unknown.
        measured
            (n,) N·m, torque of the motors, gravity included; None, or not finite: unknown.
        left
            (n,) the last command of the previous controller, N·m or A as `output`; None, or not finite: unknown.

        Raises
        ------
        JointDynamicsError
            When the controller refuses.
        """
        sample = self.sample
        self.state.clear()
        self.reference.clear()
        self._law.clear()
        sample.holding.fill(0.0)
        sample.external_effort.fill(0.0)
        status = sample.status
        status['may_be_effort_only'] = False
        status['moved'], status['fault'], status['time'], status['stepped'] = 0, NOT_YET, np.nan, np.nan
        status['age'] = status['delay'] = 0.0
        self.handover.clear()
        self.controller.on_activate()
        if position is None or not np.isfinite(position).all():
            self.gate.open()
            return
        if sample.status['gravity'][0]:
            sample.known[:] = position
            sample.status['moved'] = 1
        unknown = np.full(self.arm.n, np.nan)
        torque = taken_over(
            self.arm,
            position,
            unknown if measured is None else measured,
            unknown if left is None else left / self._scale,
            holds_gravity=self.settings.holds_gravity,
        )
        if torque is None:
            self.gate.open(self.safe_command)
        else:
            self.gate.open(torque * self._scale, taken_over=True)
            self.handover.clear(BY_OTHERS)

    def deactivate(self, period: float = 0.002) -> Iterator[FloatArray]:
        """Yield the last commands (n,), one per `period` s, down to exactly zero; the gate is closed afterwards."""
        try:
            self.controller.on_deactivate()
        finally:
            yield from self.gate.close(period)

    def end_holding(self, hold_time: float, period: float = 0.002) -> Iterator[FloatArray]:
        """Yield the last commands (n,), one per `period` s, which reach the safe command within the ramp time.

        The safe command is then repeated for `hold_time` s; its last value fits the last known position of the arm, and
        the receiver may continue with it. The commands end at zero after a failure of the law, on a robot that adds
        gravity itself, with the safe command `zero`, and where the position was never known. The gate is closed
        afterwards.
        """
        if not self.gate.is_open:
            return
        try:
            self.controller.on_deactivate()
        finally:
            for _ in range(int(np.ceil((self.settings.ramp_time + hold_time) / period)) + 1):
                out = self.gate.step(None, self.safe_command, period)
                if out is not None:
                    yield out
            self.gate.release()

    def step(self, time: float, period: float) -> FloatArray | None:
        """Return the command (n,) of this moment in the unit `output`, None when not active.

        time: s, of a steady clock; period: s since the last step. At the moment of the last step, with a period of 0,
        that step's command is returned again.
        """
        return None if self.advance(time, period) == CLOSED else self.gate.constants.last.copy()

    @cached_property
    def advance(self) -> Callable[[float, float], int]:
        """A function of time and period that makes the same step as `step` and returns its outcome.

        The outcome is one of `loop_sample`; the command is the gate's last. One compiled call where `is_compiled`.
        """
        if not self.is_compiled:
            return self._step_in_python
        clock = np.zeros(2)
        entry = entry_for(self.sample, (clock,)).call

        def step(time: float, period: float) -> int:
            clock[0], clock[1] = time, period
            return entry()

        return step

    def _step_in_python(self, time: float, period: float) -> int:
        sample = self.sample
        status = sample.status
        status['time'], status['period'] = time, period
        if not self.gate.is_open:
            return CLOSED
        if not begin(sample):
            return int(status['outcome'][0])
        command = None
        if status['fault'][0] == FINE and not status['effort_only'][0]:
            command = self.law_now(time, period)
        if command is not None:
            sample.gate.command[:] = command
        return int(finish(sample, command is not None))

    def evaluate_along(self, motion: FloatArray, time: float, period: float, *, load: bool = True) -> FloatArray:
        """Return the law's command (n,), without the gate, at one instant of a motion that is tracked perfectly.

        Parameters
        ----------
        motion
            (5, n): q and its derivatives to the fourth [rad, rad/s, …].
        time
            s, at which the age of the temperature and α last written is judged.
        period
            of the law, s.
        load
            False: temperature and α are those of the previous call.

        Raises
        ------
        JointDynamicsError
            When the law fails, or needs measurements.
        """
        return self._law.along(motion, time, period, self.state if load else None)

    def refresh_inputs(self, time: float) -> str:
        """Return which slow inputs are missing or old at `time` s, '' if none, and make it `warning`.

        To be called before the law.
        """
        self.sample.status['time'] = time
        return self.warning

    def law_now(self, time: float, period: float) -> FloatArray | None:
        """Return the law's command (n,) [N·m or A] for the values last written, without checks or gate.

        None, with the gate closed, where the law fails. time, period: [s], as in `step`.
        """
        self._law.read_state(self.state, time)
        self._law.read_reference(self.reference)
        try:
            return self._law.command(time, period)
        except Exception as error:  # a plugin may raise anything, and the arm must not notice
            self.gate.fail(f'the law raised {type(error).__name__}: {error}')
            return None


def _rows(order: Iterable[str], quantities: Iterable[str]) -> IntArray:
    known = list(order)
    return np.array([known.index(quantity) for quantity in quantities], dtype=np.int64)
