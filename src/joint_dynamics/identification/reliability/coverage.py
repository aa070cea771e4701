r"""Whether the training covers another motion: how well the parameters are known in the directions that motion asks for.

With covariance C of the parameters, the torque predicted for a row w has the deviation √(w C wᵀ); its mean square over
the samples in motion, as a share of the torque, is what the prediction may be off by although every recording is
sound. Where the motion leaves the speeds, accelerations and positions of the training is said beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.delay import MATTERS
from joint_dynamics.identification.reliability.prediction import AS_GOOD, POOR, WORSE
from joint_dynamics.identification.reliability.verdict import Reason

DOUBTFUL = 2.0
"""So many times the training's own predicted deviation another motion's has to be: else the training is no poorer for
that motion than for itself, and the deviations say what there is to say."""
EXPLAINS = 0.5
"""Share of what is left over that the deviations have to make before they are its cause: half of it in rms, a quarter in power."""
BEYOND = 1.2
"""Share of the largest training value from which a motion has left it: filters move extremes by some percent."""
_QUANTITIES = {'speed': ('dtheta', 'rad/s'), 'acceleration': ('ddtheta', 'rad/s²')}


@dataclass(frozen=True)
class Coverage:
    """reasons, notes; summary: `coverage` of summary.json."""

    reasons: Sequence[Reason] = ()
    notes: Sequence[str] = ()
    summary: dict[str, Any] = field(default_factory=dict)


def judge_coverage(
    training: Problem, unseen: Problem, covariance: NDArray, training_percent: float, percent: float
) -> Coverage:
    """Judge the motion of `unseen` against that of `training`.

    covariance (b, b): of the parameters; training_percent, percent: left over of the torque in motion [%].
    """
    own, other = (predicted_deviation(problem, covariance) for problem in (training, unseen))
    left = leaves(training, unseen)
    summary = {
        'coverage': {'training_deviation_percent': own, 'validation_deviation_percent': other, 'beyond_training': left}
    }
    where = f' ({"; ".join(left)})' if left else ''
    failed = percent > max(POOR, WORSE * training_percent)
    if failed and other > max(DOUBTFUL * own, EXPLAINS * percent):
        text = (
            f'the training motion is too poor for the validation motion{where}: the deviations of the parameters alone make '
            f'{other:.3g} % of its torque (training: {own:.3g} %), left over are {percent:.3g} %; train on motions more like it'
        )
        return Coverage([Reason('coverage', text)], (), summary)
    # a prediction that came out well enough is not refused because it might not have
    if percent > max(AS_GOOD * training_percent, 100 * MATTERS):
        return Coverage(
            (),
            [
                f'the validation motion is predicted worse than the training motion ({percent:.3g} against '
                f'{training_percent:.3g} % of the torque); deviations of the parameters make {other:.2g} % of it (training: '
                f'{own:.2g} %), {"and it leaves the training" + where if left else "and it lies within the training"}: '
                'the smaller figure does not hold for motions like this one'
            ],
            summary,
        )
    return Coverage((), (), summary)


def predicted_deviation(problem: Problem, covariance: NDArray) -> float:
    """Return 100 √(Σ w C wᵀ / Σ τ²) over the samples in motion, NaN where there are none."""
    spread = size = 0.0
    for block in problem.blocks():
        moving = np.ones_like(block.tau) if block.resting is None else np.where(block.resting, 0.0, 1.0)
        for rows, weight, tau in zip(block.rows, moving, block.tau, strict=True):
            moved = rows * weight
            spread += float(np.sum(moved * (covariance @ moved)))
            size += float(np.sum((tau * weight) ** 2))
    return 100 * float(np.sqrt(max(spread, 0.0) / size)) if size > 0 else float('nan')


def leaves(training: Problem, unseen: Problem) -> list[str]:
    """Return what of the motion of `unseen` lies outside that of `training`, in words, joint by joint."""
    found = []
    for j, name in enumerate(training.model.joint_names):
        for what, (key, unit) in _QUANTITIES.items():
            known, new = (
                max(float(np.abs(getattr(part, key)[part.kept][:, j]).max()) for part in problem.observations)
                for problem in (training, unseen)
            )
            if new > BEYOND * known:
                found.append(f'{what} of {name} {new:.3g} {unit}, in training {known:.3g}')
        (low, high), (least, most) = (
            (
                min(float(part.q[part.kept][:, j].min()) for part in problem.observations),
                max(float(part.q[part.kept][:, j].max()) for part in problem.observations),
            )
            for problem in (training, unseen)
        )
        if min(least - low, high - most) < -(BEYOND - 1) * (high - low):
            found.append(f'position of {name} {least:.3g} to {most:.3g}, in training {low:.3g} to {high:.3g}')
    return found
