"""Measured positions that no joint can have moved to: refused before a law, its friction or its feedback sees them.

Between two samples of a joint, by their stamps,

    |q − q_before| ≤ max(v_max, |q̇|) |t − t_before| + margin

with the largest speed v_max that is allowed, the speed q̇ that is reported, and a margin for the resolution of the
encoder and the jitter of the stamps. A sample that breaks it is not taken over, nor are those after it until positions
have gone on without a jump for `RECOVERY_TIME`: an encoder that flips to and fro is never trusted, one that has
slipped once is trusted again, and is then the matter of the tracking tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.inputs import AgedInterfaces
from joint_dynamics.control.packed_friction import compiled_kernels

#: Position -> the speed that is reported with it.
SPEEDS = {'position': 'velocity', 'motor_position': 'motor_velocity'}
RECOVERY_TIME = 0.1
"""Time [s] over which positions have to go on without a jump until they are trusted again."""


class Jumps:
    """Looks at the samples of one position, joint by joint.

    speed: (n,) rad/s, v_max; infinite where there is none: the reported speed bounds alone, and where none is reported
    nothing does.
    margin: rad.
    """

    def __init__(self, speed: FloatArray, margin: float):
        self._speed, self._margin = speed, float(margin)
        # Rows as the kernel takes them: speed, last positions, given ones.
        self._rows = np.full((3, len(speed)), np.nan)
        self._rows[0] = speed
        self._q = self._rows[1]
        self._known = np.isfinite(speed)
        self._bounded = bool(self._known.all())
        self.clear()
        # Compiled or loaded before it has to be in time.
        compiled_kernels().near(self._rows.copy(), 0.0, self._margin)

    def clear(self) -> None:
        """Forget everything: the next sample is trusted."""
        n = self._speed.shape
        self._q.fill(np.nan)
        self._time = np.full(n, np.nan)
        # Of the last jump: when, by how much, in what time.
        self._jumped, self._jump, self._period = np.full(n, np.nan), np.zeros(n), np.zeros(n)
        # Whether none is suspect, and the time of the last samples where it is the same for all joints.
        self._calm, self._when = True, np.nan

    def accept_all(self, q: FloatArray, time: float) -> bool:
        """Take positions (n,) rad of all joints at `time` s where none has jumped; else take nothing and return False.

        It asks for less than `accept` in few operations, as it is asked for every sample of the joint states.
        """
        if not (self._calm and self._bounded):
            return False
        self._rows[2] = q
        if not compiled_kernels().near(self._rows, abs(time - self._when), self._margin):
            return False
        self._when = time
        return True

    @property
    def calm(self) -> bool:
        """Whether no joint's position is suspect."""
        return self._calm

    @property
    def suspect(self) -> FloatArray:
        """Joints (n,) whose position is not trusted now."""
        return ~np.isnan(self._jumped)

    def accept(self, index: FloatArray, q: FloatArray, time: float, reported: FloatArray | None) -> FloatArray:
        """Take positions q (k,) rad of the joints `index` at `time` s; return which of them (k,) are accepted.

        reported: (n,) rad/s, NaN where unknown, or None. What is not finite is no position, and passed on for others to
        refuse.
        """
        finite = np.isfinite(q)
        if self._when == self._when:
            self._time.fill(self._when)
        bound = self._speed[index]
        if reported is not None:
            speed = np.abs(reported[index])
            bound = np.where(self._known[index], np.fmax(bound, speed), np.where(np.isfinite(speed), speed, np.inf))
        period = np.abs(time - self._time[index])
        with np.errstate(invalid='ignore', over='ignore'):
            jump = np.abs(q - self._q[index])
            # 0 s at an unbounded speed is no bound.
            reach = np.where(np.isinf(bound), np.inf, bound * period) + self._margin
            jumps = finite & (jump > reach)
        jumped = index[jumps]
        self._jumped[jumped], self._jump[jumped], self._period[jumped] = time, jump[jumps], period[jumps]
        taken = index[finite]
        self._q[taken], self._time[taken] = q[finite], time
        # Also where time went back: what counts is how long positions have gone on.
        recovered = index[finite & ~jumps & (np.abs(time - self._jumped[index]) >= RECOVERY_TIME)]
        self._jumped[recovered] = np.nan
        self._calm = not self.suspect.any()
        self._when = time if np.all(self._time == time) else np.nan
        return ~finite | np.isnan(self._jumped[index])

    def why_invalid(self, joint_names: Sequence[str], what: str) -> str:
        """Return which joint's position is not accepted and why, '' when all are."""
        if self._calm:
            return ''
        k = int(np.argmax(self.suspect))
        return (
            f'{what} of {joint_names[k]} jumped by {self._jump[k]:.3g} rad in {self._period[k]:.3g} s, allowed are'
            f' {self._speed[k]:.3g} rad/s and {self._margin:g} rad: not accepted until it has gone on for'
            f' {RECOVERY_TIME:g} s without a jump'
        )


class MeasuredStates(AgedInterfaces):
    """AgedInterfaces that do not take over positions which no joint can have moved to.

    speed: (n,) rad/s, the largest that is allowed, infinite where there is none. margin: rad.
    """

    def __init__(self, joint_names: Sequence[str], limits: Mapping[str, float], speed: ArrayLike, margin: float):
        super().__init__(joint_names, limits)
        self._jumps = {
            quantity: Jumps(np.asarray(speed, dtype=float), margin) for quantity in SPEEDS if quantity in self
        }

    def write(self, quantity: str, values: ArrayLike, time: float, joints: Sequence[str] | None = None) -> None:
        """Write values of all joints (n,), or of the `joints` named.

        Positions that jump keep their last value and its age.
        """
        jumps = self._jumps.get(quantity)
        if jumps is None:
            super().write(quantity, values, time, joints)
            return
        whole = np.asarray(values, dtype=float) if joints is None else self.whole(values, joints)
        if whole is not None:
            values, joints = whole, None
            if whole.shape == (len(self.joint_names),) and jumps.accept_all(whole, time):
                self._take_all(quantity, whole, time)
                return
        names = self.joint_names if joints is None else tuple(joints)
        given = np.asarray(values, dtype=float)
        known = [k for k, name in enumerate(names) if name in self._index]
        if len(given) != len(names) or not known:
            super().write(quantity, values, time, joints)
            return
        index = np.array([self._index[names[k]] for k in known])
        reported = self._values.get(SPEEDS[quantity])
        good = jumps.accept(index, given[known], time, reported)
        if joints is None and good.all():
            super().write(quantity, given, time)
        else:
            kept = [k for k, each in zip(known, good, strict=True) if each]
            super().write(quantity, given[kept], time, [names[k] for k in kept])

    def write_rows(self, rows: FloatArray, time: float) -> None:
        """Write the first quantities of all joints; positions that jump keep their last value and its age."""
        for quantity, values in zip(self.quantities, rows, strict=False):
            self.write(quantity, values, time)

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        for jumps in self._jumps.values():
            jumps.clear()

    def in_time(self, quantities: Sequence[str], time: float) -> bool:
        """Return whether these quantities are `fresh`, and positions among them trusted."""
        for quantity, jumps in self._jumps.items():
            if not jumps.calm and quantity in quantities:
                return False
        return super().in_time(quantities, time)

    def why_invalid(self, quantities: Sequence[str], time: float, what: str) -> str:
        """Return why these quantities cannot be used now, '' when they can."""
        for quantity in quantities:
            if quantity in self._jumps and (
                reason := self._jumps[quantity].why_invalid(self.joint_names, f'{what} {quantity}')
            ):
                return reason
        return super().why_invalid(quantities, time, what)
