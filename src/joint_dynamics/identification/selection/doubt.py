r"""What the doubt about the choice of terms adds to the deviations of the parameters.

With another law of friction Coulomb and viscous friction are other numbers, and which law is chosen depends on the
recording. With p_a the probability of an alternative choice and χ_a its estimate, the mean square of the error about
the estimate χ stated is

    C + Σ_a p_a (χ_a − χ)(χ_a − χ)ᵀ

[Buckland, Burnham and Augustin 1997, with alternatives one group away from the choice]. The differences come from the
rows the choice was made by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from joint_dynamics.identification.selection.held_out import JITTER, Rows
from joint_dynamics.identification.selection.stepwise import Choice

LEAST = 1e-3
"""Probability below which an alternative is none."""


@dataclass(frozen=True)
class ChoiceDoubt:
    """Σ_a p_a Δ_a Δ_aᵀ (c, c) of the parameters `names`."""

    names: tuple[str, ...]
    spread: NDArray

    def of(self, names: Sequence[str]) -> NDArray:
        """Return it for the parameters `names` (b,), zero for those it does not know, (b, b)."""
        index = {name: k for k, name in enumerate(self.names)}
        rows = np.array([index.get(name, -1) for name in names])
        found = self.spread[np.ix_(rows, rows)]
        return np.where(np.outer(rows >= 0, rows >= 0), found, 0.0)


def choice_doubt(rows: Rows, choice: Choice, names: Sequence[str]) -> ChoiceDoubt:
    """Return the doubt of a choice; names: of the base columns of `rows`, then of all candidates."""
    stacked = [np.concatenate([rows.base[j], rows.candidates[j], rows.tau[j][None]]) for j in range(len(rows.tau))]
    gram = sum((part @ part.T for part in stacked), np.zeros((len(names) + 1,) * 2))
    base = rows.base.shape[1]
    stated = _estimate(gram, base, choice.ridges)
    spread = np.zeros((len(names), len(names)))
    for alternative in choice.alternatives:
        if alternative.probability > LEAST:
            difference = _estimate(gram, base, alternative.ridges) - stated
            spread += alternative.probability * np.outer(difference, difference)
    return ChoiceDoubt(tuple(names), spread)


def _estimate(gram: NDArray, base: int, ridges: Mapping[int, float]) -> NDArray:
    """Return the estimate (c,) with these candidate columns {column: ridge}, zero for the others."""
    columns = np.array([*range(base), *(base + column for column in sorted(ridges))])
    share = np.concatenate([np.zeros(base), [ridges[column] for column in sorted(ridges)]])
    scale = np.sqrt(np.maximum(np.diag(gram)[columns], 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    normal = gram[np.ix_(columns, columns)] / np.outer(scale, scale) + np.diag(share**2 + JITTER)
    found = np.zeros(len(gram) - 1)
    found[columns] = scipy.linalg.solve(normal, gram[columns, -1] / scale, assume_a='pos') / scale
    return found


@dataclass(frozen=True)
class Selected:
    """Summary entries of a choice of terms, and its doubt, None where nothing was to be chosen."""

    extras: dict[str, Any] = field(default_factory=dict)
    doubt: ChoiceDoubt | None = None

    def spread(self, names: Sequence[str]) -> NDArray:
        """Return what the doubt adds to the covariance of the parameters `names` (b,), (b, b)."""
        return np.zeros((len(names),) * 2) if self.doubt is None else self.doubt.of(names)
