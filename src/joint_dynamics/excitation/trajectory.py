"""What every profile gives: a motion of all joints that can be asked for at any times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError


@dataclass(frozen=True)
class MotionSamples:
    """A motion on a time grid: `time` (samples,) [s].

    `q` [rad], `dq` [rad/s], `ddq` [rad/s²], (samples, joints) each.
    """

    time: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray


ORDERS = 5
"""How many Taylor coefficients f^(k)/k!, k = 0 … 4, a motion is bounded by: the torque's second derivative takes the
fourth of q."""


class Trajectory(ABC):
    """A motion of n joints over [0, `duration`] s; before and after it the joints rest where it begins and ends.

    Between two of its `knots` it has all derivatives, of which `majorants` are bounds: what the proofs that it keeps a
    limit rest on.

    Attributes
    ----------
    joint_names: in the order of the columns. duration: in s. jumps: whether accelerations jump at knots.

    """

    joint_names: tuple[str, ...]
    duration: float
    jumps: bool = False

    @abstractmethod
    def motion(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq, (joints, samples) each, at times t (samples,) within [0, duration]."""

    @property
    def knots(self) -> FloatArray:
        """Times [s], from 0 to the duration, between which all derivatives exist."""
        return np.array([0.0, self.duration])

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t as seen from between the knots where `inside` (samples,) is.

        That tells the sides of a jump apart; without jumps in q, dq and ddq it is `motion`.
        """
        return self.motion(t)

    @abstractmethod
    def majorants(self, begin: FloatArray, end: FloatArray) -> FloatArray:
        """Return bounds of |q^(k)|/k! over the intervals [begin, end] (N,), each between two knots.

        Shape (ORDERS, joints, N).
        """

    @abstractmethod
    def magnitude(self) -> FloatArray:
        """Return the greatest sums of magnitudes of the terms q, dq and ddq are summed up from, (3, joints).

        The scale of their rounding.
        """

    def without_repetition(self) -> Trajectory:
        """Return a motion that visits the same states, the shortest there is.

        A motion without the repetitions in it.
        """
        return self

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    def states(self, t: ArrayLike) -> MotionSamples:
        """Return the motion at any times t (samples,) [s]."""
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
        """Return the motion at `rate` [Hz] from 0 to the duration; its very end is always the last sample.

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

        Of a motion whose acceleration jumps every knot is a point, and the accelerations are not to be sent: the cubics
        between positions and speeds are the motion itself where its acceleration is constant, while quintics would
        overshoot a jump by more than a third of it.
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
