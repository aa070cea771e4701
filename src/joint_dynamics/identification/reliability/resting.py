r"""Joints that read at rest although they move: their torque swings by more than friction can hold there.

A joint at rest holds any torque within its static friction F. What the model without friction leaves over of a stay,
r = τ − W χ, is then friction, an offset c and noise of deviation s alone, and no row of it is likelier than one at the
bound. An encoder that stays at a reading, without a jump where the motion reverses, leaves the dynamics of a whole
motion in r, which a joint that may hold anything explains better by at least

    ΔL = N/(2M) min_c Σ max(|r_i − c| − F, 0)²/s_i²    over the M rows of the stay, worth N independent ones,

the log-likelihood ratio of the two. s_i² is that of the residual of moving rows and of the prediction's difference from
the stay's mean. F is `BREAKAWAY` times the Coulomb level with its deviation. Named is what makes ΔL clear
(`LOG_LIKELIHOOD_THRESHOLD`) and `MIN_UNEXPLAINED_SHARE` of the joint's variation; less is a matter of the model's
details. Stays before a joint has slipped at all are not looked at: what brakes and drives hold there has no bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.observations import not_slipped, rest_intervals
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import highest
from joint_dynamics.identification.reliability.residual_reasons import covariance_of
from joint_dynamics.identification.reliability.verdict import Reason


def resting_reasons(problem: Problem, alternatives: Alternatives) -> list[Reason]:
    """Return a reason for each joint that reads at rest while its torque is that of a motion.

    Parameters
    ----------
    problem
        the one that `alternatives` were formed from, with a `rest_speed`; without one nothing is looked at.
    """
    if problem.rest_speed <= 0:
        return []
    by_joint = [list(_stays(problem, j)) for j in range(problem.model.n)]
    if not any(by_joint):
        return []
    spread = covariance_of(alternatives)
    reasons = (_stuck(problem, alternatives, j, stays, spread) for j, stays in enumerate(by_joint))
    return [reason for reason in reasons if reason is not None]


def _stuck(
    problem: Problem, alternatives: Alternatives, joint: int, stays: list[tuple[int, slice, slice]], spread: FloatArray
) -> Reason | None:
    """Return a reason where one of a joint's stays is none."""
    samples, chi = alternatives.samples, alternatives.given.chi
    rows, weight, columns = alternatives.rows[joint], samples.weight[joint], alternatives.normal.friction[joint]
    moving = weight == 1.0
    level = _level(alternatives, joint, spread)
    if not stays or not moving.any() or level is None:
        return None
    motion = rows.copy()
    motion[columns] = 0.0
    left = samples.tau[joint] - chi @ motion
    noise = float(np.mean((samples.tau[joint] - chi @ rows)[moving] ** 2))
    worth = min(1.0, float(alternatives.count[joint] / (weight**2).sum()))
    for index, kept, stay in stays:
        apart = motion[:, stay] - motion[:, stay].mean(axis=1)[:, None]
        variance = noise + np.einsum('cs,cd,ds->s', apart, spread, apart)
        beyond = 0.5 * worth * _beyond(left[stay], thresholds.BREAKAWAY * level, variance)
        if (
            beyond > thresholds.LOG_LIKELIHOOD_THRESHOLD
            and left[stay].std() > thresholds.MIN_UNEXPLAINED_SHARE * samples.tau[joint].std()
        ):
            observation = problem.observations[index]
            time = observation.time[observation.kept[kept]]
            return Reason(
                'stuck',
                f'{observation.name}: {alternatives.names[joint]} reads at rest from {time[0]:.3g} to {time[-1]:.3g} s,'
                f' but its torque swings by ±{0.5 * np.ptp(left[stay]):.3g} there beside what the motion of the others'
                f' asks of it, and its friction is {level:.3g} (log-likelihood +{beyond:.0f}): check its encoder, and'
                ' whether its brake was on; leave that stretch out',
            )
    return None


def _stays(problem: Problem, joint: int) -> Iterator[tuple[int, slice, slice]]:
    """Yield (recording, places among its kept samples, among those of all recordings) of each stay after a slip."""
    first = 0
    for index, observation in enumerate(problem.observations):
        resting = problem.rest(index).resting[joint]
        if resting.any():
            for stay in rest_intervals(resting & ~not_slipped(observation)[joint]):
                yield index, stay, slice(first + stay.start, first + stay.stop)
        first += len(resting)


def _level(alternatives: Alternatives, joint: int, spread: FloatArray) -> float | None:
    """Return the Coulomb level of a joint with its deviation [N·m], None where the model has none."""
    columns = alternatives.normal.friction[joint]
    if len(columns) < 2:
        return None
    column = columns[1]
    return float(np.sqrt(alternatives.given.chi[column] ** 2 + max(spread[column, column], 0.0)))


def _beyond(left: FloatArray, held: float, variance: FloatArray) -> float:
    """Return by how much rows (M,) leave a band ± held, wherever that lies best: Σ (what is beyond)² / variance."""
    low, high = float(left.min()), float(left.max())
    if high - low <= 2 * held:
        return 0.0

    def beyond(centre: float) -> float:
        return float((np.maximum(np.abs(left - centre) - held, 0.0) ** 2 / variance).sum())

    # it is convex in the centre
    return beyond(highest(lambda centre: -beyond(centre), low, high, 1e-9 * (high - low)))
