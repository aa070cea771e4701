"""Which of several better explanations are named: the best, and those that do about as well.

What an explanation gains depends on how many independent samples those of a recording are worth, which is more the less
signal it leaves over. So each is found clear by its own count, but compared with others by one count for all, the most
that the samples of a joint are worth under any of them: else of two mirror images that leave the same over the one
whose residuals look whiter would stand alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain
from joint_dynamics.identification.reliability.tried import FREE_SCALE_THRESHOLD
from joint_dynamics.identification.reliability.verdict import Reason

MAX_NAMED = 3
"""So many alternatives are named at most."""
TIE_SHARE = 0.2
"""Alternatives whose log-likelihood is within this share of the best one's are named beside it: mirror images of one
another often are."""


class Candidate(NamedTuple):
    """An explanation that is clearly better: given, the fit it is better than; its own fit; what it says."""

    given: ExplanationFit
    fitted: ExplanationFit
    reason: Reason

    def gain(self, count: FloatArray) -> float:
        """Return ΔL over the given fit [nats]; count (n,): independent samples, the same for all that are compared."""
        return gain(self.given, self.fitted, count)


def named(candidates: Sequence[Candidate], others: Sequence[Candidate] = ()) -> list[Candidate]:
    """Return the best candidate, and those that gain nearly as much, the best first.

    others: explanations that are not clearly better by themselves, and are named only beside one that is.
    """
    if not candidates:
        return []
    fits = [fit for candidate in candidates for fit in (candidate.given, candidate.fitted)]
    count = np.max([fit.count for fit in fits if fit.count is not None], axis=0)
    best = max(candidate.gain(count) for candidate in candidates)
    least = (1 - TIE_SHARE) * best - FREE_SCALE_THRESHOLD
    tied = [candidate for candidate in (*candidates, *others) if candidate.gain(count) > least]
    return sorted(tied, key=lambda candidate: -candidate.gain(count))[:MAX_NAMED]
