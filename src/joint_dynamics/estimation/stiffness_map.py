"""The learnt elastic torque of joints with its covariance.

    τ_E(φ) = Σ_p α_p φ^{2p−1} = ψᵀα

of the deformation φ; P times the variance of the torque's noise is the covariance of α.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.estimation.recursive import per_joint

Array = FloatArray


class StiffnessMap:
    """The map in force of n joints: torque, stiffness and their uncertainty.

    Parameters
    ----------
    joints, order
        n, and P, number of odd terms.
    scale
        φ_ref, rad, number or (n,): deformation at which the directions φ, φ³, … have similar size.

    Attributes
    ----------
    joints, order, scale
        as given; scale (n,).
    """

    def __init__(self, joints: int, order: int, scale: ArrayLike) -> None:
        self.joints, self.order = joints, order
        self.scale = per_joint('scale', scale, self.joints)
        # α scaled: α_p φ_ref^{2p−1}, the torque of each term at φ_ref, N·m.
        self._unit = self.scale[:, None] ** (2 * np.arange(self.order) + 1)
        self._per_scale = 1.0 / self.scale
        self._ones, self._odd = [1.0] * self.order, [2.0 * p + 1.0 for p in range(self.order)]
        # Of the map in force: P above α, both scaled, as in `RecursiveLeastSquares`; mean square of the prediction
        # error, (N·m)².
        self._in_force, self._square = np.zeros((self.joints, self.order + 1, self.order)), np.zeros(self.joints)

    @property
    def coefficients(self) -> Array:
        """α of the map in force, (n, P), N·m/rad^{2p−1}."""
        return self._alpha / self._unit

    @property
    def scaled(self) -> tuple[Array, Array]:
        """The coefficients of (φ/φ_ref)^{2p−1} (n, P) [N·m], and 1/φ_ref (n,) [1/rad], for kernels."""
        return self._alpha, self._per_scale

    @property
    def _alpha(self) -> Array:
        return self._in_force[:, -1]

    @property
    def _covariance(self) -> Array:
        return self._in_force[:, :-1]

    @property
    def covariance(self) -> Array:
        """P of the map in force, (n, P, P), in the units of α per (N·m)².

        Times the variance of the torque's noise it is the covariance of α.
        """
        return self._covariance / (self._unit[:, :, None] * self._unit[:, None, :])

    @property
    def noise(self) -> Array:
        """Deviation of the prediction error, N·m, (n,)."""
        return np.sqrt(self._square)

    @property
    def standard_deviation(self) -> Array:
        """Deviation of α, (n, P), N·m/rad^{2p−1}, with the prediction error for noise."""
        return np.sqrt(np.diagonal(self._covariance, axis1=1, axis2=2) * self._square[:, None]) / self._unit

    def torque(self, deformation: ArrayLike) -> Array:
        """τ_E(φ), N·m, at φ (…, n) rad."""
        x = np.asarray(deformation, dtype=float) * self._per_scale
        return x * self._even(x * x, self._ones)

    def stiffness(self, deformation: ArrayLike) -> Array:
        """Return k(φ) = dτ_E/dφ, N·m/rad, at φ (…, n) rad."""
        x = np.asarray(deformation, dtype=float) * self._per_scale
        slope: Array = self._per_scale * self._even(x * x, self._odd)
        return slope

    def variance(self, deformation: Array) -> Array:
        """Return the variance of τ_E(φ) by the covariance, (N·m)², at φ (n,) rad."""
        x = deformation * self._per_scale
        square = x * x
        psi = np.empty((self.joints, self.order, 1))
        psi[:, 0, 0] = x
        for p in range(1, self.order):
            psi[:, p, 0] = psi[:, p - 1, 0] * square
        return np.einsum('np,np->n', psi[:, :, 0], (self._covariance @ psi)[:, :, 0]) * self._square

    def _even(self, square: Array, weights: Any) -> Array:
        alpha = self._alpha
        # in the shape of φ from the first term on: a single one has no square to take it from
        total = np.broadcast_to(weights[-1] * alpha[:, -1], square.shape)
        for p in range(self.order - 2, -1, -1):
            total = total * square + weights[p] * alpha[:, p]
        return total
