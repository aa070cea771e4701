r"""Torque of joints at rest as a description predicts it: an interval for every sample, and how many lie within.

As `regression.stiction` has it from an identification,

    τ ∈ τ_0 ± ρ F_C ± z √(σ_j² + wᵀ C w),

here with τ_0 and F_C from the arm's own torque at H = ±1 (its mean, and half its difference), ρ and σ_j from
`provenance.resting` and C from `provenance.coverage` of the description. Presliding does not narrow the interval: H of
a recording that begins at rest is unknown, and the interval holds for any H.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.stiction import LEVEL, Resting, not_slipped, resting_summary


def resting_of_description(
    arm: Arm, document: Mapping[str, Any], problem: Problem, covariance: FloatArray | None
) -> dict[str, Any]:
    """Return the entry `resting` of summary.json of `validate`: samples, share within their interval, its half width.

    Parameters
    ----------
    arm
        of the description.
    document
        its `provenance.resting`.
    problem
        the recordings, with a `rest_speed`.
    covariance
        (b, b) of the problem's first b columns; None: the prediction counts as exact.

    Raises
    ------
    JointDynamicsError
        Where `document` does not have the form that `identify` writes.
    """
    names = arm.joint_names
    try:
        sigma = np.array([document['residual_deviation'][name] for name in names], dtype=float)
        first = document['first_breakaway_ratio']
        ratio = float(document['breakaway_ratio']), np.inf if first is None else float(first)
    except (KeyError, TypeError, ValueError) as error:
        raise JointDynamicsError(
            f'dynamics description: provenance.resting: expected what `identify` writes there, found {error!r}'
        ) from None
    spread = _spread(problem, covariance)
    entries = []
    for index, observation in enumerate(problem.observations):
        resting = problem.rest(index).resting
        low, high = (observation.at_kept(_torque(arm, observation, H)).T for H in (-1.0, 1.0))
        tau, base, level = observation.at_kept(observation.tau).T, 0.5 * (low + high), 0.5 * np.abs(high - low)
        ends = np.ones(tau.shape)
        half_width = ndtri(LEVEL) * np.sqrt(sigma[:, None] ** 2 + spread[index])
        entries.append(
            Resting(
                observation.name,
                resting,
                tau,
                base,
                base,
                level,
                -ends,
                ends,
                half_width,
                not_slipped(observation),
                np.zeros(tau.shape, dtype=bool),
                *ratio,
            )
        )
    return resting_summary(entries, names, arm.robot.mixed)


def _torque(arm: Arm, observation: Observation, H: float) -> FloatArray:
    """Return the motor torque (samples, n) with friction at one end of what it may be at rest."""
    load = arm.link_torque(observation.q, observation.dq, observation.ddq)
    return load + arm.drive_torque(
        np.full(load.shape, H), observation.q, observation.dtheta, observation.ddtheta, load, observation.temperature
    )


def _spread(problem: Problem, covariance: FloatArray | None) -> list[FloatArray]:
    """Return wᵀ C w (n, K) of every observation."""
    parts: list[list[FloatArray]] = [[] for _ in problem.observations]
    C = np.zeros((0, 0)) if covariance is None else covariance
    for block in problem.blocks():
        rows = block.rows[:, : len(C)]
        parts[block.observation].append(np.maximum(np.einsum('jbs,bc,jcs->js', rows, C, rows, optimize=True), 0.0))
    return [np.concatenate(own, axis=1) for own in parts]
