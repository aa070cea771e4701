"""One controller, its interfaces and the safety gate as one object that a node, a test or a simulation steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.command_scale import command_scale
from joint_dynamics.control.handover import Handover, taken_over
from joint_dynamics.control.input_checks import InputChecks
from joint_dynamics.control.inputs import AgedInterfaces
from joint_dynamics.control.interface import REFERENCES, Controller
from joint_dynamics.control.loaned_law import LoanedLaw
from joint_dynamics.control.loop_settings import LoopSettings
from joint_dynamics.control.plausibility import MeasuredStates
from joint_dynamics.control.safety import SafetyGate

#: Inputs that change slowly or may be missing: their age is not that of the control loop.
SLOW = ('temperature', 'friction_scale', 'viscous_excess')


class ControlLoop:
    """Run a controller: write `state` and `reference`, call `step`, send what it returns.

    Parameters
    ----------
    controller
        a law, unconfigured.
    arm
        what it computes with.
    settings
        LoopSettings; None: as declared.
    parameters : mapping
        of the controller, by name (default for those left out).

    Attributes
    ----------
    state, reference
        AgedInterfaces to `write`. output: `effort` or `current`, the unit of the commands.
    added
        (n,) N·m, what is asked for beside the law, before the gate; zeros, to be written into.
    alone
        whether that is all that is asked for where there is no reference: it is passed on then, within the limits of
        the gate, as long as the state is there and as it should be; settable.
    handover
        Handover between the law and what is asked for alone; its `time` is settable.
    checks
        InputChecks of both.
    fallback_reason
        why the last step did not follow the law, '' when it did.

    Raises
    ------
    JointDynamicsError
        When the controller refuses, or claims what does not exist.
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
        self._law = LoanedLaw(controller, arm, parameters)
        self.output, self.references = self._law.output, self._law.references
        names, limits = arm.joint_names, arm.robot.limits
        speed = np.where(limits.velocity > 0, limits.velocity, np.inf) * settings.velocity_margin
        ages = {name: settings.slow_timeout if name in SLOW else settings.timeout for name in self._law.states}
        self.state: AgedInterfaces = MeasuredStates(names, ages, speed, settings.jump_margin)
        self.reference = AgedInterfaces(names, dict.fromkeys(REFERENCES, settings.timeout))
        self.gate = self._make_gate()
        # Where the arm was last known to be, and gravity there, computed when it is asked for.
        self._known, self._moved = np.zeros(arm.n), False
        self._gravity = np.zeros(arm.n)
        self.added: FloatArray = np.zeros(arm.n)
        self.alone, self.handover = False, Handover(arm.n)
        room = settings.position_margin
        self.checks = InputChecks(
            self.state,
            self.reference,
            self._law.required,
            self.references,
            (limits.lower - room, limits.upper + room),
            speed,
            settings.tracking,
        )
        self.fallback_reason = 'not active'

    @property
    def warning(self) -> str:
        """What slow input is not there or old, ''."""
        return self._law.warning

    @property
    def remarks(self) -> tuple[str, ...]:
        """What of the dynamics description is not used, or in another way than it stands there: worth saying once."""
        return getattr(self.controller, 'remarks', self.arm.remarks)

    @property
    def beyond(self) -> tuple[str, ...]:
        """What of the motion has left the range of validity of the described friction since activation.

        Worth saying when it comes.
        """
        return tuple(getattr(self.controller, 'beyond', ()))

    @property
    def safe_command(self) -> FloatArray:
        """What is commanded on a fault (n,) N·m, or A with `output` current, where the arm was last known to be."""
        return self.gate.bounded(self._holding())

    def _holding(self) -> FloatArray:
        """Return gravity where the arm was last known to be, in the unit `output`, as it comes."""
        if self._moved:
            self._gravity, self._moved = self.arm.rigid.gravity(self._known), False
        return self._gravity * self._scale

    def _make_gate(self) -> SafetyGate:
        arm, settings = self.arm, self.settings
        given: FloatArray = (
            arm.effort_limit
            if settings.effort_limit is None
            else np.broadcast_to(np.asarray(settings.effort_limit, float), (arm.n,))
        )
        limit = np.minimum(given, arm.effort_limit)
        rate = (
            50.0 * limit
            if settings.effort_rate is None
            else np.broadcast_to(np.asarray(settings.effort_rate, float), (arm.n,))
        )
        self._scale = command_scale(arm, self.output)
        return SafetyGate(
            limit * np.abs(self._scale), rate * np.abs(self._scale), settings.ramp_time, max_period=settings.max_period
        )

    def activate(
        self, position: FloatArray | None = None, measured: FloatArray | None = None, left: FloatArray | None = None
    ) -> None:
        """Open the gate; what was measured and desired before is forgotten.

        Where one says how the joints stand, the command goes on from what they bear (`handover.taken_over`): the law
        takes over from that within the hand-over's time, or, where only gravity is known, from gravity within the
        ramp time. Where none does, it begins at zero.

        Parameters
        ----------
        position
            (n,) rad, of the links at this moment; None, or not finite: not known.
        measured, left
            (n,) torque of the motors, N·m, gravity in it, and the command of whoever had them before, N·m or A as
            `output`; None, or not finite: not known.

        Raises
        ------
        JointDynamicsError
            When the controller refuses.
        """
        self.state.clear()
        self.reference.clear()
        self._law.clear()
        self._gravity[:] = self.added[:] = 0.0
        self._moved = self.alone = False
        self.handover.clear()
        self.controller.on_activate()
        self.fallback_reason = 'just activated'
        if position is None or not np.isfinite(position).all():
            self.gate.open()
            return
        if self.settings.safe == 'gravity' and self.settings.holds_gravity:
            self._known[:], self._moved = position, True
        unknown = np.full(self.arm.n, np.nan)
        torque = taken_over(
            self.arm,
            position,
            unknown if measured is None else measured,
            unknown if left is None else left / self._scale,
            holds_gravity=self.settings.holds_gravity,
        )
        if torque is None:
            self.gate.open(self._holding())
        else:
            self.gate.open(torque * self._scale, taken_over=True)
            self.handover.clear('before')

    def deactivate(self, period: float = 0.002) -> Iterator[FloatArray]:
        """Yield the last commands (n,), one per `period` s, down to exactly zero; the gate is closed afterwards."""
        self.fallback_reason = 'not active'
        try:
            self.controller.on_deactivate()
        finally:
            yield from self.gate.close(period)

    def end_holding(self, hold_time: float, period: float = 0.002) -> Iterator[FloatArray]:
        """Yield the last commands (n,), one per `period` s, to the safe one within the ramp time.

        That one comes for `hold_time` s. The last is the safe command for where the arm was last: whoever takes the
        commands may go on with it. A law that has failed, a robot that adds gravity itself, the safe command `zero`,
        and an arm whose position was never known end at zero. The gate is closed afterwards.
        """
        if not self.gate.is_open:
            return
        self.fallback_reason = 'not active'
        try:
            self.controller.on_deactivate()
        finally:
            for _ in range(int(np.ceil((self.settings.ramp_time + hold_time) / period)) + 1):
                out = self.gate.step(None, self._holding(), period, fallback=True)
                if out is not None:
                    yield out
            self.gate.release()

    def step(self, time: float, period: float) -> FloatArray | None:
        """Return the command (n,) of this moment in the unit `output`, None when not active.

        time: s, steady; period: s since the last.
        """
        if not self.gate.is_open:
            return None
        self.fallback_reason = self.gate.failure or self._why_fallback(time, period)
        command, valid, source = None, False, ''
        if not self.fallback_reason:
            valid = True
            command = self.law_now(time, period)
            if command is not None:
                command += self.added if self.output == 'effort' else self.added * self._scale
                source = 'law'
            self.fallback_reason = self.gate.failure
        elif self.alone and not self.gate.failure and period > 0 and self.checks.lacks_only_references(time):
            self.fallback_reason, command, source = '', self.added * self._scale, 'effort'
        if command is None:
            self.handover.wait(period)
        else:
            command = self.handover.blended(source, command, self.gate.last, self.gate.limit, period)
        if (
            self.settings.safe == 'gravity'
            and self.settings.holds_gravity
            and (valid or not self.state.why_invalid(('position',), time, 'state'))
        ):
            self._known[:] = self.state['position']
            self._moved = True
        # A law that is followed in full has no share of the safe command in it.
        safe = None if command is not None and not self.fallback_reason and self.gate.follows else self._holding()
        out = self.gate.step(command, safe, period, fallback=bool(self.fallback_reason))
        self.fallback_reason = self.gate.failure or self.fallback_reason
        return out

    def law_along(self, motion: FloatArray, time: float, period: float, *, load: bool = True) -> FloatArray:
        """Return the law's command (n,) at one instant of a desired motion that is tracked perfectly, past the gate.

        Parameters
        ----------
        motion
            (5, n): q and its derivatives to the fourth [rad, rad/s, …].
        time, period
            age of temperature and α, those last written, is taken at `time` [s]; period of the law [s].
        load
            False: temperature and α are those of the call before.

        Raises
        ------
        JointDynamicsError
            When the law fails, or needs to measure.
        """
        return self._law.along(motion, time, period, self.state if load else None)

    def look(self, time: float) -> str:
        """Return what slow input is missing or old at `time` s, '' when all are there.

        `warning`, before the law is asked for anything.
        """
        self._law.read_state(self.state, time)
        return self.warning

    def law_now(self, time: float, period: float) -> FloatArray | None:
        """Return the law's command (n,) [N·m, A] for what was last written, unchecked and past the gate.

        None, and the gate closed, where the law fails; time, period [s]: as in `step`, which checks.
        """
        self._law.read_state(self.state, time)
        self._law.read_reference(self.reference)
        try:
            return self._law.command(time, period)
        except Exception as error:  # a plugin may raise anything, and the arm must not notice
            self.gate.fail(f'the law raised {type(error).__name__}: {error}')
            return None

    def _why_fallback(self, time: float, period: float) -> str:
        if not period > 0:
            return f'time does not go on: {period} s since the last step'
        return self.checks.why_not(time)
