"""Motions of constant acceleration in pieces, every joint with pieces of its own.

What the test profiles are made of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.trajectory import ORDERS, Trajectory

SAME_TIME = 1e-9
"""Knots of several joints that are not further apart [s] are one."""


class JointPieces:
    """The pieces of one joint, added one after the other, from rest at `position` [rad].

    `time` [s], `position`, `speed` tell where it is. tick: what `move_to` and `wait` take are whole multiples of it
    [s], rounded up, where given.
    """

    def __init__(self, position: float, tick: float | None = None):
        self.start = float(position)
        self._tick = tick
        self.time, self.position, self.speed = 0.0, float(position), 0.0
        self.durations: list[float] = []
        self.accelerations: list[float] = []

    def accelerate(self, acceleration: float, duration: float) -> None:
        """Add one piece; one of no length is left out."""
        if duration <= 0:
            return
        self.durations.append(duration)
        self.accelerations.append(acceleration)
        self.time += duration
        self.position += self.speed * duration + acceleration * duration**2 / 2
        self.speed += acceleration * duration

    def wait(self, duration: float) -> None:
        """Keep the present speed, which at rest means to stand still."""
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
    """A motion of n joints, each with pieces of constant acceleration; who is done earlier rests.

    Parameters
    ----------
    joint_names: (n,). pieces: per joint. duration: in s, by default that of the slowest joint.

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

    def motion(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq, (joints, samples) each; at a knot the acceleration is that of the piece that begins."""
        return self.one_sided(t, t)

    def majorants(self, begin: FloatArray, end: FloatArray) -> FloatArray:
        """Return bounds of |q^(k)|/k! over intervals, (ORDERS, joints, N).

        Speeds are greatest at an end, accelerations constant.
        """
        inside = (begin + end) / 2
        first, last = self.one_sided(begin, inside), self.one_sided(end, inside)
        found = np.zeros((ORDERS, self.n, len(begin)))
        found[1] = np.maximum(np.abs(first[1]), np.abs(last[1]))
        found[2] = np.abs(first[2]) / 2
        found[0] = np.minimum(np.abs(first[0]), np.abs(last[0])) + found[1] * (end - begin)
        return found

    def magnitude(self) -> FloatArray:
        """Return the sums of magnitudes of the terms of q, dq, ddq, (3, joints)."""
        found = np.empty((3, self.n))
        for j, (begin, position, speed, acceleration) in enumerate(self._joints):
            found[0, j] = np.abs(position).max() + 2 * np.abs(speed).max() * np.diff(begin, append=begin[-1]).max()
            found[1, j] = np.abs(speed).max() + (np.abs(acceleration) * np.diff(begin, append=begin[-1])).max()
            found[2, j] = np.abs(acceleration).max()
        # position and speed at a knot are sums over all pieces before
        return found * np.maximum(1.0, np.array([[1e-3 * len(table[0]) for table in self._joints]]))

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t as the pieces that `inside` (samples,) is in have them, (joints, samples) each."""
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
