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

"""Trajectories: motions of all joints that can be evaluated at any time, and their largest values between samples.

On an interval of length h, a twice differentiable f differs from the chord between its ends by at most h²/8 max|f″|,
by Taylor's formula from the extreme of the difference to the nearer end. Hence, on a grid of step h,

    max |f(t)| ≤ max_k |f(t_k)| + h²/8 max |f″|.

Here f is position, speed or acceleration; `Trajectory.derivative_bounds` bounds f″ by the coefficients of the motion.
The test profiles consist of pieces of constant acceleration, separate for every joint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import MAX_DURATION


@dataclass(frozen=True)
class MotionSamples:
    """A motion on a time grid: `time` (samples,) [s].

    `q` [rad], `dq` [rad/s], `ddq` [rad/s²], (samples, joints) each.
    """

    time: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray


class Trajectory(ABC):
    """A motion of n joints over [0, `duration`] s; before and after it the joints rest where it begins and ends.

    Between two of its `knots` it has all derivatives; `derivative_bounds` bound them for the proofs of its limits.

    Attributes
    ----------
    joint_names
        in the order of the columns.
    duration
        in s.
    jumps
        whether accelerations jump at knots.

    """

    joint_names: tuple[str, ...]
    duration: float
    jumps: bool = False

    def motion(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq, (joints, samples) each, at times t (samples,) within [0, duration].

        At a knot the acceleration is that of the piece that begins.
        """
        return self.one_sided(t, t)

    @property
    def knots(self) -> FloatArray:
        """Times [s], from 0 to the duration, between which all derivatives exist."""
        return np.array([0.0, self.duration])

    @abstractmethod
    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq, (joints, samples) each, at t by the pieces that contain `inside` (samples,).

        So both sides of a jump can be evaluated.
        """

    @abstractmethod
    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇|, |q̈|, |q⁽³⁾| and |q⁽⁴⁾| over whole pieces, (4, joints, N).

        A piece lies between two knots; `inside` (N,) [s] is a time in each.
        """

    def without_repetition(self) -> Trajectory:
        """Return the shortest motion that visits the same states.

        By default the motion itself.
        """
        return self

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    def states(self, t: ArrayLike) -> MotionSamples:
        """Return the motion at times t (samples,) [s]."""
        time = np.atleast_1d(np.asarray(t, dtype=float))
        q, dq, ddq = self.motion(np.clip(time, 0.0, self.duration))
        outside = (time < 0) | (time > self.duration)
        dq[:, outside] = 0.0
        ddq[:, outside] = 0.0
        return MotionSamples(time, q.T, dq.T, ddq.T)

    def position(self, t: ArrayLike) -> FloatArray:
        """Return q [rad] at times t (samples,): (samples, joints)."""
        return self.states(t).q

    def velocity(self, t: ArrayLike) -> FloatArray:
        """Return dq [rad/s] at times t (samples,): (samples, joints)."""
        return self.states(t).dq

    def acceleration(self, t: ArrayLike) -> FloatArray:
        """Return ddq [rad/s²] at times t (samples,): (samples, joints)."""
        return self.states(t).ddq

    def sample(self, rate: float) -> MotionSamples:
        """Return the motion at `rate` [Hz] from 0 to the duration; the last sample is always at its end.

        Raises
        ------
        JointDynamicsError
            For a rate that is not positive.
        """
        if not np.isfinite(rate) or rate <= 0:
            raise JointDynamicsError(f'rate: expected a number > 0 Hz, found {rate!r}')
        time = np.arange(int(np.floor(self.duration * rate + 1e-9)) + 1) / rate
        if self.duration - time[-1] > 1e-9:
            time = np.append(time, self.duration)
        time[-1] = min(time[-1], self.duration)
        return self.states(time)

    def points(self, rate: float) -> MotionSamples:
        """Return the points that a trajectory controller is sent, `rate` [Hz] or denser, at whole nanoseconds.

        Where accelerations jump, every knot is a point, and accelerations should not be sent: where the acceleration is
        constant, cubics between positions and speeds are the motion itself, while quintics would overshoot a jump by
        more than a third of it.
        """
        if not self.jumps:
            return self.sample(rate)
        knots = self.knots
        count = np.maximum(1, np.ceil(np.diff(knots) * rate - 1e-6)).astype(int)
        time = [
            np.linspace(begin, end, n, endpoint=False)
            for begin, end, n in zip(knots[:-1], knots[1:], count.tolist(), strict=True)
        ]
        return self.states(np.unique(np.round(np.concatenate([*time, knots[-1:]]) * 1e9)) * 1e-9)


MAX_SAMPLES = 2_000_000  # of one proof; beyond it the steps are longer, and the bound is farther from the true peak
BLOCK = 1000  # samples evaluated at once


class Samples(NamedTuple):
    """Times [s] of a motion, (samples,) each, both sides of every knot included."""

    time: FloatArray
    inside: FloatArray  # s, a time in the same piece between two knots, which selects the side of a jump
    piece: IntArray  # number of that piece


def samples(knots: FloatArray, count: IntArray) -> Iterator[Samples]:
    """Yield blocks of samples that divide every piece between two knots into `count` (pieces,) equal steps."""
    begin, length, middle = knots[:-1], np.diff(knots), (knots[:-1] + knots[1:]) / 2
    first = np.concatenate([[0], np.cumsum(count + 1)])
    for start in range(0, int(first[-1]), BLOCK):
        sample = np.arange(start, min(start + BLOCK, int(first[-1])))
        piece = np.searchsorted(first, sample, side='right') - 1
        share = (sample - first[piece]) / count[piece]
        yield Samples(begin[piece] + length[piece] * share, middle[piece], piece)


def largest(trajectory: Trajectory, order: int, centre: FloatArray, scale: FloatArray, tolerance: float) -> FloatArray:
    """Return a bound of |f − centre| / scale over the whole motion for every joint, (n,), NaN where f is.

    Parameters
    ----------
    order
        0: f is the position, 1: speed, 2: acceleration.
    centre, scale
        (n,) each.
    tolerance
        how far a bound may lie above the true peak; it sets the step.
    """
    knots = trajectory.knots
    length = np.diff(knots)
    bend = trajectory.derivative_bounds(knots[:-1] + length / 2)[order + 1] / scale[:, None]
    steps = np.nan_to_num(length * np.sqrt(bend.max(axis=0) / (8 * tolerance)), posinf=MAX_SAMPLES)
    count = np.maximum(1, np.ceil(steps * min(1.0, MAX_SAMPLES / max(steps.sum(), 1.0)))).astype(int)
    missed = (length / count) ** 2 / 8 * bend
    found = np.zeros(trajectory.n)
    for part in samples(knots, count):
        values = trajectory.one_sided(part.time, part.inside)[order]
        reached = np.abs(values - centre[:, None]) / scale[:, None] + missed[:, part.piece]
        found = np.maximum(found, reached.max(axis=1))
    return found


SAME_TIME = 1e-9
"""Knots of several joints that are not further apart [s] are one."""


class JointPieces:
    """The pieces of one joint, added one after the other, from rest at `position` [rad].

    `time` [s], `position` and `speed` are those at its end. tick: [s]; the durations of `move_to` and `wait` are
    rounded up to whole multiples of it; None: not rounded.
    """

    def __init__(self, position: float, tick: float | None = None):
        self.start = float(position)
        self._tick = tick
        self.time, self.position, self.speed = 0.0, float(position), 0.0
        self.durations: list[float] = []
        self.accelerations: list[float] = []

    def accelerate(self, acceleration: float, duration: float) -> None:
        """Add one piece; a piece of zero duration is omitted."""
        if duration <= 0:
            return
        self.durations.append(duration)
        self.accelerations.append(acceleration)
        self.time += duration
        if not self.time <= MAX_DURATION:
            raise JointDynamicsError(
                f'trajectory: expected a motion of at most {MAX_DURATION:g} s, found a longer one: fewer repetitions,'
                ' higher speeds, or shorter pauses'
            )
        self.position += self.speed * duration + acceleration * duration**2 / 2
        self.speed += acceleration * duration

    def wait(self, duration: float) -> None:
        """Keep the present speed for `duration` s."""
        self.accelerate(0.0, self._whole(duration))

    def move_to(self, target: float, speed: float, acceleration: float) -> None:
        """Move from rest to rest: accelerate, coast at `speed`, decelerate; without coasting where it is short."""
        distance = target - self.position
        rise, coast = self._times(abs(distance), speed, acceleration)
        if rise > 0:
            needed = distance / (rise * (rise + coast))
            self.accelerate(needed, rise)
            self.accelerate(0.0, coast)
            self.accelerate(-needed, rise)
            self.position, self.speed = target, 0.0

    def time_of_move(self, target: float, speed: float, acceleration: float) -> float:
        """Return how long `move_to` takes [s]."""
        rise, coast = self._times(abs(target - self.position), speed, acceleration)
        return 2 * rise + coast

    def _times(self, distance: float, speed: float, acceleration: float) -> tuple[float, float]:
        rise = min(speed / acceleration, float(np.sqrt(distance / acceleration)))
        coast = max(0.0, distance / (acceleration * rise) - rise) if rise > 0 else 0.0
        return self._whole(rise), self._whole(coast)

    def _whole(self, duration: float) -> float:
        return duration if self._tick is None else float(np.ceil(duration / self._tick) * self._tick)


class PiecewiseTrajectory(Trajectory):
    """A motion of n joints, each with pieces of constant acceleration; a joint that ends earlier rests.

    Parameters
    ----------
    joint_names
        (n,).
    pieces
        per joint.
    duration
        in s; None: that of the slowest joint.

    """

    jumps = True

    def __init__(self, joint_names: Sequence[str], pieces: Sequence[JointPieces], duration: float | None = None):
        self.joint_names = tuple(joint_names)
        if len(pieces) != self.n:
            raise JointDynamicsError(f'trajectory: expected pieces of {self.n} joints, found {len(pieces)}')
        longest = max(piece.time for piece in pieces)
        self.duration = longest if duration is None else float(duration)
        if not self.duration >= longest - 1e-9:
            raise JointDynamicsError(
                f'trajectory: expected a duration of at least {longest:.6g} s, found {self.duration:.6g}'
            )
        self._joints = [self._table(piece) for piece in pieces]
        knots = np.unique(np.concatenate([table[0] for table in self._joints] + [[self.duration]]))
        knots = knots[knots <= self.duration]
        # The same knot of several joints differs by rounding.
        self._knots = knots[np.append(True, np.diff(knots) > SAME_TIME)]

    @staticmethod
    def _table(piece: JointPieces) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return begin, position, speed, acceleration of every piece, the last one a rest."""
        durations, accelerations = np.array(piece.durations), np.array(piece.accelerations)
        begin = np.concatenate([[0.0], np.cumsum(durations)])
        speed = np.concatenate([[0.0], np.cumsum(accelerations * durations)])
        position = piece.start + np.concatenate(
            [[0.0], np.cumsum(speed[:-1] * durations + accelerations * durations**2 / 2)]
        )
        # what rounding leaves of the speed is not carried on in the rest
        return begin, position, np.append(speed[:-1], 0.0), np.append(accelerations, 0.0)

    @property
    def knots(self) -> FloatArray:
        """All times [s] at which an acceleration changes."""
        return self._knots

    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇| … |q⁽⁴⁾| over pieces, see `Trajectory`: speeds at both ends, the acceleration."""
        piece = np.searchsorted(self._knots[1:-1], inside, side='right')
        first, last = (self.one_sided(self._knots[piece + side], inside) for side in (0, 1))
        bounds = np.zeros((4, self.n, len(inside)))
        bounds[0] = np.maximum(np.abs(first[1]), np.abs(last[1]))
        bounds[1] = np.abs(first[2])
        return bounds

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq, (joints, samples) each, at t by the pieces that contain `inside` (samples,)."""
        states = np.empty((3, self.n, len(t)))
        for j, (begin, position, speed, acceleration) in enumerate(self._joints):
            piece = np.searchsorted(begin, inside, side='right') - 1
            since, a = t - begin[piece], acceleration[piece]
            states[:, j] = position[piece] + speed[piece] * since + a * since**2 / 2, speed[piece] + a * since, a
        return states[0], states[1], states[2]


def at_rest(joint_names: Sequence[str], posture: ArrayLike, tick: float | None = None) -> dict[str, JointPieces]:
    """Return pieces that stand still at `posture` (n,), by joint name; `tick` as of JointPieces."""
    return {
        name: JointPieces(float(angle), tick)
        for name, angle in zip(joint_names, np.asarray(posture, dtype=float), strict=True)
    }
