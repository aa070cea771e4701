"""The learnt elastic torque of joints with its covariance.

    τ_E(φ) = Σ_p α_p φ^{2p−1} = ψᵀα

of the deformation φ; P times the variance of the torque's noise is the covariance of α.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.recursive import per_joint

Array = FloatArray


@compiled
def slope_and_variance(P, alpha, x):  # type: ignore[no-untyped-def]
    """Return dτ_E/dx and ψᵀPψ of one joint at x = φ/φ_ref."""
    square, slope, power, variance, left = x * x, 0.0, 1.0, 0.0, x
    for p in range(len(alpha)):
        slope += (2.0 * p + 1.0) * alpha[p] * power
        power *= square
        total, right = 0.0, x
        for k in range(len(alpha)):
            total += P[p, k] * right
            right *= square
        variance += left * total
        left *= square
    return slope, variance


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
    P, alpha
        (n, P, P) and (n, P), scaled: α_p φ_ref^{2p−1}, the torque of each term at φ_ref, N·m.
    square
        (n,) (N·m)², mean square of the prediction error.
    """

    def __init__(self, joints: int, order: int, scale: ArrayLike) -> None:
        self.joints, self.order = joints, order
        self.scale = per_joint('scale', scale, self.joints)
        # α scaled: α_p φ_ref^{2p−1}, the torque of each term at φ_ref, N·m.
        self._powers = 2 * np.arange(self.order) + 1
        self._unit = self.scale[:, None] ** self._powers
        self._per_scale = 1.0 / self.scale
        self.P, self.alpha = np.zeros((self.joints, self.order, self.order)), np.zeros((self.joints, self.order))
        self.square = np.zeros(self.joints)

    @property
    def coefficients(self) -> Array:
        """α of the map in force, (n, P), N·m/rad^{2p−1}."""
        return self.alpha / self._unit

    @property
    def covariance(self) -> Array:
        """P of the map in force, (n, P, P), in the units of α per (N·m)².

        Times the variance of the torque's noise it is the covariance of α.
        """
        return self.P / (self._unit[:, :, None] * self._unit[:, None, :])

    @property
    def noise(self) -> Array:
        """Deviation of the prediction error, N·m, (n,)."""
        return np.sqrt(self.square)

    @property
    def standard_deviation(self) -> Array:
        """Deviation of α, (n, P), N·m/rad^{2p−1}, with the prediction error for noise."""
        return np.sqrt(np.diagonal(self.P, axis1=1, axis2=2) * self.square[:, None]) / self._unit

    def torque(self, deformation: ArrayLike) -> Array:
        """τ_E(φ), N·m, at φ (…, n) rad."""
        x = np.asarray(deformation, dtype=float) * self._per_scale
        return np.asarray(np.sum(self.alpha * x[..., None] ** self._powers, axis=-1))

    def stiffness(self, deformation: ArrayLike) -> Array:
        """Return k(φ) = dτ_E/dφ, N·m/rad, at φ (…, n) rad."""
        x = np.asarray(deformation, dtype=float) * self._per_scale
        slope = np.sum(self.alpha * self._powers * x[..., None] ** (self._powers - 1), axis=-1)
        return np.asarray(self._per_scale * slope)

    def variance(self, deformation: Array) -> Array:
        """Return the variance of τ_E(φ) by the covariance, (N·m)², at φ (n,) rad."""
        psi = (deformation * self._per_scale)[:, None] ** self._powers
        return np.asarray(np.einsum('np,npq,nq->n', psi, self.P, psi) * self.square)
