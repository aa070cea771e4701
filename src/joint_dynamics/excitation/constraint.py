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

"""Limits of a motion as constraints: joints, torque, position of the end-effector (clearance is in `collision`).

A constraint is a slack, as a fraction of the limit, at least zero where the motion keeps the limit, with its gradient
for the search. A margin is the smallest slack of a whole motion. For position, speed and acceleration it is proved
(`trajectory.largest`). Every other limit is checked at 1 kHz; a reserve for the time between samples is subtracted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.limits import MotionLimits, end_effector_frame, parameters_with_payload, parent_joint
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory, largest, samples
from joint_dynamics.robot import RobotModel

CHECK_RATE = 1000.0  # Hz
MAX_CHECKED = 3600.0  # s, longest motion that is checked, without repetitions
# Share of a limit. A quantity that oscillates at f Hz peaks between samples by at most (π f / CHECK_RATE)² / 2 of its
# amplitude: 0.1 % at 14 Hz.
RESERVE = 1e-3
LIMIT_TOLERANCE = 1e-6  # share of a limit beyond which a motion breaks it: proofs and files are less precise
EXAMINED = 20_000  # samples searched for the one that a refusal names
TOLERANCE = 5e-7  # share of a limit, of the proofs of position, speed and acceleration


class Constraint(ABC):
    """One kind of limit.

    Attributes
    ----------
    kind
        its name among the margins.
    scale
        margin, as a fraction of the limit, per smallest slack.
    of_joints
        whether the slack has one row per joint.
    reserve
        slack that a checked motion keeps at its samples.

    """

    kind: str
    scale: float = 1.0
    of_joints: bool = False
    reserve: float = RESERVE

    @abstractmethod
    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (limits, samples), negative where the limit is broken."""

    @abstractmethod
    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack; weight (limits, samples), called after `slack` of the same motion."""

    def smallest(self, motion: RobotMotion) -> float:
        """Return the smallest slack of the motion, inf where the limit applies to nothing."""
        return float(self.slack(motion).min(initial=np.inf))

    def margin(self, model: RobotModel, trajectory: Trajectory) -> float:
        """Return the margin of a whole motion, as a fraction of the limit; NaN where the motion is not finite."""
        least = np.min([self.smallest(motion) for motion in checked_motions(model, trajectory)])
        return self.scale * (float(least) - self.reserve)


def checked_motions(model: RobotModel, trajectory: Trajectory) -> Iterator[RobotMotion]:
    """Yield a motion in blocks of samples at 1 kHz or more, both sides of every knot included.

    Raises
    ------
    JointDynamicsError
        For a motion of more than an hour.
    """
    if not trajectory.duration <= MAX_CHECKED:
        raise JointDynamicsError(
            f'trajectory: expected at most {MAX_CHECKED:g} s without repetitions, found {trajectory.duration:.6g} s'
        )
    knots = trajectory.knots
    count = np.maximum(1, np.ceil(np.diff(knots) * CHECK_RATE)).astype(int)
    for part in samples(knots, count):
        yield RobotMotion(model, *trajectory.one_sided(part.time, part.inside))


def motion_margins(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> dict[str, float]:
    """Return per kind of limit the margin of a motion, as a fraction of the limit; negative: it may be broken."""
    once = trajectory.without_repetition()
    return {constraint.kind: constraint.margin(model, once) for constraint in constraints}


def within_limits(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> bool:
    """Whether a motion keeps every limit exactly; stops at the first that it does not."""
    once = trajectory.without_repetition()
    return all(constraint.margin(model, once) >= 0.0 for constraint in constraints)


def excess(model: RobotModel, trajectory: Trajectory, constraint: Constraint, margin: float) -> str:
    """Return in words by how much a limit is exceeded, and, where it is one of joints, by which of them and when."""
    words = f'{constraint.kind} exceeded by {-100 * margin:.4g} % of its limit'
    if not constraint.of_joints:
        return words
    samples = trajectory.sample(EXAMINED / trajectory.duration)
    slack = constraint.slack(RobotMotion(model, samples.q.T, samples.dq.T, samples.ddq.T))
    joint, sample = np.unravel_index(np.argmin(slack), slack.shape)
    return f'{words} by {model.joint_names[joint]} at {samples.time[sample]:.4g} s'


class TorqueBound(Constraint):
    """Torque of every joint within ± limit, by the robot's standard parameters: slack = 1 − |W χ| / limit.

    The Coulomb friction of a drive at rest may have either sign.
    """

    kind, of_joints = 'torque', True

    def __init__(self, model: RobotModel, parameters: FloatArray, limit: FloatArray):
        self._parameters = parameters
        self._limit = limit[:, None]
        self._coulomb = np.abs(model.standard(parameters).coulomb)[:, None]

    def torque(self, motion: RobotMotion) -> FloatArray:
        """Return the torque (joints, samples) [N·m]."""
        return np.matmul(self._parameters, motion.regressor.rows)

    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (joints, samples)."""
        rest = self._coulomb * (motion.dq == 0.0)
        return 1 - (np.abs(self.torque(motion)) + rest) / self._limit

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient with respect to the regressor."""
        torque_bar = -weight * np.sign(self.torque(motion)) / self._limit
        rows = sensitivity.rows
        rows += self._parameters[None, :, None] * torque_bar[:, None, :]


class JointBound(Constraint):
    """Position, speed or acceleration of every joint within lower … upper.

    Slack = 1 − |value − middle| / half range.
    """

    of_joints = True

    def __init__(self, kind: str, quantity: str, lower: FloatArray, upper: FloatArray):
        self.kind = kind
        self._quantity = quantity
        self._middle = (lower + upper)[:, None] / 2
        self._half = (upper - lower)[:, None] / 2

    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (joints, samples)."""
        return 1 - np.abs(getattr(motion, self._quantity) - self._middle) / self._half

    def margin(self, model: RobotModel, trajectory: Trajectory) -> float:
        """Return the margin, proved: at most `TOLERANCE` below the true one."""
        order = ('q', 'dq', 'ddq').index(self._quantity)
        return float(1 - largest(trajectory, order, self._middle[:, 0], self._half[:, 0], TOLERANCE).max())

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add −weight · sign(value − middle) / half range."""
        gradient = getattr(sensitivity, self._quantity)
        gradient -= weight * np.sign(getattr(motion, self._quantity) - self._middle) / self._half


class EndEffectorBound(Constraint):
    """The end-effector's distance from the base's z axis (`radius`) or height along it (`height`), lower … upper [m].

    The slack is in fractions of half the range, or of the arm's reach where one side is open.
    """

    def __init__(self, kind: str, bounds: tuple[float, float], link: int, offset: FloatArray, reach: float):
        self.kind = kind
        self._lower, self._upper = bounds
        self._link, self._offset = link, offset
        self._unit = (self._upper - self._lower) / 2 if np.isfinite(self._upper - self._lower) else reach

    def _value(self, motion: RobotMotion) -> tuple[FloatArray, FloatArray]:
        point = motion.frames.point(self._link, self._offset)
        return point, point[2] if self.kind == 'height' else np.hypot(point[0], point[1])

    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (1, samples)."""
        _, value = self._value(motion)
        return np.minimum(value - self._lower, self._upper - value)[None] / self._unit

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient with respect to q."""
        point, value = self._value(motion)
        by_value = weight[0] / self._unit * np.where(value - self._lower < self._upper - value, 1.0, -1.0)
        direction = np.zeros_like(point)
        if self.kind == 'height':
            direction[2] = by_value
        else:
            direction[:2] = by_value * point[:2] / np.maximum(value, 1e-9)
        for j, gradient in motion.frames.pull_back(self._link, point, direction).items():
            sensitivity.q[j] += gradient


def reach(model: RobotModel) -> float:
    """Return the length of the outstretched arm [m], from the distances between its joints."""
    return max(float(np.linalg.norm(model.chain.translation, axis=1).sum()), 1e-3)


def make_constraints(model: RobotModel, settings: LimitSettings) -> list[Constraint]:
    """Return every limit in the settings except collisions.

    Raises JointDynamicsError for a limit that the robot's model cannot provide.
    """
    limits = MotionLimits.of(model, settings)
    constraints: list[Constraint] = [
        JointBound('position', 'q', limits.lower, limits.upper),
        JointBound('velocity', 'dq', -limits.velocity, limits.velocity),
        JointBound('acceleration', 'ddq', -limits.acceleration, limits.acceleration),
    ]
    parameters = parameters_with_payload(model, settings)
    if limits.torque is not None:
        assert parameters is not None  # MotionLimits refuses a torque limit without
        constraints.append(TorqueBound(model, parameters, limits.torque))
    if settings.radius is not None or settings.height is not None:
        frame = end_effector_frame(model, settings.end_effector)
        if parent_joint(frame) == 0:
            raise JointDynamicsError(f'limits.end_effector: expected a frame that moves, found {frame.name!r}')
        link, offset = parent_joint(frame) - 1, np.array(frame.placement.translation)
        for kind in ('radius', 'height'):
            if getattr(settings, kind) is not None:
                lower, upper = getattr(settings, kind)
                bounds = -np.inf if lower is None else lower, np.inf if upper is None else upper
                constraints.append(EndEffectorBound(kind, bounds, link, offset, reach(model)))
    return constraints
