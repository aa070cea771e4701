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

"""Checks of plausibility: recordings with impossible values are refused, other oddities are noted.

A flipped bit, a wrong unit or a jumping encoder leads to values that no joint can have. A flip in the last digits of a
number is not detected. The bounds are wide, so that no real recording is refused. A value is impossible if it is

- orders of magnitude beyond the robot's limits, or, without limits, beyond those of any arm;
- a position farther from its two neighbours than any drive moves a joint within a sample;
- a speed or torque of one sample that deviates by ten times the ordinary magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.limits import JointLimits

Array = FloatArray
#: Quantity -> its unit (prismatic joints: m for rad, N for N·m) and its largest magnitude in any arm. The positions
#: leave room for multi-turn joints of a thousand turns.
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
ORDERS = 100.0  # largest plausible value, in limits of the robot; limits in URDFs are often placeholders
ACCELERATION = 2000.0  # rad/s², more than any joint of an arm reaches
RESOLUTION = 1e-3  # rad, step of the coarsest encoder
AMONG = 0.99  # quantile of the deviations from the neighbours' mean, taken as the ordinary deviation
TIMES = 20.0  # largest plausible deviation, in ordinary deviations
MAX_TIMES_USUAL = 10.0  # largest plausible deviation of a speed or torque, in its ordinary magnitude
REPEATED = 2.5  # displacement of a position by lost or repeated samples, in steps (distances per sample)
NEIGHBOURS = 5  # samples on each side over which the step is averaged
NO_EFFORT = 1e-6  # N·m (N, A), largest range of a constant signal; below the resolution of any sensor
ROUNDING = 1e-9  # rounding error of a computed signal, relative to its magnitude
STILL = 1e-9  # rad (m) and rad/s (m/s), largest change of a constant position or speed
FEWEST = 20  # smallest number of samples from which ordinary values are computed
CONTRADICTION = 0.5  # smallest relative error of contradicting speeds; a wrong unit, sign or order makes 1 or more
WINDOW = 0.1  # s, over which speeds are integrated
MOVES = 0.005  # rad, rms distance over WINDOW of a moving joint
NEEDS_EFFORT = 0.01  # rad (m), distance beyond which a joint needs a changing torque


#: Column of a joint, and the fault of its worst value, with the time.
Oddity = tuple[int, str]


def constant_efforts(values: Array) -> BoolArray:
    """Return which torques or currents (N, n) [N·m or A] are constant to the resolution of a sensor, (n,)."""
    return np.asarray(np.ptp(values, axis=0) <= np.maximum(NO_EFFORT, ROUNDING * np.abs(values).max(axis=0)))


def bounds(quantity: str, n: int, limits: JointLimits | None = None) -> Array:
    """Return the largest plausible magnitude (n,) of `quantity` of n joints, by their `limits` or else for any arm."""
    greatest = np.full(n, ANY_ARM[quantity])
    if limits is None or quantity not in ('q', 'theta', 'dq', 'dtheta', 'tau', 'load_torque'):
        return greatest
    widest = np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    stated = {'rad': widest, 'rad/s': limits.velocity, 'N·m': limits.effort}[UNIT[quantity]]
    return np.minimum(greatest, ORDERS * stated)


def note_of(name: str, signals: Sequence[str], odd: Oddity | None, implausible: str) -> list[str]:
    """Return the note on an odd value of one of these signals as a list; raise if `implausible` is 'refuse'."""
    if odd is None:
        return []
    note = f'{signals[odd[0]]} {odd[1]}'
    if implausible == 'refuse':
        raise JointDynamicsError(
            f'{name}: expected plausible values, found that {note} (recording.implausible: note accepts it)'
        )
    return [note]


def beyond(quantity: str, time: Array, values: Array, limit: Array) -> Oddity | None:
    """Return the first of the values (K, n) whose magnitude exceeds `limit` (n,), or None."""
    wrong = np.abs(values) > limit
    if not wrong.any():
        return None
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    found = f'{values[row, column]:.6g} {UNIT[quantity]}, expected at most {limit[column]:.4g} in magnitude'
    return column, f'at {time[row]:.6g} s is implausible: {found}'


def jump(quantity: str, time: Array, values: Array) -> Oddity | None:
    """Return the value (K, n) that deviates most from its two neighbours, or None if every deviation is plausible."""
    if len(time) < FEWEST or quantity == 'temperature':
        return None
    before, after = np.diff(time)[:-1], np.diff(time)[1:]
    step = np.maximum(np.maximum(before, after), float(np.median(np.diff(time))))
    reach = np.maximum(0.5 * ACCELERATION * step**2, RESOLUTION)
    worst: tuple[float, Oddity | None] = 1.0, None
    # One column at a time: a long recording would fill the memory with intermediate arrays.
    for column, x in enumerate(values.T):
        with np.errstate(over='ignore', invalid='ignore'):
            deviation = np.abs(x[1:-1] - (after * x[:-2] + before * x[2:]) / (before + after))
        # Excludes at least 12 deviations: four damaged samples, each with its two neighbours.
        quantile = max(0.0, min(AMONG, 1 - 12 / len(deviation)))
        tolerance = TIMES * np.quantile(deviation, quantile)
        if quantity in POSITION:
            # Allow for a sample that the driver lost or repeated in motion: a few steps at the speed around it.
            ends = np.pad(x, NEIGHBOURS, mode='edge')
            distance = np.abs(ends[2 * NEIGHBOURS :] - ends[: -2 * NEIGHBOURS])[1:-1] / (2 * NEIGHBOURS)
            allowed = np.maximum(tolerance, reach) + REPEATED * distance
        else:
            size = np.abs(x)
            ends = np.pad(size, 1, mode='edge')
            around = np.max([ends[:-4], ends[1:-3], ends[3:-1], ends[4:]], axis=0)
            level = np.maximum(np.quantile(size, quantile), around)
            allowed = np.where(level > 0, np.maximum(MAX_TIMES_USUAL * level, tolerance), np.inf)
        row = int(np.argmax(deviation / allowed))
        if deviation[row] > worst[0] * allowed[row]:
            found = (
                f'{x[row + 1]:.6g} {UNIT[quantity]} between {x[row]:.6g} and {x[row + 2]:.6g},'
                f' off by {deviation[row]:.3g}'
            )
            text = f'at {time[row + 1]:.6g} s is implausible: {found}, expected at most {allowed[row]:.3g}'
            worst = float(deviation[row] / allowed[row]), (column, text)
    return worst[1]


def contradicting(time: Array, position: Array, speed: Array) -> list[tuple[int, float]]:
    """Return (column, relative error) of the joints whose integrated speeds do not match their positions.

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


def check_signals(
    name: str,
    joints: Sequence[str],
    time: Array,
    arrays: Mapping[str, Array],
    implausible: str = 'refuse',
    without_torque: Sequence[str] = (),
    limits: JointLimits | None = None,
) -> tuple[dict[str, Array], list[str]]:
    """Return the usable arrays of a recording, and notes on oddities in them.

    Joints that never move and constant torques of joints at rest are noted. Impossible values are refused, or noted if
    `implausible` is 'note'.

    Parameters
    ----------
    name
        of the recording, in messages.
    joints
        names of the n joints.
    time
        (N,) s, uniform, from the start of the recording.
    arrays
        quantity -> (N, n), on the joint side, `q` among them.
    without_torque
        joints whose torque and current are unknown; they are not checked.
    limits
        of the joints, where the robot is known.

    Raises
    ------
    JointDynamicsError
        When no position ever changes; when all torques (currents) are constant, such as the zeros of a simulator
        without effort. Also when the torque of a moving joint is constant, and for impossible values.
    """
    notes: list[str] = []
    motion = np.max([np.ptp(arrays[position], axis=0) for position in ('q', 'theta') if position in arrays], axis=0)
    still = [joint for joint, way in zip(joints, motion, strict=True) if way <= STILL]
    if len(still) == len(joints):
        raise JointDynamicsError(
            f'{name}: expected a joint that moves, found every position constant for {time[-1] - time[0]:.6g} s'
        )
    notes += [f'never moves: {", ".join(still)}'] if still else []
    known = ~np.isin(joints, without_torque)
    for quantity, values in ((each, arrays[each]) for each in ('tau', 'current') if each in arrays):
        constant = constant_efforts(values) & known
        listed = [f'{joints[k]} ({values[0, k]:.6g} {UNIT[quantity]})' for k in map(int, np.flatnonzero(constant))]
        rests = motion <= NEEDS_EFFORT
        if constant[known].all() or not rests[constant].all():
            raise JointDynamicsError(
                f'{name}: expected {quantity} that changes as joints move, found it constant in all {len(time)} samples'
                f' of {", ".join(listed)} (effort: none where it is not measured)'
            )
        notes += [f'{quantity} is constant: {", ".join(listed)}'] if listed else []
    for quantity, values in arrays.items():
        odd = beyond(quantity, time, values, bounds(quantity, len(joints), limits)) or jump(quantity, time, values)
        notes += note_of(name, [f'{quantity} of {joint}' for joint in joints], odd, implausible)
    usable = dict(arrays)
    for quantity, position in (('dq', 'q'), ('dtheta', 'theta')):
        speed, angle = arrays.get(quantity), arrays.get(position)
        is_zero = speed is not None and not (np.abs(speed) > STILL).any()
        if is_zero and angle is not None and np.ptp(angle, axis=0).max() > NEEDS_EFFORT:
            del usable[quantity]
            notes.append(f'{quantity} is 0 throughout although {position} moves: left out')
    return usable, notes
