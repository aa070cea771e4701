"""The elastic torque of a transmission: an odd polynomial of any order in its deformation [M3 eq 4-10, M4 eq 12-22].

    τ_E(φ) = Σ_{p=1..P} α_p φ^{2p−1},   k(φ) = dτ_E/dφ = Σ (2p−1) α_p φ^{2p−2}

with the deformation φ = θ − q − θ̃(θ) in rad (motor minus link, after the kinematic error) and τ_E in N·m on the joint
side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError


class ElasticPolynomial:
    """Polynomials of one joint, or of all joints at once, and their derivatives.

    Evaluated on φ of any shape (one joint) or (…, n). The thesis prints the stiffness as φ⁻¹Ψ, 0/0 at φ = 0; here
    (2p−1) φ^{2p−2} [M3 eq 10].

    Parameters
    ----------
    coefficients
        (P,) for one joint, or (n, P); α_p in N·m/rad^{2p−1}.

    Raises
    ------
    JointDynamicsError
        For other shapes and numbers that are not finite.
    """

    def __init__(self, coefficients: ArrayLike) -> None:
        self.coefficients: FloatArray = np.atleast_1d(np.array(coefficients, dtype=float))
        if self.coefficients.ndim > 2 or self.coefficients.size == 0 or not np.all(np.isfinite(self.coefficients)):
            raise JointDynamicsError(
                'TorsionalStiffness: expected finite coefficients of shape (P,) or (n, P), found shape '
                f'{self.coefficients.shape}'
            )

    @property
    def order(self) -> int:
        """Number of polynomial terms P."""
        return int(self.coefficients.shape[-1])

    def _check(self, x: ArrayLike) -> FloatArray:
        array = np.asarray(x, dtype=float)
        if self.coefficients.ndim == 2 and (array.ndim == 0 or array.shape[-1] != self.coefficients.shape[0]):
            raise JointDynamicsError(
                f'TorsionalStiffness: expected shape (…, {self.coefficients.shape[0]}), found {array.shape}'
            )
        return array

    @staticmethod
    def basis(phi: ArrayLike, order: int) -> FloatArray:
        """Regressor ψ = [φ, φ³, …, φ^{2P−1}], phi [rad] (…,), P = `order`; shape (…, P) [rad^{2p−1}]."""
        return np.asarray(phi, dtype=float)[..., None] ** (2 * np.arange(order) + 1)

    def torque(self, phi: ArrayLike) -> FloatArray:
        """Elastic torque τ_E(φ) [N·m] of the deformation phi [rad], (…,) of one joint or (…, n); same shape."""
        phi = self._check(phi)
        square, total = phi * phi, np.zeros_like(phi)
        for p in range(self.order - 1, -1, -1):
            total = total * square + self.coefficients[..., p]
        return total * phi

    def stiffness(self, phi: ArrayLike) -> FloatArray:
        """Stiffness k(φ) = dτ_E/dφ [N·m/rad] at the deformation phi [rad], (…,) or (…, n); same shape."""
        phi = self._check(phi)
        square, total = phi * phi, np.zeros_like(phi)
        for p in range(self.order - 1, -1, -1):
            total = total * square + (2 * p + 1) * self.coefficients[..., p]
        return total

    def curvature(self, phi: ArrayLike) -> FloatArray:
        """Return dk/dφ = Σ (2p−1)(2p−2) α_p φ^{2p−3} [N·m/rad²] at phi [rad], (…,) or (…, n); same shape."""
        phi = self._check(phi)
        if self.order == 1:
            return np.zeros_like(phi)
        total = (2 * self.order - 1) * (2 * self.order - 2) * self.coefficients[..., -1]
        for p in range(self.order - 2, 0, -1):
            total = total * (phi * phi) + (2 * p + 1) * (2 * p) * self.coefficients[..., p]
        return total * phi
