r"""Standard deviations from the scatter between blocks of time and between ranges of speed.

(WᵀW)⁻¹ σ̂² assumes independent rows [G eq 9]. After filtering, neighbours are not independent, nor are the joints of
one sample, and model errors (friction, flexibility, temperature) persist as long as a motion does. So the
recordings are cut into blocks g of time, in all about `BLOCKS`, none across two recordings, and each block's
residuals ρ_g with rows A_g (both as weighed in the solution) count as one observation:

    V = M ( Σ_g A_gᵀ B_g ρ_g ρ_gᵀ B_g A_g ) M,    M = (AᵀA)⁻¹,    B_g = (I − A_g M A_gᵀ)^{-1/2}

the bias-reduced cluster covariance CR2 [Bell and McCaffrey 2002]: of independent rows its mean is M exactly, however
much of the block the fit took away. Newey and West's sum, which it stands in for, needs a correlation length, and
with b parameters from a few hundred rows the residuals no longer show one. Few long blocks need none (Ibragimov and
Müller 2010, Sun 2013), but their scatter is itself uncertain: the deviation of parameter c has ν_c degrees of freedom
(Satterthwaite, of the quadratic form under independent rows [Bell and McCaffrey 2002; Imbens and Kolesár 2016]), and
is stated as √V_cc t_{0.975}(ν_c)/z_{0.975}, so that ± 1.96 of them is a 95 % interval whatever ν.

Blocks of time that all hold the same speeds agree on what a law of friction misses: it is the same error wherever the
joint has that speed, and another recording, with other speeds, comes out elsewhere. Rows therefore belong to two
clusters, their block of time and their joint's range of speed (`SPEEDS` ranges with equally many of its rows in motion,
by direction; its rows at rest are one more, since nothing says that stays differ), and

    V = V_time + max(V_speed − V_both, 0)

with V_both that of the cells that share both [Cameron, Gelbach and Miller 2011], each a CR2, the second difference with
the degrees of freedom of V_speed. Of independent rows all three have the mean M.

Scatter cannot show what only one cluster determines. With s_c the share of M_cc that V_cc would have for independent
rows, (1 − s_c) M_cc is added, times the median ratio of V to M over all parameters. A covariance of b parameters from
G < b blocks does not have full rank: correlations between parameters are those of M.

What few motions excite is known to within large errors that cancel in the torque, so that a sum s χ may be known far
better than any of its parameters; deviations that grow by different factors and keep the correlations of M no longer
cancel. Of combinations S χ the same is therefore stated of the combinations: M Sᵀ in the place of M on the right of
scores, shares and degrees of freedom, S M Sᵀ in that of M_cc and of the correlations.

At rest friction is anywhere within ± F_j, and may be the same in every stay, which no scatter shows. Where a joint
turns one way in all its recordings, stays are all that tells its offset from its Coulomb friction. So the error of a
value common to the rows s of joint j at rest, uniform in ± F_j, is added: Σ_j (F_j²/3) M a_j a_jᵀ M, a_j = Σ_s A_s w_s,
with w_s what a row is multiplied by in the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.special import ndtri, stdtrit

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.rows import Block

BLOCKS = 10
"""Blocks in all: fewer leave too few degrees of freedom, more make blocks shorter than what residuals remember of
themselves."""
MOST = 40
"""With more recordings than this, neighbouring ones share a block."""
SPEEDS = 10
"""Ranges of speed of a joint, as many as blocks."""
ROUNDING = 1e-12
"""Autocorrelation that is nothing but rounding."""
ALONE = 1e-6
"""1 − leverage below which a cluster alone decides a direction."""
LEVEL = 0.975


def autocorrelation(residual: FloatArray, lags: int) -> FloatArray:
    """Return the autocorrelation of residuals (K, …) at lags 0…, (lags + 1, …) at most; 0 of constant ones."""
    centred = residual - residual.mean(axis=0)
    spectrum = np.fft.rfft(centred, 2 * len(centred), axis=0)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum), axis=0)[: max(min(lags + 1, len(centred) - 1), 1)]
    return np.asarray(correlation / np.where(np.any(centred, axis=0), correlation[0], 1.0))


def samples_per_independent(residual: FloatArray, part: IntArray | None = None) -> float:
    """Return how many samples of a residual (N,) are worth one independent one, 1 + 2 Σ ρ_l.

    By so much the variance of a sum over the residual exceeds that of independent samples. ρ_l: the autocorrelation at
    lag l, within recordings, up to the first lag at which it is not positive, at most N/4.

    Parameters
    ----------
    part
        (N,) the recording of each sample; None: they are all of one.
    """
    lags = max(2, len(residual) // 4)
    correlation = np.zeros(lags)
    for row in [residual] if part is None else [residual[part == index] for index in np.unique(part)]:
        spectrum = np.fft.rfft(row, 2 * len(row))
        own = np.fft.irfft(spectrum * np.conj(spectrum))[: min(lags, len(row))]
        correlation[: len(own)] += own
    none = np.flatnonzero(correlation <= ROUNDING * correlation[0])
    end = none[0] if none.size else lags
    return float(1.0 + 2.0 * correlation[1:end].sum() / (correlation[0] or 1.0))


def correlated_variance(residual: FloatArray, normal: FloatArray, inverse: FloatArray) -> float:
    """Return σ² of the residual (N,) of a fit, by which σ² M is the covariance of its parameters.

    ‖ρ‖² over the independent samples less the parameters that they determine, tr(M WᵀW). For columns that change more
    slowly than the residual it is right, for others too much.

    Parameters
    ----------
    normal, inverse
        WᵀW and M = (WᵀW + PᵀP)⁻¹, with what holds the parameters besides, (b, b).
    """
    free = len(residual) / samples_per_independent(residual) - float(np.sum(inverse * normal))
    return float(residual @ residual) / max(free, 1.0)


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


def covariance(
    blocks: Callable[[], Iterable[Block]],
    solution: Solution,
    samples: Sequence[int],
    coulomb: FloatArray | None = None,
    of: FloatArray | None = None,
) -> FloatArray:
    """Return the covariance (u, u) of combinations of `solution.chi`, symmetric and positive semidefinite.

    Parameters
    ----------
    blocks
        returns the blocks from which the solution was computed, at each call from the beginning.
    samples
        kept samples of each observation they come from. Memory grows with b² and the number of clusters (that of blocks
        of time times ranges of speed of all joints), not with the samples.
    coulomb
        friction F (n,) [N·m] that holds the joints at rest; None: none.
    of
        S (u, b); None: the parameters themselves.
    """
    labels = blocks_of_time(samples)
    ends = speed_ranges(blocks())
    cells: dict[tuple[int, int], list[FloatArray]] = {}
    held = np.zeros((len(ends), len(solution.chi)))
    for block in blocks():
        label = labels[block.observation][block.kept]
        factor = solution.row_factors(block)
        residual = block.tau - np.einsum('jbs,b->js', block.rows, solution.chi, optimize=True)
        weighted = np.concatenate([block.rows, residual[:, None]], axis=1) * factor[:, None]
        if block.resting is not None:
            held += (weighted[:, :-1] @ np.where(block.resting, factor, 0.0)[..., None])[..., 0]
        for j, rows in enumerate(weighted):
            speed = np.searchsorted(ends[j], block.dq[j])
            if block.resting is not None:
                speed = np.where(block.resting[j], SPEEDS, speed)
            cell = label * (SPEEDS + 1) + speed
            order = np.argsort(cell, kind='stable')
            for own in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
                key = int(label[own[0]]), j * (SPEEDS + 1) + int(speed[own[0]])
                parts = cells.setdefault(key, [])
                parts.append(rows[:, own].T)
                if sum(map(len, parts)) > 2 * weighted.shape[1]:
                    cells[key] = [_triangle(parts)]
    both = {key: _triangle(parts) for key, parts in cells.items()}
    time, speed_factors = (_merged(both, place) for place in (0, 1))
    inverse = solution.inverse
    target = inverse if of is None else inverse @ of.T
    independent = inverse if of is None else of @ target
    variance = _stretched(time, inverse, target, independent)
    beyond, stretch = _clustered(speed_factors, inverse, target, independent)
    cells_alone = _clustered(list(both.values()), inverse, target, independent, few=False)[0]
    variance += np.maximum(beyond - cells_alone, 0.0) * stretch**2
    at_rest = held @ target * (0.0 if coulomb is None else coulomb[:, None] / np.sqrt(3.0))
    return np.asarray(_with_correlations(variance, independent) + at_rest.T @ at_rest)


def speed_ranges(blocks: Iterable[Block]) -> list[FloatArray]:
    """Return the inner ends (`SPEEDS` − 1,) of each joint's ranges of speed: equally many of its rows in motion."""
    speeds: list[list[FloatArray]] = []
    for block in blocks:
        speeds = speeds or [[] for _ in block.dq]
        for j, values in enumerate(block.dq):
            speeds[j].append(values if block.resting is None else values[~block.resting[j]])
    shares = np.arange(1, SPEEDS) / SPEEDS
    moving = [np.concatenate(parts) for parts in speeds]
    return [np.quantile(values, shares) if len(values) else np.zeros(len(shares)) for values in moving]


def _merged(cells: dict[tuple[int, int], FloatArray], place: int) -> list[FloatArray]:
    """Return one triangle per cluster from those of its cells; place: of the cluster in a cell's key."""
    factors: dict[int, list[FloatArray]] = {}
    for key, factor in cells.items():
        factors.setdefault(key[place], []).append(factor)
    return [_triangle(factors[cluster]) for cluster in sorted(factors)]


def scatter(rows: FloatArray, residual: FloatArray, label: IntArray, inverse: FloatArray) -> FloatArray:
    """Return the covariance (b, b) of a solution from the scatter between blocks of its rows.

    Parameters
    ----------
    rows, residual
        A (N, b) and ρ (N,), as weighed in the solution.
    label
        (N,) the block of each row.
    inverse
        M (b, b); where more than the rows holds the parameters, with that.
    """
    weighted = np.column_stack([rows, residual])
    factors = [_triangle([weighted[label == block]]) for block in np.unique(label)]
    return _with_correlations(_stretched(factors, inverse, inverse, inverse), inverse)


def _stretched(
    factors: Sequence[FloatArray], inverse: FloatArray, target: FloatArray, independent: FloatArray
) -> FloatArray:
    variance, stretch = _clustered(factors, inverse, target, independent)
    return variance * stretch**2


def _with_correlations(variance: FloatArray, independent: FloatArray) -> FloatArray:
    """Return the covariance (u, u) of these variances (u,) with the correlations of S M Sᵀ."""
    own = np.diag(independent)
    positive = own > 0
    growth = np.sqrt(np.where(positive, variance / np.where(positive, own, 1.0), 1.0))
    covariance = independent * np.outer(growth, growth)
    return 0.5 * (covariance + covariance.T)


def _clustered(
    factors: Sequence[FloatArray], inverse: FloatArray, target: FloatArray, independent: FloatArray, few: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return the variances (u,), and what few clusters stretch each deviation by (1 unless `few`).

    inverse: M (b, b); target: M Sᵀ (b, u); independent: S M Sᵀ (u, u).
    """
    b, u = target.shape
    used = [factor for factor in factors if len(factor)]
    scores, own, shown = np.zeros((len(used), u)), np.zeros((len(used), u)), np.zeros(u)
    projected = np.zeros((len(used) if few else 0, b, u))
    for g, factor in enumerate(used):
        R, residual = factor[:b, :b], factor[:b, b]
        leverage, U = np.linalg.eigh(R @ inverse @ R.T)
        free = 1.0 - leverage
        B = (U * np.where(free > ALONE, 1.0 / np.sqrt(np.maximum(free, ALONE)), 0.0)) @ U.T
        weights = B @ R @ target
        scores[g], own[g], common = weights.T @ residual, (weights**2).sum(axis=0), R.T @ weights
        shown += own[g] - np.einsum('bu,bu->u', common, inverse @ common)
        if few:
            projected[g] = common
    variance, white = (scores**2).sum(axis=0), np.diag(independent)
    positive = white > 0
    share = np.where(positive, np.clip(shown / np.where(positive, white, 1.0), 0.0, 1.0), 1.0)
    seen = positive & (share > 0.5)
    typical = float(np.median((variance / np.where(positive, shown, 1.0))[seen])) if seen.any() else 1.0
    freedom = _freedom(own, projected, inverse) if few else np.full(u, np.inf)
    stretch = stdtrit(np.maximum(freedom, 1.0), LEVEL) / ndtri(LEVEL)
    # what no scatter shows has no degrees of freedom to be stretched by
    return variance + (1.0 - share) * white * typical / stretch**2, stretch


def _freedom(own: FloatArray, projected: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the degrees of freedom (u,) of each variance, under independent rows of deviation 1."""
    freedom = np.ones(own.shape[1])
    for c in range(len(freedom)):
        common = projected[:, :, c]
        quadratic = np.diag(own[:, c]) - common @ inverse @ common.T
        mean, square = float(np.trace(quadratic)), float((quadratic**2).sum())
        freedom[c] = mean**2 / square if square > 0 else 1.0
    return freedom


def _triangle(parts: Sequence[FloatArray]) -> FloatArray:
    """Return the triangle (≤ c, c) of rows (N, c) given in parts."""
    return np.asarray(np.linalg.qr(np.concatenate(parts), mode='r'))
