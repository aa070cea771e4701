"""Maps over one turn of a joint (kinematic error, backlash), as cubic Hermite tables: value and slope agree exactly.

The energy balance needs dθ̃/dθ to be exactly the derivative of the interpolated θ̃.
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
    # Rounding makes a whole turn of an angle just below 0; and what is no number must not become an index.
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
