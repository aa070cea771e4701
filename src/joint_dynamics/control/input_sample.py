"""What a loop is given, compiled: taken with its age where a joint can have moved there, and judged when it is used.

A measured position is taken where, by the stamps,

    |q − q_before| ≤ max(v_max, |q̇|) |t − t_before| + margin

with the largest speed v_max that is allowed, the speed q̇ that is reported, and a margin for the resolution of the
encoder and the jitter of the stamps. A sample that breaks it is not taken over, nor are those after it until positions
have gone on without a jump for `RECOVERY_TIME`: an encoder that flips to and fro is never trusted, one that has
slipped once is trusted again, and is then the matter of the tracking tolerance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import compiled
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
        (q,) row of the speed that is reported with a position, NOTHING for what is no position.
    jumps
        (q, n) of `JUMP`.
    reach, margin
        (n,) rad/s, v_max, infinite where there is none; (1,) rad.

    """

    rows: FloatArray
    times: FloatArray
    ages: FloatArray
    speeds: IntArray
    jumps: Record
    reach: FloatArray
    margin: FloatArray


@compiled
def trusted(jump, q, time, reported, reach, margin):  # type: ignore[no-untyped-def]
    """Look at a position; return whether it is taken.

    What is not finite is no position, and taken for others to refuse. Where the largest speed is not known, the
    reported one bounds alone, and where none is reported nothing does.
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


@compiled
def take(inputs, row, values, given, time):  # type: ignore[no-untyped-def]
    """Take values (n,) of a quantity at `time` s of the joints that are given (n,) bool; jumps keep what was there."""
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


@compiled
def is_fresh(inputs, row, j, time):  # type: ignore[no-untyped-def]
    """Whether a value is young enough and not from the future; not whether it is a number."""
    return abs(time - inputs.times[row, j]) <= inputs.ages[row]


@compiled
def is_whole(inputs, row, time):  # type: ignore[no-untyped-def]
    """Whether the values of all joints are fresh."""
    whole = True
    for j in range(inputs.rows.shape[1]):
        whole = whole and is_fresh(inputs, row, j, time)
    return whole


@compiled
def fault_of(inputs, row, time):  # type: ignore[no-untyped-def]
    """Return what is wrong with a quantity, and the joint of which: FINE, 0 where nothing is."""
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


@compiled
def jump_of(inputs, row):  # type: ignore[no-untyped-def]
    """Return JUMPED and the first joint whose position is not trusted, else FINE, 0."""
    for j in range(inputs.rows.shape[1]):
        if inputs.speeds[row] != NOTHING and not np.isnan(inputs.jumps[row, j].jumped):
            return JUMPED, j
    return FINE, 0


@compiled
def first_fault(inputs, rows, time):  # type: ignore[no-untyped-def]
    """Return what is wrong, row and joint, of quantities `rows` (k,): jumps before all else."""
    for row in rows:
        fault, joint = jump_of(inputs, row)
        if fault != FINE:
            return fault, row, joint
    for row in rows:
        fault, joint = fault_of(inputs, row, time)
        if fault != FINE:
            return fault, row, joint
    return FINE, 0, 0
