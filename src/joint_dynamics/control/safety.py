"""The safety gate between law and wire: finite, limited in torque and in rate, and on any fault a ramp to what is safe.

    u(k) = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max)

The weight w falls from 1 to 0 within the ramp time while there is a fault (u_law then stays at its last good value) and
rises again when it is over, so that no fault, however short or often, makes a step. u_safe is gravity alone, or zero. A
failure (an exception in a law, a command that is not finite) is a fault that stays until the gate is opened again, and
its u_safe is zero.

The ramp ends in time because the rate allows it: r t_ramp ≥ 2 u_max is required.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.control.loop_sample import BOUND, GATE, Gate, gate_step
from joint_dynamics.errors import JointDynamicsError


class SafetyGate:
    """Gate of n joints; closed (no command at all) until opened. `loop_sample.gate_step` has the step.

    limit: largest command (n,) > 0, finite. rate: largest change per second (n,) > 0. ramp_time: s, of the way to the
    safe command.
    max_period: s, a longer step counts as this long, so that a pause does not buy a jump. Units of limit and rate are
    those of the command.

    Attributes
    ----------
    constants
        `Gate`, settings and state.
    limited
        (n,) joints that were limited in torque or rate in the last step.
    """

    def __init__(self, limit: ArrayLike, rate: ArrayLike, ramp_time: float, *, max_period: float = 0.02):
        self.limit = np.array(limit, dtype=float)
        self.rate = np.array(rate, dtype=float)
        n = self.limit.shape
        if (
            self.limit.ndim != 1
            or self.rate.shape != n
            or not np.all(np.isfinite(self.limit))
            or np.any(self.limit <= 0)
        ):
            raise JointDynamicsError(
                'gate: expected finite torque limits > 0 of every joint (effort in the URDF, or a parameter), found '
                f'{self.limit.tolist()}'
            )
        if not (np.isfinite(ramp_time) and ramp_time > 0 and np.isfinite(max_period) and max_period > 0):
            raise JointDynamicsError(
                f'gate: expected ramp_time and max_period > 0 s, found {ramp_time} and {max_period}'
            )
        if not np.all(self.rate * ramp_time >= 2 * self.limit * (1 - 1e-9)):
            raise JointDynamicsError(
                'gate: expected rate limits of at least 2 limit / ramp_time, so that the ramp ends in time: '
                f'{(2 * self.limit / ramp_time).tolist()}, found {self.rate.tolist()}'
            )
        self.ramp_time = float(ramp_time)
        self.max_period = float(max_period)
        state, bounds = np.zeros(1, GATE), np.zeros(n, BOUND)
        state['ramp_time'], state['max_period'] = self.ramp_time, self.max_period
        bounds['limit'], bounds['rate'] = self.limit, self.rate
        law, last, safe, command = np.zeros((4, *n))
        self.constants = Gate(state, bounds, law, last, safe, command, np.zeros(n, dtype=bool))
        self._failure = ''

    @property
    def limited(self) -> BoolArray:
        """Joints (n,) that were limited in torque or rate in the last step."""
        return self.constants.limited

    @property
    def is_open(self) -> bool:
        """Whether it gives commands."""
        return bool(self.constants.state['open'][0])

    @property
    def weight(self) -> float:
        """w: 1 law, 0 safe command."""
        return float(self.constants.state['weight'][0])

    @property
    def failure(self) -> str:
        """Why it has failed for good, '' when it has not."""
        if self.constants.state['failed'][0] == 2 and not self._failure:
            self._failure = f'the law gave a command that is not finite: {self.constants.command.tolist()}'
        return self._failure

    @property
    def last(self) -> FloatArray:
        """The last command (n,) that went out; zeros before the first."""
        return self.constants.last.copy()

    def open(self, begin: FloatArray | None = None, *, taken_over: bool = False) -> None:
        """Begin, without a failure, with the weight of the law rising.

        Parameters
        ----------
        begin
            (n,) what the joints bear at this moment, finite, from which on the rate counts; None: nothing.
        taken_over
            whether that is to be gone on with until a law commands: it counts as the last command of a law, in full.
        """
        gate, state = self.constants, self.constants.state
        gate.last[:] = 0.0 if begin is None else self.bounded(begin)
        gate.law[:] = gate.last
        self._failure = ''
        state['failed'], state['open'], state['has_law'], state['weight'] = 0, 1, taken_over, float(taken_over)
        gate.limited[:] = False

    def fail(self, reason: str) -> None:
        """Go to zero and stay there until opened again."""
        self._failure = self.failure or reason
        self.constants.state['failed'] = 1

    def step(
        self, command: FloatArray | None, safe: FloatArray, period: float, *, fallback: bool = False
    ) -> FloatArray | None:
        """Return the next command (n,), or None when closed.

        command: of the law, or None when there is none. safe: the safe command; what of it is not finite counts as
        zero.
        period: s since the last step; 0, negative or not a number: no time has passed, and nothing changes.
        """
        if not self.is_open:
            return None
        gate = self.constants
        gate.safe[:] = safe
        given = command is not None and not fallback
        if given:
            gate.command[:] = command
        gate_step(gate, given, True, float(period))
        return self.last

    def close(self, period: float) -> Iterator[FloatArray]:
        """Yield the commands that end at zero, one per `period` s, within the ramp time; then the gate is closed.

        Sent without waiting they are the fastest way down; the last is exactly zero.
        """
        if not self.is_open:
            return
        gate = self.constants
        reach = self.rate * min(period, self.max_period)
        steps = int(np.ceil(np.max(np.abs(gate.last) / reach, initial=0.0)))
        try:
            for _ in range(steps):
                gate.last[:] -= np.clip(gate.last, -reach, reach)
                yield self.last
            yield np.zeros_like(self.limit)
        finally:
            gate.last[:] = 0.0
            self.release()

    def release(self) -> None:
        """Close without a further command: whoever takes them goes on with the last."""
        self.constants.state['open'], self.constants.state['weight'] = 0, 0.0

    def bounded(self, safe: FloatArray) -> FloatArray:
        """Return a safe command (n,) within the limits; what of it is not finite counts as zero."""
        return np.clip(np.where(np.isfinite(safe), safe, 0.0), -self.limit, self.limit)
