"""Criteria of excitation as functions of the information matrix G = W_bᵀ W_b, smoothed, with their gradients.

The condition number σ_max / σ_min of W_b with columns of norm one has corners where singular values meet, and at the
best motions many meet. Its smooth form, of sharpness p, takes the p-norm of all eigenvalues λ of the scaled G in place
of the largest

    log cond ≈ (log Σ λ^p + log Σ λ^−p) / 2p,

which tends to it from above as p grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray

Criterion = Callable[[FloatArray, float], tuple[float, FloatArray]]
"""(G (b, b), sharpness p) → value, gradient (b, b) symmetric, such that d value = Σ gradient · dG."""

FIRST_MOMENTS = ('MX', 'MY', 'MZ', 'M')
SECOND_MOMENTS = ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'Ia')
_FLOOR = 1e-13


def log_condition(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
    """Return the smoothed log of the condition number of W_b with columns of norm one, and its gradient."""
    norm = np.sqrt(np.maximum(np.diag(G), 1e-300))
    scaled = G / np.outer(norm, norm)
    eigenvalues, U = np.linalg.eigh(scaled)
    log_lambda = np.log(np.maximum(eigenvalues, _FLOOR))
    value, slope = 0.0, np.zeros_like(log_lambda)
    for sign in (1.0, -1.0):
        exponent = sign * sharpness * log_lambda
        top = exponent.max()
        share = np.exp(exponent - top)
        value += (top + np.log(share.sum())) / (2 * sharpness)
        slope += sign * share / share.sum() / 2
    by_scaled = (U * (slope * np.exp(-log_lambda))) @ U.T
    gradient = by_scaled / np.outer(norm, norm)
    gradient[np.diag_indices(len(G))] -= (by_scaled * scaled).sum(axis=1) / norm**2
    return value, gradient


def weighted_blocks(blocks: Sequence[IntArray], weights: Sequence[float]) -> Criterion:
    """Return the criterion log Σ_i W_i cond Φ_i of column blocks Φ_i, given by their indices [L eq 21]."""

    def evaluate(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
        gradient = np.zeros_like(G)
        terms = []
        for block, weight in zip(blocks, weights, strict=True):
            value, inner = log_condition(G[np.ix_(block, block)], sharpness)
            terms.append(weight * np.exp(value))
            gradient[np.ix_(block, block)] += terms[-1] * inner
        return float(np.log(sum(terms))), gradient / sum(terms)

    return evaluate


def negative_log_det(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
    """Return −log det G / b, the mean log of the variances' scale, and its gradient.

    The sharpness has no part in it.
    """
    eigenvalues, U = np.linalg.eigh(G)
    eigenvalues = np.maximum(eigenvalues, _FLOOR * eigenvalues[-1])
    return -float(np.log(eigenvalues).mean()), -(U / eigenvalues) @ U.T / len(G)


def with_information(criterion: Criterion, weight: float) -> Criterion:
    """Return criterion + weight · (−log det G / b): of motions of like condition that with the stronger signals."""
    if weight == 0:
        return criterion

    def evaluate(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
        (value, gradient), (information, by_information) = criterion(G, sharpness), negative_log_det(G, sharpness)
        return value + weight * information, gradient + weight * by_information

    return evaluate


def make_criterion(name: str, weights: Sequence[float], base_names: Sequence[str]) -> Criterion:
    """Return the criterion `name` of settings.CRITERIA for base parameters named `base_names` (b,)."""
    if name == 'condition_number':
        return log_condition
    if name == 'log_det':
        return negative_log_det
    kinds = [base.partition('_')[0].removesuffix('R') for base in base_names]
    blocks, kept = [], []
    for family, weight in zip((FIRST_MOMENTS, SECOND_MOMENTS), weights, strict=True):
        block = np.array([k for k, kind in enumerate(kinds) if kind in family], dtype=int)
        if len(block):
            blocks.append(block)
            kept.append(weight)
    return weighted_blocks(blocks, kept)
