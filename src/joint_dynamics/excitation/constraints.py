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

"""All limits of a motion except collisions, made from the settings: joints, torque, position of the end-effector."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.constraint import Constraint
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.limits import MotionLimits, end_effector_frame, parameters_with_payload, parent_joint
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.proof import largest
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

TOLERANCE = 5e-7  # share of a limit, of the proofs of position, speed and acceleration


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
