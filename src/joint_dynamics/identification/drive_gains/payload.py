"""A payload's parameters from recordings of the loaded robot.

The robot known or identified along with it [G II.D, Khalil et al. 2007].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.gain_uncertainty import GainUncertainty, motor_part
from joint_dynamics.identification.drive_gains.payload_runs import (
    COUNT,
    PayloadParameters,
    both,
    known_payload,
    payload_problem,
    split,
)
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.covariance import covariance as scatter_covariance
from joint_dynamics.identification.regression.least_squares import Solution, triangulate, wls
from joint_dynamics.identification.regression.problem import Problem


def _deviation(solution: Solution, covariance: FloatArray) -> FloatArray:
    found = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return np.where(np.isfinite(solution.inflation), found, np.inf)


def _payload(
    values: FloatArray, mask: BoolArray, found: FloatArray, deviation: FloatArray, spread: FloatArray
) -> PayloadParameters:
    whole, std, covariance = values.copy(), np.zeros(COUNT), np.zeros((COUNT, COUNT))
    whole[~mask], std[~mask] = found, deviation
    covariance[np.ix_(~mask, ~mask)] = spread
    return PayloadParameters(whole, std, mask, covariance)


def identify_payload(
    problem: Problem,
    chi: FloatArray,
    loaded: Sequence[Observation],
    known: Mapping[str, float] | None = None,
    covariance: FloatArray | None = None,
    gains: GainUncertainty | None = None,
    joint: str | None = None,
) -> PayloadParameters:
    """Return the payload of observations of a known robot.

    W_uL χ_uL = Y − W χ − W_kL χ_kL by WLS, rows weighted per joint.

    Parameters
    ----------
    problem
        the robot's (columns, terms and their state).
    chi
        (b,) its parameters.
    loaded
        observations with torques in N·m.
    known
        {parameter: value} such as {'M': 4.59}. covariance (b, b) of chi: what the robot's own uncertainty adds to the
        deviations (else chi counts as exact).
    gains
        uncertainty of the drive gains of robot and payload alike, left out of `covariance`. Deviations hold under
        correlation in time.
    joint
        that moves the link it hangs on; None: the last one.

    Raises
    ------
    JointDynamicsError
        Without observations, or when nothing is unknown.
    """
    values, mask = known_payload(known)
    if not loaded:
        raise JointDynamicsError('payload: expected at least one recording of the loaded robot, found none')
    if mask.all():
        raise JointDynamicsError('payload: expected at least one parameter to identify, found all ten known')
    system = payload_problem(problem, loaded, joint=joint)

    def blocks() -> Iterator[Block]:
        for block, W, W_L in split(system):
            rest = block.tau - np.einsum('jbs,b->js', W, chi, optimize=True) - np.einsum('jps,p->js', W_L, values)
            yield replace(block, rows=W_L[:, ~mask], tau=rest)

    triangles = triangulate(blocks())
    solution = wls(triangles)
    spread = scatter_covariance(blocks, solution, system.samples)
    if covariance is not None:
        pull = np.zeros((int((~mask).sum()), len(chi)))
        for block, W, W_L in split(system):
            factor = solution.row_factors(block) ** 2
            pull += np.einsum('jps,jbs,js->pb', W_L[:, ~mask], W, factor, optimize=True)
        sensitivity = solution.inverse @ pull
        spread = spread + sensitivity @ covariance @ sensitivity.T
    if gains is not None:
        moment = np.zeros((int((~mask).sum()), len(gains.relative)))
        for block, W, W_L in split(system):
            # a gain that is off scales the torque of the loaded robot and, through its parameters, what is taken off it
            change = motor_part(block.tau, gains.coupling) - np.einsum(
                'jbs,bm->jms', W, gains.sensitivity, optimize=True
            )
            moment += np.einsum(
                'jps,js,jms->pm', W_L[:, ~mask], solution.row_factors(block) ** 2, change, optimize=True
            )
        found = solution.inverse @ moment
        spread = spread + found @ gains.relative @ found.T
    return _payload(values, mask, solution.chi, _deviation(solution, spread), spread)


def solve_robot_and_payload(
    problem: Problem, loaded: Sequence[Observation], known: Mapping[str, float] | None = None
) -> tuple[Solution, FloatArray, PayloadParameters]:
    """Return (solution, covariance, payload) of robot and payload from both kinds of observations at once [G eq 12].

    Solution and covariance are those of all unknowns, the robot's b parameters first.

    Parameters
    ----------
    problem
        the unloaded ones.
    """
    values, mask = known_payload(known)
    system = payload_problem(problem, loaded)
    triangles = triangulate(both(problem, system, known))
    solution = wls(triangles, np.concatenate([problem.optional, np.zeros(int((~mask).sum()))]))
    covariance = scatter_covariance(lambda: both(problem, system, known), solution, [*problem.samples, *system.samples])
    b = problem.columns
    return (
        solution,
        covariance,
        _payload(values, mask, solution.chi[b:], _deviation(solution, covariance)[b:], covariance[b:, b:]),
    )
