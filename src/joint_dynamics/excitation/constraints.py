"""Limits as slacks: at least zero where a motion keeps them, in fractions of the limit, with their gradients."""
from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.checks import check_range
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.load import end_effector_frame, loaded_parameters, parent_joint
from joint_dynamics.excitation.motion import Motion, Sensitivity
from joint_dynamics.excitation.settings import LimitSettings
from joint_dynamics.robot import RobotModel


class Constraint(ABC):
    """One kind of limit.

    Attributes
    ----------
    kind: its name among the margins. scale: margin as a fraction of the limit = scale · smallest slack.

    """

    kind: str
    scale: float = 1.0

    @abstractmethod
    def slack(self, motion: Motion) -> NDArray:
        """Return the slack (limits, samples), negative where the limit is broken."""

    def smallest(self, motion: Motion) -> float:
        """Return the smallest slack of the motion, inf where the limit binds nothing."""
        return float(self.slack(motion).min(initial=np.inf))

    @abstractmethod
    def pull_back(self, motion: Motion, weight: NDArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack; weight (limits, samples), called after `slack` of the same motion."""


class JointBound(Constraint):
    """Position, speed or acceleration of every joint within lower … upper: slack = 1 − |value − middle| / half range."""

    def __init__(self, kind: str, quantity: str, lower: NDArray, upper: NDArray):
        self.kind = kind
        self._quantity = quantity
        self._middle = (lower + upper)[:, None] / 2
        self._half = (upper - lower)[:, None] / 2

    def slack(self, motion: Motion) -> NDArray:
        """Return the slack (joints, samples)."""
        return 1 - np.abs(getattr(motion, self._quantity) - self._middle) / self._half

    def pull_back(self, motion: Motion, weight: NDArray, sensitivity: Sensitivity) -> None:
        """Add −weight · sign(value − middle) / half range."""
        gradient = getattr(sensitivity, self._quantity)
        gradient -= weight * np.sign(getattr(motion, self._quantity) - self._middle) / self._half


class TorqueBound(Constraint):
    """Torque of every joint within ± limit, by the robot's standard parameters: slack = 1 − |W χ| / limit."""

    kind = 'torque'

    def __init__(self, parameters: NDArray, limit: NDArray):
        self._parameters = parameters
        self._limit = limit[:, None]

    def torque(self, motion: Motion) -> NDArray:
        """Return the torque (joints, samples) [N·m]."""
        return np.matmul(self._parameters, motion.regressor.rows)

    def slack(self, motion: Motion) -> NDArray:
        """Return the slack (joints, samples)."""
        return 1 - np.abs(self.torque(motion)) / self._limit

    def pull_back(self, motion: Motion, weight: NDArray, sensitivity: Sensitivity) -> None:
        """Add the gradient with respect to the regressor."""
        torque_bar = -weight * np.sign(self.torque(motion)) / self._limit
        rows = sensitivity.rows
        rows += self._parameters[None, :, None] * torque_bar[:, None, :]


class EndEffectorBound(Constraint):
    """Distance from the base's z axis (`radius`) or height along it (`height`) of the end-effector within lower … upper [m].

    The slack is in fractions of half the range, or of the arm's reach where one side is open.
    """

    def __init__(self, kind: str, bounds: tuple[float, float], link: int, offset: NDArray, reach: float):
        self.kind = kind
        self._lower, self._upper = bounds
        self._link, self._offset = link, offset
        self._unit = (self._upper - self._lower) / 2 if np.isfinite(self._upper - self._lower) else reach

    def _value(self, motion: Motion) -> tuple[NDArray, NDArray]:
        point = motion.frames.point(self._link, self._offset)
        return point, point[2] if self.kind == 'height' else np.hypot(point[0], point[1])

    def slack(self, motion: Motion) -> NDArray:
        """Return the slack (1, samples)."""
        _, value = self._value(motion)
        return np.minimum(value - self._lower, self._upper - value)[None] / self._unit

    def pull_back(self, motion: Motion, weight: NDArray, sensitivity: Sensitivity) -> None:
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
    """Return the length of the stretched arm [m], from the distances between its joints."""
    return max(float(np.linalg.norm(model.chain.translation, axis=1).sum()), 1e-3)


def make_constraints(model: RobotModel, settings: LimitSettings) -> list[Constraint]:
    """Return every limit the settings ask for except collisions; raise JointDynamicsError for one that cannot be given."""
    limits = MotionLimits.of(model, settings)
    found: list[Constraint] = [
        JointBound('position', 'q', limits.lower, limits.upper),
        JointBound('velocity', 'dq', -limits.velocity, limits.velocity),
        JointBound('acceleration', 'ddq', -limits.acceleration, limits.acceleration),
    ]
    parameters = loaded_parameters(model, settings)
    if limits.torque is not None:
        assert parameters is not None  # MotionLimits refuses a torque limit without
        found.append(TorqueBound(parameters, limits.torque))
    if settings.radius is not None or settings.height is not None:
        frame = end_effector_frame(model, settings.end_effector)
        if parent_joint(frame) == 0:
            raise JointDynamicsError(f'limits.end_effector: expected a frame that moves, found {frame.name!r}')
        for kind in ('radius', 'height'):
            bounds = getattr(settings, kind)
            if bounds is not None:
                found.append(EndEffectorBound(kind, check_range(bounds, f'limits.{kind}'), parent_joint(frame) - 1,
                                              np.array(frame.placement.translation), reach(model)))
    return found
