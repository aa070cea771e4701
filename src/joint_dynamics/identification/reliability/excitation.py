"""Whether a recording excites the robot enough for its parameters to be reliable.

The condition number of the regressor with columns scaled to norm 1 says how much noise grows at worst; the variance
inflation of a column says which parameters it grows for: √VIF_k = ‖w_k‖ √((WᵀW)⁻¹_kk) is 1 for a column orthogonal to
the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.reliability.thresholds import INFLATION_LIMIT
from joint_dynamics.identification.reliability.verdict import Reason


def poorly_determined_parameters(names: list[str], solution: Solution, limit: float = INFLATION_LIMIT) -> list[str]:
    """Return the names of the parameters that the motion does not separate from others, worst first."""
    order = np.argsort(-solution.inflation, kind='stable')
    return [names[k] for k in order if solution.inflation[k] > limit]


def excitation_reasons(
    names: list[str], solution: Solution, condition_limit: float, still: Sequence[str] = ()
) -> list[Reason]:
    """Return why the result is not reliable, one Reason each; none where it is. still: joints that never move."""
    reasons = []
    if not solution.condition_number <= condition_limit:
        poorly_determined = poorly_determined_parameters(names, solution)
        number = f'{solution.condition_number:.3g}' if np.isfinite(solution.condition_number) else 'infinite'
        listed = f'; not well determined: {", ".join(poorly_determined)}' if poorly_determined else ''
        unmoved = '' if not still else f'; {", ".join(still)} never move{"s" if len(still) == 1 else ""}'
        reasons.append(
            Reason(
                'excitation',
                f'the recordings do not excite the robot enough: condition number {number}, expected at most '
                f'{condition_limit:g}{unmoved}{listed}; record a motion planned with `joint-dynamics excite`',
            )
        )
    return reasons


def relative_deviation_percent(chi: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return 100 σ/|χ| (b,), infinite for a parameter estimated as zero [G eq 11]."""
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.where(chi != 0, 100 * deviation / np.abs(chi), np.inf)
