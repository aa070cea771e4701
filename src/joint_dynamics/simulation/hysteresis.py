"""Presliding hysteresis as a sum of play operators in normalised travel (Prandtl-Ishlinskii).

Not the Maxwell-slip of the rest of the package, which clips a spring deformation per element and rescales it by the
backlash: here the joint's travel is first mapped to x(θ) = ∫ dθ/𝓑(θ), and each operator m is a play p_m that x drags
along with clearance ±r_m. The normalised friction is H = Σ_m w_m (x − p_m), −1 ≤ H ≤ 1, with Σ_m w_m r_m = 1: it
depends on the history of x alone, so that no integration error accumulates.

The shape is given by the virgin curve H = V(x), concave from 0 to 1: w_m is the drop of its slope at the node r_m.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined
from joint_dynamics.errors import JointDynamicsError


@inlined
def hysteresis(x: float, play: FloatArray, radius: FloatArray, weight: FloatArray) -> float:
    """Return H at normalised travel x for the plays `play` (M,), which are not changed."""
    total = 0.0
    for m in range(radius.size):
        gap = x - play[m]
        if gap > radius[m]:
            gap = radius[m]
        elif gap < -radius[m]:
            gap = -radius[m]
        total += weight[m] * gap
    return total


@inlined
def drag(x: float, play: FloatArray, radius: FloatArray) -> None:
    """Let x drag the plays `play` (M,) along, in place."""
    for m in range(radius.size):
        if x - play[m] > radius[m]:
            play[m] = x - radius[m]
        elif x - play[m] < -radius[m]:
            play[m] = x + radius[m]


@inlined
def bristle(stiffness: float, unloading: float, moved: float, before: float) -> float:
    """Return H after the normalised travel has moved by `moved` in one direction, from H = `before`, |before| < 1.

    Bouc-Wen's law of exponent 1, dH/dx = σ(1 − H sgn dx) while |H| grows and σ(1 + ρ|H|) while it falls, solved: σ =
    `stiffness`, ρ = `unloading` in [0, 1]; ρ = 1 is Dahl's law. It dissipates, for W(H) = ∫ H/(σ(1 + ρ|H|)) dH is an
    energy that it cannot exceed.
    """
    sign = 1.0 if moved >= 0.0 else -1.0
    travel, H = abs(moved), sign * before
    if H < 0.0:
        if unloading > 0.0:
            reach = np.log1p(-unloading * H) / (stiffness * unloading)
            if travel <= reach:
                return sign * (1.0 - (1.0 - unloading * H) * np.exp(-stiffness * unloading * travel)) / unloading
        else:
            reach = -H / stiffness
            if travel <= reach:
                return sign * (H + stiffness * travel)
        travel -= reach
        H = 0.0
    return sign * (1.0 - (1.0 - H) * np.exp(-stiffness * travel))


def operators(nodes: ArrayLike, heights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return (radii, weights), (M,) each, whose virgin curve runs through the points (nodes, heights).

    The last point is (1, 1).
    """
    r = np.concatenate([[0.0], np.asarray(nodes, dtype=float)])
    v = np.concatenate([[0.0], np.asarray(heights, dtype=float)])
    if (
        r.shape != v.shape
        or not (np.diff(r) > 0).all()
        or not abs(r[-1] - 1.0) <= 1e-12
        or not abs(v[-1] - 1.0) <= 1e-12
    ):
        raise JointDynamicsError(
            'hysteresis: expected increasing nodes and as many heights, both ending at 1, '
            f'found {np.asarray(nodes)} and {np.asarray(heights)}'
        )
    slope = np.append(np.diff(v) / np.diff(r), 0.0)
    weights = slope[:-1] - slope[1:]
    if not (weights >= 0.0).all():
        raise JointDynamicsError(f'hysteresis: expected a concave virgin curve, found slopes {slope[:-1]}')
    return r[1:].copy(), weights


def smooth_operators(count: int = 12) -> tuple[FloatArray, FloatArray]:
    """Return the operators of a realistic joint, V(x) = 1 − (1 − x^¼)³.

    It has `count` nodes from 0.004 to 1, geometrically spaced.
    """
    nodes = np.geomspace(0.004, 1.0, count)
    return operators(nodes, 1.0 - (1.0 - nodes**0.25) ** 3)


def four_operators() -> tuple[FloatArray, FloatArray]:
    """Return four operators with nodes (i/4)⁴ and slip forces in the ratio 16 : 9 : 4 : 1.

    [M6 eq 17-18] with M = 4, rΔ = 4, rk = 2.
    """
    nodes = (np.arange(1, 5) / 4.0) ** 4
    force = np.array([16.0, 9.0, 4.0, 1.0]) / 30.0
    return operators(nodes, [np.sum(force * np.minimum(x / nodes, 1.0)) for x in nodes])
