"""The inputs of a law: values with their age and plausibility, joint by joint, compiled.

A measured position is accepted where, by the stamps,

    |q − q_before| ≤ max(v_max, |q̇|) |t − t_before| + margin

with the largest allowed speed v_max, the reported speed q̇, and a margin for the resolution of the encoder and the
jitter of the stamps. A sample that violates it is rejected, and so are those after it until positions have continued
without a jump for `RECOVERY_TIME`: an encoder that flips to and fro is never trusted; one that slipped once is trusted
again, and its error is then left to the tracking tolerance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import inlined_early
from joint_dynamics.joint.constants import Record

RECOVERY_TIME = 0.1
"""Time [s] over which positions have to go on without a jump until they are trusted again."""
FINE, JUMPED, OLD, AHEAD, NOT_FINITE = range(5)
"""What may be wrong with a quantity of one joint."""
NOTHING = -1
"""Row of the speeds that belong to a quantity which is no position."""

JUMP = np.dtype([(name, 'f8') for name in ('q', 'time', 'jumped', 'jump', 'period')], align=True)
"""Of one position: the last one [rad], when [s]; when it jumped last (not a number: it did not, or is trusted again),
by how much, in what time."""


class Inputs(NamedTuple):
    """Quantities of n joints with their age.

    Attributes
    ----------
    rows, times
        (q, n) values, and when they were written [s].
    ages
        (q,) s, largest age; infinite: never old.
    speeds
        (q,) row of the speed that is reported with a position, NOTHING for quantities other than positions.
    jumps
        (q, n) of `JUMP`.
    reach
        v_max (n,) rad/s, infinite where there is none.
    margin
        (1,) rad.

    """

    rows: FloatArray
    times: FloatArray
    ages: FloatArray
    speeds: IntArray
    jumps: Record
    reach: FloatArray
    margin: FloatArray


@inlined_early
def trusted(jump, q, time, reported, reach, margin):  # type: ignore[no-untyped-def]
    """Check a position for a jump; return whether it is accepted.

    Values that are not finite are accepted here and rejected when used. Where the largest speed is unknown, only the
    reported speed bounds the step; without either, nothing does.
    """
    if not np.isfinite(q):
        return True
    speed = abs(reported)
    bound = np.fmax(reach, speed) if np.isfinite(reach) else speed if np.isfinite(speed) else np.inf
    size, period = abs(q - jump.q), abs(time - jump.time)
    jumps = bound < np.inf and size > bound * period + margin
    if jumps:
        jump.jumped, jump.jump, jump.period = time, size, period
    jump.q, jump.time = q, time
    # Also where time went back: what counts is how long positions have gone on.
    if not jumps and abs(time - jump.jumped) >= RECOVERY_TIME:
        jump.jumped = np.nan
    return np.isnan(jump.jumped)


@inlined_early
def take(inputs, row, values, given, time):  # type: ignore[no-untyped-def]
    """Write values (n,) of a quantity at `time` s for the joints `given` (n,) bool; a jump keeps the old value."""
    speed = inputs.speeds[row]
    for j in range(len(values)):
        if not given[j]:
            continue
        if speed != NOTHING and not trusted(
            inputs.jumps[row, j], values[j], time, inputs.rows[speed, j], inputs.reach[j], inputs.margin[0]
        ):
            continue
        inputs.rows[row, j], inputs.times[row, j] = values[j], time


def take_entry(p, row, count, time):  # type: ignore[no-untyped-def]
    """`take` of `count` quantities from `row` on, as C calls it, from a table of addresses.

    sizes (2,) quantities and joints; values (q, n), of which the first `count` rows; given (n,); then `Inputs`.
    """
    sizes = carray(p[0], (2,), np.int64)
    q, n = sizes[0], sizes[1]
    values, given = carray(p[1], (q, n), np.float64), carray(p[2], (n,), np.bool_)
    inputs = Inputs(
        carray(p[3], (q, n), np.float64), carray(p[4], (q, n), np.float64), carray(p[5], (q,), np.float64),
        carray(p[6], (q,), np.int64), carray(p[7], (q, n), JUMP), carray(p[8], (n,), np.float64),
        carray(p[9], (1,), np.float64),
    )  # fmt: skip
    for k in range(count):
        take(inputs, row + k, values[k], given, time)
    return 0


@inlined_early
def is_fresh(inputs, row, j, time):  # type: ignore[no-untyped-def]
    """Whether a value is neither too old nor stamped in the future; it may be NaN."""
    return abs(time - inputs.times[row, j]) <= inputs.ages[row]


@inlined_early
def is_whole(inputs, row, time):  # type: ignore[no-untyped-def]
    """Whether the values of all joints are fresh."""
    whole = True
    for j in range(inputs.rows.shape[1]):
        whole = whole and is_fresh(inputs, row, j, time)
    return whole


@inlined_early
def fault_of(inputs, row, time):  # type: ignore[no-untyped-def]
    """Return the fault of a quantity and its joint; FINE, 0 where there is none."""
    times, n = inputs.times[row], inputs.rows.shape[1]
    oldest, newest = 0, 0
    for j in range(n):
        oldest = j if times[j] < times[oldest] else oldest
        newest = j if times[j] > times[newest] else newest
    if not time - times[oldest] <= inputs.ages[row]:
        return OLD, oldest
    if not times[newest] - time <= inputs.ages[row]:
        return AHEAD, newest
    for j in range(n):
        if not np.isfinite(inputs.rows[row, j]):
            return NOT_FINITE, j
    return FINE, 0


@inlined_early
def jump_of(inputs, row):  # type: ignore[no-untyped-def]
    """Return JUMPED and the first joint whose position is not trusted, else FINE, 0."""
    for j in range(inputs.rows.shape[1]):
        if inputs.speeds[row] != NOTHING and not np.isnan(inputs.jumps[row, j].jumped):
            return JUMPED, j
    return FINE, 0


@inlined_early
def first_fault(inputs, rows, time):  # type: ignore[no-untyped-def]
    """Return the first fault of the quantities `rows` (k,), its row and joint; jumps take precedence."""
    for row in rows:
        fault, joint = jump_of(inputs, row)
        if fault != FINE:
            return fault, row, joint
    for row in rows:
        fault, joint = fault_of(inputs, row, time)
        if fault != FINE:
            return fault, row, joint
    return FINE, 0, 0
