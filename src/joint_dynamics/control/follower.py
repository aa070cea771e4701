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

"""The desired motion of a robot over time: trajectories with smooth transitions.

A motion that is ended early slows down along its own path (`braking`). Its position is q(t₀ + s(t)) with

    ṡ = 1 − S(t/T),    S(x) = 10 x³ − 15 x⁴ + 6 x⁵,    s(T) = T/2

Speed, acceleration and jerk are continuous. The motion comes to rest after T and never leaves the path: where the
motion is clear of obstacles, so is the braking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.path import DERIVATIVES, REST, Path, order_joints
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.polynomial import smooth_step

BRAKING_FACTOR = 2.0
"""How many times harder than the motion itself ever does a braking may accelerate."""
DURATIONS = 0.1 * 2.0 ** (np.arange(11) / 2)
"""Times in which a motion is brought to rest [s], the shortest that is gentle enough counts, else the last."""
SPACING = 0.02
"""Time between the points of a braking [s]; at least nine."""


def braking(path: Path, at: float, longer_than: float = 0.0, lead: float = 0.0) -> Path:
    """Return the path on which the motion along `path` comes to rest from its time `at` [s]; times count from there.

    The duration is the shortest of a series (0.1 … 3.2 s) at which no joint accelerates more than twice as hard as
    anywhere on the path, or else the longest.

    Parameters
    ----------
    path
        the motion to end.
    at
        s, when it ends.
    longer_than
        s; only longer durations are considered.
    lead
        s, for which the motion goes on before it slows down.
    """
    motion = path.at(at)
    allowed = BRAKING_FACTOR * path.largest_acceleration
    chosen = _slowed(path, at, DURATIONS[-1], lead)
    for duration in DURATIONS[longer_than < DURATIONS]:
        slowed = _slowed(path, at, duration, lead)
        if (np.abs(slowed[3]) <= allowed * (1 + 1e-9)).all():
            chosen = slowed
            break
    time, q, dq, ddq = chosen
    return Path(time, q, dq, ddq, start=motion)


def _slowed(
    path: Path, at: float, duration: float, lead: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return time (N,), q, dq and ddq (N, n) of the braking that lasts `duration` s after `lead` s of the motion."""
    before = np.arange(0.0, lead, SPACING)
    x = np.linspace(0.0, 1.0, max(9, int(np.ceil(duration / SPACING)) + 1))
    step, slope, _ = smooth_step(x)
    speed, change = np.append(np.ones_like(before), 1.0 - step), np.append(np.zeros_like(before), -slope / duration)
    # The integral of S is 2.5 x⁴ − 3 x⁵ + x⁶.
    place = np.append(before, lead + duration * (x - 2.5 * x**4 + 3.0 * x**5 - x**6))
    q, along, bend = path.sample(at + place)[:, :3].transpose(1, 0, 2)
    speed, change = speed[:, None], change[:, None]
    dq, ddq = along * speed, bend * speed**2 + along * change
    dq[-1] = ddq[-1] = 0.0
    return np.append(before, lead + x * duration), q, dq, ddq


BROUGHT_IN = 0.5
"""s, in which the distance between where a trajectory begins and where the robot is fades."""


@dataclass(frozen=True)
class Points:
    """Points as a message gives them.

    Joints in any order, time (P,) s from the start, q (P, n) rad, dq (P, n) rad/s and ddq (P, n) rad/s² or None.
    """

    joint_names: Sequence[str]
    time: ArrayLike
    q: ArrayLike
    dq: ArrayLike | None = None
    ddq: ArrayLike | None = None


class Follower:
    """The desired motion of the joints of a robot; times are s of one clock.

    Parameters
    ----------
    joint_names
        joints in the robot's order.
    smooth
        whether trajectories are made four times differentiable (see `Path`).
    start_tolerance
        rad, largest distance from the robot's position, or desired position, to the first point of a trajectory that
        begins at that point.

    Attributes
    ----------
    path
        the path followed; None: no motion yet.
    start
        of the path, s.

    """

    def __init__(self, joint_names: Sequence[str], *, smooth: bool = True, start_tolerance: float = 0.1):
        self.joint_names = tuple(joint_names)
        self._smooth, self.start_tolerance = smooth, start_tolerance
        self.clear()

    def clear(self) -> None:
        """End any desired motion."""
        self.path: Path | None = None
        self.start = 0.0
        self._next: tuple[Path, float] | None = None

    def plan(self, points: Points, start: float, position: FloatArray) -> Path:
        """Return the path through `points`, from `start` s on, without following it.

        As in a joint trajectory controller: when the first point is later than the start, the path leads to it from the
        motion desired at the start or, if there is none, from the robot's `position` (n,) rad. A first point at the
        start itself may be up to `start_tolerance` away from there: the path then begins at the actual position, and
        the distance fades as 1 − S(t / BROUGHT_IN), so that there is no step.

        Raises
        ------
        JointDynamicsError
            When the points cannot be followed.
        """
        return self.through(points, self.origin(start, position))

    def origin(self, start: float, position: FloatArray) -> FloatArray:
        """Return the motion (5, n) desired at `start` s; without one, rest at `position` (n,) rad."""
        motion = self._expected(start)
        if motion is None:
            motion = np.zeros((DERIVATIVES, len(self.joint_names)))
            motion[0] = position
        return motion

    def through(self, points: Points, motion: FloatArray) -> Path:
        """Return the path through `points` from the motion (5, n) at the start, as `plan` does.

        It changes nothing in this object, so it can be called in another thread.
        """
        order = order_joints(self.joint_names, points.joint_names)
        time = np.array(points.time, dtype=float)
        given = [
            (
                np.atleast_2d(np.array(values, dtype=float))[:, order]
                if np.shape(values)[-1:] == (len(order),)
                else np.array(values)
            )
            for values in (points.q, points.dq, points.ddq)
            if values is not None
        ]
        if any(values.shape != (time.size, len(order)) for values in given):
            raise JointDynamicsError(
                f'trajectory: expected {len(order)} values of every quantity at every point, found '
                f'{", ".join(str(values.shape) for values in given)} for {time.size} points'
            )
        if not time.size or not np.isfinite(time).all() or time[0] < 0:
            raise JointDynamicsError(
                f'trajectory: expected points with finite times >= 0, found {time.tolist()[:1] or "none"}'
            )
        here = motion[0]
        if not np.isfinite(here).all():
            raise JointDynamicsError('trajectory: expected the present position of the robot, found none')
        # A first point in motion at the start continues the present motion, too.
        goes_on = time[0] > 0 or (len(given) > 1 and bool(np.any(np.abs(given[1][0]) > REST)))
        moving = goes_on and bool(np.any(motion[1:] != 0))
        if time[0] > 0:
            time = np.append(0.0, time)
            given = [np.vstack([row, values]) for row, values in zip(motion, given, strict=False)]
        apart = here - given[0][0]
        if not (np.abs(apart) <= self.start_tolerance).all():
            joint = int(np.argmax(np.abs(apart)))
            raise JointDynamicsError(
                f'trajectory: expected it to start within {self.start_tolerance:g} rad of the robot, found '
                f'{self.joint_names[joint]} at {given[0][0][joint]:.4g} rad, from {here[joint]:.4g} rad'
            )
        if apart.any() and time[-1] > 0:
            fade = Path([0.0, min(BROUGHT_IN, time[-1])], [[1.0], [0.0]], np.zeros((2, 1)), np.zeros((2, 1)))
            left = fade.sample(time[time < BROUGHT_IN])
            for d, values in enumerate(given):
                values[: len(left)] += left[:, d] * apart
        path = Path(time, *given, smooth=self._smooth, start=motion if moving else None)
        path.brought_in = apart
        return path

    def follow(self, path: Path, start: float, now: float) -> None:
        """Follow `path` from `start` s on, and the present path until then."""
        if start > now and self.path is not None:
            self._next = path, start
        else:
            self.path, self.start, self._next = path, start, None

    def motion(self, time: float) -> FloatArray | None:
        """Return the motion (5, n) desired at `time` s, None if there is none."""
        if self._next is not None and time >= self._next[1]:
            (self.path, self.start), self._next = self._next, None
        return self._expected(time)

    def followed(self, time: float) -> tuple[Path, float] | None:
        """Return the path followed at `time` s and the time on it; None at rest and without a motion."""
        self.motion(time)
        if self.path is None or not time - self.start < self.path.end:
            return None
        return self.path, time - self.start

    def _expected(self, time: float) -> FloatArray | None:
        """Return the motion that will be desired at `time` s, as known now."""
        path, start = self.path, self.start
        if self._next is not None and time >= self._next[1]:
            path, start = self._next
        return None if path is None else path.at(time - start)
