"""Where the elastic torque of a transmission can be inverted: up to the deformation at which its stiffness would vanish.

    τ_E(φ) = Σ α_p φ^{2p−1},   k(φ) = Σ (2p−1) α_p φ^{2p−2} > 0 for |φ| < φ_max,   τ_max = τ_E(φ_max)      [M3 eq 4-10]

With α_p ≥ 0 that is everywhere. A measured joint may have α_2 < 0: one that softens, or one whose curve bends over within the noise. It has an
inverse as long as its torques stay below τ_max, and is useful as long as the stiffness does not come near zero.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness

#: Least stiffness within the working range, as a share of that without load.
SOFTEST = 0.05


def elastic_range(stiffness: TorsionalStiffness) -> tuple[NDArray, NDArray]:
    """Return φ_max (n,) rad and τ_max (n,) N·m of stiffness polynomials (n, P); infinite where the stiffness never vanishes."""
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


def inverse(stiffness: TorsionalStiffness, torque: NDArray, phi_max: NDArray) -> NDArray:
    """Return φ (n,) rad with τ_E(φ) = `torque` (n,) N·m within ±`phi_max` (n,), by bisection and Newton's step where that stays inside.

    Torques beyond τ_max give ±φ_max.
    """
    target = np.abs(torque)
    # Where φ_max is infinite, doubling finds a bound.
    high = np.where(np.isfinite(phi_max), phi_max, 1e-6)
    for _ in range(100):
        short = ~np.isfinite(phi_max) & (stiffness.torque(high) < target)
        if not short.any():
            break
        high = np.where(short, 2.0 * high, high)
    soft = stiffness.stiffness(np.zeros_like(target))
    low, phi = np.zeros_like(target), np.where(target > 0, np.where(soft > 0, np.minimum(target / np.where(soft > 0, soft, 1.0), high), high), 0.0)
    for _ in range(200):
        off = stiffness.torque(phi) - target
        low, high = np.where(off < 0, phi, low), np.where(off >= 0, phi, high)
        slope = stiffness.stiffness(phi)
        step = phi - off / np.where(slope > 0, slope, 1.0)
        new = np.where((slope > 0) & (step >= low) & (step <= high), step, 0.5 * (low + high))
        done = np.abs(new - phi) <= 4e-16 * np.maximum(phi, 1e-30)
        phi = new
        if done.all():
            break
    return np.copysign(phi, torque)


def check_range(stiffness: TorsionalStiffness, joint_names: tuple[str, ...], working: NDArray) -> None:
    """Raise JointDynamicsError for the first joint whose stiffness is not positive over its working torques ±`working` (n,) N·m.

    Working torques that are infinite (no limit known) leave room for joints only whose stiffness never vanishes.
    """
    phi_max, tau_max = elastic_range(stiffness)
    soft = stiffness.stiffness(np.zeros(len(phi_max)))
    for joint, name in enumerate(joint_names):
        row = stiffness.coefficients[joint]
        if np.all(row >= 0) and np.any(row > 0):
            continue
        if soft[joint] > 0 and tau_max[joint] > working[joint]:
            single = TorsionalStiffness(row)
            phi = inverse(single, working[joint:joint + 1], phi_max[joint:joint + 1])
            # The polynomial may dip in between, so all of the way counts.
            way = single.stiffness(np.linspace(0.0, phi[0], 101)) if np.isfinite(working[joint]) else np.array([np.inf])
            if way.min() >= SOFTEST * soft[joint]:
                continue
        raise JointDynamicsError(f'arm: expected a stiffness of {name} that stays positive up to its torque limit of {working[joint]:g} N·m, found '
                                 f'coefficients {row.tolist()}, which hold up to {tau_max[joint]:.4g} N·m')
