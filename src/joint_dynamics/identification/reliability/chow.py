r"""Whether a part of the recordings has parameters of its own: Chow's test, with the scatter between blocks of time.

The rows A of all parts have common parameters χ; those Z of one part (its own rows, or some columns of them, zero
elsewhere) may have others besides, γ. What the residual falls by,

    X² = ‖ρ_A‖² − ‖ρ_{A,Z}‖²,    rows divided by the deviation of their joint,

is χ²_q of q = rank[A Z] − rank A directions where rows are independent [Chow 1960]. Residuals of a model are not: X² is
then Σ λ_k χ²_1 [Rao and Scott 1984]. With Z⊥ what A leaves of Z, M = (Z⊥ᵀZ⊥)⁻¹, blocks of time g, and the scores

    t_g = Z⊥_gᵀ B_g ρ_g,    B_g = (I − H_gg)^{-1/2}    (CR2, see `regression.covariance`),

Σ λ_k = Σ_g t_gᵀ M t_g, and Σ λ_k² = Σ_{g≠h} (t_gᵀ M t_h)² G/(G − 1), which noise within one block does not bias. So

    F = X²/Σ λ_k    with    (Σ λ_k)²/Σ λ_k²    and    2 (Σ λ_k)²/(G s²)

degrees of freedom [Satterthwaite; Thomas and Rao 1987], s² the variance of t_gᵀ M t_g over the G blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import fdtrc

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.covariance import ALONE
from joint_dynamics.identification.reliability.alternatives import Alternatives

RANK = 1e-8
"""Share of its norm that the others have to leave of a column before it is a direction of its own."""


NONE = (0.0, 0.0)


@dataclass(frozen=True)
class ChowTest:
    """F with its degrees of freedom; probability of at least as much by chance; effect: share of the torque (rms).

    effect: of what the part's own parameters explain, beyond what they would by chance.
    """

    statistic: float
    freedom: tuple[float, float]
    probability: float
    effect: float

    def summary(self) -> dict[str, Any]:
        """Return {statistic, freedom, probability, effect_percent}, numbers that do not exist None."""
        return {
            'statistic': self.statistic,
            'freedom': [float(value) if np.isfinite(value) else None for value in self.freedom],
            'probability': self.probability,
            'effect_percent': 100 * self.effect,
        }

    def __str__(self) -> str:
        first, second = self.freedom
        return f'F = {self.statistic:.3g} with {first:.2g} and {second:.2g} degrees of freedom'


def chow(alternatives: Alternatives, added: FloatArray) -> ChowTest:
    """Return the test of whether the torque needs `added`, columns (joints, q, samples) of one part."""
    samples, given = alternatives.samples, alternatives.given
    b = alternatives.rows.shape[1]
    size = ((samples.tau * samples.weight) ** 2).sum(axis=1)
    left = given.unexplained * size / np.maximum((samples.weight**2).sum(axis=1), 1.0)
    factor = samples.weight / np.sqrt(np.maximum(left, np.finfo(float).tiny))[:, None]
    whole = np.concatenate([alternatives.rows, added, samples.tau[:, None]], axis=1) * factor[:, None]
    labels = alternatives.blocks
    rows = [whole[:, :, labels == g].transpose(0, 2, 1).reshape(-1, whole.shape[1]) for g in np.unique(labels)]
    matrix = np.concatenate(rows)
    common, own = _split(matrix, b)
    y = matrix[:, -1]
    fitted = common @ (common.T @ y)
    gained = own.T @ y
    residual = y - fitted - own @ gained
    q = own.shape[1]
    if q == 0:
        return ChowTest(0.0, NONE, 1.0, 0.0)
    basis = np.concatenate([common, own], axis=1)
    scores, seen, first = [], 0.0, 0
    for part in rows:
        here = slice(first, first + len(part))
        first += len(part)
        # the block's rows turned so that all but the first few are zero
        turned, triangle = scipy.linalg.qr(basis[here], mode='economic')
        leverage, vectors = np.linalg.eigh(triangle @ triangle.T)
        free = 1.0 - leverage
        within = turned @ vectors
        mine = within.T @ residual[here]
        sharpened = np.where(free > ALONE, mine / np.sqrt(np.maximum(free, ALONE)), 0.0)
        # rows outside the span of the basis are residual already, and orthogonal to Z⊥
        towards = own[here].T @ within
        scores.append(towards @ sharpened)
        seen += float((towards**2 @ (free > ALONE)).sum())
    t = np.array(scores)
    products = t @ t.T
    each = np.diag(products)
    groups = len(t)
    total = float(each.sum())
    if groups < 3 or total <= 0 or seen < 0.5 * q:
        return ChowTest(0.0, NONE, 1.0, 0.0)
    apart = float((products**2).sum() - (each**2).sum()) * groups / (groups - 1)
    upper = float(np.clip(total**2 / apart, 1.0, q)) if apart > 0 else float(q)
    lower = 2 * total**2 / (groups * float(each.var(ddof=1))) if each.var() > 0 else np.inf
    total *= q / seen
    statistic = float(gained @ gained) / total
    beyond = max(float(gained @ gained) - total, 0.0) / float(y @ y)
    return ChowTest(statistic, (upper, lower), float(fdtrc(upper, lower, statistic)), float(np.sqrt(beyond)))


def _split(matrix: FloatArray, b: int) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal bases of the first b columns, and of what they leave of those up to the last."""
    norms = np.linalg.norm(matrix[:, :-1], axis=0)
    scaled = matrix[:, :-1] / np.where(norms > 0, norms, 1.0)
    common = _basis(scaled[:, :b])
    rest = scaled[:, b:]
    rest = rest - common @ (common.T @ rest)
    rest = rest - common @ (common.T @ rest)
    return common, _basis(rest)


def _basis(columns: FloatArray) -> FloatArray:
    vectors, values, _ = scipy.linalg.svd(columns, full_matrices=False)
    return np.asarray(vectors[:, values > RANK * max(1.0, values.max(initial=0.0))])
