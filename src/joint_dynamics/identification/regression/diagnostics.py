"""What the residuals say about the model.

The five checks of Li, leverage of recordings, and residuals on held-out parts [L §3.2].

1. linear: residuals do not follow the fitted values; 2. independent: autocorrelation below 0.15 beyond lag 0; 3.
   constant variance: their
size does not follow the fitted torque; 4. normal: kurtosis and skewness as of a normal law; 5. convergence, in the
method's own entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit

LAGS = 40
AUTOCORRELATION = 0.15
"""Above it residuals do not count as independent [correlation]."""
CORRELATED = 0.2
"""Rank correlation from which residuals count as following the fitted torque."""
HEAVY = 3.0
"""Excess kurtosis from which residuals count as not normal."""


def autocorrelation(residual: FloatArray, lags: int = LAGS) -> FloatArray:
    """Return the autocorrelation of residuals (K, joints) at lags 0…, (lags + 1, joints)."""
    centred = residual - residual.mean(axis=0)
    power = (centred**2).sum(axis=0)
    power = np.where(power > 0, power, 1.0)
    lags = min(lags, len(residual) - 2)
    return np.array([(centred[lag:] * centred[: len(centred) - lag]).sum(axis=0) / power for lag in range(lags + 1)])


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation of a and b (K,); equal values share their mean rank."""

    def ranks(values: FloatArray) -> FloatArray:
        _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
        last = np.cumsum(counts)
        centred: FloatArray = (last - (counts - 1) / 2)[which.ravel()] - (len(values) + 1) / 2
        return centred

    x, y = ranks(a), ranks(b)
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def leverage(problem: Problem, solution: Solution) -> dict[str, float]:
    """Return how many of the b parameters each recording decides.

    The trace of the hat matrix over its rows, by name.
    """
    shares = np.zeros(len(problem.observations))
    for block in problem.blocks():
        factor = solution.row_factors(block)
        weighted = block.rows * factor[:, None]
        shares[block.observation] += np.einsum('jbs,bc,jcs->', weighted, solution.inverse, weighted, optimize=True)
    names = [f'{index + 1}: {observation.name}' for index, observation in enumerate(problem.observations)]
    return dict(zip(names, map(float, shares), strict=True))


def moving_rows(fits: Sequence[Fit], j: int) -> tuple[FloatArray, FloatArray]:
    """Return (fitted, residual) of one joint's moving samples."""
    fitted, residual = (
        np.concatenate([getattr(fit, name)[fit.moving[:, j], j] for fit in fits]) for name in ('predicted', 'residual')
    )
    return fitted, residual


def _joint(fits: Sequence[Fit], j: int) -> dict[str, Any]:
    fitted, residual = moving_rows(fits, j)
    if len(residual) < 20 or np.ptp(fitted) == 0 or np.ptp(residual) == 0:
        return {'samples': len(residual)}
    series = np.concatenate([np.where(fit.moving[:, j], fit.residual[:, j], 0.0) for fit in fits])
    largest = float(np.abs(autocorrelation(series[:, None])[1:]).max())
    trend = rank_correlation(fitted, residual)
    spread = rank_correlation(np.abs(fitted), np.abs(residual))
    centred = residual - residual.mean()
    variance = float((centred**2).mean())
    skewness, kurtosis = (float((centred**k).mean()) / variance ** (k / 2) for k in (3, 4))
    kurtosis -= 3.0
    return {
        'samples': len(residual),
        'mean': float(residual.mean()),
        'trend': trend,
        'largest_autocorrelation': largest,
        'spread': spread,
        'skewness': skewness,
        'excess_kurtosis': kurtosis,
        'linear': abs(trend) < CORRELATED,
        'independent': largest < AUTOCORRELATION,
        'constant_variance': abs(spread) < CORRELATED,
        'normal': abs(kurtosis) < HEAVY and abs(skewness) < 1.0,
    }


def diagnose(problem: Problem, solution: Solution, training: Sequence[Fit]) -> dict[str, Any]:
    """Return the entry `diagnostics` of summary.json.

    Checks per joint (moving samples), and the leverage of the recordings.
    """
    return {
        'residuals': {name: _joint(training, j) for j, name in enumerate(problem.model.joint_names)},
        'leverage': leverage(problem, solution),
    }
