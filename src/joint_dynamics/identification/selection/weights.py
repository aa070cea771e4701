r"""How much of each further law of friction is taken, decided by held-out blocks of time.

All laws are solved for together, that of each joint contributing p_u to the held-out torque y' (`held_out`), and
weighed by what this is worth there [stacking: Breiman 1996; of coefficients: the nonnegative garrote, Breiman 1995],

    min_v Σ (y' − Σ_u v_u p_u)² + 2 Σ_u s_u v_u,   0 ≤ v ≤ 1,

with s_u the standard error of the slope Σ p_u (y' − Σ v p) over the blocks: what may as well harm is held back, a lasso
that has its size from the data. Friction being of one kind in an arm more often than not, a candidate stays where all
its joints together gain `MIN_ERRORS` standard errors (and `MIN_GAIN` of the loss); the least certain goes first, and
the others are weighed anew without it. Validation recordings are never looked at.

A weight is a ridge of the solution: r² of a column's square, added to the diagonal of the normal equations, holds it
back to v = (o + r_0²)/(o + r²) of what it was with the ridge r_0, o being the share of it that no other column has. So
r² = r_0² + (o + r_0²) (1/v − 1).

How sure a decision is: of a candidate z standard errors worth, where z_0 are asked, new data, which scatter by as much
again, decide otherwise with the probability p = Φ(−|z − z_0|/√2). What its joints, each for itself, would change by
going without it, or by having it, is as a mean square Σ p (χ_a − χ)(χ_a − χ)ᵀ part of the covariance [Buckland, Burnham
and Augustin 1997].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.selection.held_out import BLOCKS, JITTER, HeldOut

RIDGE = 0.05
"""Ridge r_0 that laws are solved for with."""
MIN_ERRORS = float(stdtrit(BLOCKS - 1, 0.995))
"""Standard errors that a candidate has to be worth: a 99 % interval's, from ten blocks."""
MIN_GAIN = 0.003
"""Share of the loss that a candidate has to be worth."""
HOPELESS = 0.5
"""Standard errors up to which a candidate goes without waiting for its turn."""
LEAST_WEIGHT = 0.02
"""Weight below which a joint goes without a law."""
SWEEPS, SETTLED = 200, 1e-4


@dataclass(frozen=True)
class Candidate:
    """A group of columns that stays or goes as one.

    Attributes
    ----------
    columns, joints
        indices among the candidate columns, and the joint of each; those of one joint share a weight.
    kind
        of one kind only one group is weighed, beside all that are of none: the first one that no other exceeds by
        `MIN_ERRORS` ('': any number).
    errors
        standard errors that it has to be worth.
    """

    name: str
    columns: tuple[int, ...]
    joints: tuple[int, ...]
    kind: str = ''
    errors: float = MIN_ERRORS

    @property
    def laws(self) -> dict[int, tuple[int, ...]]:
        """The columns of each joint."""
        return {
            j: tuple(c for c, joint in zip(self.columns, self.joints, strict=True) if joint == j)
            for j in dict.fromkeys(self.joints)
        }


@dataclass(frozen=True)
class Worth:
    """The gain of a candidate in addition to those with which it was last weighed.

    gains: how much of the held-out loss it takes away in each block (B,), as a share of the loss without any candidate;
    gain: the sum; errors: the same in standard errors; weights: {joint: 0 … 1}.
    """

    candidate: Candidate
    gains: FloatArray
    gain: float
    errors: float
    weights: dict[int, float]

    @property
    def laws(self) -> dict[int, tuple[int, ...]]:
        """The columns of the joints that have a weight."""
        return {j: law for j, law in self.candidate.laws.items() if self.weights[j] >= LEAST_WEIGHT}

    @property
    def doubt(self) -> float:
        """The probability that new data decide otherwise."""
        return float(ndtr(-abs(self.errors - self.candidate.errors) / np.sqrt(2.0)))


@dataclass(frozen=True)
class Choice:
    """What was chosen and left out, those worth most first; ridges: of the chosen columns, {column: ridge}.

    loss_before, loss_after: held-out loss per row without any candidate and with the chosen ones. doubt
    (b + c, b + c): mean square of what other decisions would change of all parameters.
    """

    chosen: list[Worth]
    left_out: list[Worth]
    ridges: dict[int, float]
    loss_before: float
    loss_after: float
    doubt: FloatArray


def weigh(held_out: HeldOut, candidates: Sequence[Candidate]) -> Choice:
    """Weigh all candidates."""
    staying = [candidate for candidate in candidates if not candidate.kind]
    beside = [candidate for candidate in staying if len(candidate.laws) > 1]
    for kind in dict.fromkeys(candidate.kind for candidate in candidates if candidate.kind):
        alike = [candidate for candidate in candidates if candidate.kind == kind]
        worths = [_weighed(held_out, [candidate, *beside])[0][0] for candidate in alike]
        best = max(worths, key=lambda worth: worth.gain)
        staying.append(
            next(w.candidate for w in worths if best.gain - w.gain <= MIN_ERRORS * _error(best.gains - w.gains))
        )
    left: list[Worth] = []
    while True:
        worths, before, after = _weighed(held_out, staying)
        certainty = [worth.errors / worth.candidate.errors for worth in worths]
        if min(certainty, default=1.0) >= 1.0:
            break
        going = [k for k, worth in enumerate(worths) if certainty[k] == min(certainty) or worth.errors <= HOPELESS]
        left += [worths[k] for k in going]
        staying = [candidate for k, candidate in enumerate(staying) if k not in going]
    ridges = _ridges(held_out, worths)
    worths.sort(key=lambda worth: -worth.gain)
    left.sort(key=lambda worth: -worth.gain)
    return Choice(worths, left, ridges, before, after, _doubt(held_out, ridges, worths, left))


def _weighed(held_out: HeldOut, candidates: Sequence[Candidate]) -> tuple[list[Worth], float, float]:
    """Weigh these candidates beside each other; return their worths and the loss per row without and with them."""
    laws = [law for candidate in candidates for law in candidate.laws.values()]
    owner = np.array([k for k, candidate in enumerate(candidates) for _ in candidate.laws], dtype=int)
    products = held_out.products(laws, RIDGE)
    gram, right = products.gram.sum(axis=0), products.right.sum(axis=0)
    weights = _bounded(gram, right, np.zeros(len(laws)))
    for _ in range(2):
        slopes = products.right - products.gram @ weights
        weights = _bounded(gram, right - _error(slopes), weights)
    gains, loss = products.gains(weights), float(products.torque.sum())
    worths = []
    for k, candidate in enumerate(candidates):
        gain = gains - products.gains(np.where(owner == k, 0.0, weights))
        total, error = float(gain.sum()), float(_error(gain))
        sure = error > 0 and total > MIN_GAIN * (loss - float(gains.sum()))
        own = dict(zip(candidate.laws, map(float, weights[owner == k]), strict=True))
        share = gain / loss if loss > 0 else np.zeros(len(gain))
        worths.append(Worth(candidate, share, float(share.sum()), total / error if sure else 0.0, own))
    return worths, loss / held_out.rows, (loss - float(gains.sum())) / held_out.rows


def _error(blocks: FloatArray) -> FloatArray:
    """Return the standard error of the sum of values (blocks, …) over the blocks."""
    return np.asarray(np.sqrt(len(blocks)) * blocks.std(axis=0, ddof=1))


def _bounded(gram: FloatArray, right: FloatArray, start: FloatArray) -> FloatArray:
    """Return the v in 0 … 1 of the least vᵀ G v − 2 rᵀ v, coordinate by coordinate."""
    weights, slope = start.copy(), right - gram @ start
    own = np.diag(gram)
    for _ in range(SWEEPS):
        largest = 0.0
        for k in np.flatnonzero(own > 0):
            value = min(1.0, max(0.0, weights[k] + slope[k] / own[k]))
            change = value - weights[k]
            if change:
                slope -= change * gram[k]
                weights[k] = value
                largest = max(largest, abs(change))
        if largest < SETTLED:
            break
    return weights


def _ridges(held_out: HeldOut, chosen: Sequence[Worth]) -> dict[int, float]:
    """Return the ridge of each chosen column that holds it back to its weight."""
    weights = {c: worth.weights[j] for worth in chosen for j, law in worth.laws.items() for c in law}
    _, normal, _ = _normal_equations(held_out, dict.fromkeys(weights, RIDGE))
    own = 1.0 / np.diag(np.linalg.inv(normal))[held_out.base :]
    return {
        c: float(np.sqrt(RIDGE**2 + share * (1.0 / weight - 1.0)))
        for (c, weight), share in zip(weights.items(), own, strict=True)
    }


def _doubt(
    held_out: HeldOut, ridges: Mapping[int, float], chosen: Sequence[Worth], left: Sequence[Worth]
) -> FloatArray:
    """Return Σ p (χ_a − χ)(χ_a − χ)ᵀ over the joints of all candidates, of all parameters (b + c, b + c)."""

    def estimate(held_back: Mapping[int, float]) -> FloatArray:
        columns, normal, scaled = _normal_equations(held_out, held_back)
        chi = np.zeros(len(held_out.total) - 1)
        chi[columns] = np.linalg.solve(normal, scaled[0]) / scaled[1]
        return chi

    stated = estimate(ridges)
    doubt = np.zeros((len(stated), len(stated)))
    for worth in (*chosen, *left):
        for law in worth.laws.values():
            without = {column: ridge for column, ridge in ridges.items() if column not in law}
            other = without if len(without) < len(ridges) else {**ridges, **dict.fromkeys(law, RIDGE)}
            change = estimate(other) - stated
            doubt += worth.doubt * np.outer(change, change)
    return doubt


def _normal_equations(held_out: HeldOut, ridges: Mapping[int, float]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return base and candidate columns, their normal equations scaled to a unit diagonal, (right side, norms)."""
    b, total = held_out.base, held_out.total
    columns = np.array([*range(b), *(b + column for column in ridges)])
    norms = np.sqrt(np.diag(total)[columns])
    norms = np.where(norms > 0, norms, 1.0)
    normal = total[np.ix_(columns, columns)] / np.outer(norms, norms)
    normal.flat[:: len(normal) + 1] += np.array([*np.zeros(b), *ridges.values()]) ** 2 + JITTER
    return columns, normal, np.array([total[columns, -1] / norms, norms])
