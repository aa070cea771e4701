"""Measured positions that no joint can have moved to: refused before a law, its friction or its feedback sees them.

Between two samples of a joint, by their stamps,

    |q − q_before| ≤ max(v_max, |q̇|) |t − t_before| + margin

with the largest speed v_max that is allowed, the speed q̇ that is reported, and a margin for the resolution of the encoder and the jitter of the
stamps. A sample that breaks it is not taken over, nor are those after it until positions have gone on without a jump for `SETTLED`: an encoder
that flips to and fro is never believed, one that has slipped once is believed again, and is then the matter of the tracking tolerance.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.control.inputs import AgedInterfaces

#: Position -> the speed that is reported with it.
SPEEDS = {'position': 'velocity', 'motor_position': 'motor_velocity'}
SETTLED = 0.1
"""Time [s] over which positions have to go on without a jump until they are believed again."""


class Jumps:
    """Looks at the samples of one position, joint by joint.

    speed: (n,) rad/s, v_max; infinite where there is none: the reported speed bounds alone, and where none is reported nothing does.
    margin: rad.
    """

    def __init__(self, speed: NDArray, margin: float):
        self._speed, self._margin = speed, margin
        self._known = np.isfinite(speed)
        self.clear()

    def clear(self) -> None:
        """Forget everything: the next sample is believed."""
        n = self._speed.shape
        self._q, self._time = np.full(n, np.nan), np.full(n, np.nan)
        # Of the last jump: when, by how much, in what time.
        self._jumped, self._way, self._period = np.full(n, np.nan), np.zeros(n), np.zeros(n)

    @property
    def suspect(self) -> NDArray:
        """Joints (n,) whose position is not believed now."""
        return ~np.isnan(self._jumped)

    def believe(self, index: NDArray, q: NDArray, time: float, reported: NDArray | None) -> NDArray:
        """Take positions q (k,) rad of the joints `index` at `time` s; return which of them (k,) are believed.

        reported: (n,) rad/s, NaN where unknown, or None. What is not finite is no position, and passed on for others to refuse.
        """
        finite = np.isfinite(q)
        bound = self._speed[index]
        if reported is not None:
            speed = np.abs(reported[index])
            bound = np.where(self._known[index], np.fmax(bound, speed), np.where(np.isfinite(speed), speed, np.inf))
        period = np.abs(time - self._time[index])
        with np.errstate(invalid='ignore', over='ignore'):
            way = np.abs(q - self._q[index])
            # 0 s at an unbounded speed is no bound.
            reach = np.where(np.isinf(bound), np.inf, bound * period) + self._margin
            jumps = finite & (way > reach)
        jumped = index[jumps]
        self._jumped[jumped], self._way[jumped], self._period[jumped] = time, way[jumps], period[jumps]
        taken = index[finite]
        self._q[taken], self._time[taken] = q[finite], time
        # Also where time went back: what counts is how long positions have gone on.
        settled = index[finite & ~jumps & (np.abs(time - self._jumped[index]) >= SETTLED)]
        self._jumped[settled] = np.nan
        return ~finite | np.isnan(self._jumped[index])

    def doubt(self, joint_names: Sequence[str], what: str) -> str:
        """Return which joint's position is not believed and why, '' when all are."""
        if not self.suspect.any():
            return ''
        k = int(np.argmax(self.suspect))
        return (f'{what} of {joint_names[k]} jumped by {self._way[k]:.3g} rad in {self._period[k]:.3g} s, allowed are '
                f'{self._speed[k]:.3g} rad/s and {self._margin:g} rad: not believed until it has gone on for {SETTLED:g} s without a jump')


class MeasuredStates(AgedInterfaces):
    """AgedInterfaces that do not take over positions which no joint can have moved to.

    speed: (n,) rad/s, the largest that is allowed, infinite where there is none. margin: rad.
    """

    def __init__(self, joint_names: Sequence[str], limits: Mapping[str, float], speed: ArrayLike, margin: float):
        super().__init__(joint_names, limits)
        self._jumps = {quantity: Jumps(np.asarray(speed, dtype=float), margin) for quantity in SPEEDS if quantity in self}

    def write(self, quantity: str, values: ArrayLike, time: float, joints: Sequence[str] | None = None) -> None:
        """Write values of all joints (n,), or of the `joints` named; positions that jump keep their last value and its age."""
        jumps = self._jumps.get(quantity)
        if jumps is None:
            super().write(quantity, values, time, joints)
            return
        names = self.joint_names if joints is None else joints
        given = np.asarray(values, dtype=float)
        known = [k for k, name in enumerate(names) if name in self._index]
        if len(given) != len(names) or not known:
            super().write(quantity, values, time, joints)
            return
        index = np.array([self._index[names[k]] for k in known])
        reported = self._values.get(SPEEDS[quantity])
        good = jumps.believe(index, given[known], time, reported)
        if joints is None and good.all():
            super().write(quantity, given, time)
        else:
            kept = [k for k, each in zip(known, good, strict=True) if each]
            super().write(quantity, given[kept], time, [names[k] for k in kept])

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        for jumps in self._jumps.values():
            jumps.clear()

    def doubt(self, quantities: Sequence[str], time: float, what: str) -> str:
        """Return why these quantities cannot be used now, '' when they can."""
        for quantity in quantities:
            if quantity in self._jumps and (doubt := self._jumps[quantity].doubt(self.joint_names, f'{what} {quantity}')):
                return doubt
        return super().doubt(quantities, time, what)
