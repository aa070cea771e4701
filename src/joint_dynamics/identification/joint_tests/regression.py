"""Linear least squares whose deviations can be believed: QR, and a covariance that knows residuals are correlated in time."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.errors import JointDynamicsError, NotBelievableError

RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LinearFit:
    """Solution of W χ ≈ y: values (p,), covariance (p, p), residual y − W χ (N,), condition number of the column-scaled W."""

    names: tuple[str, ...]
    values: NDArray
    covariance: NDArray
    residual: NDArray
    condition: float

    @property
    def std(self) -> NDArray:
        """Standard deviations (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.names.index(name)])

    def deviation(self, name: str) -> float:
        """Return the standard deviation of one parameter."""
        return float(self.std[self.names.index(name)])


def _autocovariance_sum(scores: NDArray, lag: int) -> NDArray:
    """Bartlett-weighted long-run sum Σ_l (1 − |l|/(L+1)) Γ_l of the scores (N, p).

    It is the mean square of their sums over windows of L + 1 samples, zeros beyond the ends, so that no lag has to be gone through by itself.
    """
    window = lag + 1
    padded = np.concatenate([np.zeros((window, scores.shape[1])), scores, np.zeros((lag, scores.shape[1]))])
    running = np.cumsum(padded, axis=0)
    sums = running[window:] - running[:-window]
    return sums.T @ sums / window


def correlation_length(residual: NDArray, longest: int | None = None) -> int:
    """Samples until the autocorrelation of the residual first falls below 0.05, at most N/5."""
    centred = residual - residual.mean()
    size = centred.size
    power = np.fft.rfft(centred, 2 * size)
    correlation = np.fft.irfft(power * np.conj(power))[:size]
    if correlation[0] <= 0:
        return 0
    bound = min(size // 5, longest if longest is not None else size)
    below = np.nonzero(correlation[:bound + 1] / correlation[0] < 0.05)[0]
    return int(below[0]) if below.size else bound


def least_squares(W: ArrayLike, y: ArrayLike, names: Sequence[str], *, weights: ArrayLike | None = None, in_time: bool = True) -> LinearFit:
    """Least squares W (N, p) χ = y (N,) by QR.

    weights  (N,), 1/σ per row; in_time: the rows are samples in time order, so the covariance is the larger of the classical one and the one
    that sums the residuals' autocorrelation (Newey and West, twice the correlation length); parameter by parameter, correlations kept.
    Raises JointDynamicsError for too few rows, NotBelievableError naming the columns that cannot be told apart.
    """
    W, y = np.asarray(W, dtype=float), np.asarray(y, dtype=float)
    rows, columns = W.shape
    if rows <= columns:
        raise JointDynamicsError(f'least squares: expected more than {columns} rows for {columns} parameters ({", ".join(names)}), found {rows}')
    scale_rows = np.ones(rows) if weights is None else np.asarray(weights, dtype=float)
    A, b = W * scale_rows[:, None], y * scale_rows
    norms = np.linalg.norm(A, axis=0)
    if np.any(norms == 0):
        raise NotBelievableError(f'no sample excites {names[int(np.argmin(norms))]}')
    U, s, Vt = np.linalg.svd(A / norms, full_matrices=False)
    if s[-1] < RANK_TOLERANCE * s[0]:
        mixed = [name for name, share in zip(names, Vt[-1], strict=True) if abs(share) > 0.1]
        raise NotBelievableError(f'the data cannot tell apart {", ".join(mixed)}')
    values = Vt.T @ ((U.T @ b) / s) / norms
    residual = b - A @ values
    inverse = (Vt.T / s**2) @ Vt / np.outer(norms, norms)
    covariance = inverse * float(residual @ residual) / (rows - columns)
    if in_time:
        lag = min(2 * correlation_length(residual), rows // 3)
        meat = _autocovariance_sum(A * residual[:, None], lag)
        robust = inverse @ meat @ inverse * rows / (rows - columns)
        growth = np.sqrt(np.maximum(1.0, np.diag(robust) / np.diag(covariance)))
        covariance = covariance * np.outer(growth, growth)
    return LinearFit(tuple(names), values, covariance, y - W @ values, float(s[0] / s[-1]))
