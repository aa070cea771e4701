"""Online payload: mass and first moments of what hangs on the last link, from torques in motion [M7 outlook; G II.B].

    τ̂_J − τ_J(unloaded) = Y_L(q, q̇, q̈) χ_L + F(τ_J) H a₁ + ω a₂,   χ_L = [M, MX, MY, MZ] in the last joint's frame

Recursive least squares in information form, A ← λ A + Σ_j w_j yᵀy, which costs little per sample and is solved when
asked. The friction of every joint may be off by a scale a₁ and a viscous part a₂: they are estimated beside the payload
and thrown away, because a payload that is not known yet would otherwise pull the friction, and a wrong friction the
payload.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.recursive import positive
from joint_dynamics.robot.rigid_body import RigidBody

Array = FloatArray
COLUMNS = 4


class PayloadEstimator:
    """M (kg) and MX, MY, MZ (kg·m) of the payload, in the frame of the last joint.

    `mass` kg, `first_moments` (3,) kg·m, `covariance` (4, 4), `excitation` s of motion used; all refer to the samples
    since `reset`. `known_share`: the parameter `known`, settable.

    Parameters
    ----------
    body
        RigidBody without the payload.
    period
        s between updates (the caller may take every k-th sample); memory s of motion; inf: all since the reset.
    noise
        N·m, (n,) or number: deviation of a torque that is left, weighs the joints.
    largest
        kg and reach m: deviations of the payload before anything is known, which also keep the problem regular.
    friction
        deviation of the friction's scale and viscous part (N·m·s/rad), (2,).
    known
        the payload is taken for known when its mass deviates by less than this share, or 0.1 kg, after 3 s of motion.
    """

    def __init__(
        self,
        body: RigidBody,
        period: float,
        *,
        memory: float = 30.0,
        noise: ArrayLike = 1.0,
        largest: float = 10.0,
        reach: float = 0.3,
        friction: tuple[float, float] = (0.3, 1.0),
        known: float = 0.02,
    ) -> None:
        self.body, self.period = body, positive('period', period)
        self._forget = 1.0 - min(self.period / positive('memory', memory), 1.0)
        n = body.n
        self._per_noise = np.broadcast_to(1.0 / np.asarray(noise, dtype=float), (n,)).copy()
        spread = [largest, *(3 * [largest * reach]), *np.repeat(friction, n)]
        self._prior = np.diag(1.0 / np.square(spread))
        self.known_share = positive('known', known)
        self._every = max(int(round(0.5 / self.period)), 1)
        self._rows = np.zeros((n, COLUMNS + 2 * n + 1))
        self._joint = np.arange(n)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        size = self._rows.shape[1]
        # The last row and column hold Wᵀy and yᵀy.
        self._information = np.zeros((size, size))
        self._weight = 0.0
        self.excitation = 0.0
        self.known = False
        self._updates = 0
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
            (n,) bool: joints that move; the torque of one that stands is anywhere within its friction, and is left out.
        """
        if not slipping.any() or not np.isfinite(torque.sum() + coulomb.sum() + q.sum() + dq.sum() + ddq.sum()):
            return
        n, rows = self.body.n, self._rows
        weight = self._per_noise * slipping
        rows[:, :COLUMNS] = self.body.last_link_regressor(q, dq, ddq)[:, :COLUMNS] * weight[:, None]
        rows[self._joint, COLUMNS + self._joint] = coulomb * weight
        rows[self._joint, COLUMNS + n + self._joint] = omega * weight
        rows[:, -1] = torque * weight
        self._information *= self._forget
        self._information += rows.T @ rows
        self._weight = self._weight * self._forget + 1.0
        self.excitation += self.period
        self._updates += 1
        self._solved = None

    @property
    def due(self) -> bool:
        """Whether the link model should take the present payload: every half second of motion."""
        return self._updates % self._every == 1 and self.excitation > 3.0

    def taken(self) -> Array:
        """Return [M, MX, MY, MZ] (4,) [kg, kg·m] for the link model.

        From here on the payload counts as known if it is good enough.
        """
        self.known = self.mass_deviation < max(self.known_share * abs(self.mass), 0.1)
        return self.parameters

    def _solve(self) -> tuple[Array, Array]:
        if self._solved is None:
            # Torque errors of samples a tenth of a second apart are nearly the same: they count as one.
            share = min(self.period / 0.1, 1.0)
            W, y = share * self._information[:-1, :-1], share * self._information[:-1, -1]
            solution = np.asarray(np.linalg.solve(W + self._prior, y), dtype=float)
            rest = float(share * self._information[-1, -1] - 2.0 * solution @ y + solution @ W @ solution)
            # Mean square of what is left, in units of `noise`; one until there is something to go by.
            rows = share * self._weight * self.body.n
            variance = (max(rest, 0.0) + 10.0) / (rows + 10.0)
            self._solved = solved = np.asarray(solution), np.asarray(np.linalg.inv(W / variance + self._prior))
            return solved
        return self._solved

    @property
    def parameters(self) -> Array:
        """[M, MX, MY, MZ], (4,), kg and kg·m."""
        return self._solve()[0][:COLUMNS]

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
        return self._solve()[1][:COLUMNS, :COLUMNS]

    @property
    def mass_deviation(self) -> float:
        """Standard deviation of the mass, kg."""
        return float(np.sqrt(self.covariance[0, 0]))
