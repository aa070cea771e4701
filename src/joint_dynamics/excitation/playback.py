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

"""Playing a motion on a robot.

The motion is checked, approached slowly from the robot's posture, repeated, and stopped along its own path; a robot
that is not on the path is brought to rest where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.constraint import LIMIT_TOLERANCE, Constraint, excess, motion_margins
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.fourier import FourierTrajectory
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.excitation.sequence import Braking, Move, Succession
from joint_dynamics.excitation.trajectory import MotionSamples, Trajectory
from joint_dynamics.robot import RobotModel

LONGEST_DELAY = 0.5  # s, greatest delay of the robot behind the motion
# rad, distance within which two delays fit a measured posture alike; resolution of encoder and position loop
SAME = 1e-3
SHORTEST = 0.1  # s, shortest time in which a robot is held


def delay_of(
    trajectory: Trajectory, at: float, q: ArrayLike, longest: float = LONGEST_DELAY
) -> tuple[float, FloatArray]:
    """Return the delay [s] of a robot behind a motion, and the distance of each joint from it (n,) [rad].

    A reported position lags behind the command. The delay is the shortest up to `longest` whose distance is at most 1.5
    times the smallest plus 1 mrad: where the motion is slow, every delay fits, and it is 0. The distance is that at the
    best-fitting delay.

    Parameters
    ----------
    trajectory, at
        the commanded motion, and the time on it [s].
    q
        (n,) [rad], reported position.
    longest
        s, greatest delay.
    """
    delays = np.linspace(0.0, longest, 101)
    apart = np.abs(trajectory.position(at - delays) - np.asarray(q, dtype=float))
    worst = apart.max(axis=1)
    return float(delays[np.argmax(worst <= 1.5 * worst.min() + SAME)]), apart[worst.argmin()]


def come_to_rest(q: ArrayLike, dq: ArrayLike, acceleration: ArrayLike) -> tuple[FloatArray, float]:
    """Return where a robot at q (n,) [rad] moving at dq (n,) [rad/s] comes to rest (n,) [rad], and when [s].

    All joints decelerate uniformly and stop together, the slowest of them at its allowed acceleration (n,) [rad/s²].
    """
    speed = np.nan_to_num(np.asarray(dq, dtype=float))
    duration = max(SHORTEST, float(np.max(np.abs(speed) / np.asarray(acceleration, dtype=float), initial=0.0)))
    return np.asarray(q, dtype=float) + speed * duration / 2, duration


ANSWER_DELAY = 0.3  # s, greatest delay between a reference and the joint states that answer it
REST = 1e-3  # rad/s, speed below which a joint rests


class Reordered(Trajectory):
    """A trajectory with its joints in another order; raises JointDynamicsError unless both name the same joints."""

    def __init__(self, trajectory: Trajectory, joint_names: Sequence[str]):
        if set(trajectory.joint_names) != set(joint_names):
            raise JointDynamicsError(
                f'trajectory: expected the joints {", ".join(joint_names)}, found {", ".join(trajectory.joint_names)}'
            )
        self.joint_names = tuple(joint_names)
        self.duration, self.jumps = trajectory.duration, trajectory.jumps
        self._trajectory = trajectory
        self._order = [trajectory.joint_names.index(name) for name in joint_names]

    @property
    def knots(self) -> FloatArray:
        """Knots of the trajectory [s]."""
        return self._trajectory.knots

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t as seen from `inside`, (joints, samples) each."""
        q, dq, ddq = self._trajectory.one_sided(t, inside)
        return q[self._order], dq[self._order], ddq[self._order]

    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇| … |q⁽⁴⁾| over pieces, see `Trajectory`."""
        return self._trajectory.derivative_bounds(inside)[:, self._order]


class Playback:
    """Plays one motion on one robot.

    Parameters
    ----------
    model
        the robot.
    settings
        the limits that every motion has to keep.
    trajectory
        the motion of the robot's joints, in any order, which begins and ends at rest.
    repeats
        number of repetitions: of a Fourier series the period is repeated between one pair of ramps; any other motion
        must end where it begins.
    approach
        share of the allowed speed and acceleration on the way to its start.

    Raises
    ------
    JointDynamicsError
        When the motion is not of the robot's joints, breaks a limit or cannot be repeated.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: LimitSettings,
        trajectory: Trajectory,
        repeats: int = 1,
        approach: float = 0.2,
    ):
        self._model = model
        self.limits = MotionLimits.of(model, settings)
        self._constraints: list[Constraint] = all_constraints(model, settings)
        self._approach = approach
        self._refuse(Reordered(trajectory.without_repetition(), model.joint_names), 'trajectory')
        if repeats > 1:
            trajectory = (
                trajectory.repeated(repeats * trajectory.basis.repeats)
                if isinstance(trajectory, FourierTrajectory)
                else Succession([trajectory] * repeats)
            )
        self.trajectory = Reordered(trajectory, model.joint_names)
        speed = np.abs(self.trajectory.motion(np.array([0.0, self.trajectory.duration]))[1]).max()
        if not speed <= REST:
            raise JointDynamicsError(
                f'trajectory: expected one that begins and ends at rest, found a speed of {speed:.3g} rad/s at an end'
            )

    def _refuse(self, trajectory: Trajectory, name: str) -> None:
        margins = motion_margins(self._model, trajectory, self._constraints)
        # NaN counts as broken.
        broken = [one for one in self._constraints if not margins[one.kind] >= -LIMIT_TOLERANCE]
        if not broken:
            return
        worst = min(broken, key=lambda one: margins[one.kind] if np.isfinite(margins[one.kind]) else -np.inf)
        with np.errstate(all='ignore'):
            words = excess(self._model, trajectory, worst, margins[worst.kind])
        raise JointDynamicsError(f'{name}: expected one within the limits, found {words}')

    def refuse_samples(self, samples: MotionSamples) -> None:
        """Check samples that are about to be sent.

        Raises
        ------
        JointDynamicsError
            Where one is not finite, or beyond the limits of position, speed or acceleration; names joint, time, value.
        """
        where = self.limits.worst(self._model.joint_names, samples, LIMIT_TOLERANCE)
        if where:
            raise JointDynamicsError(f'motion: expected every sample finite and within the limits, found {where}')

    def from_posture(self, q: ArrayLike) -> Succession:
        """Return the whole motion of a robot that rests at q (n,) [rad]: the slow approach, then the trajectory.

        Raises
        ------
        JointDynamicsError
            When the posture or the path from it breaks a limit, as when the arm would collide with itself.
        """
        posture = np.asarray(q, dtype=float)
        outside = (posture < self.limits.lower) | (posture > self.limits.upper)
        if outside.any():
            worst = int(np.argmax(np.maximum(self.limits.lower - posture, posture - self.limits.upper)))
            raise JointDynamicsError(
                f'start: expected {self._model.joint_names[worst]} within {self.limits.lower[worst]:.4g} … '
                f'{self.limits.upper[worst]:.4g} rad, found it at {posture[worst]:.4g}'
            )
        first = self.trajectory.position(0.0)[0]
        approach = Move.within(self.limits, self._model.joint_names, posture, first, self._approach)
        self._refuse(approach, 'way from here to the start of the trajectory')
        return Succession([approach, self.trajectory])

    def braking(self, trajectory: Trajectory, at: float, lead: float = 0.0) -> Braking:
        """Return the end of `trajectory` from `at` [s], which goes on for `lead` [s] and brakes as fast as allowed."""
        return Braking(trajectory, at, self.limits, lead)
