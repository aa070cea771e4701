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

r"""Standard deviations of least squares by effective samples.

(WᵀW)⁻¹ σ̂² assumes independent rows [G eq 9]. After filtering, neighbouring rows are correlated, and model errors last
as long as a motion does. The covariance is one sandwich,

    V = M (Σ_j s_j² A_jᵀ A_j) M,    M = (AᵀA)⁻¹,    s_j² = ‖ρ_j‖² / (N_j/c_j − 2 p_j).

A_j are the weighted rows of joint j and ρ_j their residual; c_j = 1 + 2 Σ_l ρ_l samples make an independent one, by its
autocorrelation. The p_j = tr(M A_jᵀ A_j) parameters of joint j count twice: the fit absorbs the slow part of the
residual, so both its square and its autocorrelation are too small.

At rest friction is anywhere within ± F_j, perhaps alike in every stay. An error common to the rows of joint j at rest,
uniform in ± F_j, adds Σ_j (F_j²/3) M a_j a_jᵀ M, with a_j the weighted sum of those rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.rows import Block

LEVEL = 0.975  # probability at the upper end of a two-sided 95 % interval
MIN_FREE = 0.25  # degrees of freedom, of the effective samples, at least
ROUNDING = 1e-12  # autocorrelation below which there is none


def samples_per_independent(residual: FloatArray, part: IntArray | None = None) -> float:
    """Return the samples of a residual (N,) per independent one, 1 + 2 Σ ρ_l.

    ρ_l: the autocorrelation at lag l, within recordings, up to the first lag at which it is not positive, at most N/4.

    Parameters
    ----------
    part
        (N,) the recording of each sample; None: they are all of one.
    """
    lags = max(2, len(residual) // 4)
    correlation = np.zeros(lags)
    for row in [residual] if part is None else [residual[part == index] for index in np.unique(part)]:
        spectrum = np.fft.rfft(row, 2 * len(row))
        own = np.fft.irfft(spectrum * np.conj(spectrum))[: min(lags, len(row))]
        correlation[: len(own)] += own
    none = np.flatnonzero(correlation <= ROUNDING * correlation[0])
    end = none[0] if none.size else lags
    return float(1.0 + 2.0 * correlation[1:end].sum() / (correlation[0] or 1.0))


def correlated_variance(
    residual: FloatArray, normal: FloatArray, inverse: FloatArray, part: IntArray | None = None
) -> float:
    """Return s² of the residual (N,) of a fit: ‖ρ‖² over the effective samples less twice the parameters.

    Parameters
    ----------
    normal, inverse
        AᵀA of these rows, and M = (AᵀA + PᵀP)⁻¹ of all rows with what else holds the parameters, (b, b).
    part
        (N,) the recording of each sample; None: they are all of one.
    """
    effective = len(residual) / samples_per_independent(residual, part)
    free = effective - 2.0 * float(np.sum(inverse * normal))
    return float(residual @ residual) / max(free, MIN_FREE * effective, 1.0)


def sandwich(
    blocks: Callable[[], Iterable[Block]], solution: Solution, coulomb: FloatArray | None = None
) -> FloatArray:
    """Return the covariance (b, b) of `solution.chi`.

    Parameters
    ----------
    blocks
        returns the blocks from which the solution was computed.
    coulomb
        friction F (n,) [N·m] that holds the joints at rest; None: none.
    """
    residuals: list[FloatArray] = []
    part: list[IntArray] = []
    normal = held = np.zeros(())
    for block in blocks():
        factor = solution.row_factors(block)
        rows = block.rows * factor[:, None]
        residuals.append(block.tau * factor - np.einsum('jbs,b->js', rows, solution.chi, optimize=True))
        part.append(np.full(block.tau.shape[1], block.observation))
        normal = normal + rows @ rows.transpose(0, 2, 1)
        resting = np.zeros(factor.shape) if block.resting is None else np.where(block.resting, factor, 0.0)
        held = held + (rows @ resting[..., None])[..., 0]
    M, recording = solution.inverse, np.concatenate(part)
    residual = np.concatenate(residuals, axis=1)
    variance = [correlated_variance(row, own, M, recording) for row, own in zip(residual, normal, strict=True)]
    meat = np.tensordot(variance, normal, axes=1)
    if coulomb is not None:
        meat = meat + held.T @ (coulomb[:, None] ** 2 / 3.0 * held)
    covariance = M @ meat @ M
    return np.asarray(0.5 * (covariance + covariance.T))
