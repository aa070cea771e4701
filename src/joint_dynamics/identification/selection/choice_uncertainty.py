r"""What the uncertainty of the choice of terms adds to the deviations of the parameters.

With another law of friction Coulomb and viscous friction are other numbers, and which law is chosen depends on the
recording. With p_a the probability of an alternative choice (`resampling`) and χ_a its estimate, the error of the
estimate χ stated is a mixture [Buckland, Burnham and Augustin 1997],

    Σ_a p_a N(χ_a − χ, C) + (1 − Σ_a p_a) N(0, C),

of mean square C + Σ_a p_a (χ_a − χ)(χ_a − χ)ᵀ. Its tails are not those of a normal law: an alternative far away that is
chosen once in fifty doubles that mean square and hardly moves the ends of a 95 % interval. So each deviation is stated
as the half width of that interval over 1.96, as in `regression.covariance`; correlations are those of the mean square.
The differences come from the rows the choice was made by, each choice with the weights that it would be stated with:
the rows of a joint whose law is left out have a larger σ̂_j, and tell the parameters they share with other joints less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import ndtr, ndtri

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.covariance import LEVEL
from joint_dynamics.identification.selection.held_out import JITTER, Rows
from joint_dynamics.identification.selection.resampling import AlternativeChoice

MIN_PROBABILITY = 1e-3
"""Probability below which an alternative is none."""
LEAST = 1e-12
"""Share of the torque's mean square below which what a joint's rows leave over is rounding of the products."""
STEPS = 40
"""Halvings of the bracket of an interval's end: to 1e-12 of the largest difference."""


@dataclass(frozen=True)
class ChoiceUncertainty:
    """probability (a,) of each alternative; difference (a, c) of its parameters `names` from those stated."""

    names: tuple[str, ...]
    probability: FloatArray
    difference: FloatArray

    def widened(self, covariance: FloatArray, names: Sequence[str]) -> FloatArray:
        """Return the covariance (b, b) of the parameters `names` (b,) with that uncertainty in it."""
        index = {name: k for k, name in enumerate(self.names)}
        rows = np.array([index.get(name, -1) for name in names])
        difference = np.where(rows >= 0, self.difference[:, rows], 0.0)
        whole = covariance + (difference.T * self.probability) @ difference
        before = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        power = np.sqrt(np.maximum(np.diag(whole), 0.0))
        share = np.where(
            power > 0, _deviation(before, difference, self.probability) / np.where(power > 0, power, 1), 0.0
        )
        return np.asarray(whole * np.outer(share, share))


def _deviation(deviation: FloatArray, difference: FloatArray, probability: FloatArray) -> FloatArray:
    """Return the half width (b,) of each mixture's 95 % interval, over that of a normal law of deviation 1."""
    p = probability / max(1.0, float(probability.sum()))
    scale = np.where(deviation > 0, deviation, np.finfo(float).tiny)

    def outside(half: FloatArray) -> FloatArray:
        centres = np.concatenate([np.zeros((1, len(half))), difference])
        tails = ndtr((centres - half) / scale) + ndtr((-half - centres) / scale)
        return np.asarray(np.append(1.0 - p.sum(), p) @ tails)

    width = ndtri(LEVEL)
    low = width * deviation
    high = low + np.abs(difference).max(axis=0, initial=0.0)
    for _ in range(STEPS):
        half = 0.5 * (low + high)
        wide = outside(half) < 2 * (1 - LEVEL)
        low, high = np.where(wide, low, half), np.where(wide, half, high)
    return np.asarray(high / width)


def choice_uncertainty(
    rows: Rows, ridges: Mapping[int, float], alternatives: Sequence[AlternativeChoice], names: Sequence[str]
) -> ChoiceUncertainty:
    """Return the uncertainty of a choice of candidate columns, `ridges` {column: ridge}.

    Parameters
    ----------
    alternatives
        the other choices that the data may have led to.
    names
        of the base columns of `rows`, then of all candidates.
    """
    products = _Products.of(rows)
    stated = products.estimate(ridges)
    others = [other for other in alternatives if other.probability > MIN_PROBABILITY]
    differences = [products.estimate(other.ridges) - stated for other in others]
    return ChoiceUncertainty(
        tuple(names),
        np.array([other.probability for other in others]),
        np.array(differences).reshape(len(others), len(names)),
    )


@dataclass(frozen=True)
class _Products:
    """Products of all columns and the torque, of each joint's rows in motion (n, c + 1, c + 1) and of all at rest.

    together (c + 1, c + 1): of all rows; counts (n,): rows in motion; base: columns that are no candidates.
    """

    moving: FloatArray
    resting: FloatArray
    together: FloatArray
    counts: FloatArray
    base: int

    @classmethod
    def of(cls, rows: Rows) -> _Products:
        moving, counts = [], []
        resting = np.zeros((rows.base.shape[1] + rows.candidates.shape[1] + 1,) * 2)
        for j, tau in enumerate(rows.tau):
            part = np.concatenate([rows.base[j], rows.candidates[j], tau[None]])
            still = np.zeros(len(tau), dtype=bool) if rows.speeds is None else rows.speeds[j] == 0
            moving.append(part[:, ~still] @ part[:, ~still].T)
            resting += part[:, still] @ part[:, still].T
            counts.append(max(int((~still).sum()), 1))
        each = np.array(moving)
        return cls(each, resting, each.sum(axis=0) + resting, np.array(counts, dtype=float), rows.base.shape[1])

    def estimate(self, ridges: Mapping[int, float]) -> FloatArray:
        """Return the estimate (c,) with these candidate columns {column: ridge}, zero for the others.

        As `least_squares.wls`: rows of joint j divided by the deviation that a first solution leaves them with.
        """
        columns = np.array([*range(self.base), *(self.base + column for column in sorted(ridges))])
        share = np.concatenate([np.zeros(self.base), [ridges[column] for column in sorted(ridges)]])
        use = np.append(columns, len(self.resting) - 1)
        chosen = use[:, None], use
        left = np.zeros(len(self.resting))
        left[use] = np.append(_solved(self.together[chosen], share), -1.0)
        square = (self.moving @ left @ left) / self.counts
        # what the difference of large numbers cannot show is no reason for an infinite weight
        floor = LEAST * max(float((self.moving[:, -1, -1] / self.counts).max()), np.finfo(float).tiny)
        weighted = (1.0 / np.maximum(square, floor)) @ self.moving.reshape(len(self.moving), -1)
        found = np.zeros(len(self.resting) - 1)
        found[columns] = _solved((weighted.reshape(self.resting.shape) + self.resting)[chosen], share)
        return found


def _solved(gram: FloatArray, share: FloatArray) -> FloatArray:
    """Return the solution (u,) of the products (u + 1, u + 1) of columns and torque; share (u,): their ridges."""
    scale = np.sqrt(np.maximum(np.diag(gram)[:-1], 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    normal = gram[:-1, :-1] / (scale[:, None] * scale)
    normal.flat[:: len(normal) + 1] += share**2 + JITTER
    # hundreds of small ones: `scipy.linalg.solve` takes twice as long to look at each as to solve it
    _, found, info = scipy.linalg.lapack.dposv(normal, gram[:-1, -1] / scale)
    if info != 0:
        raise np.linalg.LinAlgError(f'the products of the columns are not positive definite: LAPACK info {info}')
    return np.asarray(found / scale)


@dataclass(frozen=True)
class SelectionOutcome:
    """Summary entries of a choice of terms, and its uncertainty, None where nothing was to be chosen."""

    extras: dict[str, Any] = field(default_factory=dict)
    uncertainty: ChoiceUncertainty | None = None

    def widened(self, covariance: FloatArray, names: Sequence[str]) -> FloatArray:
        """Return the covariance (b, b) of the parameters `names` (b,) with the uncertainty of the choice in it."""
        return covariance if self.uncertainty is None else self.uncertainty.widened(covariance, names)
