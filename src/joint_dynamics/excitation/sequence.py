"""Moves between postures, motions one after the other, and braking on the way: what it takes to play a trajectory safely."""
from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.fourier import smooth_step
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.trajectory import Trajectory

PEAK_SPEED, PEAK_ACCELERATION = 15 / 8, 10 / np.sqrt(3)
"""Greatest slope and bend of the smooth step over a unit of time."""
SAME_POSTURE = 1e-3
"""Distance [rad] within which two postures count as one."""


class Move(Trajectory):
    """A straight line in joint space, from rest to rest, of minimal jerk.

    Parameters
    ----------
    joint_names: (n,). start, stop: (n,) [rad]. duration: in s.

    """

    def __init__(self, joint_names: Sequence[str], start: ArrayLike, stop: ArrayLike, duration: float):
        self.joint_names = tuple(joint_names)
        self._start = np.asarray(start, dtype=float)
        self._way = np.asarray(stop, dtype=float) - self._start
        self.duration = float(duration)

    @classmethod
    def within(cls, limits: MotionLimits, joint_names: Sequence[str], start: ArrayLike, stop: ArrayLike, share: float) -> Move:
        """Return the move that reaches `share` of the speed or of the acceleration any joint may have."""
        way = np.abs(np.asarray(stop, dtype=float) - np.asarray(start, dtype=float))
        by_speed = PEAK_SPEED * way / (share * limits.velocity)
        by_acceleration = np.sqrt(PEAK_ACCELERATION * way / (share * limits.acceleration))
        return cls(joint_names, start, stop, max(float(np.maximum(by_speed, by_acceleration).max()), 1e-3))

    def motion(self, t: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return q, dq and ddq, (joints, samples) each."""
        s, ds, dds = smooth_step(t / self.duration)
        way = self._way[:, None]
        return self._start[:, None] + way * s, way * ds / self.duration, way * dds / self.duration ** 2


class Succession(Trajectory):
    """Several motions one after the other; each begins at rest where the one before ended.

    Raises JointDynamicsError when the postures do not meet within 1 mrad.
    """

    def __init__(self, parts: Sequence[Trajectory]):
        self.joint_names = parts[0].joint_names
        self._parts = list(parts)
        for before, after in itertools.pairwise(parts):
            gap = np.abs(after.position(0.0)[0] - before.position(before.duration)[0])
            if gap.max() > SAME_POSTURE:
                worst = int(gap.argmax())
                raise JointDynamicsError(f'trajectory: expected every motion to begin where the one before ends, found {self.joint_names[worst]} '
                                         f'{gap[worst]:.4g} rad away')
        self._begin = np.concatenate([[0.0], np.cumsum([part.duration for part in parts])])
        self.duration = float(self._begin[-1])

    def motion(self, t: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return q, dq and ddq, (joints, samples) each."""
        states = np.empty((3, self.n, len(t)))
        index = np.clip(np.searchsorted(self._begin, t, side='right') - 1, 0, len(self._parts) - 1)
        for k, part in enumerate(self._parts):
            here = index == k
            if here.any():
                states[:, :, here] = part.motion(np.clip(t[here] - self._begin[k], 0.0, part.duration))
        return states[0], states[1], states[2]


class Braking(Trajectory):
    """The rest of a motion when it is told to stop at a time: the same path, ever slower, to rest.

    Time on the path runs as s(t) = t_0 + t − t³/T² + t⁴/2T³, from full rate to none with no jump in speed or acceleration; the
    path is not left, so that clearance and position limits hold on the way as they did before. T is the shortest of a few at
    which no joint exceeds `factor` times its allowed acceleration.
    """

    def __init__(self, trajectory: Trajectory, at: float, limits: MotionLimits, factor: float = 2.0):
        self.joint_names = trajectory.joint_names
        self._trajectory = trajectory
        self._at = float(np.clip(at, 0.0, trajectory.duration))
        for duration in np.geomspace(0.05, 5.0, 24):
            self.duration = float(duration)
            acceleration = np.abs(self.motion(np.linspace(0.0, self.duration, 60))[2])
            if np.all(acceleration <= factor * limits.acceleration[:, None]):
                break

    def motion(self, t: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return q, dq and ddq, (joints, samples) each."""
        T = self.duration
        rate = 1 - 3 * (t / T) ** 2 + 2 * (t / T) ** 3
        slope = (-6 * t / T + 6 * (t / T) ** 2) / T
        path = self._at + t - t ** 3 / T ** 2 + t ** 4 / (2 * T ** 3)
        states = self._trajectory.states(path)
        q, dq, ddq = states.q.T, states.dq.T, states.ddq.T
        return q, dq * rate, ddq * rate ** 2 + dq * slope


class SampledTrajectory(Trajectory):
    """A motion given by points, quintic between them, as a joint trajectory controller plays it.

    Parameters
    ----------
    joint_names: (n,). time: (points,) [s], increasing. q, dq, ddq: (points, n).

    """

    def __init__(self, joint_names: Sequence[str], time: ArrayLike, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike):
        self.joint_names = tuple(joint_names)
        self._time = np.asarray(time, dtype=float)
        self._points = [np.asarray(array, dtype=float) for array in (q, dq, ddq)]
        shape = (len(self._time), len(self.joint_names))
        if self._time.ndim != 1 or len(self._time) < 2 or not np.all(np.isfinite(self._time)) or np.any(np.diff(self._time) <= 0):
            raise JointDynamicsError('trajectory: expected at least two points at increasing times')
        if any(array.shape != shape or not np.all(np.isfinite(array)) for array in self._points):
            raise JointDynamicsError(f'trajectory: expected finite positions, velocities and accelerations of shape {shape}, found '
                                     f'{", ".join(str(array.shape) for array in self._points)}')
        self._time = self._time - self._time[0]
        self.duration = float(self._time[-1])

    def motion(self, t: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return q, dq and ddq, (joints, samples) each."""
        index = np.clip(np.searchsorted(self._time, t, side='right') - 1, 0, len(self._time) - 2)
        h = (self._time[index + 1] - self._time[index])[:, None]
        x = (t - self._time[index])[:, None] / h
        q0, v0, a0 = (array[index] for array in self._points)
        q1, v1, a1 = (array[index + 1] for array in self._points)
        # the quintic through position, speed and acceleration at both ends; what is left after the Taylor part of the first end
        way, speed, bend = q1 - q0 - h * v0 - h * h * a0 / 2, h * (v1 - v0) - h * h * a0, h * h * (a1 - a0)
        c3, c4, c5 = 10 * way - 4 * speed + bend / 2, -15 * way + 7 * speed - bend, 6 * way - 3 * speed + bend / 2
        q = q0 + h * v0 * x + h * h * a0 / 2 * x ** 2 + c3 * x ** 3 + c4 * x ** 4 + c5 * x ** 5
        dq = v0 + h * a0 * x + (3 * c3 * x ** 2 + 4 * c4 * x ** 3 + 5 * c5 * x ** 4) / h
        ddq = a0 + (6 * c3 * x + 12 * c4 * x ** 2 + 20 * c5 * x ** 3) / h ** 2
        return q.T, dq.T, ddq.T
