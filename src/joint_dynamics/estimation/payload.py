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

"""Online payload: inertial parameters of a load on the last link, from torques in motion [M7 outlook; G II.B].

    τ̂_J − τ_J(unloaded) = Y_L(q, q̇, q̈) χ_L + F(τ_J) H a₁ + ω a₂,   χ_L = [XX … ZZ, MX, MY, MZ, M]

in the last joint's frame. Recursive least squares in information form, A ← λ A + Σ_j w_j yᵀy, solved on demand. The
friction of every joint may have an error of scale a₁ and of viscosity a₂; they are estimated with the payload and
discarded, so that a wrong friction does not distort the payload.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.change_test import BODY, CHANGE, DRIFT, eliminated
from joint_dynamics.estimation.changes import BODIES
from joint_dynamics.estimation.estimation_settings import positive
from joint_dynamics.robot.chain import RigidBody

Array = FloatArray
ORDER = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]  # XX XY XZ YY YZ ZZ MX MY MZ M among pinocchio's ten parameters
SHOWN = [9, 6, 7, 8]  # mass and first moments among those ten
LASTING = 0.25  # s within which torque errors are correlated
PRIOR_ROWS = 10.0  # rows that the stated noise counts as, beside the residual
PRIOR = np.diag(BODIES**-2.0)  # inverse prior variances of the payload, which also regularise the problem
SCALE = 0.3**-2.0  # inverse prior variance of an error of the friction's scale
VISCOUS = 1.0  # (N·m·s/rad)⁻², inverse prior variance of an error of the viscous part
KNOWN_SHARE = 0.02  # deviation of the mass below which it counts as known, relative
LEAST_KNOWN = 0.1  # kg, deviation below which any mass counts as known
LEAST_MOTION = 1.0  # s of motion before a payload may count as known


class PayloadEstimator:
    """M (kg), MX, MY, MZ (kg·m) and inertia of the payload, in the frame of the last joint.

    `mass` kg, `first_moments` (3,) kg·m, `covariance` (4, 4), `inertial` (10,), `excitation` s of motion; all refer to
    the samples since `reset`.

    Parameters
    ----------
    body
        RigidBody without the payload.
    period
        s between updates (the caller may take every k-th sample).
    memory
        s of motion; inf: all since the reset.
    """

    def __init__(self, body: RigidBody, period: float, *, memory: float = 30.0) -> None:
        self.body, self.period = body, positive('period', period)
        self._forget = 1.0 - min(self.period / positive('memory', memory), 1.0)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._information = np.zeros((self.body.n, BODY + 3, BODY + 3))
        self._weight = 0.0
        self.excitation = 0.0
        self.known = False
        self._solved: tuple[Array, Array] | None = None

    def update(
        self, q: Array, dq: Array, ddq: Array, torque: Array, coulomb: Array, omega: Array, slipping: BoolArray
    ) -> None:
        """Take one sample.

        Parameters
        ----------
        q, dq, ddq
            the motion, (n,) each [rad, rad/s, rad/s²].
        torque
            τ̂_J − τ_J(unloaded) by nominal friction (n,) [N·m].
        coulomb, omega
            F(τ_J) H (n,) [N·m] and ω (n,) [rad/s].
        slipping
            (n,) bool: joints that move; the torque of a joint at rest lies anywhere within its friction and is not
            used.
        """
        if not slipping.any() or not np.isfinite(torque.sum() + coulomb.sum() + q.sum() + dq.sum() + ddq.sum()):
            return
        regressor = self.body.last_link_regressor(q, dq, ddq)[:, ORDER]
        rows = np.column_stack([regressor, coulomb, omega, torque]) * slipping[:, None]
        self.add(rows[:, :, None] * rows[:, None, :], 1, float(slipping.sum()))

    def add(self, information: Array, samples: int, rows: float) -> None:
        """Add `information`, Σ w² rowᵀrow of every joint, (n, 13, 13), from `samples` samples with so many rows.

        They are [Y_L, F(τ_J) H, ω, torque] in SI units, w is one over the noise of the torque [N·m].
        """
        forget = self._forget**samples
        self._information = self._information * forget + information
        self._weight = self._weight * forget + rows
        self.excitation += samples * self.period
        self._solved = None

    def judge(self) -> bool:
        """Return whether the payload is known well enough, and store the decision."""
        limit = max(KNOWN_SHARE * abs(self.mass), LEAST_KNOWN)
        self.known = self.excitation > LEAST_MOTION and self.mass_deviation < limit
        return self.known

    def _without_friction(self, share: float) -> tuple[Array, Array, float]:
        """Return A (10, 10), b (10,) and the residual square of all joints, friction eliminated."""
        total = eliminated(eliminated(share * self._information, DRIFT, VISCOUS), CHANGE, SCALE).sum(axis=0)
        return total[:BODY, :BODY], total[:BODY, -1], float(total[-1, -1])

    def _solve(self) -> tuple[Array, Array]:
        if self._solved is None:
            share = min(self.period / LASTING, 1.0)
            A, b, square = self._without_friction(share)
            solution = np.asarray(np.linalg.solve(A + PRIOR, b), dtype=float)
            rest = square - 2.0 * solution @ b + solution @ A @ solution
            # Mean square of the residual, relative to `noise`; one before there are residuals.
            rows = share * self._weight
            variance = (max(rest, 0.0) + PRIOR_ROWS) / (rows + PRIOR_ROWS)
            A, _, _ = self._without_friction(share / variance)
            self._solved = solution, np.asarray(np.linalg.inv(A + PRIOR))
        return self._solved

    @property
    def inertial(self) -> Array:
        """[XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M], (10,), kg·m², kg·m and kg."""
        return self._solve()[0]

    @property
    def parameters(self) -> Array:
        """[M, MX, MY, MZ], (4,), kg and kg·m."""
        return self.inertial[SHOWN]

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self.parameters[0])

    @property
    def first_moments(self) -> Array:
        """MX, MY, MZ, (3,), kg·m, in the last joint's frame."""
        return self.parameters[1:]

    @property
    def covariance(self) -> Array:
        """Covariance of [M, MX, MY, MZ], (4, 4) [kg, kg·m]."""
        return self._solve()[1][np.ix_(SHOWN, SHOWN)]

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass, kg."""
        return float(np.sqrt(self.covariance[0, 0]))
