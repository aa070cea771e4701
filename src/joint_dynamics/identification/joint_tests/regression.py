"""Linear least squares by QR, with deviations that hold although residuals are correlated in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.regression.covariance import blocks_of_time, scatter

RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LinearFit:
    """Solution of W χ ≈ y.

    Attributes
    ----------
    names, values
        of the p parameters, χ (p,).
    covariance
        (p, p).
    residual
        y − W χ (N,), without weights.
    condition
        condition number of W with weighted rows and columns scaled to norm 1.
    """

    names: tuple[str, ...]
    values: FloatArray
    covariance: FloatArray
    residual: FloatArray
    condition: float

    @property
    def std(self) -> FloatArray:
        """Standard deviations (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def get(self, name: str) -> float:
        """Return the value of one parameter, zero where it was not fitted."""
        return self[name] if name in self.names else 0.0

    def deviation(self, name: str) -> float:
        """Return the standard deviation of one parameter."""
        return float(self.std[self.names.index(name)])


def least_squares(
    W: ArrayLike, y: ArrayLike, names: Sequence[str], *, weights: ArrayLike | None = None, in_time: bool = True
) -> LinearFit:
    """Least squares W (N, p) χ = y (N,) by QR.

    Parameters
    ----------
    weights
        (N,), 1/σ per row.
    in_time
        the rows are samples in time order, so deviations are the larger of the classical ones and those of the scatter
        between blocks of time (`regression.covariance`).

    Raises
    ------
    JointDynamicsError
        For too few rows.
    NotReliableError
        Naming the columns that are collinear.
    """
    W, y = np.asarray(W, dtype=float), np.asarray(y, dtype=float)
    rows, columns = W.shape
    if rows <= columns:
        raise JointDynamicsError(
            f'least squares: expected more than {columns} rows for {columns} parameters ({", ".join(names)}), found'
            f' {rows}'
        )
    scale_rows = np.ones(rows) if weights is None else np.asarray(weights, dtype=float)
    A, b = W * scale_rows[:, None], y * scale_rows
    norms = np.linalg.norm(A, axis=0)
    if np.any(norms == 0):
        raise NotReliableError(f'no sample excites {names[int(np.argmin(norms))]}')
    U, s, Vt = np.linalg.svd(A / norms, full_matrices=False)
    if not s[-1] >= RANK_TOLERANCE * s[0]:
        mixed = [name for name, share in zip(names, Vt[-1], strict=True) if abs(share) > 0.1]
        raise NotReliableError(f'the data cannot tell apart {", ".join(mixed)}')
    values = Vt.T @ ((U.T @ b) / s) / norms
    residual = b - A @ values
    inverse = (Vt.T / s**2) @ Vt / np.outer(norms, norms)
    covariance = inverse * float(residual @ residual) / (rows - columns)
    if in_time:
        label = np.concatenate(blocks_of_time([rows]))
        augmented = np.column_stack([A, residual])
        triangles = [np.asarray(np.linalg.qr(augmented[label == g], mode='r')) for g in range(label[-1] + 1)]
        growth = np.sqrt(np.maximum(1.0, np.diag(scatter(triangles, inverse)) / np.diag(covariance)))
        covariance = covariance * np.outer(growth, growth)
    return LinearFit(tuple(names), values, covariance, y - W @ values, float(s[0] / s[-1]))
