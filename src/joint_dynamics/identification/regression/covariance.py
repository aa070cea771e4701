r"""Standard deviations that hold although residuals are correlated in time.

(WᵀW)⁻¹ σ̂² takes every row as independent [G eq 9]. After filtering, neighbours are not, nor are the joints of one sample. With the
scores g_t = Σ_j w_j(t) ρ_j(t)/σ_j² of sample t (σ_j √m of a row at rest in a stay of m), the covariance of χ̂ is the sandwich

    C = (AᵀA)⁻¹ ( Γ_0 + Σ_{l=1..L} (1 − l/(L+1)) (Γ_l + Γ_lᵀ) ) (AᵀA)⁻¹,    Γ_l = Σ_t g_t g_{t−l}ᵀ

(Newey and West 1987), with L a few correlation times of the residuals. Each g is divided by 1 − its share of leverage on average, which
removes the bias towards zero that b fitted parameters leave behind.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Block


def correlation_length(residuals: NDArray) -> int:
    """Return after how many samples the autocorrelation of the residuals (joints, samples) has died away, at least 1.

    The first lag at which |r| stays below 2/√N for all joints on average, bounded by N/10.
    """
    centred = residuals - residuals.mean(axis=1, keepdims=True)
    samples = centred.shape[1]
    power = (centred**2).sum(axis=1)
    for lag in range(1, max(2, samples // 10)):
        r = (centred[:, lag:] * centred[:, :-lag]).sum(axis=1) / np.where(power > 0, power, 1.0)
        if np.mean(np.abs(r)) < 2 / np.sqrt(samples):
            return lag
    return max(1, samples // 10)


def sandwich(blocks: Iterable[Block], solution: Solution, lags: int, rows: float, weights: Sequence[NDArray] | None = None) -> NDArray:
    """Return the covariance (b, b) of `solution.chi`.

    blocks: those it was computed from; lags: L; rows: number of rows in all; weights: per block (joints, samples) further factors
    on the rows. The covariance is symmetric and positive semidefinite.
    """
    b = len(solution.chi)
    meat = np.zeros((b, b))
    tail = np.zeros((b, 0))
    observation = -1
    for index, block in enumerate(blocks):
        if block.observation != observation:
            observation, tail = block.observation, np.zeros((b, 0))
        residual = block.tau - np.einsum('jbs,b->js', block.rows, solution.chi, optimize=True)
        factor = solution.row_factors(block)
        if weights is not None:
            factor = factor * weights[index]
        scores = np.einsum('jbs,js->bs', block.rows, residual * factor**2, optimize=True)
        joined = np.concatenate([tail, scores], axis=1)
        past = tail.shape[1]
        meat += scores @ scores.T
        for lag in range(1, lags + 1):
            first = max(past, lag)
            if first >= joined.shape[1]:
                break
            product = joined[:, first:] @ joined[:, first - lag:joined.shape[1] - lag].T
            meat += (1 - lag / (lags + 1)) * (product + product.T)
        tail = joined[:, -lags:]
    correction = rows / max(rows - b, 1.0)
    covariance = correction**2 * solution.inverse @ meat @ solution.inverse
    return 0.5 * (covariance + covariance.T)
