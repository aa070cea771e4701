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

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.packed_friction import compiled_kernels
from joint_dynamics.errors import JointDynamicsError


class SafetyGate:
    """Gate of n joints; closed (no command at all) until opened.

    limit: largest command (n,) > 0, finite. rate: largest change per second (n,) > 0. ramp_time: s, of the way to the
    safe command.
    max_period: s, a longer step counts as this long, so that a pause does not buy a jump. Units of limit and rate are
    those of the command.

    Attributes
    ----------
    weight
        w, 1 law, 0 safe command. failure: why it has failed for good, '' when it has not. limited: (n,) joints that
        were limited in torque or rate in the last step. compiled: whether steps are taken by the kernel; False, by the
        array form that it is compared with.

    """

    def __init__(self, limit: ArrayLike, rate: ArrayLike, ramp_time: float, *, max_period: float = 0.02):
        self.limit = np.array(limit, dtype=float)
        self.rate = np.array(rate, dtype=float)
        self.compiled = True
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
        self.limited = np.zeros(n, dtype=bool)
        self.weight = 0.0
        self.failure = ''
        self._open = False
        # Rows as the kernel takes them.
        self._rows = np.zeros((7, *n))
        self._rows[:2] = self.limit, self.rate
        self._law, self._last, self._command, self._safe, self._next = self._rows[2:]
        self._has_law = False
        # Compiled or loaded before it has to be in time.
        compiled_kernels().gate(self._rows.copy(), self.limited.copy(), False, False, False, 0.0, 0.0, 0.0)

    @property
    def is_open(self) -> bool:
        """Whether it gives commands."""
        return self._open

    @property
    def last(self) -> FloatArray:
        """The last command (n,) that went out; zeros before the first."""
        return self._last.copy()

    def open(self, begin: FloatArray | None = None, *, taken_over: bool = False) -> None:
        """Begin, without a failure, with the weight of the law rising.

        Parameters
        ----------
        begin
            (n,) what the joints bear at this moment, finite, from which on the rate counts; None: nothing.
        taken_over
            whether that is to be gone on with until a law commands: it counts as the last command of a law, in full.
        """
        self._last[:] = 0.0 if begin is None else self.bounded(begin)
        self._law[:] = self._last
        self._has_law, self.failure, self._open = taken_over, '', True
        self.weight = 1.0 if taken_over else 0.0
        self.limited[:] = False

    @property
    def follows(self) -> bool:
        """Whether the command of a law goes out next without a share of the safe one: w is 1, and nothing failed."""
        return self.weight >= 1.0 and not self.failure

    def fail(self, reason: str) -> None:
        """Go to zero and stay there until opened again."""
        self.failure = self.failure or reason

    def step(
        self, command: FloatArray | None, safe: FloatArray | None, period: float, *, fallback: bool = False
    ) -> FloatArray | None:
        """Return the next command (n,), or None when closed.

        command: of the law, or None when there is none. safe: the safe command; what of it is not finite counts as
        zero. None: that of the step before, for a step that it cannot reach (`follows`).
        period: s since the last step; 0, negative or not a number: no time has passed, and nothing changes.
        """
        if not self._open:
            return None
        T = float(min(period, self.max_period)) if period > 0 else 0.0
        if safe is not None:
            self._safe[:] = safe
        if not self.compiled:
            return self._step_arrays(command, self._safe, T, fallback=fallback)
        given = command is not None and not fallback
        if given:
            self._command[:] = command
        self.weight, self._has_law, sound = compiled_kernels().gate(
            self._rows, self.limited, given, bool(self.failure), self._has_law, self.weight, T / self.ramp_time, T
        )
        if not sound:
            self.fail(f'the law gave a command that is not finite: {self._command.tolist()}')
        return self._next.copy()

    def _step_arrays(
        self, command: FloatArray | None, safe: FloatArray, T: float, *, fallback: bool
    ) -> FloatArray | None:
        """`step` by arrays, for a time T of at most `max_period`: the form that the kernel is compared with."""
        if command is not None and not fallback:
            if np.count_nonzero(np.isfinite(command)) == len(command):
                self._law[:], self._has_law = np.minimum(np.maximum(command, -self.limit), self.limit), True
            else:
                self.fail(f'the law gave a command that is not finite: {np.asarray(command).tolist()}')
        good = command is not None and not fallback and not self.failure
        self.weight = min(1.0, self.weight + T / self.ramp_time) if good else max(0.0, self.weight - T / self.ramp_time)
        rest = np.zeros_like(self.limit) if self.failure else self.bounded(safe)
        # Opened a moment ago: the first way to the safe command is the rate limit's.
        target = self.weight * self._law + (1 - self.weight) * rest if self._has_law else rest
        return self._send(target, T, command if good else None)

    def close(self, period: float) -> Iterator[FloatArray]:
        """Yield the commands that end at zero, one per `period` s, within the ramp time; then the gate is closed.

        Sent without waiting they are the fastest way down; the last is exactly zero.
        """
        if not self._open:
            return
        zero = np.zeros_like(self.limit)
        steps = int(np.ceil(np.max(np.abs(self._last) / (self.rate * min(period, self.max_period)), initial=0.0)))
        try:
            for _ in range(steps):
                yield self._send(zero, period, None)
            yield zero
        finally:
            self._last[:] = 0.0
            self._open, self.weight = False, 0.0

    def release(self) -> None:
        """Close without a further command: whoever takes them goes on with the last."""
        self._open, self.weight = False, 0.0

    def bounded(self, safe: FloatArray) -> FloatArray:
        """Return a safe command (n,) within the limits; what of it is not finite counts as zero."""
        sound = np.count_nonzero(np.isfinite(safe)) == len(safe)
        finite = safe if sound else np.where(np.isfinite(safe), safe, 0.0)
        return np.minimum(np.maximum(finite, -self.limit), self.limit)

    def _send(self, target: FloatArray, period: float, asked: FloatArray | None) -> FloatArray:
        reach = self.rate * min(period, self.max_period)
        out = np.minimum(np.maximum(target, self._last - reach), self._last + reach)
        out = np.minimum(np.maximum(out, -self.limit), self.limit)
        self.limited[:] = out != target if asked is None else (out != target) | (np.abs(asked) > self.limit)
        self._last[:] = out
        return out
