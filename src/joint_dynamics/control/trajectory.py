"""Trajectory mode: a whole desired motion with its torque, at as many points as linear interpolation needs.

The law is stepped along the motion as in streaming, starting from its present hysteresis. Then points are chosen one by
one, each as far from the last as the straight line stays within the tolerance of every torque in between; the points of
the motion itself are kept.

For a controller that closes its loop on the motor side the positions can be those of the motors, θ_d = q_d + φ(τ_J,d) +
θ̃. Their offset from the link, c = θ_d − q_d, is not zero at the beginning, and is blended in smoothly from its
previous value. A controller with the position of the link and the speed of the motor sees the deformation as a speed
error and counteracts it with K (q̇_d − θ̇); since positions and speeds of a trajectory have to be consistent, K (θ̇_d −
q̇_d) is added to the effort instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.aged_interfaces import out_of_bounds
from joint_dynamics.control.loop import ControlLoop
from joint_dynamics.control.path import DERIVATIVES, Path
from joint_dynamics.errors import JointDynamicsError

#: Share of a limit's range that does not count as broken: what is left of rounding where a motion is planned to reach
#: its limit.
LIMIT_TOLERANCE = 1e-8


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
        (n,) largest distance of the law's torque from the straight line between the points, in the unit of `effort`.
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
    loop: ControlLoop,
    path: Path,
    *,
    now: float = 0.0,
    period: float = 0.002,
    tolerance: ArrayLike = 0.002,
    max_spacing: float = 0.05,
    side: str = 'link',
    speed_gain: ArrayLike = 0.0,
    offset: FloatArray | None = None,
    blend: float = 0.5,
    tell: Callable[[float], None] | None = None,
) -> FilledTrajectory:
    """Return `path` with the torque of the loop's law.

    The torque is linear between points that are each within the limit, so it is within the limit everywhere.

    Parameters
    ----------
    loop
        the law with its state.
    path
        the desired motion.
    now
        s, of the clock of the loop's state, for the age of temperature and α.
    period
        s, of the steps of the law.
    tolerance
        of the linear interpolation, as a share of the torque limit.
    max_spacing
        s, largest distance of points.
    side
        `link` or `motor`, of the positions.
    speed_gain
        K (n,) or a number, N·m·s/rad (A·s/rad where the law commands a current), of a robot's controller with the
        position of the link and the speed of the motor; 0: any other controller.
    offset
        (n,) rad, c of the preceding motion, 0 by default.
    blend
        s, time in which c is reached from `offset`.
    tell
        called between the steps with the share of them that is done; an exception that it raises ends the work.

    Raises
    ------
    JointDynamicsError
        Naming joint and time, when the motion is not smooth enough for the law, leaves the joint limits (proved for
        all times, not only at the steps), or needs more torque than the limit; the law's hysteresis is then reset.
    """
    check_motion(loop, path)
    time = instants(path, period)
    motion = path.sample(time)
    limits = loop.arm.robot.limits
    try:
        _never_leaves(loop, path, 0, limits.lower, limits.upper, 'position')
        _never_leaves(loop, path, 1, -limits.velocity, limits.velocity, 'speed')
        steps = np.diff(time, prepend=time[0] - period)
        effort = np.empty((len(time), loop.arm.n))
        for k in range(len(time)):
            effort[k] = loop.evaluate_along(motion[k], now, steps[k], load=k == 0)
            if tell is not None:
                tell((k + 1) / len(time))
        effort += _speed_part(loop, motion, side, np.asarray(speed_gain, dtype=float))
        _within(loop, time - path.start, effort, -loop.gate.limit, loop.gate.limit, 'torque')
    except BaseException:
        loop.controller.on_activate()
        raise
    for k in range(1, len(time)):
        # A law may jump (the sign of a static friction map); what goes to a robot may not.
        reach = loop.gate.rate * steps[k]
        effort[k] = np.clip(effort[k], effort[k - 1] - reach, effort[k - 1] + reach)
    allowed = np.broadcast_to(np.asarray(tolerance, dtype=float), loop.gate.limit.shape) * loop.gate.limit
    keep = _points(time, effort, allowed, path.times, max_spacing)
    line = np.stack([np.interp(time, time[keep], effort[keep, j]) for j in range(loop.arm.n)], axis=1)
    moves = motion[keep, :3]
    if side == 'motor':
        moves = _motor_side(
            loop,
            motion[keep],
            time[keep] - path.start,
            np.zeros(loop.arm.n) if offset is None else offset,
            min(blend, path.end - path.start),
        )
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


def _speed_part(loop: ControlLoop, motion: FloatArray, side: str, gain: FloatArray) -> FloatArray:
    """Return K (θ̇_d − q̇_d) along `motion` (N, 5, n), what takes the robot's own speed loop to the motor's speed."""
    if not gain.any():
        return np.zeros(motion[:, 1].shape)
    if side == 'motor':
        raise JointDynamicsError(
            "speed_gain: expected 0 where the trajectory is the motors', whose speeds are in it already, found "
            f'{gain.tolist()}'
        )
    return gain * (np.array([loop.controller.motor_reference(row)[1] for row in motion]) - motion[:, 1])


def _motor_side(
    loop: ControlLoop, motion: FloatArray, time: FloatArray, offset: FloatArray, blend: float
) -> FloatArray:
    """Return θ_d and its derivatives (N, 3, n).

    What c and `offset` differ by at the start fades as 1 − s(t/blend), s a smooth step.
    """
    moves = np.array([np.stack(loop.controller.motor_reference(row)) for row in motion])
    step = Path([0.0, blend], [[0.0], [1.0]], np.zeros((2, 1)), np.zeros((2, 1)))
    first = moves[0, 0] - motion[0, 0] - offset
    left = np.array([[1.0, 0.0, 0.0]]) - np.array([step.at(t)[: DERIVATIVES - 2, 0] for t in time])
    return moves - left[:, :, None] * first


def _within(
    loop: ControlLoop, time: FloatArray, values: FloatArray, low: FloatArray, high: FloatArray, what: str
) -> None:
    """Raise JointDynamicsError for the first instant at which values (N, n) leave [low, high]."""
    outside = ~((values >= low) & (values <= high)).all(axis=1)
    if outside.any():
        k = int(np.argmax(outside))
        raise JointDynamicsError(
            'trajectory: expected it within the limits, found at '
            f'{time[k]:.3f} s {out_of_bounds(loop.arm.joint_names, values[k], low, high, what)}'
        )


def _never_leaves(loop: ControlLoop, path: Path, derivative: int, low: FloatArray, high: FloatArray, what: str) -> None:
    """Raise JointDynamicsError where a derivative of the path leaves [low, high], at any time between two points."""
    room = np.where(np.isfinite(high - low), high - low, 1.0)
    low, high = low - LIMIT_TOLERANCE * room, high + LIMIT_TOLERANCE * room
    least, most, when_least, when_most = path.extremes(derivative, LIMIT_TOLERANCE / 4 * room)
    for values, when in ((least, when_least), (most, when_most)):
        violation = out_of_bounds(loop.arm.joint_names, values, low, high, what)
        if violation:
            k = int(np.argmax((values < low) | (values > high)))
            raise JointDynamicsError(
                f'trajectory: expected it within the limits, found at {when[k] - path.start:.3f} s {violation}'
            )


def check_motion(loop: ControlLoop, path: Path) -> None:
    """Raise JointDynamicsError when the law needs more derivatives of the desired motion than exist."""
    needed = len(loop.references) - 1
    if path.derivatives < needed:
        raise JointDynamicsError(
            f'trajectory: expected a motion that is {needed} times differentiable, as the law needs it, found'
            f' {path.derivatives} times (give velocities and accelerations that are 0 at both ends, or let it be'
            ' smoothed)'
        )


def instants(path: Path, period: float) -> FloatArray:
    """Return the times (N,) of the steps: evenly between the points of the path, which are among them."""
    points = path.times
    pieces = [np.linspace(a, b, max(1, int(np.ceil((b - a) / period - 1e-9))) + 1)[:-1] for a, b in pairwise(points)]
    return np.append(np.concatenate(pieces), points[-1])


def _points(
    time: FloatArray, effort: FloatArray, allowed: FloatArray, fixed: FloatArray, max_spacing: float
) -> FloatArray:
    """Return the indices that are kept: the fixed times, and in between what the tolerance asks for."""
    stops = np.searchsorted(time, fixed - 1e-12)
    keep = [0]
    for stop in stops[1:]:
        while keep[-1] < stop:
            i = keep[-1]
            far = int(min(stop, max(i + 1, np.searchsorted(time, time[i] + max_spacing + 1e-9, side='right') - 1)))
            low, high = i + 1, far
            while low < high:
                middle = (low + high + 1) // 2
                if _straight(time, effort, allowed, i, middle):
                    low = middle
                else:
                    high = middle - 1
            keep.append(low)
    return np.array(keep)


def _straight(time: FloatArray, effort: FloatArray, allowed: FloatArray, i: int, j: int) -> bool:
    share = ((time[i + 1 : j] - time[i]) / (time[j] - time[i]))[:, None]
    return bool(np.all(np.abs(effort[i] + share * (effort[j] - effort[i]) - effort[i + 1 : j]) <= allowed))
