"""What a law is given: values with their age, plausible or not, joint by joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.control.interface import Interfaces

OTHER_CLOCK = 86400.0
"""Stamps further from the clock here than this [s] come from another kind of clock."""
ORDERS = 64
"""Orders of names that are remembered."""


class AgedInterfaces(Interfaces):
    """Interfaces that remember when each joint's value was written; times are s of one steady clock.

    limits: s, largest age per quantity; a quantity without a limit never gets old. What is stamped as far ahead of now
    is as good as old: its true age is not known.
    """

    def __init__(self, joint_names: Sequence[str], limits: Mapping[str, float]):
        super().__init__(joint_names, limits)
        self._limits = dict(limits)
        self._times: FloatArray = np.full(self.rows.shape, -np.inf)
        self._written = dict(zip(limits, self._times, strict=True))
        self._oldest = dict.fromkeys(limits, -np.inf)
        self._newest = dict.fromkeys(limits, -np.inf)
        self._index = {name: k for k, name in enumerate(self.joint_names)}
        self._orders: dict[tuple[str, ...], IntArray | None] = {}

    def write(self, quantity: str, values: ArrayLike, time: float, joints: Sequence[str] | None = None) -> None:
        """Write values of all joints (n,), or of the `joints` named (unknown ones are passed over), at `time` s."""
        target = self._values.get(quantity)
        if target is None:
            return
        if joints is not None:
            whole = self.whole(values, joints)
            if whole is not None:
                values, joints = whole, None
        if joints is None:
            self._take_all(quantity, values, time)
            return
        written = self._written[quantity]
        for name, value in zip(joints, np.asarray(values, dtype=float), strict=True):
            k = self._index.get(name)
            if k is not None:
                target[k], written[k] = value, time
        self._oldest[quantity], self._newest[quantity] = float(written.min()), float(written.max())

    def write_rows(self, rows: FloatArray, time: float) -> None:
        """Write the first quantities, as many as `rows` (k, n) has, of all joints at `time` s."""
        count = len(rows)
        self.rows[:count] = rows
        self._times[:count] = time
        for quantity in self.quantities[:count]:
            self._oldest[quantity] = self._newest[quantity] = time

    def _take_all(self, quantity: str, values: ArrayLike, time: float) -> None:
        self._values[quantity][:] = values
        self._written[quantity].fill(time)
        self._oldest[quantity] = self._newest[quantity] = time

    def whole(self, values: ArrayLike, joints: Sequence[str]) -> FloatArray | None:
        """Return the values (n,) of `joints` in the robot's order; None where it is not every joint once."""
        names = tuple(joints)
        if names == self.joint_names:
            given = np.asarray(values, dtype=float)
            return given if given.shape == (len(names),) else None
        if names not in self._orders:
            if len(self._orders) >= ORDERS:
                self._orders.clear()
            complete = all(names.count(name) == 1 for name in self.joint_names)
            self._orders[names] = np.array([names.index(name) for name in self.joint_names]) if complete else None
        order, given = self._orders[names], np.asarray(values, dtype=float)
        return None if order is None or given.shape != (len(names),) else given[order]

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._times.fill(-np.inf)
        self._oldest = dict.fromkeys(self._oldest, -np.inf)
        self._newest = dict.fromkeys(self._newest, -np.inf)

    def stale(self, quantity: str, time: float) -> BoolArray:
        """Return which joints' values (n,) never came, are too old, or are stamped too far ahead."""
        return ~(np.abs(time - self._written[quantity]) <= self._limits[quantity])

    def fresh(self, quantity: str, time: float) -> bool:
        """Return whether every joint's value is young enough and not from the future (not whether it is a number)."""
        limit = self._limits[quantity]
        return time - self._oldest[quantity] <= limit and self._newest[quantity] - time <= limit

    def in_time(self, quantities: Sequence[str], time: float) -> bool:
        """Return whether these quantities are `fresh` and none is refused: whether all are numbers is not looked at."""
        for quantity in quantities:
            limit = self._limits[quantity]
            if not (time - self._oldest[quantity] <= limit and self._newest[quantity] - time <= limit):
                return False
        return True

    def why_invalid(self, quantities: Sequence[str], time: float, what: str) -> str:
        """Return why these quantities cannot be used now, '' when they can.

        Not there, too old, stamped ahead, or not finite.
        """
        for quantity in quantities:
            oldest = self._oldest[quantity]
            limit = self._limits[quantity]
            if not time - oldest <= limit:
                joint = self.joint_names[int(np.argmin(self._written[quantity]))]
                if np.isinf(oldest):
                    return f'{what} {quantity} of {joint} has not come yet'
                return (
                    f'{what} {quantity} of {joint} is {time - oldest:.3f} s old, allowed are {limit:g}'
                    f' s{other_clock(time - oldest)}'
                )
            ahead = self._newest[quantity] - time
            if not ahead <= limit:
                joint = self.joint_names[int(np.argmax(self._written[quantity]))]
                return (
                    f'{what} {quantity} of {joint} is stamped {ahead:.3f} s ahead of the clock here, allowed are'
                    f' {limit:g} s{other_clock(ahead) or ": are the clocks of the machines the same?"}'
                )
            values = self[quantity]
            if np.count_nonzero(np.isfinite(values)) != len(values):
                return (
                    f'{what} {quantity} of {self.joint_names[int(np.argmin(np.isfinite(values)))]} is not a finite'
                    ' number'
                )
        return ''


def other_clock(difference: float) -> str:
    """Return the remedy for stamps that come from another kind of clock, else ''.

    difference: s, between them and the clock here.
    """
    return ': set use_sim_time alike here and for who publishes it' if difference >= OTHER_CLOCK else ''


def beyond(joint_names: Sequence[str], values: FloatArray, low: FloatArray, high: FloatArray, what: str) -> str:
    """Return which joint's value is outside [low, high], '' when none is."""
    outside = ~((values >= low) & (values <= high))
    if not outside.any():
        return ''
    k = int(np.argmax(outside))
    return f'{what} of {joint_names[k]} is {values[k]:.6g}, allowed are {low[k]:.6g} … {high[k]:.6g}'
