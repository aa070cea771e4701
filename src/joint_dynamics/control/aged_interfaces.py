"""The inputs of a law by name: written joint by joint, and what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import Entry, arrays_of
from joint_dynamics.control.inputs import (
    AHEAD,
    JUMP,
    JUMPED,
    NOT_FINITE,
    NOTHING,
    OLD,
    RECOVERY_TIME,
    Inputs,
    first_fault,
    is_whole,
    take_entry,
)
from joint_dynamics.control.interface import Interfaces

OTHER_CLOCK = 86400.0
"""Stamps further from the clock here than this [s] come from another kind of clock."""
SPEEDS = {'position': 'velocity', 'motor_position': 'motor_velocity'}
"""Position -> the speed that is reported with it."""


class AgedInterfaces(Interfaces):
    """Interfaces that store when each joint's value was written; times are s of one steady clock.

    Parameters
    ----------
    limits
        s, largest age per quantity; a value stamped as far in the future counts as old too, for its age is unknown.
    order
        quantities in the order of the rows, of which those without a limit are not loaned; None: those of `limits`.
    reach, margin
        v_max (n,) rad/s and margin rad of the check for jumps. None: no check.

    Attributes
    ----------
    inputs
        the arrays for the compiled loop.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        limits: Mapping[str, float],
        order: Sequence[str] | None = None,
        *,
        reach: ArrayLike | None = None,
        margin: float = 0.0,
    ):
        rows = tuple(limits) if order is None else tuple(order)
        super().__init__(joint_names, rows)
        n, self._limits = len(self.joint_names), dict(limits)
        self._row = {quantity: k for k, quantity in enumerate(rows)}
        self._values = {quantity: values for quantity, values in self._values.items() if quantity in limits}
        self._loaned = {quantity: self._row[quantity] for quantity in self._values}
        # What is no position cannot jump: it is stored as it comes.
        self._watched = {} if reach is None else SPEEDS
        speeds = [self._row.get(self._watched.get(quantity, ''), NOTHING) for quantity in rows]
        self.inputs = Inputs(
            self.rows,
            np.full(self.rows.shape, -np.inf),
            np.array([limits.get(quantity, np.inf) for quantity in rows]),
            np.array(speeds, dtype=np.int64),
            np.zeros(self.rows.shape, JUMP),
            np.full(n, np.inf) if reach is None else np.array(reach, dtype=float),
            np.array([float(margin)]),
        )
        self._index, self._times = {name: k for k, name in enumerate(self.joint_names)}, self.inputs.times
        self._offered, self._given = np.full(self.rows.shape, np.nan), np.ones(n, dtype=bool)
        sizes = np.array(self.rows.shape, dtype=np.int64)
        offer = sizes, self._offered, self._given, self.inputs
        self._take = Entry(take_entry, arrays_of(offer), int, int, float).call
        self.clear()

    def write(
        self, quantity: str, values: Sequence[float] | FloatArray, time: float, joints: Sequence[str] | None = None
    ) -> None:
        """Write values of all joints (n,), or of the `joints` named (unknown ones are passed over), at `time` s.

        Positions that jump keep their last value and its age.
        """
        row = self._loaned.get(quantity)
        if row is None:
            return
        if joints is None or tuple(joints) == self.joint_names:
            if len(values) != len(self.joint_names):
                raise ValueError(f'{quantity}: expected {len(self.joint_names)} values, found {len(values)}')
            if quantity in self._watched:
                self._offered[0] = values
                self._take(row, 1, time)
            else:
                self.rows[row], self._times[row] = values, time
            return
        self._given.fill(False)
        for name, value in zip(joints, np.asarray(values, dtype=float), strict=True):
            k = self._index.get(name)
            if k is not None:
                self._offered[0, k], self._given[k] = value, True
        self._take(row, 1, time)
        self._given.fill(True)

    def write_rows(self, rows: FloatArray, time: float) -> None:
        """Write the first quantities, as many as `rows` (k, n) has, of all joints at `time` s."""
        if self._watched:
            self._offered[: len(rows)] = rows
            self._take(0, len(rows), time)
        else:
            self.rows[: len(rows)], self._times[: len(rows)] = rows, time

    def clear(self) -> None:
        """Discard all values: the next sample is trusted."""
        super().clear()
        self.inputs.times.fill(-np.inf)
        for name in JUMP.names or ():
            self.inputs.jumps[name] = np.nan

    def stale(self, quantity: str, time: float) -> BoolArray:
        """Return which joints' values (n,) never came, are too old, or are stamped too far ahead."""
        return ~(np.abs(time - self.inputs.times[self._row[quantity]]) <= self._limits[quantity])

    def fresh(self, quantity: str, time: float) -> bool:
        """Return whether every joint's value is neither too old nor stamped in the future; it may be NaN."""
        return bool(is_whole(self.inputs, self._row[quantity], time))

    def why_invalid(self, quantities: Sequence[str], time: float, what: str) -> str:
        """Return why these quantities cannot be used now, '' when they can.

        They are missing, too old, stamped in the future, not finite, or positions that jumped.
        """
        rows = np.array([self._row[quantity] for quantity in quantities], dtype=np.int64)
        fault, row, joint = first_fault(self.inputs, rows, time)
        return self.words_of(fault, row, joint, time, what)

    def words_of(self, fault: int, row: int, joint: int, time: float, what: str) -> str:
        """Return a fault of `input_sample` at `time` s in words, '' for none."""
        inputs, quantity, name = self.inputs, tuple(self._row)[row], self.joint_names[joint]
        age, limit = time - inputs.times[row, joint], inputs.ages[row]
        if fault == JUMPED:
            jump = inputs.jumps[row, joint]
            return (
                f'{what} {quantity} of {name} jumped by {jump["jump"]:.3g} rad in {jump["period"]:.3g} s, allowed are'
                f' {inputs.reach[joint]:.3g} rad/s and {inputs.margin[0]:g} rad: not accepted until it has gone on for'
                f' {RECOVERY_TIME:g} s without a jump'
            )
        if fault == OLD:
            if np.isinf(age):
                return f'{what} {quantity} of {name} has not come yet'
            return f'{what} {quantity} of {name} is {age:.3f} s old, allowed are {limit:g} s{other_clock(age)}'
        if fault == AHEAD:
            return (
                f'{what} {quantity} of {name} is stamped {-age:.3f} s ahead of the clock here, allowed are'
                f' {limit:g} s{other_clock(-age) or ": are the clocks of the machines the same?"}'
            )
        return f'{what} {quantity} of {name} is not a finite number' if fault == NOT_FINITE else ''


def other_clock(difference: float) -> str:
    """Return the remedy for stamps that come from another kind of clock, else ''.

    difference: s, between them and the clock here.
    """
    return ': set use_sim_time alike here and for who publishes it' if difference >= OTHER_CLOCK else ''


def out_of_bounds(joint_names: Sequence[str], values: FloatArray, low: FloatArray, high: FloatArray, what: str) -> str:
    """Return which joint's value is outside [low, high], '' when none is."""
    outside = ~((values >= low) & (values <= high))
    if not outside.any():
        return ''
    k = int(np.argmax(outside))
    return f'{what} of {joint_names[k]} is {values[k]:.6g}, allowed are {low[k]:.6g} … {high[k]:.6g}'
