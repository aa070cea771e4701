"""All limits of a motion except collisions, made from the settings: joints, torque, position of the end-effector."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.constraint import Constraint, Intervals, SmoothConstraint, wrench_rounding
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.limits import MotionLimits, end_effector_frame, parameters_with_payload, parent_joint
from joint_dynamics.excitation.majorants import point_acceleration, torque_bounds
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.signals.polynomial import ROUNDING


class TorqueBound(SmoothConstraint):
    """Torque of every joint within ± limit, by the robot's standard parameters: slack = 1 − |W χ| / limit.

    The Coulomb friction of a drive at rest may have either sign.
    """

    kind, of_joints = 'torque', True

    def __init__(self, model: RobotModel, parameters: FloatArray, limit: FloatArray):
        self._parameters = parameters
        self._limit = limit[:, None]
        own = model.standard(parameters)
        self._coulomb = np.append(own.coulomb, own.coupled[2::3])[:, None]
        smooth = own.copy()
        smooth.coulomb[:], smooth.coupled[2::3] = 0.0, 0.0
        self._smooth = smooth.values

    def torque(self, motion: RobotMotion) -> FloatArray:
        """Return the torque (joints, samples) [N·m]."""
        return np.matmul(self._parameters, motion.regressor.rows)

    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (joints, samples)."""
        rest = np.abs(self._coulomb[: len(self._limit)]) * (motion.dq == 0.0)
        return 1 - (np.abs(self.torque(motion)) + rest) / self._limit

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient with respect to the regressor."""
        torque_bar = -weight * np.sign(self.torque(motion)) / self._limit
        rows = sensitivity.rows
        rows += self._parameters[None, :, None] * torque_bar[:, None, :]

    def at_ends(self, motion: RobotMotion) -> FloatArray:
        """Return the torque without Coulomb friction, and the speeds of the joints."""
        return np.concatenate([np.matmul(self._smooth, motion.regressor.rows), motion.dq])

    def over(self, model: RobotModel, trajectory: Trajectory, intervals: Intervals) -> tuple[FloatArray, FloatArray]:
        """Return the bound by the torque's second derivative.

        Coulomb friction takes the sign of the speed where that is certain.
        """
        begin, end, first, last = intervals
        n, square = model.n, (end - begin) ** 2 / 4
        q = trajectory.majorants(begin, end)
        bound = torque_bounds(model.chain, self._parameters, q)
        matrix, rotor, viscous, offset = self._drives(model)
        share = np.abs(matrix)
        bound[2] += share.T @ (rotor * (share @ (12 * q[4])) + viscous * (share @ (3 * q[3])))
        size = bound[0] + share.T @ (rotor * (share @ (2 * q[2])) + viscous * (share @ q[1])) + offset
        beyond = square * bound[2] + wrench_rounding(model.n) * size
        speeds = matrix @ first[n:], matrix @ last[n:]
        rounding = share @ (3 * square * q[3] + ROUNDING * trajectory.magnitude()[1][:, None])
        forward, back = np.minimum(*speeds) > rounding, np.maximum(*speeds) < -rounding
        sign, open_sign = forward.astype(float) - back, ~(forward | back)
        known = matrix.T @ (self._coulomb * sign)
        unknown = share.T @ (np.abs(self._coulomb) * open_sign)
        worst = np.maximum(np.abs(first[:n] + known), np.abs(last[:n] + known))
        moving = [matrix.T @ (self._coulomb * np.sign(speed)) for speed in speeds]
        resting = [share.T @ (np.abs(self._coulomb) * (speed == 0)) for speed in speeds]
        met = np.maximum(*(np.abs(end[:n] + moving[k]) + resting[k] for k, end in enumerate((first, last))))
        met = np.where(unknown > 0, met, worst)
        return (1 - (worst + unknown + beyond) / self._limit).min(axis=0), (1 - met / self._limit).min(axis=0)

    def _drives(self, model: RobotModel) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return drive per joint speed (drives, n), rotor inertias, viscous friction (drives, 1), offsets (n, 1)."""
        own = model.standard(np.abs(self._parameters))
        matrix, rotor, viscous = np.eye(model.n), own.rotor_inertia, own.viscous
        if model.coupling is not None:
            extra = own.coupled.reshape(-1, 3)
            matrix = np.concatenate([matrix, model.coupling.ratios])
            rotor, viscous = np.append(rotor, extra[:, 0]), np.append(viscous, extra[:, 1])
        return matrix, rotor[:, None], viscous[:, None], own.offset[:, None]


class JointBound(SmoothConstraint):
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

    def at_ends(self, motion: RobotMotion) -> FloatArray:
        """Return the values themselves."""
        return np.asarray(getattr(motion, self._quantity))

    def over(self, model: RobotModel, trajectory: Trajectory, intervals: Intervals) -> tuple[FloatArray, FloatArray]:
        """Return the bound by the second derivative of q, q̇ or q̈."""
        begin, end, first, last = intervals
        d = ('q', 'dq', 'ddq').index(self._quantity)
        # (q^(d))″/2! = (d + 2)!/2! times the Taylor coefficient
        bend = (1, 3, 12)[d] * trajectory.majorants(begin, end)[d + 2]
        allowance = ROUNDING * trajectory.magnitude()[d][:, None]
        furthest = np.maximum(np.abs(first - self._middle), np.abs(last - self._middle))
        beyond = (end - begin) ** 2 / 4 * bend + allowance
        return (1 - (furthest + beyond) / self._half).min(axis=0), (1 - furthest / self._half).min(axis=0)

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add −weight · sign(value − middle) / half range."""
        gradient = getattr(sensitivity, self._quantity)
        gradient -= weight * np.sign(getattr(motion, self._quantity) - self._middle) / self._half


class EndEffectorBound(SmoothConstraint):
    """The end-effector's distance from the base's z axis (`radius`) or height along it (`height`), lower … upper [m].

    The slack is in fractions of half the range, or of the arm's reach where one side is open.
    """

    def __init__(self, kind: str, bounds: tuple[float, float], link: int, offset: FloatArray, reach: float):
        self.kind = kind
        self._lower, self._upper = bounds
        self._link, self._offset = link, offset
        self._reach = reach
        self._unit = (self._upper - self._lower) / 2 if np.isfinite(self._upper - self._lower) else reach

    def at_ends(self, motion: RobotMotion) -> FloatArray:
        """Return the position of the end-effector."""
        return motion.frames.point(self._link, self._offset)

    def over(self, model: RobotModel, trajectory: Trajectory, intervals: Intervals) -> tuple[FloatArray, FloatArray]:
        """Return the bound by the acceleration of the end-effector.

        It is within h²/8 sup|p̈| of the straight line between the ends.
        """
        begin, end, first, last = intervals
        fastest = point_acceleration(model.chain, self._link, self._offset, trajectory.majorants(begin, end))
        beyond = (end - begin) ** 2 / 8 * fastest
        beyond += wrench_rounding(model.n) * (self._reach + np.abs(first).max(axis=0))
        if self.kind == 'height':
            ends = np.array([first[2], last[2]])
            nearest = ends.min(axis=0)
        else:
            a, b = first[:2], last[:2]
            ends = np.array([np.hypot(*a), np.hypot(*b)])
            segment = b - a
            length = (segment**2).sum(axis=0)
            share = np.clip(-(a * segment).sum(axis=0) / np.where(length > 0, length, 1.0), 0.0, 1.0)
            nearest = np.hypot(*(a + share * segment))
        # the distance from an axis is convex: on the line it is greatest at an end
        lower = np.minimum(nearest - self._lower, self._upper - ends.max(axis=0)) - beyond
        met = np.minimum(ends - self._lower, self._upper - ends).min(axis=0)
        return lower / self._unit, met / self._unit

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
