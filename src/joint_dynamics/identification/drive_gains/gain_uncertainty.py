"""What the uncertainty of drive gains adds to the deviations of the parameters.

A gain that is off by a share δ_m scales the torque of its motor: Y → Y + δ_m Y_m, and the estimate moves by S_m δ_m
with

    S_m = (AᵀA)⁻¹ Aᵀ (Y_m / σ),    ΔC = S R Sᵀ,

R the covariance of δ. The recordings do not show this error, and longer ones do not reduce it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.recording import Recording
from joint_dynamics.settings.base import per_joint

ASSUMED = 0.10 / 3**0.5
"""Relative standard deviation of gains whose own is not stated: a manufacturer's are uncertain by about 10 % [G
II.E], as a uniform distribution."""


def stated_or_assumed(
    stated: float | Mapping[str, float] | None, gains: Mapping[str, float] | None, recordings: Sequence[Recording]
) -> tuple[float | Mapping[str, float], str | None]:
    """Return the relative standard deviation of drive gains and, where it is `ASSUMED`, a note that says so.

    It is assumed where none is stated and `gains` turn currents into torques; recorded torques have none.
    """
    if stated is not None:
        return stated, None
    if not gains or all(recording.current is None for recording in recordings):
        return 0.0, None
    return (
        ASSUMED,
        (
            'drive_gain_deviation was not stated: deviations hold for drive gains off by '
            f'{100 * ASSUMED:.2g} % (standard deviation; ± 10 % of a data sheet)'
        ),
    )


def gain_covariance(deviation: float | Mapping[str, float], joint_names: Sequence[str]) -> FloatArray:
    """Return R (n, n) of stated relative standard deviations, one number for all motors or {joint: number}.

    The errors of motors are independent.
    """
    shares = deviation if isinstance(deviation, Mapping) else dict.fromkeys(joint_names, float(deviation))
    return np.diag(per_joint(shares, joint_names, 'drive_gain_deviation', others=True) ** 2)


@dataclass(frozen=True)
class GainUncertainty:
    """What errors of the gains do to the robot's parameters; see the module.

    Attributes
    ----------
    relative : (n, n) array
        R, covariance of the gains' relative errors.
    sensitivity : (b, n) array
        S, change of each parameter per relative error of each gain.
    coupling : (n, n) array
        C, motor angles = C · joint angles.
    """

    relative: FloatArray
    sensitivity: FloatArray
    coupling: FloatArray

    @property
    def spread(self) -> FloatArray:
        """ΔC (b, b), added to the covariance of the robot's parameters; positive semidefinite."""
        spread = self.sensitivity @ self.relative @ self.sensitivity.T
        return 0.5 * (spread + spread.T)


def motor_part(tau: FloatArray, coupling: FloatArray) -> FloatArray:
    """Return the part of each motor (joints, motors, samples) in the joint torques `tau` (joints, samples), N·m."""
    return coupling.T[:, :, None] * np.linalg.solve(coupling.T, tau)[None]


def gain_sensitivity(blocks: Iterable[Block], solution: Solution, coupling: FloatArray) -> FloatArray:
    """Return S (b, n), the change of each parameter per share that each motor's gain is off.

    Parameters
    ----------
    blocks
        from which `solution` was computed, `tau` in N·m.
    coupling
        C (n, n), joint torques = Cᵀ · motor torques.
    """
    moment = np.zeros((len(solution.chi), len(coupling)))
    for block in blocks:
        weighted = block.rows * solution.row_factors(block)[:, None] ** 2
        moment += np.einsum('jbs,jms->bm', weighted, motor_part(block.tau, coupling), optimize=True)
    return solution.inverse @ moment
