# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Checks of plausibility: impossible recordings are refused, odd ones noted.

A flipped bit, a wrong unit or a jumping encoder leads to values that no joint can have. A flip in the last digits of a
number is not visible. The bounds are far from anything that joints do, so that no real recording is refused:

- orders of magnitude beyond the robot's limits, or, without limits, beyond any arm;
- a position that leaves its neighbours faster than any drive accelerates;
- a speed or torque ten times its ordinary size for one sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.limits import JointLimits

Array = FloatArray
#: Quantity -> its unit (of a joint that slides: m for rad, N for N·m), and the largest magnitude of any arm's joint. A
#: multi-turn joint may count a thousand turns.
_QUANTITIES = {
    'q': ('rad', 1e4),
    'theta': ('rad', 1e4),
    'dq': ('rad/s', 1e3),
    'dtheta': ('rad/s', 1e3),
    'tau': ('N·m', 1e6),
    'load_torque': ('N·m', 1e6),
    'current': ('A', 1e4),
    'temperature': ('°C', 1e3),
    'motor_position': ('rad', 1e7),
    'motor_velocity': ('rad/s', 1e5),
    'motor_torque': ('N·m', 1e6),
}
UNIT = {quantity: unit for quantity, (unit, _) in _QUANTITIES.items()}
ANY_ARM = {quantity: largest for quantity, (_, largest) in _QUANTITIES.items()}
POSITION = ('q', 'theta', 'motor_position')
ORDERS = 100.0  # times the robot's limit, largest plausible value; limits in URDFs are often placeholders
ACCELERATION = 2000.0  # rad/s², beyond any joint of an arm
RESOLUTION = 1e-3  # rad, step of the coarsest encoder
AMONG = 0.99  # quantile of the deviations from the neighbours' mean that gives the ordinary deviation
TIMES = 20.0  # ordinary deviations, largest of a plausible sample
MAX_TIMES_USUAL = 10.0  # times the ordinary magnitude of a speed or torque, largest deviation of one sample
REPEATED = 2.5  # steps by which repeated samples may displace a position
NEIGHBOURS = 5  # samples on each side that give the length of a step
NO_EFFORT = 1e-6  # N·m (N, A), below the resolution of any sensor; a signal within it of its mean is constant
ROUNDING = 1e-9  # share of a signal's magnitude, of the rounding in its computation
STILL = 1e-9  # rad (m) and rad/s (m/s), largest change of a constant position or speed
FEWEST = 20  # samples, least that define the ordinary
CONTRADICTION = 0.5  # share of the distances over WINDOW; with a wrong unit, sign or order speeds are off by 1 and more
WINDOW = 0.1  # s, over which speeds are integrated
MOVES = 0.005  # rad, rms distance over WINDOW of a moving joint
NEEDS_EFFORT = 0.01  # rad (m), distance beyond which a joint needs a changing torque


@dataclass(frozen=True)
class ImplausibleValue:
    """One implausible value: column of its joint, time [s], description."""

    column: int
    time: float
    what: str


def constant_efforts(values: Array) -> BoolArray:
    """Return which torques or currents (N, n) [N·m or A] are constant, (n,): within what a sensor resolves."""
    return np.asarray(np.ptp(values, axis=0) <= np.maximum(NO_EFFORT, ROUNDING * np.abs(values).max(axis=0)))


def bounds(
    quantity: str, joints: Sequence[str], robot_joints: Sequence[str] | None = None, limits: JointLimits | None = None
) -> Array:
    """Return the largest plausible magnitude (n,) of `quantity` of these joints.

    By the `limits` of `robot_joints`, otherwise for any arm.
    """
    greatest = np.full(len(joints), ANY_ARM[quantity])
    if limits is None or robot_joints is None:
        return greatest
    widest = np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    limited = ((('q', 'theta'), widest), (('dq', 'dtheta'), limits.velocity), (('tau', 'load_torque'), limits.effort))
    for stated in (values for quantities, values in limited if quantity in quantities):
        own = np.array([stated[robot_joints.index(name)] if name in robot_joints else np.inf for name in joints])
        greatest = np.minimum(greatest, ORDERS * own)
    return greatest


def note_of(name: str, what: str, odd: ImplausibleValue, implausible: str) -> str:
    """Return the note on a value of `what`, or refuse it where `implausible` says so."""
    note = f'{what} at {odd.time:.6g} s is implausible: {odd.what}'
    if implausible == 'refuse':
        raise JointDynamicsError(
            f'{name}: expected plausible values, found that {note} (recording.implausible: note accepts it)'
        )
    return note


def first_beyond(quantity: str, time: Array, values: Array, limit: Array) -> ImplausibleValue | None:
    """Return the first value (K, n) whose magnitude is beyond `limit` (n,), None where there is none."""
    wrong = np.abs(values) > limit
    if not wrong.any():
        return None
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    return ImplausibleValue(
        column,
        float(time[row]),
        f'{values[row, column]:.6g} {UNIT[quantity]}, expected at most {limit[column]:.4g} in magnitude',
    )


def jump(quantity: str, time: Array, values: Array) -> ImplausibleValue | None:
    """Return the worst sample of values (K, n) that jumps away from its two neighbours, None where there is none."""
    if len(time) < FEWEST or quantity == 'temperature':
        return None
    # One column at a time: a long recording would fill the memory with intermediate arrays.
    jumps = (_jump_in(quantity, time, values[:, k], k) for k in range(values.shape[1]))
    return max((one for one in jumps if one is not None), key=lambda one: one[0], default=(0.0, None))[1]


def _jump_in(quantity: str, time: Array, values: Array, column: int) -> tuple[float, ImplausibleValue] | None:
    """Return the worst jump of one column (K,), with its size relative to the largest plausible one."""
    before, after = np.diff(time)[:-1], np.diff(time)[1:]
    share = before / (before + after)
    with np.errstate(over='ignore', invalid='ignore'):
        off = np.abs(values[1:-1] - (1 - share) * values[:-2] - share * values[2:])
    # a few damaged samples, three deviations each, are not ordinary
    among = max(0.0, min(AMONG, 1 - 12 / len(off)))
    usual = np.quantile(off, among)
    if quantity in POSITION:
        step = np.maximum(np.maximum(before, after), float(np.median(np.diff(time))))
        scale = 1e3 if quantity == 'motor_position' else 1.0
        # the second part: a sample that the driver lost or repeated while the joint moved; the distances around show
        # how fast
        allowed = np.maximum(
            TIMES * usual, scale * np.maximum(0.5 * ACCELERATION * step**2, RESOLUTION)
        ) + REPEATED * _distance(values)
    else:
        around = np.max([_shifted(np.abs(values), by)[1:-1] for by in (-2, -1, 1, 2)], axis=0)
        level = np.maximum(np.quantile(np.abs(values), among), around)
        allowed = np.where(level > 0, np.maximum(MAX_TIMES_USUAL * level, TIMES * usual), np.inf)
    excess = off / allowed
    if not (excess > 1).any():
        return None
    row = int(np.argmax(excess))
    return float(excess[row]), ImplausibleValue(
        column,
        float(time[row + 1]),
        f'{values[row + 1]:.6g} {UNIT[quantity]} between {values[row]:.6g} and {values[row + 2]:.6g}, off by'
        f' {off[row]:.3g}, expected at most {allowed[row]:.3g}',
    )


def contradicting(time: Array, position: Array, speed: Array) -> list[tuple[int, float]]:
    """Return (column, share) of the joints whose integrated speeds do not match their positions.

    Speeds (N, n) rad/s, positions (N, n) rad, uniform `time` (N,) s.
    """
    period = float((time[-1] - time[0]) / (len(time) - 1))
    steps = min(max(1, round(WINDOW / period)), len(time) - 1)
    distances = position[steps:] - position[:-steps]
    summed = np.vstack([np.zeros((1, position.shape[1])), np.cumsum((speed[1:] + speed[:-1]) / 2 * period, axis=0)])
    travelled = summed[steps:] - summed[:-steps]
    with np.errstate(over='ignore'):
        size, error = (np.sqrt(np.mean(array**2, axis=0)) for array in (distances, travelled - distances))
    return [
        (int(column), float(error[column] / size[column]))
        for column in np.flatnonzero((size > MOVES) & (error > CONTRADICTION * size))
    ]


def _shifted(values: Array, by: int) -> Array:
    """Return `values` (K, …) moved along time, the first or last repeated."""
    return values[np.clip(np.arange(len(values)) + by, 0, len(values) - 1)]


def _distance(values: Array) -> Array:
    """Return the distance (K - 2, …) from one sample to the next, from the ones NEIGHBOURS before and after.

    One wrong sample does not change it.
    """
    return np.abs(_shifted(values, NEIGHBOURS) - _shifted(values, -NEIGHBOURS))[1:-1] / (2 * NEIGHBOURS)


def check_signals(
    name: str,
    joints: Sequence[str],
    time: Array,
    arrays: Mapping[str, Array],
    implausible: str = 'refuse',
    without_torque: Sequence[str] = (),
) -> tuple[dict[str, Array], list[str]]:
    """Return the usable arrays of a recording, and notes on oddities in them.

    A joint that stands still or has a constant torque is noted, and so are speeds that contradict the positions, for
    which the verdict refuses a result. Impossible values are refused; with `implausible` 'note' they are only noted.

    Parameters
    ----------
    name
        of the recording, in messages.
    joints
        names of the n joints.
    time
        (N,) s, uniform.
    arrays
        quantity -> (N, n), on the joint side, `q` among them.
    without_torque
        joints whose torque and current are not known, and not checked.

    Raises
    ------
    JointDynamicsError
        When no position ever changes; when all torques (currents) are constant, such as the zeros of a simulator
        without effort. Also when the torque of a moving joint is constant, and for impossible values.
    """
    notes: list[str] = []
    motion = np.max([np.ptp(arrays[position], axis=0) for position in ('q', 'theta') if position in arrays], axis=0)
    moves = motion > STILL
    if not moves.any():
        raise JointDynamicsError(
            f'{name}: expected a joint that moves, found every position constant for {time[-1] - time[0]:.6g} s'
        )
    if not moves.all():
        notes.append(
            f'never moves: {", ".join(joint for joint, moved in zip(joints, moves, strict=True) if not moved)}'
        )
    for quantity, unit in (('tau', 'N·m'), ('current', 'A')):
        if quantity not in arrays:
            continue
        values = arrays[quantity]
        known = ~np.isin(joints, without_torque)
        constant = constant_efforts(values) & known
        if constant[known].all():
            level = ', '.join(f'{value:.6g}' for value in values[0])
            raise JointDynamicsError(
                f'{name}: expected {quantity} that changes, found it constant in all {len(time)} samples '
                f'of all joints ({level} {unit}); '
                'if it is not measured, say effort: none'
            )
        for index in np.flatnonzero(constant).tolist():
            if not motion[index] <= NEEDS_EFFORT:
                raise JointDynamicsError(
                    f'{name}: expected {quantity} of {joints[index]} that changes, found it constant '
                    f'({values[0, index]:.6g} {unit}) although the '
                    f'joint moves by {motion[index]:.3g} rad'
                )
            notes.append(f'{quantity} of {joints[index]} is constant: {values[0, index]:.6g} {unit}')
    for quantity, values in arrays.items():
        # here after reflection to the joint side, where a wrong gear ratio shows
        odd = first_beyond(quantity, time, values, bounds(quantity, joints))
        if odd is not None:
            notes.append(note_of(name, f'{quantity} of {joints[odd.column]}', odd, implausible))
    usable = dict(arrays)
    for quantity, position in (('dq', 'q'), ('dtheta', 'theta')):
        if quantity not in arrays or position not in arrays:
            continue
        speed, angle = arrays[quantity], arrays[position]
        if np.ptp(angle, axis=0).max() > NEEDS_EFFORT and not (np.abs(speed) > STILL).any():
            del usable[quantity]
            notes.append(f'{quantity} is 0 throughout although {position} moves: left out')
        elif wrong := contradicting(time, angle, speed):
            shares = ', '.join(f'{joints[column]} by {share:.0%}' for column, share in wrong)
            notes.append(
                f'{quantity} contradicts the changes of {position} within {WINDOW:g} s, {shares} (unit, sign, order?)'
            )
    return usable, notes
