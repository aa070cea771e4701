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

"""Faults that the motion of a recording shows by itself: missing samples, stuck and spiky positions, speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import rest_intervals
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.efforts import effort_reasons, spikes
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording import Recording
from joint_dynamics.recording.plausibility import contradicting
from joint_dynamics.signals.filtering import running_median

NEAR = 5  # samples beside a standstill that are compared with it
ABRUPT = 0.2  # speed before or after a standstill over the joint's rms speed, from which the position is stuck
ALONE = 0.95  # share of the way of all joints, in their ordinary steps, from which one joint jumps alone
SAME_SIGNAL = 0.95  # correlation of measured speed and derivative of the position that have a common scale
RATIO_TOLERANCE = 0.1  # deformation, kinematic error and lost motion as a share of `TRAVEL`


def faults(recording: Recording) -> list[Reason]:
    """Return the faults of one recording, signal by signal."""
    own = [
        *_speeds(recording),
        *_measured_speeds(recording),
        *_motor_side(recording),
        *_missing(recording),
        *_stuck_positions(recording),
        *effort_reasons(recording),
        *spikes(recording),
    ]
    # wrong positions contradict speeds as well
    positions = {'missing_samples', 'stuck', 'spikes', 'degrees', 'time_scale'}
    return own if positions.intersection(reason.code for reason in own) else [*own, *_contradicting_speeds(recording)]


def with_faults(error: JointDynamicsError, recordings: Sequence[Recording]) -> JointDynamicsError:
    """Return an error for which nothing was identified, with the faults, one of a kind, that recordings show.

    Stamps in another unit make a motion that is too slow, or too short, for anything else to be said of it.
    """
    shown = {reason.code: reason for recording in recordings[::-1] for reason in faults(recording)[::-1]}
    return JointDynamicsError('; '.join([str(error), *map(str, reversed(shown.values()))])) if shown else error


def _speeds(recording: Recording) -> Iterator[Reason]:
    every = max(1, recording.samples // 400)
    rms = np.sqrt(np.mean(np.diff(recording.q[::every], axis=0) ** 2, axis=0)) / (recording.period * every)
    fastest = float(rms.max())
    name = recording.joint_names[int(np.argmax(rms))]
    if fastest < thresholds.SLOWEST:
        yield Reason(
            'time_scale',
            f'{recording.name}: no joint moves faster than {fastest:.2g} rad/s (rms, {name}) or farther than '
            f'{np.ptp(recording.q, axis=0).max():.2g} rad; expected a motion of more than {thresholds.SLOWEST:g} '
            'rad/s: check that the robot moves, and the unit of the time stamps',
        )
    elif fastest > thresholds.FASTEST:
        spans = np.ptp(recording.q, axis=0).max()
        code = 'degrees' if spans > 6 * np.pi else 'time_scale'
        what = 'positions are in degrees' if code == 'degrees' else 'time stamps are in another unit than s'
        yield Reason(
            code,
            f'{recording.name}: {name} moves at {fastest:.3g} rad/s (rms), which no arm reaches: check whether {what}',
        )


def _speed_factors(recording: Recording) -> dict[str, float]:
    """Return how many times as fast as its measured speed the position of each joint changes, where both tell.

    Both averaged over a hundredth of the recording.
    """
    if recording.dq is None:
        return {}
    length = max(2, recording.samples // 100)
    ends = np.arange(0, recording.samples, length)
    derived = np.diff(recording.q[ends], axis=0) / (length * recording.period)
    sums = np.concatenate([np.zeros((1, recording.n)), np.cumsum(0.5 * (recording.dq[1:] + recording.dq[:-1]), axis=0)])
    measured = np.diff(sums[ends], axis=0) / length
    product, square = (derived * measured).sum(axis=0), (measured**2).sum(axis=0)
    alike = np.abs(product) > SAME_SIGNAL * np.sqrt(square * (derived**2).sum(axis=0))
    alike &= square >= thresholds.SLOWEST**2 * len(measured)
    return {recording.joint_names[j]: float(product[j] / square[j]) for j in np.flatnonzero(alike)}


def _apart(factors: Mapping[str, float]) -> dict[str, float]:
    """Return those factors of `_speed_factors` that are another unit, sign or time."""
    return {
        name: factor
        for name, factor in factors.items()
        if not 1 / thresholds.SPEED_SCALE_FACTOR < factor < thresholds.SPEED_SCALE_FACTOR
    }


def confirm_stamps(recording: Recording) -> bool:
    """Whether positions change, by the time stamps, as fast as the measured speeds say."""
    factors = _speed_factors(recording)
    return bool(factors) and not _apart(factors)


def _measured_speeds(recording: Recording) -> Iterator[Reason]:
    by_joint = _speed_factors(recording)
    off = _apart(by_joint)
    factors = np.array(list(by_joint.values()))
    if not off:
        return
    common = float(np.median(factors))
    changed = f'{recording.name}: the positions change {common:.3g}'
    if not (len(factors) > 1 and np.all(np.abs(factors - common) < 0.2 * abs(common))):
        listed = ', '.join(f'{name} {factor:.3g}' for name, factor in off.items())
        yield Reason(
            'speed_mismatch',
            f'{recording.name}: the positions change faster or slower than the measured speeds by these factors: '
            f'{listed}: check signs, units and order of positions and speeds',
        )
    elif common < 0:
        yield Reason('time_reversed', f'{changed} times as fast as measured: time runs backwards')
    else:
        spread = f'± {np.max(np.abs(factors - common)):.2g} times as fast as measured'
        if abs(np.log(common * np.pi / 180)) < 0.2:
            yield Reason('degrees', f'{changed} {spread}: positions are in degrees')
            return
        lasted = f'the recording lasted {common * recording.duration:.3g} s, its stamps say {recording.duration:.3g} s'
        mend = {'recording': {'time_scale': float(f'{common:.4g}')}}
        yield Reason(
            'time_scale', f'{changed} {spread}: {lasted}; check the unit and the rate of the time stamps', mend
        )


def _contradicting_speeds(recording: Recording) -> Iterator[Reason]:
    """Yield a reason where measured speeds have nothing to do with the changes of the positions."""
    if recording.dq is None:
        return
    scaled = _speed_factors(recording)
    names = recording.joint_names
    wrong = contradicting(recording.time, recording.q, recording.dq)
    unlike = {names[column]: share for column, share in wrong if names[column] not in scaled}
    if unlike:
        shares = ', '.join(f'{name} by {share:.0%}' for name, share in unlike.items())
        yield Reason(
            'speed_mismatch',
            f'{recording.name}: measured speeds contradict the changes of the positions: {shares}; check for '
            'several publishers on the topic, and units, signs and order; recording.joint_states.velocity: false '
            'leaves speeds out',
            joints=tuple(unlike),
        )


def _missing(recording: Recording) -> Iterator[Reason]:
    # a logger faster than the robot's messages writes each several times; a joint that is held creeps by single counts
    steps = np.abs(np.diff(recording.q[:, np.ptp(recording.q, axis=0) >= thresholds.LEAST_JUMP], axis=0))
    moves = steps.any(axis=1)
    steps = steps[np.ix_(moves, steps.any(axis=0))]
    if not steps.size:
        return
    size = np.sqrt(np.mean(steps**2, axis=0))
    path = (steps / size).sum(axis=1)
    # a jump of one joint alone is its encoder's, where several move
    own = (steps.shape[1] > 1) & ((steps / size).max(axis=1) > ALONE * path)
    quantum = sum(float(np.min(column[column > 0])) / scale for column, scale in zip(steps.T, size, strict=True))
    # mirrored at the ends: held there, one repeated last sample would be half of the window
    half = min(10, len(path) - 1)
    around = running_median(np.pad(path, half, mode='reflect'), 2 * half + 1)[half : half + len(path)]
    # noise and coarse encoders make steps that differ by nature; a jump is beyond those as well
    ordinary = np.maximum(around, np.quantile(np.abs(path - around), 0.9)) + quantum
    jumps = path > thresholds.JUMP_FACTOR * ordinary
    # a spike goes there and back: its two jumps are next to each other
    single = jumps & ~np.roll(jumps, 1) & ~np.roll(jumps, -1) & ~own
    lost = float(np.sum(path[single] / np.maximum(ordinary[single], 1e-12) - 1))
    if lost > thresholds.FAULTY_SHARE * len(steps):
        yield Reason(
            'missing_samples',
            f'{recording.name}: the positions jump {int(single.sum())} times, as if about '
            f'{100 * lost / len(steps):.2g} % '
            'of the samples were missing: record again, or use windows between the gaps',
        )


def _stuck_positions(recording: Recording) -> Iterator[Reason]:
    steps = np.diff(recording.q, axis=0)
    least = max(5, int(thresholds.FAULTY_SHARE * recording.samples))
    for j, name in enumerate(recording.joint_names):
        rms = float(np.sqrt(np.mean(steps[:, j] ** 2)))
        # a joint that is held creeps and sticks by what its controller and friction leave
        if np.ptp(recording.q[:, j]) < thresholds.LEAST_JUMP:
            continue
        for stay in rest_intervals(steps[:, j] == 0):
            start, end = stay.start, stay.stop
            if end - start < least:
                continue
            before, after = steps[max(start - NEAR, 0) : start, j][::-1], steps[end : end + NEAR, j]
            way = _braking_distance(recording, j)
            if any(
                len(near) == NEAR
                and np.abs(near.mean()) > ABRUPT * rms
                and np.abs(near).min() > 0
                and (np.abs(np.cumsum(near)) > way).any()
                for near in (before, after)
            ):
                yield Reason(
                    'stuck',
                    f'{recording.name}: the position of {name} stands still from {recording.time[start]:.3g} to '
                    f'{recording.time[end]:.3g} s and '
                    'stops or starts there faster than a joint can: check its encoder, leave that stretch out',
                )
                break


def _braking_distance(recording: Recording, joint: int) -> FloatArray:
    """Return how far (NEAR,) [rad] a joint goes at most in its last 1, 2, … samples before its readings stay the same.

    It may go on for less than the smallest step δ of its readings unseen, from √(2 a δ) rad/s: for √(2 δ/a) longer.
    """
    steps = np.abs(np.diff(recording.q[:, joint]))
    step = steps[steps > 0].min()
    # at a constant speed all changes are alike, without any step of an encoder
    unseen = np.sqrt(2 * step / thresholds.BRAKING) if steps.max() > 2.5 * step else 0.0
    return 0.5 * thresholds.BRAKING * (recording.period * np.arange(1, NEAR + 1) + unseen) ** 2


def _motor_side(recording: Recording) -> Iterator[Reason]:
    """Yield a reason for each joint whose θ does not follow q one to one.

    The ratio is that of least squares of θ on q, about their means. φ = θ − q is the deformation of the transmission,
    at most some mrad, beside a travel of at least `TRAVEL`.
    """
    if recording.theta is None:
        return
    q = recording.q - recording.q.mean(axis=0)
    theta = recording.theta - recording.theta.mean(axis=0)
    for j, name in enumerate(recording.joint_names):
        if np.ptp(recording.q[:, j]) < thresholds.TRAVEL:
            continue
        ratio = float(q[:, j] @ theta[:, j] / (q[:, j] @ q[:, j]))
        if abs(ratio - 1.0) > RATIO_TOLERANCE:
            what = 'turns the other way' if abs(ratio + 1.0) < RATIO_TOLERANCE else 'is not reflected to the joint side'
            yield Reason(
                'motor_side',
                f'{recording.name}: the motor of {name} turns {ratio:.4g} rad per rad of the joint, expected 1 on the '
                f'joint side: it {what}; state recording.motor_states.gear_ratio',
            )
