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

"""Parts of a safe playback: moves between postures, successions of motions, and braking along the path."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.trajectory import Trajectory, largest
from joint_dynamics.signals.polynomial import STEP_PEAKS, PiecewisePolynomial

SAME_POSTURE = 1e-3
"""Distance [rad] within which two postures count as one."""


class _Hermite(Trajectory):
    """A motion of quintics between points, at which position, speed and acceleration meet; of cubics without those."""

    def __init__(self, joint_names: Sequence[str], time: FloatArray, values: Sequence[FloatArray]):
        self.joint_names = tuple(joint_names)
        self._pieces = PiecewisePolynomial.hermite(time, values)
        self.jumps = len(values) < 3
        self.duration = float(time[-1])

    @property
    def knots(self) -> FloatArray:
        """Times of the points."""
        return self._pieces.time

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t by the piece that `inside` (samples,) is in, (joints, samples) each."""
        q, dq, ddq = self._pieces.derivatives(t, 3, inside)
        return q, dq, ddq

    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇| … |q⁽⁴⁾| over pieces, see `Trajectory`: their largest Bernstein coefficients."""
        piece = self._pieces.segment(inside)
        return np.array([np.abs(self._pieces.bernstein(k)).max(axis=1)[piece].T for k in range(1, 5)])


class Move(_Hermite):
    """A straight line in joint space, from rest to rest, of minimal jerk.

    Parameters
    ----------
    joint_names
        (n,).
    start, stop
        (n,) [rad].
    duration
        in s.

    """

    def __init__(self, joint_names: Sequence[str], start: ArrayLike, stop: ArrayLike, duration: float):
        q = np.array([start, stop], dtype=float)
        super().__init__(joint_names, np.array([0.0, float(duration)]), [q, 0 * q, 0 * q])

    @classmethod
    def within(
        cls, limits: MotionLimits, joint_names: Sequence[str], start: ArrayLike, stop: ArrayLike, share: float
    ) -> Move:
        """Return the move that reaches `share` of the speed or of the acceleration any joint may have."""
        distance = np.abs(np.asarray(stop, dtype=float) - np.asarray(start, dtype=float))
        by_speed = STEP_PEAKS[1] * distance / (share * limits.velocity)
        by_acceleration = np.sqrt(STEP_PEAKS[2] * distance / (share * limits.acceleration))
        return cls(joint_names, start, stop, max(float(np.maximum(by_speed, by_acceleration).max()), 1e-3))


class Succession(Trajectory):
    """Several motions one after the other; each begins at rest where the one before ended.

    Raises
    ------
    JointDynamicsError
        When the postures do not meet within 1 mrad.
    """

    def __init__(self, motions: Sequence[Trajectory]):
        self.joint_names = motions[0].joint_names
        self._motions = list(motions)
        self.jumps = any(part.jumps for part in motions)
        for before, after in itertools.pairwise(motions):
            gap = np.abs(after.position(0.0)[0] - before.position(before.duration)[0])
            if not gap.max() <= SAME_POSTURE:
                worst = int(gap.argmax())
                raise JointDynamicsError(
                    'trajectory: expected every motion to begin where the one before ends, found'
                    f' {self.joint_names[worst]} {gap[worst]:.4g} rad away'
                )
        self._begin = np.concatenate([[0.0], np.cumsum([part.duration for part in motions])])
        self.duration = float(self._begin[-1])

    @property
    def knots(self) -> FloatArray:
        """Knots of the parts [s]."""
        return np.unique(
            np.concatenate([begin + part.knots for begin, part in zip(self._begin[:-1], self._motions, strict=True)])
        )

    def _of(self, t: FloatArray) -> list[tuple[IntArray, float, Trajectory]]:
        """Return for every part that holds one of the times t which ones, its begin [s] and itself."""
        index = np.clip(np.searchsorted(self._begin, t, side='right') - 1, 0, len(self._motions) - 1)
        return [(np.flatnonzero(index == k), self._begin[k], self._motions[k]) for k in np.unique(index).tolist()]

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t by the part that `inside` (samples,) is in, (joints, samples) each."""
        states = np.empty((3, self.n, len(t)))
        for here, begin, part in self._of(inside):
            states[:, :, here] = part.one_sided(
                *(np.clip(one[here] - begin, 0.0, part.duration) for one in (t, inside))
            )
        return states[0], states[1], states[2]

    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇| … |q⁽⁴⁾| over pieces, see `Trajectory`."""
        bounds = np.empty((4, self.n, len(inside)))
        for here, begin, part in self._of(inside):
            bounds[:, :, here] = part.derivative_bounds(np.clip(inside[here] - begin, 0.0, part.duration))
        return bounds


BRAKING = 2.0  # times the allowed acceleration that a braking may take
BRAKING_TOLERANCE = 1e-3  # of the proof of that, as a share
SLOWING_TIMES = 0.05, 5.0, 24  # s, shortest and longest braking, and how many are tried


class Braking(Trajectory):
    """The end of a motion that is stopped: the same path, slowing down to rest.

    The motion goes on for `lead` first, if it has begun. Then, from t = 0, time on the path runs as s(t) = t_0 +
    t − t³/T² + t⁴/2T³. Its rate falls to zero without a jump in speed or acceleration. It stays on the path, so that
    clearance and position limits hold as on the motion itself. T is the shortest of a few at which no joint exceeds
    `BRAKING` times its allowed acceleration, which is proved.

    Parameters
    ----------
    trajectory, at
        the motion, and the time at which this begins on it [s].
    limits
        of the joints.
    lead
        how long the motion goes on [s].
    """

    def __init__(self, trajectory: Trajectory, at: float, limits: MotionLimits, lead: float = 0.0):
        self.joint_names = trajectory.joint_names
        self.jumps = trajectory.jumps
        self._trajectory = trajectory
        self._at = float(np.clip(at, 0.0, trajectory.duration))
        self._lead = lead if at > 0.0 else 0.0
        for slowing in np.geomspace(*SLOWING_TIMES):
            self._slowing = float(slowing)
            self.duration = self._lead + self._slowing
            allowed = BRAKING * limits.acceleration
            if largest(self, 2, np.zeros(self.n), allowed, BRAKING_TOLERANCE).max() <= 1.0:
                break

    def _path(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the time on the path s (samples,) [s], its rate s′ and s″ [1/s]."""
        T = self._slowing
        slowed = np.maximum(t - self._lead, 0.0)
        x = slowed / T
        return (self._at + t - slowed * x**2 + slowed * x**3 / 2, 1 - 3 * x**2 + 2 * x**3, 6 * (-x + x**2) / T)

    @property
    def knots(self) -> FloatArray:
        """Times at which it slows down, the path passes the knots of the motion, and its end [s]."""
        path = np.append(self._trajectory.knots, self._trajectory.duration)
        met = path[(path > self._at) & (path < self._path(np.array([self.duration]))[0])]
        low, high = np.zeros_like(met), np.full_like(met, self.duration)
        for _ in range(60):
            middle = (low + high) / 2
            before = self._path(middle)[0] < met
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return np.unique(np.concatenate([[0.0, self._lead], high, [self.duration]]))

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t by the piece of the motion that `inside` (samples,) is in, (joints, samples)."""
        path, rate, slope = self._path(t)
        of, end = self._path(inside)[0], self._trajectory.duration
        q, dq, ddq = self._trajectory.one_sided(np.clip(path, 0.0, end), np.clip(of, 0.0, end))
        moving = of <= end
        return q, dq * rate * moving, (ddq * rate**2 + dq * slope) * moving

    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇| … |q⁽⁴⁾| over pieces, see `Trajectory`, by the chain rule for q(s(t)).

        |s′| ≤ 1; while it slows down |s″| ≤ 1.5/T, |s⁽³⁾| ≤ 6/T², s⁽⁴⁾ = 12/T³.
        """
        s2, s3, s4 = (peak * (inside > self._lead) / self._slowing**k for k, peak in ((1, 1.5), (2, 6.0), (3, 12.0)))
        of, end = self._path(inside)[0], self._trajectory.duration
        q1, q2, q3, q4 = self._trajectory.derivative_bounds(np.clip(of, 0.0, end))
        bounds = np.array(
            [q1, q2 + q1 * s2, q3 + 3 * q2 * s2 + q1 * s3, q4 + 6 * q3 * s2 + 3 * q2 * s2**2 + 4 * q2 * s3 + q1 * s4]
        )
        return bounds * (of <= end)


class SampledTrajectory(_Hermite):
    """A motion given by points, as a joint trajectory controller plays it: quintic between them, cubic without `ddq`.

    Parameters
    ----------
    joint_names
        (n,).
    time
        (points,) [s], increasing.
    q, dq, ddq
        (points, n) [rad, rad/s, rad/s²]; ddq may be None.

    """

    def __init__(self, joint_names: Sequence[str], time: ArrayLike, q: ArrayLike, dq: ArrayLike, *ddq: ArrayLike):
        times = np.asarray(time, dtype=float)
        points = [np.asarray(array, dtype=float) for array in (q, dq, *ddq)]
        shape = (len(times), len(joint_names))
        if times.ndim != 1 or len(times) < 2 or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0):
            raise JointDynamicsError(
                f'trajectory: expected at least two points at increasing times, found {str(times.tolist())[:80]}'
            )
        if any(array.shape != shape or not np.all(np.isfinite(array)) for array in points):
            raise JointDynamicsError(
                f'trajectory: expected finite positions, velocities and accelerations of shape {shape}, found '
                f'{", ".join(str(array.shape) for array in points)}'
            )
        super().__init__(joint_names, times - times[0], points)
