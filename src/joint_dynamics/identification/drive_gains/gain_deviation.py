"""What the doubt about drive gains adds to the deviations of the parameters.

A gain that is off by a share δ_m scales the torque of its motor: Y → Y + δ_m Y_m, and the estimate moves by S_m δ_m with

    S_m = (AᵀA)⁻¹ Aᵀ (Y_m / σ),    ΔC = S R Sᵀ,

R the covariance of δ. No noise in the recordings shows this error, and no longer recording makes it smaller.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Block
from joint_dynamics.recording import Recording
from joint_dynamics.recording.recording import per_joint

ASSUMED = 0.10 / 3**0.5
"""Relative standard deviation of gains whose own is not stated: a manufacturer's are uncertain by about 10 % [G
II.E], as a uniform distribution."""


def stated_or_assumed(stated: float | Mapping[str, float] | None, gains: Mapping[str, float] | None,
                      recordings: Sequence[Recording]) -> tuple[float | Mapping[str, float], str | None]:
    """Return the relative deviation of drive gains and, where it is `ASSUMED`, a note that says so.

    It is assumed where nothing is stated and currents are turned into torques by `gains`; torques as recorded have
    none. Stated 0 is 0.
    """
    if stated is not None:
        return stated, None
    if not gains or all(recording.current is None for recording in recordings):
        return 0.0, None
    return ASSUMED, (f'drive_gain_deviation was not stated: deviations hold for drive gains off by '
                     f'{100 * ASSUMED:.2g} % (standard deviation; ± 10 % of a data sheet)')


def gain_covariance(deviation: float | Mapping[str, float], joint_names: Sequence[str]) -> NDArray:
    """Return R (n, n) of stated relative standard deviations, one number for all motors or {joint: number}; motors err independently."""
    shares = deviation if isinstance(deviation, Mapping) else dict.fromkeys(joint_names, float(deviation))
    return np.diag(per_joint(shares, joint_names, 'drive_gain_deviation') ** 2)


def gain_spread(blocks: Iterable[Block], solution: Solution, relative: NDArray, coupling: NDArray) -> NDArray:
    """Return ΔC (b, b), symmetric and positive semidefinite.

    blocks: those `solution` was computed from, `tau` in N·m; relative: R (n, n), by motor; coupling: C (n, n), joint torques = Cᵀ · motor torques.
    """
    n = len(coupling)
    moment = np.zeros((len(solution.chi), n))
    for block in blocks:
        weighted = block.rows * solution.row_factors(block)[:, None] ** 2
        motor = np.linalg.solve(coupling.T, block.tau)
        moment += np.einsum('jbs,mj,ms->bm', weighted, coupling, motor, optimize=True)
    sensitivity = solution.inverse @ moment
    spread = sensitivity @ relative @ sensitivity.T
    return 0.5 * (spread + spread.T)
