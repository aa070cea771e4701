"""A payload's parameters from recordings of the loaded robot, the robot known [G II.D, Khalil et al. 2007]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.conversion import GainUncertainty, motor_part
from joint_dynamics.identification.drive_gains.payload_runs import (
    COUNT,
    PayloadParameters,
    known_payload,
    payload_problem,
    split,
)
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.covariance import covariance as scatter_covariance
from joint_dynamics.identification.regression.least_squares import triangulate, wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot.standard_parameters import point_mass


def identify_payload(
    problem: Problem,
    chi: FloatArray,
    loaded: Sequence[Observation],
    known: Mapping[str, float] | None = None,
    covariance_of: Callable[[FloatArray], FloatArray] | None = None,
    gains: GainUncertainty | None = None,
    joint: str | None = None,
    position: Sequence[float] | None = None,
) -> PayloadParameters:
    """Return the payload of observations of a known robot.

    W_L F x = Y − W χ − W_kL χ_kL by WLS, rows weighted per joint: the columns of F (10, u) are the unknown parameters,
    or the ten of a unit mass at `position`.

    Parameters
    ----------
    problem
        the robot's (columns, terms and their state).
    chi
        (b,) its parameters.
    loaded
        observations with torques in N·m.
    known
        {parameter: value} such as {'M': 4.59}.
    covariance_of
        returns the covariance (u, u) of combinations S χ of S (u, b): what the robot's own uncertainty adds to the
        deviations; None: chi counts as exact.
    gains
        uncertainty of the drive gains of robot and payload alike, left out of that covariance. Deviations hold under
        correlation in time.
    joint
        that moves the link it hangs on; None: the last one.
    position
        (3,) where it hangs, in that joint's frame [m]: its mass is the only unknown, as a point's, also by each joint
        alone; None: unknown.

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

    def estimate(columns: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the unknowns (u,) with these columns (joints, u, samples) of W_L, their covariance, which show."""

        def blocks() -> Iterator[Block]:
            for block, W, W_L in split(system):
                rest = block.tau - np.einsum('jbs,b->js', W, chi, optimize=True) - np.einsum('jps,p->js', W_L, values)
                yield replace(block, rows=columns(W_L), tau=rest)

        solution = wls(triangulate(blocks()))
        spread = scatter_covariance(blocks, solution, system.samples)
        pull, moment = 0.0, 0.0
        for block, W, W_L in split(system):
            weighted = columns(W_L) * (solution.row_factors(block) ** 2)[:, None]
            if covariance_of is not None:
                pull += np.einsum('jus,jbs->ub', weighted, W, optimize=True)
            if gains is not None:
                # a gain that is off scales the torque of the loaded robot and, through its parameters, what is taken
                # off it
                change = motor_part(block.tau, gains.coupling) - np.einsum(
                    'jbs,bm->jms', W, gains.sensitivity, optimize=True
                )
                moment += np.einsum('jus,jms->um', weighted, change, optimize=True)
        if covariance_of is not None:
            spread = spread + covariance_of(solution.inverse @ pull)
        if gains is not None:
            sensitivity = solution.inverse @ moment
            spread = spread + sensitivity @ gains.relative @ sensitivity.T
        return solution.chi, spread, np.isfinite(solution.inflation)

    free = np.eye(COUNT)[:, ~mask] if position is None else point_mass(1.0, position)[:, None]
    x, spread, shown = estimate(lambda W_L: np.einsum('jps,pu->jus', W_L, free))
    whole = free @ spread @ free.T
    deviation = np.where(np.abs(free) @ ~shown > 0, np.inf, np.sqrt(np.maximum(np.diag(whole), 0.0)))
    by_joint: dict[str, tuple[float, float]] = {}
    if position is not None:
        apart = np.eye(problem.model.n)
        masses, spread, shown = estimate(lambda W_L: np.einsum('jps,p,ju->jus', W_L, free[:, 0], apart))
        for j in np.flatnonzero(shown):
            by_joint[problem.model.joint_names[j]] = float(masses[j]), float(np.sqrt(spread[j, j]))
    return PayloadParameters(values + free @ x, deviation, mask, whole, mass_by_joint=by_joint)
