r"""Whether any robot has the inertial parameters that explain the torques best.

A standard set of bodies (pseudo-inertias positive definite, Wensing et al. 2018), of rotor inertias that are not
negative and friction that dissipates is sought next to the best explanation χ̂, in the metric of its likelihood (the
semidefinite programme of `physical`). What it explains worse, ΔL = Σ_j N_j/2 ln(s_j,body/s_j), says by how much the
data contradict every body: noise moves χ̂ out of the set by a few nats, as each parameter at its bound costs ½ χ²_1.

A model that is somewhat wrong leaves the set of bodies, too, by about what it leaves over anyhow; so what the nearest
one leaves more over has to be twice that, and a twentieth of the torque, or
`BODIES_UNEXPLAINED_SHARE` of it whatever is left over.
A necessary condition comes first: with the base parameters alone, v'M(q)v > 0 in every posture, M the mass matrix with
rotor inertias; a linear function of χ with a deviation of its own. Where it holds, no programme is solved. Where the
programme is unsure, and without cvxpy, it decides.
"""

from __future__ import annotations

import warnings

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.physical.semidefinite import physical
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain, inverse_of
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import RobotModel

POSTURES = 100
"""Random postures in which the mass matrix is looked at."""


def impossible_inertials(problem: Problem, alternatives: Alternatives) -> list[Reason]:
    """Return a reason where no body comes near the explanation of the given torques.

    Parameters
    ----------
    problem
        the one that `alternatives` were formed from.
    """
    below = _by_mass_matrix(alternatives)
    if not below:
        return []
    solution = _solution(alternatives)
    try:
        with warnings.catch_warnings():
            # an inaccurate solution would be called worse than the nearest body is
            warnings.simplefilter('error', UserWarning)
            nearest = physical(problem, solution).solution.chi
    except (JointDynamicsError, UserWarning):
        return below
    lost, effect = _left_more(alternatives, nearest)
    if _explain(alternatives, lost, effect):
        return []
    if effect < thresholds.MIN_EFFECT:
        return below
    return [
        Reason(
            'negative_inertia',
            'no links with mass, centre and inertia of a body explain the torques: the nearest ones leave'
            f' {100 * effect:.3g} % of the torque more over (log-likelihood −{lost:.0f}); look whether the effort is'
            ' the whole torque of the drives, and whether robot and mounting are the right ones',
        )
    ]


def _left_more(alternatives: Alternatives, chi: FloatArray) -> tuple[float, float]:
    """Return what parameters chi (b,) lose against the explanation [nats], and the share of the torque they leave."""
    given, tau = alternatives.given, alternatives.samples.tau
    left = (alternatives.normal.residuals(tau, chi) ** 2).sum(axis=1)
    left = left / np.maximum(alternatives.power, np.finfo(float).tiny)
    lost = -gain(given, ExplanationFit(chi, left, given.rank), alternatives.count)
    return lost, alternatives.share(left - given.unexplained)


def _explain(alternatives: Alternatives, lost: float, effect: float) -> bool:
    """Whether bodies that lose so much, and leave such a share of the torque more over, explain the torques as well."""
    left = alternatives.share(alternatives.given.unexplained)
    return lost < thresholds.LOG_LIKELIHOOD_THRESHOLD or effect < min(
        thresholds.MODEL_DETAILS * left, thresholds.BODIES_UNEXPLAINED_SHARE
    )


def _solution(alternatives: Alternatives) -> Solution:
    inverse, n = inverse_of(alternatives.information), alternatives.model.n
    return Solution(
        alternatives.given.chi, np.ones(n), inverse, np.nan, np.ones(len(inverse)), rows=float(alternatives.count.sum())
    )


def _by_mass_matrix(alternatives: Alternatives) -> list[Reason]:
    """Return a reason where the mass matrix of the base parameters is negative by far more than its deviation."""
    mass = _mass_matrices(alternatives.model)
    base = alternatives.given.chi[: mass.shape[-1]]
    spread = _solution(alternatives).inverse[: len(base), : len(base)]
    values, vectors = np.linalg.eigh(0.5 * (mass @ base + (mass @ base).transpose(0, 2, 1)))
    form = np.einsum('qi,qijp,qj->qp', vectors[:, :, 0], mass, vectors[:, :, 0])
    deviation = np.sqrt(np.maximum(np.einsum('qp,pr,qr->q', form, spread, form), 0.0))
    # as many deviations as make a likelihood clear: z²/2 > LOG_LIKELIHOOD_THRESHOLD
    wrong = values[:, 0] < -np.sqrt(2 * thresholds.LOG_LIKELIHOOD_THRESHOLD) * deviation
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


def positive_inertia(problem: Problem, chi: FloatArray) -> bool:
    """Whether parameters chi (b,) have no rotor inertia, and in random postures no mass matrix, below 0.

    That of a joint that never moved may be 0, within rounding.
    """
    mass = _mass_matrices(problem.model)
    rotors = (value for name, value in zip(problem.names, chi, strict=True) if name.startswith('Ia_'))
    if not all(value >= 0 for value in rotors):
        return False
    values = np.linalg.eigvalsh(mass @ chi[: mass.shape[-1]])
    return bool(values.min() >= -1e-9 * values.max())


def _mass_matrices(model: RobotModel) -> FloatArray:
    """Return what each base parameter adds to the mass matrix in random postures, (POSTURES, n, n, b)."""
    independent = model.base_parameters().independent
    q = model.random_states(POSTURES, np.random.default_rng(0))[0]
    zero = np.zeros_like(q)
    still = model.regressor(q, zero, zero)[:, :, independent]
    columns = []
    for k in range(model.n):
        unit = zero.copy()
        unit[:, k] = 1.0
        columns.append(model.regressor(q, zero, unit)[:, :, independent] - still)
    return np.stack(columns, axis=2)
