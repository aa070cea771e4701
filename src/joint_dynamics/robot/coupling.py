"""Coupled drives: two motors driving two joints through a constant matrix, as joints 5 and 6 of a Stäubli TX-40.

Motor m turns with Σ_k c_mk q̇_k, c_mm = 1. Its rotor and friction torque acts on every joint k with c_mk ≠ 0 through
c_mkᵀ, so that each coupled motor adds three parameters [G eq 24-25]: Ia_m and Fv_m multiply the motion of the *other*
joints (the own one is in Ia_k, Fv_k already), Fs_m the sign of the motor's speed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError


class DriveCoupling:
    """Coupling of n joints by a constant matrix, and passive joints that move with several of them.

    Parameters
    ----------
    matrix
        (n, n), motor angles = matrix · joint angles. Rows are normalised by their diagonal (the gear ratio).
    passive
        (k, n), positions of passive joints per joint position; they have friction as coupled motors do.

    Attributes
    ----------
    matrix
        (n, n) with unit diagonal.
    ratios
        (c, n) of the motors that drive more than one joint, and of the passive joints.
    parameter_names
        of the extra parameters, three for each of `ratios` (motors count from 1, passive joints after n).

    """

    def __init__(self, matrix: Any, passive: FloatArray | None = None):
        try:
            matrix = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise JointDynamicsError(
                f'coupling: expected a square matrix of numbers, found {str(matrix)[:80]}'
            ) from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise JointDynamicsError(f'coupling: expected a square matrix, found shape {matrix.shape}')
        n = len(matrix) if passive is None else passive.shape[1]
        if len(matrix) != n:
            raise JointDynamicsError(f'coupling: expected {n} rows for {n} joints, found {len(matrix)}')
        diagonal = np.diag(matrix)
        if not np.all(np.abs(matrix) < 1e9) or np.any(diagonal == 0) or not abs(np.linalg.det(matrix)) >= 1e-12:
            raise JointDynamicsError(
                'coupling: expected a regular matrix of finite numbers without zeros on the diagonal, found '
                f'{str(matrix.tolist())[:80]}'
            )
        self.matrix = matrix / diagonal[:, None]
        every = self.matrix if passive is None else np.concatenate([self.matrix, passive])
        several = np.flatnonzero(np.count_nonzero(every, axis=1) > 1)
        self.ratios = every[several]
        self.parameter_names = [f'{kind}_m{m + 1}' for m in several for kind in ('Ia', 'Fv', 'Fs')]

    @property
    def coupled(self) -> bool:
        """Whether a motor drives more than one joint."""
        return bool(np.any(self.matrix != np.eye(len(self.matrix))))

    def regressor_rows(self, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return the extra columns, (joints, parameters, samples), of speeds and accelerations (joints, samples)."""
        n, samples = dq.shape
        rows = np.zeros((n, 3 * len(self.ratios), samples))
        for index, c in enumerate(self.ratios):
            for k in np.flatnonzero(c):
                others = np.where(np.arange(n) == k, 0.0, c)
                rows[k, 3 * index] = c[k] * (others @ ddq)
                rows[k, 3 * index + 1] = c[k] * (others @ dq)
                rows[k, 3 * index + 2] = c[k] * np.sign(c @ dq)
        return rows
