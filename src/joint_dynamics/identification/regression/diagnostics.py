# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Poorly determined parameters, and the table of residuals of reports and terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, band_of_all

POSTURES = 100  # random postures in which the mass matrix is checked
INFLATED = 30.0  # growth of a deviation by columns that resemble each other, from which a parameter is not determined


def poorly_determined_parameters(names: list[str], solution: Solution, limit: float = INFLATED) -> list[str]:
    """Return the names of the parameters that the motion does not separate from others, worst first.

    By √VIF_k = ‖w_k‖ √((WᵀW)⁻¹_kk), 1 for a column orthogonal to the others: how much a deviation grows by them.
    """
    order = np.argsort(-solution.inflation, kind='stable')
    return [names[k] for k in order if solution.inflation[k] > limit]


def relative_deviation_percent(chi: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return 100 σ/|χ| (b,), infinite for a parameter estimated as zero [G eq 11]."""
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.where(chi != 0, 100 * deviation / np.abs(chi), np.inf)


def positive_inertia(problem: Problem, chi: FloatArray) -> bool:
    """Whether parameters chi (b,) have no rotor inertia, and in random postures no mass matrix, below 0.

    The mass matrix is that of the joints with measured torque. A joint that never moved may have 0, within rounding.
    """
    model, base = problem.model, problem.base
    if not all(value >= 0 for name, value in zip(problem.names, chi, strict=True) if name.startswith('Ia_')):
        return False
    q = model.random_states(POSTURES, np.random.default_rng(0))[0]
    zero, unit = np.zeros_like(q), np.eye(model.n)
    measured = np.flatnonzero(~np.isin(model.joint_names, model.without_torque))
    still = model.regressor(q, zero, zero)[:, :, base.independent]
    columns = [model.regressor(q, zero, zero + unit[k])[:, :, base.independent] - still for k in measured]
    mass = np.stack([column[:, measured] @ chi[: base.count] for column in columns], axis=2)
    values = np.linalg.eigvalsh(mass)
    return bool(values.min() >= -1e-9 * values.max())


def band_text(fits: Sequence[Fit]) -> str:
    """Return the frequency band of the residuals of `residual_rows` in words."""
    return (
        f'overall, moving and per joint in motion {band_of_all(fits) or "of the full band"}; in the last columns below'
        f' {fixed_band_text(fits)}'
    )


def fixed_band_text(fits: Sequence[Fit]) -> str:
    """Return the band that is the same for every robot, as `10 Hz`; lower where the sampling rate requires."""
    return f'{" or ".join(dict.fromkeys(f"{band:.3g}" for band in sorted({fit.full.band for fit in fits})))} Hz'


def residual_rows(fits: Sequence[Fit]) -> list[list[Any]]:
    """Return one table row per recording: overall, moving, raw, per joint [%], and in the fixed band [%, N·m]."""
    rows = []
    for fit in fits:
        joints, overall = fit.residual_percent(moving=True)[0], fit.residual_percent()[1]
        fixed = fit.in_fixed_band
        rows.append(
            [
                fit.short_name,
                overall,
                fit.residual_percent(moving=True)[1],
                fit.raw[1],
                *joints,
                fixed.residual_percent()[1],
                *([] if fit.unit is None else [float(np.sqrt(np.mean(fixed.residual**2)))]),
            ]
        )
    return rows


def residual_headers(fits: Sequence[Fit]) -> list[str]:
    """Return the headers of `residual_rows`; fits: at least one."""
    fixed = fixed_band_text(fits)
    return [
        'recording',
        'overall %',
        'moving %',
        'unfiltered %',
        *(f'{name} %' for name in fits[0].joint_names),
        f'{fixed} %',
        *([] if fits[0].unit is None else [f'{fixed} {fits[0].unit}']),
    ]
