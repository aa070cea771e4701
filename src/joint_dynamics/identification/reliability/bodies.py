r"""Whether any robot has the inertial parameters that explain the torques best.

A standard set of bodies (pseudo-inertias positive definite, Wensing et al. 2018), of rotor inertias that are not
negative and friction that dissipates is sought next to the best explanation χ̂, in the metric of its likelihood (the
semidefinite programme of `physical`). What it explains worse, ΔL = Σ_j N_j/2 ln(s_j,body/s_j), says by how much the
data contradict every body: noise moves χ̂ out of the set by a few nats, as each parameter at its bound costs ½ χ²_1.

Most recordings are far from that, and no programme is solved for them: any robot whose price bounds that of the nearest
one (`near_bodies`) bounds what the nearest one leaves over, too,

    left_j ≤ (√left_j,χ̂ + √(v_j J_j))²,   Σ_j J_j = ‖χ − χ̂‖²_Λ,   Λ = Σ_j N_j / v_j,

and where even that is less than `MIN_UNEXPLAINED_SHARE` there is nothing to say.

Without cvxpy a necessary condition is looked at: with the base parameters alone, v'M(q)v > 0 in every posture, M the
mass matrix with rotor inertias; a linear function of χ with a deviation of its own.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.physical.near_bodies import near_bodies
from joint_dynamics.identification.physical.semidefinite import physical
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.alternatives import LOG_LIKELIHOOD_THRESHOLD, Alternatives
from joint_dynamics.identification.reliability.evidence import RESOLVED, ExplanationFit, gain
from joint_dynamics.identification.reliability.verdict import Reason

MIN_UNEXPLAINED_SHARE = 0.3
"""Share of the torque (rms) that has to be left over before it speaks against the robot: less is a matter of
the model's details."""
POSTURES = 100
"""Random postures in which the mass matrix is looked at."""


def impossible_inertials(problem: Problem, alternatives: Alternatives) -> list[Reason]:
    """Return a reason where no body comes near the explanation of the given torques.

    Parameters
    ----------
    problem
        the one that `alternatives` were formed from.
    """
    solution = _solution(alternatives)
    if bodies_suffice(problem, alternatives, solution):
        return []
    if find_spec('cvxpy') is None:
        return _by_mass_matrix(alternatives)
    try:
        with warnings.catch_warnings():
            # an inaccurate solution would be called worse than the nearest body is
            warnings.simplefilter('error', UserWarning)
            nearest = physical(problem, solution).solution.chi
    except (JointDynamicsError, UserWarning):
        return _by_mass_matrix(alternatives)
    normal, samples, given = alternatives.normal, alternatives.samples, alternatives.given
    size = np.maximum(((samples.tau * samples.weight) ** 2).sum(axis=1), np.finfo(float).tiny)
    left = (normal.residuals(samples.tau, nearest) ** 2).sum(axis=1)
    lost = -gain(given, ExplanationFit(nearest, left / size, given.rank), alternatives.count)
    effect = float(np.sqrt(max((left - given.unexplained * size).sum() / size.sum(), 0.0)))
    # a model that is somewhat wrong leaves the set of bodies, too (Gen3: by up to 5.1 % of the torque): see
    # `MIN_UNEXPLAINED_SHARE`
    if lost < LOG_LIKELIHOOD_THRESHOLD or effect < MIN_UNEXPLAINED_SHARE:
        return []
    return [
        Reason(
            'negative_inertia',
            'no links with mass, centre and inertia of a body explain the torques: the nearest ones leave'
            f' {100 * effect:.3g} % of the torque more over (log-likelihood −{lost:.0f}); look whether the effort is'
            ' the whole torque of the drives, and whether robot and mounting are the right ones',
        )
    ]


def bodies_suffice(problem: Problem, alternatives: Alternatives, solution: Solution) -> bool:
    """Whether the nearest bodies certainly leave less than `MIN_UNEXPLAINED_SHARE` of the torque more over.

    Parameters
    ----------
    problem, alternatives
        as of `impossible_inertials`.
    solution
        the explanation of the given torques with its information.
    """
    size, variance = _variances(alternatives)
    bearable = MIN_UNEXPLAINED_SHARE**2 * size.sum()
    # price J with max v_j J + 2 √(J Σ left_j,χ̂ v_j) = what can be borne, after Cauchy and Schwarz
    mixed, worst = float((alternatives.given.unexplained * size) @ variance), float(variance.max())
    enough = ((np.sqrt(mixed + worst * bearable) - np.sqrt(mixed)) / worst) ** 2
    found = near_bodies(problem, solution, float(enough))
    return found is not None and found.price < enough


def _variances(alternatives: Alternatives) -> tuple[FloatArray, FloatArray]:
    """Return ‖Y_j‖² and the variance v_j of an independent sample of each joint, (n,) [N²·m²]."""
    samples, given = alternatives.samples, alternatives.given
    tiny = np.finfo(float).tiny
    size = ((samples.tau * samples.weight) ** 2).sum(axis=1)
    return size, np.maximum((given.unexplained + RESOLVED**2) * size / alternatives.count, tiny)


def _information(alternatives: Alternatives) -> FloatArray:
    """Return the information (b, b) of the explanation, each joint's samples worth as many as independent ones."""
    return np.tensordot(1 / _variances(alternatives)[1], alternatives.normal.matrix, axes=1)


def _solution(alternatives: Alternatives) -> Solution:
    information = _information(alternatives)
    scale = np.sqrt(np.maximum(np.diag(information), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(information / np.outer(scale, scale), rcond=1e-10, hermitian=True) / np.outer(scale, scale)
    n = alternatives.model.n
    return Solution(
        alternatives.given.chi, np.ones(n), inverse, np.nan, np.ones(len(inverse)), rows=float(alternatives.count.sum())
    )


def _by_mass_matrix(alternatives: Alternatives) -> list[Reason]:
    """Return a reason where the mass matrix of the base parameters is negative by far more than its deviation."""
    model, chi = alternatives.model, alternatives.given.chi
    independent = model.base_parameters().independent
    q = model.random_states(POSTURES, np.random.default_rng(0))[0]
    zero = np.zeros_like(q)
    still = model.regressor(q, zero, zero)[:, :, independent]
    columns = []
    for k in range(model.n):
        unit = zero.copy()
        unit[:, k] = 1.0
        columns.append(model.regressor(q, zero, unit)[:, :, independent] - still)
    mass = np.stack(columns, axis=2)  # (postures, rows, columns, parameters)
    base = chi[: len(independent)]
    spread = _solution(alternatives).inverse[: len(base), : len(base)]
    values, vectors = np.linalg.eigh(0.5 * (mass @ base + (mass @ base).transpose(0, 2, 1)))
    form = np.einsum('qi,qijp,qj->qp', vectors[:, :, 0], mass, vectors[:, :, 0])
    deviation = np.sqrt(np.maximum(np.einsum('qp,pr,qr->q', form, spread, form), 0.0))
    # as many deviations as make a likelihood clear: z²/2 > LOG_LIKELIHOOD_THRESHOLD
    wrong = values[:, 0] < -np.sqrt(2 * LOG_LIKELIHOOD_THRESHOLD) * deviation
    if not wrong.any():
        return []
    return [
        Reason(
            'negative_inertia',
            f'the mass matrix is not positive in {int(wrong.sum())} of {POSTURES} postures, by more than its deviation:'
            ' no robot has such inertias; look whether the effort is the whole torque of the drives, and whether robot'
            ' and mounting are the right ones',
        )
    ]
