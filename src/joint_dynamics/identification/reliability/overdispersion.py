r"""How much worse a model fits than its noise lets expect, and what a gain of likelihood is worth then.

The joints share parameters. With a set of its own for every joint the likelihood rises by ΔL_own; where the model is
right that is chance, half a nat for each of the k further parameters. A model that is somewhat wrong rises by more, and
so it does by any freedom it is given, a wrong explanation among them. The variance factor of the
quasi-likelihood

    ĉ = 2 ΔL_own / k

says by how much [McCullagh and Nelder 1989, ch. 9; Burnham and Anderson 2002, sect. 2.5]: a log-likelihood gained is
divided by it, where it is above one, before it is compared with a threshold. It is taken under the other explanation,
so that a recording that is corrupted, and thereby far from the given one, does not count against its correction.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.reliability.evidence import RESOLVED, ExplanationFit, NormalEquations


def overdispersion(normal: NormalEquations, target: FloatArray, found: ExplanationFit, count: FloatArray) -> float:
    """Return ĉ of an explanation, at least one.

    normal, target: its normal equations, and the torque (joints, samples) that they are to explain; found: its fit;
    count (joints,): the independent samples those of each joint are worth.
    """
    alone = [normal.of_joint(j).fit(target[[j]]) for j in range(len(target))]
    own = np.array([fitted.unexplained[0] for fitted in alone])
    further = sum(fitted.rank for fitted in alone) - found.rank
    rise = float(count @ np.log((found.unexplained + RESOLVED**2) / (own + RESOLVED**2)))
    return max(1.0, rise / further) if further > 0 else 1.0
