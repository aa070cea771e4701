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

"""The transmission of a simulated joint: maps over one turn, and hysteresis in the travel that the backlash scales.

Kinematic error θ̃ and backlash 𝓑 are cubic Hermite tables: the energy balance needs dθ̃/dθ to be exactly the derivative
of the interpolated θ̃.

Presliding hysteresis is a sum of play operators in normalised travel (Prandtl-Ishlinskii). Not the Maxwell-slip of the
rest of the package, which clips a spring deformation per element and rescales it by the backlash: here the joint's
travel is first mapped to x(θ) = ∫ dθ/𝓑(θ), and each operator m is a play p_m that x drags along with clearance ±r_m.
The normalised friction is H = Σ_m w_m (x − p_m), −1 ≤ H ≤ 1, with Σ_m w_m r_m = 1: it depends on the history of x
alone, so that no integration error accumulates.

The shape is given by the virgin curve H = V(x), concave from 0 to 1: w_m is the drop of its slope at the node r_m.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined
from joint_dynamics.errors import JointDynamicsError

#: Nodes per turn of the tables.
NODES = 720


@inlined
def locate(nodes: int, angle: float) -> tuple[int, int, float]:
    """Return the indices of the nodes below and above `angle` [rad], and its position between them, 0 … 1.

    The table has `nodes` nodes per turn.
    """
    turns = angle * (1.0 / (2.0 * np.pi))
    position = (turns - np.floor(turns)) * nodes
    # Rounding makes a whole turn of an angle just below 0; NaN must not become an index.
    if not position < nodes:
        position = 0.0
    low = int(position)
    high = low + 1
    if high == nodes:
        high = 0
    return low, high, position - low


@inlined
def lookup(table: FloatArray, column: int, low: int, high: int, s: float) -> tuple[float, float]:
    """Return (value, slope per rad) of the map in columns `column` (value) and `column` + 1 (slope) of `table`.

    table: (nodes, columns). low, high, s: as returned by `locate`.
    """
    step, per_step = 2.0 * np.pi / table.shape[0], table.shape[0] / (2.0 * np.pi)
    a, b = table[low, column], table[high, column]
    da, db = table[low, column + 1] * step, table[high, column + 1] * step
    # Hermite cubic in s: a + da s + c2 s² + c3 s³
    c2 = 3.0 * (b - a) - 2.0 * da - db
    c3 = 2.0 * (a - b) + da + db
    return a + s * (da + s * (c2 + s * c3)), (da + s * (2.0 * c2 + s * 3.0 * c3)) * per_step


@inlined
def _lookup_all(table: FloatArray, angles: FloatArray, out: FloatArray) -> None:
    for k in range(angles.size):
        low, high, s = locate(table.shape[0], angles[k])
        out[k] = lookup(table, 0, low, high, s)[0]


def evaluate(table: FloatArray, angle: ArrayLike) -> FloatArray:
    """Return the map of one joint at `angle` [rad], any shape."""
    angles = np.asarray(angle, dtype=float)
    out = np.empty(angles.size)
    _lookup_all(table, np.ascontiguousarray(angles.ravel()), out)
    return out.reshape(angles.shape)


def fourier_tables(mean: ArrayLike, cosines: ArrayLike, sines: ArrayLike) -> FloatArray:
    """Return tables (n, NODES, 2) of mean_j + Σ_k c_jk cos kθ + s_jk sin kθ, k = 1…K; cosines and sines (n, K)."""
    c, s = np.atleast_2d(np.asarray(cosines, dtype=float)), np.atleast_2d(np.asarray(sines, dtype=float))
    k = np.arange(1, c.shape[1] + 1)[:, None]
    turns = k * np.linspace(0.0, 2.0 * np.pi, NODES, endpoint=False)
    value = c @ np.cos(turns) + s @ np.sin(turns) + np.asarray(mean, dtype=float)[:, None]
    slope = (s * k.T) @ np.cos(turns) - (c * k.T) @ np.sin(turns)
    return np.ascontiguousarray(np.stack([value, slope], axis=2))


def travel_tables(backlash: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (mean_rate (n,), tables (n, NODES, 2)) of the normalised travel x(θ) = ∫ dθ/𝓑(θ) = mean_rate θ + table(θ).

    In x the hysteresis has the width 1 at any angle. `backlash` (n, NODES, 2) must be > 0.
    """
    if not (backlash[:, :, 0] > 0.0).all():
        raise JointDynamicsError(
            f'backlash map: expected values > 0 everywhere, found {backlash[:, :, 0].min():.3g} rad'
        )
    n, nodes, _ = backlash.shape
    step = 2.0 * np.pi / nodes
    # Gauss-Legendre with three points per interval: far below the rounding of everything else.
    points, weights = np.polynomial.legendre.leggauss(3)
    inner = (np.arange(nodes)[:, None] + 0.5 * (points + 1.0)) * step
    x = np.zeros((n, nodes + 1))
    for j in range(n):
        x[j, 1:] = np.cumsum((1.0 / evaluate(backlash[j], inner)) @ weights * 0.5 * step)
    rate = x[:, -1] / (2.0 * np.pi)
    value = x[:, :-1] - rate[:, None] * step * np.arange(nodes)
    slope = 1.0 / backlash[:, :, 0] - rate[:, None]
    return rate, np.ascontiguousarray(np.stack([value, slope], axis=2))


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

    The nodes increase, the curve is concave, its last point (1, 1).
    """
    r = np.concatenate([[0.0], np.asarray(nodes, dtype=float)])
    v = np.concatenate([[0.0], np.asarray(heights, dtype=float)])
    slope = np.append(np.diff(v) / np.diff(r), 0.0)
    return r[1:].copy(), slope[:-1] - slope[1:]


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
