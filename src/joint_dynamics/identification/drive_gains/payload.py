"""A payload's parameters from recordings of the loaded robot, the robot known [G II.D, Khalil et al. 2007]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.gain_uncertainty import GainUncertainty, motor_part
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
    covariance: FloatArray | None = None,
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
        {parameter: value} such as {'M': 4.59}. covariance (b, b) of chi: what the robot's own uncertainty adds to the
        deviations (else chi counts as exact).
    gains
        uncertainty of the drive gains of robot and payload alike, left out of `covariance`. Deviations hold under
        correlation in time.
    joint
        that moves the link it hangs on; None: the last one.
    position
        (3,) where it hangs, in that joint's frame [m]: its mass is the only unknown, as a point's; None: unknown.

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
    free = np.eye(COUNT)[:, ~mask] if position is None else point_mass(1.0, position)[:, None]
    system = payload_problem(problem, loaded, joint=joint)

    def unknown(W_L: FloatArray) -> FloatArray:
        return np.einsum('jps,pu->jus', W_L, free)

    def blocks() -> Iterator[Block]:
        for block, W, W_L in split(system):
            rest = block.tau - np.einsum('jbs,b->js', W, chi, optimize=True) - np.einsum('jps,p->js', W_L, values)
            yield replace(block, rows=unknown(W_L), tau=rest)

    triangles = triangulate(blocks())
    solution = wls(triangles)
    spread = scatter_covariance(blocks, solution, system.samples)
    if covariance is not None:
        pull = np.zeros((free.shape[1], len(chi)))
        for block, W, W_L in split(system):
            factor = solution.row_factors(block) ** 2
            pull += np.einsum('jps,jbs,js->pb', unknown(W_L), W, factor, optimize=True)
        sensitivity = solution.inverse @ pull
        spread = spread + sensitivity @ covariance @ sensitivity.T
    if gains is not None:
        moment = np.zeros((free.shape[1], len(gains.relative)))
        for block, W, W_L in split(system):
            # a gain that is off scales the torque of the loaded robot and, through its parameters, what is taken off it
            change = motor_part(block.tau, gains.coupling) - np.einsum(
                'jbs,bm->jms', W, gains.sensitivity, optimize=True
            )
            moment += np.einsum('jps,js,jms->pm', unknown(W_L), solution.row_factors(block) ** 2, change, optimize=True)
        found = solution.inverse @ moment
        spread = spread + found @ gains.relative @ found.T
    whole = free @ spread @ free.T
    hidden = np.abs(free) @ ~np.isfinite(solution.inflation) > 0
    deviation = np.where(hidden, np.inf, np.sqrt(np.maximum(np.diag(whole), 0.0)))
    return PayloadParameters(values + free @ solution.chi, deviation, mask, whole)
