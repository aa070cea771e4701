"""Whether all recordings of the loaded robot carry the same payload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.drive_gains.payload_runs import payload_problem, split
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.identification.reliability.differences import explains_most
from joint_dynamics.identification.reliability.evidence import NormalEquations, effective_samples, gain
from joint_dynamics.identification.reliability.filtered_samples import row_weights
from joint_dynamics.identification.reliability.thresholds import LOG_LIKELIHOOD_THRESHOLD, MIN_EFFECT
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import INERTIAL


def payload_changes(problem: Problem, fits: Sequence[Fit]) -> list[tuple[float, str, str]]:
    """Return what a payload at the last link leaves over of torques in motion, Σ (N·m)², with its code and text.

    In all recordings, then in each one alone where there are several. fits: of the problem's observations, without the
    payload.
    """
    system = payload_problem(problem, problem.observations)
    blocks = []
    for block, _, W_L in split(system):
        moving = np.ones_like(block.tau) if block.resting is None else np.where(block.resting, 0.0, 1.0)
        rest = fits[block.observation].residual[block.kept].T
        blocks.append((W_L, rest, moving, np.full(rest.shape[1], block.observation)))
    rows, rest, weight, index = (np.concatenate([entry[k] for entry in blocks], axis=-1) for k in range(4))
    whole = float(np.sum((rest * weight) ** 2))
    cases = [('the robot', np.ones(len(index), dtype=bool))]
    cases += [(f'the robot of {fit.name}', index == k) for k, fit in enumerate(fits) if len(fits) > 1]
    changes = []
    for who, where in cases:
        normal = NormalEquations(rows[:, :, where], weight[:, where])
        fitted = normal.fit(rest[:, where])
        before = float(np.sum((rest[:, where] * weight[:, where]) ** 2))
        left = whole - before + float(np.sum(normal.residuals(rest[:, where], fitted.chi) ** 2))
        text = f'{who} carries another payload than in training, mass {fitted.chi[9]:+.3g} kg'
        changes.append((left, 'payload_mixed', text))
    return changes


def _body(values: FloatArray) -> str:
    """Say mass and centre of mass of a payload's ten parameters; the mass alone where it is none."""
    moments, mass = values[6:9], float(values[9])
    if mass <= 0:
        return f'{mass:.3g} kg'
    return f'{mass:.3g} kg at ({", ".join(f"{round(value, 3) + 0.0:g}" for value in moments / mass)}) m'


def payload_differences(
    problem: Problem, chi: FloatArray, loaded: Sequence[Observation], joint: str | None = None
) -> list[Reason]:
    """Return a reason naming the recording whose payload differs most from that of the others, if any.

    problem, chi (b,): the robot; loaded: observations with torques in N·m; joint: of the payload's link. One payload
    for all recordings is compared with another one for one of them, by their likelihood (see `evidence`); it has to
    matter, too: make a twentieth of the torque.
    """
    if len(loaded) < 2:
        return []
    system = payload_problem(problem, loaded, joint=joint)
    blocks = [
        (block.observation, W_L, block.tau - np.einsum('jbs,b->js', W, chi, optimize=True), block.tau)
        for block, W, W_L in split(system)
    ]
    rows = np.concatenate([entry[1] for entry in blocks], axis=2)
    rest, tau = (np.concatenate([entry[k] for entry in blocks], axis=1) for k in (2, 3))
    index = np.concatenate([np.full(entry[1].shape[2], entry[0]) for entry in blocks])
    weight = np.concatenate([row_weights(system, k) for k in range(len(loaded))], axis=1)
    pooled = NormalEquations(rows, weight)
    given = pooled.fit(rest)
    size = ((tau * weight) ** 2).sum(axis=1)
    share = ((rest * weight) ** 2).sum(axis=1)
    candidates = []
    for k in range(1 if len(loaded) == 2 else 0, len(loaded)):
        normal = NormalEquations(np.concatenate([rows, rows * (index == k)], axis=1), weight)
        fitted = normal.fit(rest)
        value = gain(given, fitted, effective_samples(normal.residuals(rest, fitted.chi), weight, index))
        effect = float(np.sqrt(max(share @ (given.unexplained - fitted.unexplained) / size.sum(), 0.0)))
        candidates.append((value, effect, k, fitted.chi))
    value, effect, k, changed = max(candidates, key=lambda candidate: candidate[0])
    left = float(np.sqrt(share @ given.unexplained / size.sum()))
    if value < LOG_LIKELIHOOD_THRESHOLD or (effect < MIN_EFFECT and not explains_most(effect, left)):
        return []
    others, more = changed.reshape(2, len(INERTIAL))
    return [
        Reason(
            'payload_mixed',
            f'the loaded recordings carry different payloads, or one held two ways: {loaded[k].name} about '
            f'{_body(others + more)}, the others {_body(others)}, which makes '
            f'{100 * effect:.3g} % of the torque (log-likelihood +{value:.0f}); identify one payload at a time',
        )
    ]
