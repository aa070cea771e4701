r"""What the uncertainty of the choice of terms adds to the deviations of the parameters.

With another law of friction Coulomb and viscous friction are other numbers, and how far a law is held back depends on
the recording. With p_a the probability of other ridges (`ridges.Choice.alternatives`) and χ_a the estimate with them,
the mean square error of the estimate χ stated is C + Σ_a p_a (χ_a − χ)(χ_a − χ)ᵀ [Buckland, Burnham and Augustin
1997], each joint's ridge of each candidate being doubted by itself. The differences come from the rows that the choice
was made by, with their weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.selection.held_out import JITTER, Rows
from joint_dynamics.identification.selection.ridges import AlternativeChoice


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
        return np.asarray(covariance + (difference.T * self.probability) @ difference)


def choice_uncertainty(
    rows: Rows, ridges: Mapping[int, float], alternatives: Sequence[AlternativeChoice], names: Sequence[str]
) -> ChoiceUncertainty:
    """Return the uncertainty of a choice of candidate columns, `ridges` {column: ridge}.

    Parameters
    ----------
    alternatives
        the other ridges that the data may have led to, the rest as chosen.
    names
        of the base columns of `rows`, then of all candidates.
    """
    stacked = np.concatenate([rows.base, rows.candidates, rows.tau[:, None]], axis=1)
    gram = (stacked @ stacked.transpose(0, 2, 1)).sum(axis=0)
    base = rows.base.shape[1]

    def estimate(changed: Mapping[int, float | None]) -> FloatArray:
        shares = {column: ridge for column, ridge in {**ridges, **changed}.items() if ridge is not None}
        columns = np.array([*range(base), *(base + column for column in shares)])
        scale = np.sqrt(np.diag(gram)[columns])
        scale = np.where(scale > 0, scale, 1.0)
        normal = gram[np.ix_(columns, columns)] / np.outer(scale, scale)
        normal.flat[:: len(normal) + 1] += np.array([*np.zeros(base), *shares.values()]) ** 2 + JITTER
        found = np.zeros(len(gram) - 1)
        found[columns] = np.linalg.solve(normal, gram[columns, -1] / scale) / scale
        return found

    stated = estimate({})
    differences = [estimate(other.ridges) - stated for other in alternatives]
    return ChoiceUncertainty(
        tuple(names),
        np.array([other.probability for other in alternatives]),
        np.array(differences).reshape(len(alternatives), len(names)),
    )


@dataclass(frozen=True)
class SelectionOutcome:
    """Summary entries of a choice of terms, and its uncertainty, None where nothing was to be chosen."""

    extras: dict[str, Any] = field(default_factory=dict)
    uncertainty: ChoiceUncertainty | None = None

    def widened(self, covariance: FloatArray, names: Sequence[str]) -> FloatArray:
        """Return the covariance (b, b) of the parameters `names` (b,) with the uncertainty of the choice in it."""
        return covariance if self.uncertainty is None else self.uncertainty.widened(covariance, names)
