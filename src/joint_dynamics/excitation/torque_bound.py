"""The torque of every joint within its limit at all times, Coulomb friction of either sign at rest included."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.constraint import SmoothConstraint, wrench_rounding
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.excitation.wrench_bounds import torque_bounds
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.signals.polynomial import ROUNDING


class TorqueBound(SmoothConstraint):
    """Torque of every joint within ± limit, by the robot's standard parameters: slack = 1 − |W χ| / limit.

    The Coulomb friction of a drive that rests may have either sign.
    """

    kind = 'torque'

    def __init__(self, parameters: FloatArray, limit: FloatArray):
        self._parameters = parameters
        self._limit = limit[:, None]
        n = len(limit)
        own = StandardParameters(parameters, n)
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

    def over(
        self,
        model: RobotModel,
        trajectory: Trajectory,
        begin: FloatArray,
        end: FloatArray,
        first: FloatArray,
        last: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the bound by the torque's second derivative.

        Coulomb friction has the speed's sign where that is certain.
        """
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
        own = StandardParameters(np.abs(self._parameters), model.n)
        matrix, rotor, viscous = np.eye(model.n), own.rotor_inertia, own.viscous
        if model.coupling is not None:
            extra = own.coupled.reshape(-1, 3)
            matrix = np.concatenate([matrix, model.coupling.matrix[list(model.coupling.motors)]])
            rotor, viscous = np.append(rotor, extra[:, 0]), np.append(viscous, extra[:, 1])
        return matrix, rotor[:, None], viscous[:, None], own.offset[:, None]
