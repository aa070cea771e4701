r"""Standard deviations from the scatter between blocks of time, whatever the correlation within a block.

(WᵀW)⁻¹ σ̂² takes every row as independent [G eq 9]. After filtering neighbours are not, nor are the joints of one
sample, and what a model misses (friction, flexibility, temperature) persists as long as a motion does. So the
recordings are cut into blocks g of time, in all about `BLOCKS`, none across two recordings, and each block's
residuals ρ_g with rows A_g (both as weighed in the solution) count as one observation:

    V = M ( Σ_g A_gᵀ B_g ρ_g ρ_gᵀ B_g A_g ) M,    M = (AᵀA)⁻¹,    B_g = (I − A_g M A_gᵀ)^{-1/2}

the bias-reduced cluster covariance CR2 [Bell and McCaffrey 2002]: of independent rows its mean is M exactly, however
much of the block the fit took away. Newey and West's sum, which it stands in for, needs a correlation length, and
with b parameters from a few hundred rows the residuals no longer show one. Few long blocks need none (Ibragimov and
Müller 2010, Sun 2013), but their scatter is itself uncertain: the deviation of parameter c has ν_c degrees of freedom
(Satterthwaite, of the quadratic form under independent rows [Bell and McCaffrey 2002; Imbens and Kolesár 2016]), and
is stated as √V_cc t_{0.975}(ν_c)/z_{0.975}, so that ± 1.96 of them is a 95 % interval whatever ν.

What only one block shows no scatter can show. With s_c the share of M_cc that V_cc would have of independent rows, (1
− s_c) M_cc is added, at the median ratio of V to M of all parameters. A covariance of b parameters from G < b blocks
has no full rank: correlations between parameters are those of M.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.linalg
from scipy.special import ndtri, stdtrit

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.least_squares import Solution

BLOCKS = 10
"""Blocks in all: fewer leave too few degrees of freedom, more make blocks shorter than what residuals remember of
themselves."""
MOST = 40
"""With more recordings than this, neighbouring ones share a block."""
ALONE = 1e-6
"""1 − leverage below which a block alone decides a direction."""
LEVEL = 0.975


def correlation_length(residual: FloatArray, longest: int | None = None) -> int:
    """Samples until the autocorrelation of a residual (N,) first falls below 0.05, at most N/5 or `longest`."""
    centred = residual - residual.mean()
    size = centred.size
    power = np.fft.rfft(centred, 2 * size)
    correlation = np.fft.irfft(power * np.conj(power))[:size]
    if correlation[0] <= 0:
        return 0
    bound = min(size // 5, longest if longest is not None else size)
    below = np.nonzero(correlation[: bound + 1] / correlation[0] < 0.05)[0]
    return int(below[0]) if below.size else bound


def blocks_of_time(samples: Sequence[int], count: int = BLOCKS, most: int = MOST) -> list[IntArray]:
    """Return per recording of so many samples the block each is in, (samples,): about `count` blocks alike."""
    total = max(sum(samples), 1)
    labels: list[IntArray] = []
    first = 0
    for length in samples:
        here = max(1, round(length * count / total))
        labels.append(first + np.arange(length) * here // max(length, 1))
        first += here
    return labels if first <= most else [label * most // first for label in labels]


def covariance(blocks: Iterable[Block], solution: Solution, samples: Sequence[int]) -> FloatArray:
    """Return the covariance (b, b) of `solution.chi`, symmetric and positive semidefinite.

    Parameters
    ----------
    blocks
        those it was computed from.
    samples
        kept samples of each observation they come from. Memory grows with b² and the number of blocks of time, not with
        the samples.
    """
    labels = blocks_of_time(samples)
    count = max((int(label[-1]) + 1 for label in labels if len(label)), default=1)
    factors = [np.zeros((0, len(solution.chi) + 1))] * count
    for block in blocks:
        label = labels[block.observation][block.kept]
        factor = solution.row_factors(block)
        residual = block.tau - np.einsum('jbs,b->js', block.rows, solution.chi, optimize=True)
        weighted = np.concatenate([block.rows, residual[:, None]], axis=1) * factor[:, None]
        for g in np.unique(label):
            rows = weighted[:, :, label == g].transpose(0, 2, 1).reshape(-1, weighted.shape[1])
            factors[g] = _triangle(np.concatenate([factors[g], rows]))
    return scatter(factors, solution.inverse)


def scatter(factors: Sequence[FloatArray], inverse: FloatArray) -> FloatArray:
    """Return the covariance (b, b) from a triangle (≤ b + 1, b + 1) of [A_g ρ_g] per block; inverse: M (b, b)."""
    b = len(inverse)
    used = [factor for factor in factors if len(factor)]
    scores, own, projected = np.zeros((len(used), b)), np.zeros((len(used), b)), np.zeros((len(used), b, b))
    for g, factor in enumerate(used):
        R, residual = factor[:b, :b], factor[:b, b]
        leverage, U = np.linalg.eigh(R @ inverse @ R.T)
        free = 1.0 - leverage
        B = (U * np.where(free > ALONE, 1.0 / np.sqrt(np.maximum(free, ALONE)), 0.0)) @ U.T
        scores[g] = inverse @ (R.T @ (B @ residual))
        weights = B @ R @ inverse
        own[g], projected[g] = (weights**2).sum(axis=0), R.T @ weights
    variance, independent = (scores**2).sum(axis=0), np.diag(inverse)
    shown, freedom = _moments(own, projected, inverse)
    positive = independent > 0
    share = np.where(positive, np.clip(shown / np.where(positive, independent, 1.0), 0.0, 1.0), 1.0)
    seen = positive & (share > 0.5)
    typical = float(np.median((variance / np.where(positive, shown, 1.0))[seen])) if seen.any() else 1.0
    stretch = stdtrit(np.maximum(freedom, 1.0), LEVEL) / ndtri(LEVEL)
    total = variance * stretch**2 + (1.0 - share) * independent * typical
    growth = np.sqrt(np.where(positive, total / np.where(positive, independent, 1.0), 1.0))
    found = inverse * np.outer(growth, growth)
    return 0.5 * (found + found.T)


def _moments(own: FloatArray, projected: FloatArray, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (b,) of each variance under independent rows of deviation 1, and its degrees of freedom."""
    mean, freedom = np.zeros(len(inverse)), np.ones(len(inverse))
    for c in range(len(inverse)):
        common = projected[:, :, c]
        quadratic = np.diag(own[:, c]) - common @ inverse @ common.T
        mean[c], square = float(np.trace(quadratic)), float((quadratic**2).sum())
        freedom[c] = mean[c] ** 2 / square if square > 0 else 1.0
    return mean, freedom


def _triangle(rows: FloatArray) -> FloatArray:
    """Return the upper triangle of the QR decomposition of rows (N, c), at most (c, c)."""
    return np.asarray(scipy.linalg.qr(rows, mode='r', check_finite=False, overwrite_a=True)[0][: rows.shape[1]])
