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

"""A whole desired motion with its effort, at as many points as linear interpolation needs.

The law is evaluated along the motion, starting from its present hysteresis. Then points are chosen one by one, each as
far from the last as the straight line stays within the tolerance of every effort in between; the points of the motion
itself are kept.

For a controller that closes its loop on the motor side the positions can be those of the motors, θ_d = q_d + φ(τ_J,d) +
θ̃. Their offset from the link, c = θ_d − q_d, is not zero at the beginning, and is blended in smoothly from its
previous value. A controller with the position of the link and the speed of the motor sees the deformation as a speed
error and counteracts it with K (q̇_d − θ̇); positions and speeds of a trajectory have to be consistent, so K (θ̇_d −
q̇_d) is added to the effort instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.control.interface import Law
from joint_dynamics.control.laws import command_scale
from joint_dynamics.control.path import DERIVATIVES, Path
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import PerJoint, Settings, setting
from joint_dynamics.settings.base import per_joint

LIMIT_TOLERANCE = 1e-8
"""Share of a limit's range that rounding may exceed it by, where a motion is planned to reach its limit."""
BLOCK = 500
"""Instants that the law evaluates in one go; between two blocks the work can be cancelled."""
MOST_STEPS = 1_000_000
"""Largest number of evaluations of the law in one trajectory: half an hour at 500 Hz."""
BLEND = 0.5
"""Time [s] in which the motors' offset from the link is reached."""
LIMITS_PER_SECOND = 50.0
"""Default of the largest change of the effort, in effort limits per second."""


@dataclass(frozen=True)
class FillSettings(Settings):
    """How the effort is filled into a trajectory."""

    effort_limit: PerJoint | None = setting(
        None,
        'largest effort of each joint',
        'N·m',
        above=0,
        infinite=True,
        none='the effort limit of the URDF, which it cannot exceed',
    )
    effort_rate: PerJoint | None = setting(
        None, 'largest change of the effort of each joint', 'N·m/s', above=0, infinite=True, none='50 limits per second'
    )
    plan_period: float = setting(0.002, 'time between two evaluations of the law', 's', lower=0.0002, upper=0.05)
    effort_tolerance: float = setting(
        0.002, 'largest error of the linear interpolation, as a share of the effort limit', lower=1e-5, upper=0.1
    )
    max_spacing: float = setting(0.05, 'largest time between two points', 's', lower=0.001, upper=1)
    trajectory_side: str = setting(
        'link',
        'motor: positions of the motors, for a controller that closes its loop there (law `flexible_joint`); link:'
        ' those of the link',
        choices=('link', 'motor'),
    )
    speed_gain: PerJoint = setting(
        0.0,
        "with `flexible_joint`: derivative gain of the robot's controller where its position is the link's and its"
        " speed the motor's (A·s/rad for a current); 0: any other controller",
        'N·m·s/rad',
        lower=0,
        upper=1e5,
    )

    def bounds(self, law: Law) -> tuple[FloatArray, FloatArray]:
        """Return the largest effort (n,) and its largest change per second (n,), in the unit of the law's output.

        Raises
        ------
        JointDynamicsError
            For a joint without a finite limit.
        """
        arm, names = law.arm, law.arm.joint_names
        limit = arm.effort_limit
        if self.effort_limit is not None:
            limit = np.minimum(limit, _of_joints(self.effort_limit, names))
        if not (np.isfinite(limit) & (limit > 0)).all():
            j = int(np.argmin(np.isfinite(limit) & (limit > 0)))
            raise JointDynamicsError(
                f'effort_limit: expected a finite limit above 0 of every joint, found {limit[j]:g} for {names[j]};'
                ' state effort in the URDF, or effort_limit'
            )
        rate = LIMITS_PER_SECOND * limit
        if self.effort_rate is not None:
            rate = _of_joints(self.effort_rate, names)
        scale = np.abs(command_scale(arm, law.output))
        return limit * scale, rate * scale


def _of_joints(value: PerJoint, names: Sequence[str]) -> FloatArray:
    """Return one number per joint (n,), which may be infinite."""
    numbers = np.asarray([value[name] for name in names] if isinstance(value, Mapping) else value, dtype=float)
    return np.broadcast_to(numbers, (len(names),))


@dataclass(frozen=True)
class FilledTrajectory:
    """Points for a joint trajectory controller with an effort interface.

    Attributes
    ----------
    time
        (P,) s.
    q, dq, ddq
        (P, n) rad, rad/s, rad/s².
    effort
        (P, n), in the unit of the law's output.
    steps
        instants at which the law was evaluated.
    error
        (n,) largest distance of the law's effort from the straight line between the points, in the unit of `effort`.
    offset
        (n,) rad, c at the end, 0 for positions of the link.
    """

    time: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    effort: FloatArray
    steps: int
    error: FloatArray
    offset: FloatArray


def fill_effort(
    law: Law,
    path: Path,
    settings: FillSettings | None = None,
    *,
    offset: FloatArray | None = None,
    tell: Callable[[float], None] | None = None,
) -> FilledTrajectory:
    """Return `path` with the effort of a law.

    The effort is linear between points that are each within the limit, so it is within the limit everywhere.

    Parameters
    ----------
    law
        with its state.
    path
        the desired motion.
    settings
        limits, steps and side; None: the defaults.
    offset
        (n,) rad, c of the preceding motion, 0 by default.
    tell
        called between the blocks with the share of them that is done; an exception that it raises ends the work.

    Raises
    ------
    JointDynamicsError
        Joint and time of a motion that is not smooth enough for the law, leaves the joint limits, or needs more effort
        than the limit. The law is then reset.
    """
    use = settings or FillSettings()
    limit, rate = use.bounds(law)
    check_motion(law, path)
    time = instants(path, use.plan_period)
    joint_limits = law.arm.robot.limits
    try:
        _check_extremes(law, path, 0, joint_limits.lower, joint_limits.upper, 'position')
        _check_extremes(law, path, 1, -joint_limits.velocity, joint_limits.velocity, 'speed')
        effort = _effort_along(law, path, time, use, tell)
        _check_effort(law.arm.joint_names, time - path.start, effort, limit)
    except BaseException:
        law.reset()
        raise
    for k in range(1, len(time)):
        # A law may jump (the sign of a static friction map); an effort for a robot may not.
        reach = rate * (time[k] - time[k - 1])
        effort[k] = np.clip(effort[k], effort[k - 1] - reach, effort[k - 1] + reach)
    keep = _points(time, effort, use.effort_tolerance * limit, path.times, use.max_spacing)
    line = np.stack([np.interp(time, time[keep], effort[keep, j]) for j in range(law.arm.n)], axis=1)
    motion = path.sample(time[keep])
    moves = motion[:, :3]
    if use.trajectory_side == 'motor':
        start = np.zeros(law.arm.n) if offset is None else offset
        moves = _motor_side(law, motion, time[keep] - path.start, start)
    return FilledTrajectory(
        time[keep] - path.start,
        moves[:, 0],
        moves[:, 1],
        moves[:, 2],
        effort[keep],
        len(time),
        np.abs(effort - line).max(axis=0),
        moves[-1, 0] - motion[-1, 0],
    )


def checked_effort(law: Law, motion: FloatArray) -> FloatArray:
    """Return the law's effort (N, n) along a motion (N, 5, n).

    Raises
    ------
    JointDynamicsError
        When the law fails, or its effort is not finite or not (N, n).
    """
    try:
        with np.errstate(all='ignore'):
            effort = np.asarray(law.effort_along(motion), dtype=float)
    except JointDynamicsError:
        raise
    except Exception as error:
        raise JointDynamicsError(
            f'law: expected an effort of {type(law).__name__}, found {type(error).__name__}: {error}'
        ) from error
    if effort.shape != motion[:, 0].shape or not np.isfinite(effort).all():
        raise JointDynamicsError(
            f'law: expected finite efforts of shape {motion[:, 0].shape} of {type(law).__name__}, found shape'
            f' {effort.shape}, {np.count_nonzero(~np.isfinite(effort))} of them not finite'
        )
    return effort


def _effort_along(
    law: Law, path: Path, time: FloatArray, use: FillSettings, tell: Callable[[float], None] | None
) -> FloatArray:
    """Return the law's effort (N, n) at times (N,) of a path, evaluated block by block."""
    blocks = []
    for first in range(0, len(time), BLOCK):
        part = path.sample(time[first : first + BLOCK])
        blocks.append(checked_effort(law, part) + _speed_part(law, part, use))
        if tell is not None:
            tell(min(1.0, (first + BLOCK) / len(time)))
    return np.concatenate(blocks)


def _speed_part(law: Law, motion: FloatArray, use: FillSettings) -> FloatArray:
    """Return K (θ̇_d − q̇_d) along `motion` (N, 5, n), which compensates the robot's own speed loop."""
    gain = per_joint(use.speed_gain, law.arm.joint_names, 'speed_gain')
    if not gain.any():
        return np.zeros(motion[:, 1].shape)
    if use.trajectory_side == 'motor':
        raise JointDynamicsError(
            'speed_gain: expected 0 where trajectory_side is motor, whose speeds are in the trajectory already, found'
            f' {gain.tolist()}'
        )
    return np.asarray(gain * (law.motor_motion(motion)[:, 1] - motion[:, 1]))


def _motor_side(law: Law, motion: FloatArray, time: FloatArray, offset: FloatArray) -> FloatArray:
    """Return θ_d and its derivatives (N, 3, n).

    The difference between c and `offset` at the start fades as 1 − s(t/BLEND), s a smooth step.
    """
    moves = law.motor_motion(motion)
    step = Path([0.0, min(BLEND, time[-1])], [[0.0], [1.0]], np.zeros((2, 1)), np.zeros((2, 1)))
    first = moves[0, 0] - motion[0, 0] - offset
    left = np.array([1.0, 0.0, 0.0]) - step.sample(time)[:, : DERIVATIVES - 2, 0]
    return np.asarray(moves - left[:, :, None] * first)


def _check_effort(joint_names: Sequence[str], time: FloatArray, effort: FloatArray, limit: FloatArray) -> None:
    """Raise JointDynamicsError for the first instant at which the effort (N, n) exceeds its limit (n,)."""
    outside = ~(np.abs(effort) <= limit)
    if outside.any():
        k, j = np.argwhere(outside)[0]
        raise JointDynamicsError(
            f'trajectory: expected it within the limits, found at {time[k]:.3f} s torque of {joint_names[j]} is'
            f' {effort[k, j]:.6g}, allowed are {-limit[j]:.6g} … {limit[j]:.6g}'
        )


def _check_extremes(law: Law, path: Path, derivative: int, low: FloatArray, high: FloatArray, what: str) -> None:
    """Raise JointDynamicsError where a derivative of the path leaves [low, high], at any time between two points."""
    room = np.where(np.isfinite(high - low), high - low, 1.0)
    low, high = low - LIMIT_TOLERANCE * room, high + LIMIT_TOLERANCE * room
    least, most, when_least, when_most = path.extremes(derivative, LIMIT_TOLERANCE / 4 * room)
    for values, when in ((least, when_least), (most, when_most)):
        outside = ~((values >= low) & (values <= high))
        if outside.any():
            j = int(np.argmax(outside))
            raise JointDynamicsError(
                f'trajectory: expected it within the limits, found at {when[j] - path.start:.3f} s {what} of'
                f' {law.arm.joint_names[j]} is {values[j]:.6g}, allowed are {low[j]:.6g} … {high[j]:.6g}'
            )


def check_motion(law: Law, path: Path) -> None:
    """Raise JointDynamicsError when the law needs more derivatives of the desired motion than exist."""
    if not path.derivatives >= law.DERIVATIVES:
        raise JointDynamicsError(
            f'trajectory: expected a motion that is {law.DERIVATIVES} times differentiable for this law, found'
            f' {path.derivatives} times: give velocities and accelerations that are 0 at both ends, or smooth it'
        )


def instants(path: Path, period: float) -> FloatArray:
    """Return the times (N,) of the steps: evenly between the points of the path, which are among them.

    Raises
    ------
    JointDynamicsError
        For more than MOST_STEPS.
    """
    points = path.times
    counts = np.maximum(1.0, np.ceil(np.diff(points) / period - 1e-9))
    if not counts.sum() <= MOST_STEPS:
        raise JointDynamicsError(
            f'trajectory: expected at most {MOST_STEPS} steps of plan_period, {period:g} s, found {counts.sum():.3g} in'
            f' {path.end - path.start:.6g} s; send it in parts'
        )
    pieces = [np.linspace(a, b, int(count) + 1)[:-1] for (a, b), count in zip(pairwise(points), counts, strict=True)]
    return np.append(np.concatenate(pieces), points[-1])


def _points(
    time: FloatArray, effort: FloatArray, allowed: FloatArray, fixed: FloatArray, max_spacing: float
) -> IntArray:
    """Return the indices to keep: the fixed times, and as many between them as the tolerance needs."""
    stops = np.searchsorted(time, fixed - 1e-12)
    keep = [0]
    for stop in stops[1:]:
        while keep[-1] < stop:
            i = keep[-1]
            far = int(min(stop, max(i + 1, np.searchsorted(time, time[i] + max_spacing + 1e-9, side='right') - 1)))
            low, high = i + 1, far
            while low < high:
                middle = (low + high + 1) // 2
                if _is_straight(time, effort, allowed, i, middle):
                    low = middle
                else:
                    high = middle - 1
            keep.append(low)
    return np.array(keep)


def _is_straight(time: FloatArray, effort: FloatArray, allowed: FloatArray, i: int, j: int) -> bool:
    share = ((time[i + 1 : j] - time[i]) / (time[j] - time[i]))[:, None]
    return bool(np.all(np.abs(effort[i] + share * (effort[j] - effort[i]) - effort[i + 1 : j]) <= allowed))
