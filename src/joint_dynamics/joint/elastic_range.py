"""The deformation of a transmission under a torque.

The inverse of its stiffness polynomial, up to where the stiffness would vanish.

    τ_E(φ) = Σ α_p φ^{2p−1},   k(φ) = Σ (2p−1) α_p φ^{2p−2} > 0 for |φ| < φ_max,   τ_max = τ_E(φ_max)      [M3 eq 4-10]

With α_p ≥ 0 that is everywhere. A measured joint may have α_2 < 0: one that softens, or one whose curve bends over
within the noise. It has an inverse as long as its torques stay below τ_max, and is useful as long as the stiffness does
not come near zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.elastic_polynomial import ElasticPolynomial

#: Least stiffness within the working range, as a share of that without load.
SOFTEST = 0.05


def elastic_range(stiffness: ElasticPolynomial) -> tuple[FloatArray, FloatArray]:
    """Return φ_max (n,) rad and τ_max (n,) N·m of stiffness polynomials (n, P).

    Infinite where the stiffness never vanishes.
    """
    coefficients = np.atleast_2d(stiffness.coefficients)
    factors = coefficients * (2 * np.arange(1, stiffness.order + 1) - 1)
    phi = np.full(len(coefficients), np.inf)
    for joint, row in enumerate(factors):
        if np.any(row < 0):
            # A polynomial in φ²: its smallest positive real root.
            roots = np.roots(np.trim_zeros(row[::-1], 'f'))
            squares = roots.real[(np.abs(roots.imag) <= 1e-9 * np.abs(roots)) & (roots.real > 0)]
            phi[joint] = np.sqrt(squares.min(initial=np.inf))
    tau = np.full(len(phi), np.inf)
    bent = np.isfinite(phi)
    tau[bent] = stiffness.torque(np.where(bent, phi, 0.0))[bent]
    return phi, tau


class ElasticInverse:
    """φ(τ) of stiffness polynomials (P,) or (n, P): called with torques of any shape, or (…, n), N·m.

    Torques beyond τ_max give ±φ_max.

    For α1 φ + α3 φ³ (α1 > 0) in closed form, many times faster than the general inverse: with s = √(α1/(3 |α3|)) the
    root is φ = 2 s sinh(asinh(3 τ/(2 α1 s))/3) for α3 > 0 and φ = 2 s sin(asin(3 τ/(2 α1 s))/3) for α3 < 0, up to τ_max
    = 2 α1 s/3; neither has a difference of large numbers, unlike Cardano's. Otherwise bisection, with Newton's step
    where that stays inside.
    """

    def __init__(self, stiffness: ElasticPolynomial):
        self._stiffness = stiffness
        alpha = stiffness.coefficients
        self._phi_max: FloatArray = elastic_range(stiffness)[0] if alpha.ndim == 2 else elastic_range(stiffness)[0][0]
        self._cubic: tuple[FloatArray, FloatArray] | None = None
        if stiffness.order <= 2 and np.all(alpha[..., 0] > 0):
            # A cubic term this small changes φ by less than its rounding for any torque, and saves the case of none at
            # all.
            cubic = np.maximum(np.abs(alpha[..., 1]) if stiffness.order == 2 else 0.0, 1e-30 * alpha[..., 0])
            s = np.sqrt(alpha[..., 0] / (3.0 * cubic))
            self._cubic = 2.0 * s, 1.5 / (alpha[..., 0] * s)
            self._softens: FloatArray = np.asarray(alpha[..., -1] < 0)
            self._any_softens = bool(self._softens.any())

    @property
    def packed(self) -> FloatArray | None:
        """Amplitude 2 s and factor 3/(2 α1 s) of every joint, (2, n), None where the closed form is not this one.

        φ = 2 s sinh(asinh(3 τ/(2 α1 s))/3), of n joints of which none softens.
        """
        if self._cubic is None or self._any_softens or self._stiffness.coefficients.ndim < 2:
            return None
        return np.array(self._cubic)

    def __call__(self, torque: ArrayLike) -> FloatArray:
        """Return φ [rad] with τ_E(φ) = torque [N·m]."""
        tau = np.asarray(torque, dtype=float)
        if self._cubic is None:
            return self._general(tau)
        amplitude, factor = self._cubic
        argument = tau * factor
        phi: FloatArray = amplitude * np.sinh(np.arcsinh(argument) / 3.0)
        if self._any_softens:
            bounded = np.minimum(np.maximum(argument, -1.0), 1.0)
            phi = np.where(self._softens, amplitude * np.sin(np.arcsin(bounded) / 3.0), phi)
        return phi

    def _general(self, torque: FloatArray) -> FloatArray:
        stiffness, endless = self._stiffness, np.isinf(self._phi_max)
        target = np.abs(torque)
        # Where φ_max is infinite, every term alone bounds the root from above as long as none is negative; else
        # doubling finds a bound.
        high = np.broadcast_to(np.where(endless, np.inf, self._phi_max), target.shape).copy()
        alpha = stiffness.coefficients
        monotone = np.all(alpha >= 0, axis=-1)
        for p in range(stiffness.order):
            with np.errstate(divide='ignore', invalid='ignore'):
                bound = np.where(
                    monotone & (alpha[..., p] > 0), (target / alpha[..., p]) ** (1.0 / (2 * p + 1)), np.inf
                )
            high = np.minimum(high, bound)
        high = np.where(np.isinf(high), 1e-6, high)
        for _ in range(200):
            short = endless & ~monotone & (stiffness.torque(high) < target)
            if not short.any():
                break
            high = np.where(short, 2.0 * high, high)
        low, phi = np.zeros_like(target), np.where(target > 0, high, 0.0)
        for _ in range(200):
            off = stiffness.torque(phi) - target
            low, high = np.where(off < 0, phi, low), np.where(off >= 0, phi, high)
            slope = stiffness.stiffness(phi)
            step = phi - off / np.where(slope > 0, slope, 1.0)
            new = np.where((slope > 0) & (step >= low) & (step <= high), step, 0.5 * (low + high))
            done = np.abs(new - phi) <= 4e-16 * phi
            phi = new
            if done.all():
                break
        return np.copysign(phi, torque)


def check_range(stiffness: ElasticPolynomial, joint_names: tuple[str, ...], working: FloatArray) -> None:
    """Raise JointDynamicsError for the first joint without positive stiffness over its torques ±`working` (n,) N·m.

    Working torques that are infinite (no limit known) leave room for joints only whose stiffness never vanishes.
    """
    phi_max, tau_max = elastic_range(stiffness)
    soft = stiffness.stiffness(np.zeros(len(phi_max)))
    for joint, name in enumerate(joint_names):
        single = ElasticPolynomial(stiffness.coefficients[joint])
        row = single.coefficients
        if np.all(row >= 0) and np.any(row > 0):
            continue
        if soft[joint] > 0 and tau_max[joint] > working[joint]:
            # The polynomial may dip in between, so all of the way counts.
            slopes = np.array([np.inf])
            if np.isfinite(working[joint]):
                slopes = single.stiffness(np.linspace(0.0, float(ElasticInverse(single)(working[joint])), 101))
            if slopes.min() >= SOFTEST * soft[joint]:
                continue
        raise JointDynamicsError(
            f'arm: expected a stiffness of {name} that stays positive up to its torque limit of {working[joint]:g} N·m,'
            f' found coefficients {row.tolist()}, which hold up to {tau_max[joint]:.4g} N·m'
        )
