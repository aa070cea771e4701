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

r"""Likelihood of one explanation of the recordings against another, for the same torque.

An explanation relates motion and torque: as given, with the sign of a joint turned, two columns swapped, a delay. Its
maximum-likelihood fit leaves the residual ρ_j of joint j. With N_j effective samples, explanation A gains over the
given one G

    ΔL = Σ_j N_j/2 · ln( (s_j,G + s_0²) / (s_j,A + s_0²) ),   s_j = ‖ρ_j‖²/‖Y_j‖².

A difference in the number of parameters costs ½ ln N each, as in BIC. s_0, the unresolved share, keeps data without
noise from proving anything. A stay at rest counts as one row, with three times the deviation. Motion and torque are
filtered alike, so an explanation costs milliseconds; the estimate itself is untouched.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.identification.regression.covariance import samples_per_independent
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.regressor import regressor_rows
from joint_dynamics.robot.standard_parameters import drive_columns

PASSES = 3
"""Passes of weighting rows by their residuals; the likelihood no longer changes after that."""
FOLDS = 5
"""Parts of every recording, each predicted by parameters of the others before a correction counts as proved."""
REFINED = 9
"""Values of each finer grid on which a peak is looked for."""
RANK = 1e-9
"""Eigenvalues of the scaled normal equations below this share of the largest are directions no sample shows."""


def regressor_columns(
    samples: FilteredSamples, model: RobotModel, chain: Chain | None = None, independent: IntArray | None = None
) -> FloatArray:
    """Return the regressor (joints, columns, samples), base parameters and further terms.

    chain, independent: other than the model's own.
    """
    chosen = _chosen(model, independent)
    wanted = np.zeros(len(model.parameter_names), dtype=bool)
    wanted[chosen] = True
    rows = regressor_rows(chain or model.chain, samples.q, samples.dq, samples.ddq, wanted)
    for j in range(model.n):
        rows[j, drive_columns(j)] = samples.own_rows(j)
    if model.coupling is not None:
        rows = np.concatenate([rows, model.coupling.regressor_rows(samples.dtheta, samples.ddtheta)], axis=1)
    rows = rows[:, chosen]
    if not samples.extra:
        return rows
    extra = np.zeros((model.n, len(samples.extra), samples.q.shape[1]))
    for column, (joints, values) in enumerate(samples.extra):
        for j, ratio in joints.items():
            extra[j, column] = ratio * values
    return np.concatenate([rows, extra], axis=1)


def _chosen(model: RobotModel, independent: IntArray | None) -> IntArray:
    return model.base_parameters().independent if independent is None else independent


class NormalEquations:
    """Normal equations of one explanation, per joint: fits of any torque cost no further pass over the samples.

    rows (joints, columns, samples), weight (joints, samples). Friction has to dissipate: friction (n,) holds the
    columns of each joint's friction, and where their mean power comes out negative, they are left out; likewise rotor
    inertias below zero. That is what tells a torque of the wrong sign from a right one at a joint that no other joint
    feels.
    """

    def __init__(
        self,
        rows: FloatArray,
        weight: FloatArray,
        friction: Sequence[IntArray] = (),
        power: FloatArray | None = None,
        positive: IntArray | None = None,
    ):
        self.weight = weight
        self.rows = rows * weight[:, None]
        self.matrix = self.rows @ self.rows.transpose(0, 2, 1)
        self.friction = friction
        self.power = np.zeros((len(rows), rows.shape[1])) if power is None else power
        self.positive = np.zeros(0, dtype=int) if positive is None else positive

    def beside(self, rows: FloatArray) -> NormalEquations:
        """Return the normal equations of rows (joints, columns, samples) that begin with these, none weighted yet."""
        power = np.zeros(rows.shape[:2])
        power[:, : self.power.shape[1]] = self.power
        return NormalEquations(rows, self.weight, self.friction, power, self.positive)

    def of_joint(self, j: int) -> NormalEquations:
        """Return the normal equations of the torque of one joint by itself."""
        equations, row = copy.copy(self), slice(j, j + 1)
        equations.weight, equations.rows, equations.matrix = self.weight[row], self.rows[row], self.matrix[row]
        equations.friction, equations.power = self.friction[row], self.power[row]
        return equations

    def of_samples(self, where: BoolArray) -> NormalEquations:
        """Return the normal equations of some samples; friction has to dissipate over all."""
        equations = copy.copy(self)
        equations.weight, equations.rows = self.weight[:, where], self.rows[:, :, where]
        equations.matrix = equations.rows @ equations.rows.transpose(0, 2, 1)
        return equations

    def held_out(self, target: FloatArray, part: IntArray) -> FloatArray:
        """Return the residual with parameters of other times as a share of each torque's power, (folds, n).

        A fold leaves out a piece of each half of every recording, part (samples,): parameters that only one recording
        determines are learnt from its other pieces.
        """
        lengths = np.unique(part, return_counts=True)[1]
        fold = np.concatenate([np.arange(length) * (2 * FOLDS) // length % FOLDS for length in lengths])
        left = np.zeros((FOLDS, len(target)))
        for k, out in enumerate(fold == np.arange(FOLDS)[:, None]):
            chi = self.of_samples(~out).fit(target[:, ~out]).chi
            rest = (target * self.weight)[:, out] - np.einsum('jbs,b->js', self.rows[:, :, out], chi, optimize=True)
            left[k] = (rest**2).sum(axis=1)
        size = ((target * self.weight) ** 2).sum(axis=1)
        return FOLDS * left / np.where(size > 0, size, np.inf)

    def fit(self, target: FloatArray) -> ExplanationFit:
        """Return the maximum-likelihood fit of a torque (joints, samples)."""
        use = np.ones(self.matrix.shape[1], dtype=bool)
        while True:
            fitted = self._fit(target, use)
            wrong = [
                columns
                for j, columns in enumerate(self.friction)
                if use[columns].all() and self.power[j] @ fitted.chi < 0
            ]
            wrong += [np.array([k]) for k in self.positive if use[k] and fitted.chi[k] < 0]
            if not wrong:
                return fitted
            use[np.concatenate(wrong)] = False

    def free(self, target: FloatArray) -> ExplanationFit:
        """Return the fit without constraints."""
        return self._fit(target, np.ones(self.matrix.shape[1], dtype=bool))

    def _fit(self, target: FloatArray, use: BoolArray) -> ExplanationFit:
        y = target * self.weight
        vector, size = np.matmul(self.rows, y[:, :, None])[:, :, 0], (y**2).sum(axis=1)
        # a torque that is zero throughout has no size of its own
        size = np.where(size > 0, size, size.max() or 1.0)
        columns, matrix = np.flatnonzero(use), self.matrix
        if len(columns) < len(use):
            matrix, vector = matrix[:, columns[:, None], columns], vector[:, columns]
        n, b = vector.shape
        flat, sigma2 = matrix.reshape(n, b * b), size.copy()
        for _ in range(PASSES):
            part, rank = _solve(((1 / sigma2) @ flat).reshape(b, b), vector.T @ (1 / sigma2))
            error = np.maximum(size - 2 * vector @ part + (matrix @ part) @ part, 0.0)
            sigma2 = error + thresholds.RESOLVED**2 * size
        chi = np.zeros(len(use))
        chi[columns] = part
        return ExplanationFit(chi, error / size, rank)

    def residuals(self, target: FloatArray, chi: FloatArray) -> FloatArray:
        """Return the weighted residuals (joints, samples)."""
        return target * self.weight - np.einsum('jbs,b->js', self.rows, chi, optimize=True)


def normal_equations(
    rows: FloatArray, samples: FilteredSamples, model: RobotModel, independent: IntArray | None = None
) -> NormalEquations:
    """Return the normal equations of rows as `regressor_columns` returns them of these samples."""
    kinds = [model.parameter_names[k] for k in _chosen(model, independent)]
    friction = [
        np.array([kinds.index(name) for name in (f'Fv_{j + 1}', f'Fc_{j + 1}') if name in kinds], dtype=int)
        for j in range(model.n)
    ]
    positive = np.array([k for k, name in enumerate(kinds) if name.startswith('Ia_')], dtype=int)
    power, speed = np.zeros(rows.shape[:2]), samples.dtheta * samples.weight**2
    for j, columns in enumerate(friction):
        power[j, columns] = rows[j, columns] @ speed[j]
    return NormalEquations(rows, samples.weight, friction, power, positive)


def _solve(matrix: FloatArray, vector: FloatArray) -> tuple[FloatArray, int]:
    """Solve scaled normal equations; return the solution and its rank. Directions that no sample shows stay at zero."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    scaled = matrix / scale[:, None] / scale
    factor, failed = scipy.linalg.lapack.dpotrf(scaled, lower=0)
    if failed == 0 and factor.diagonal().min() ** 2 > RANK * len(scaled):
        return scipy.linalg.lapack.dpotrs(factor, vector / scale, lower=0)[0] / scale, len(scaled)
    values, vectors = np.linalg.eigh(scaled)
    good = values > RANK * max(values[-1], np.finfo(float).tiny)
    inverse = np.where(good, 1.0 / np.where(good, values, 1.0), 0.0)
    return (vectors * inverse) @ (vectors.T @ (vector / scale)) / scale, int(good.sum())


@dataclass(frozen=True)
class ExplanationFit:
    """chi (b,); unexplained: residual as a share of each torque, ‖ρ_j‖²/‖Y_j‖², (n,); rank: determined parameters.

    count: effective samples of each joint by its residual, (n,), None: not computed.
    """

    chi: FloatArray
    unexplained: FloatArray
    rank: int
    count: FloatArray | None = None


def effective_samples(residuals: FloatArray, weight: FloatArray, part: IntArray) -> FloatArray:
    """Return the effective samples of each joint, (n,): Σ w² over `samples_per_independent`."""
    length = np.array([samples_per_independent(row, part) for row in residuals])
    return np.maximum((weight**2).sum(axis=1) / length, 1.0)


def gain(given: ExplanationFit, other: ExplanationFit, count: FloatArray) -> float:
    """Return ΔL of `other` over `given` [nats]; count (n,): see `effective_samples`."""
    floor, further = thresholds.RESOLVED**2, other.rank - given.rank
    gains = 0.5 * count @ np.log((given.unexplained + floor) / (other.unexplained + floor))
    return float(gains - 0.5 * further * np.log(max(count.sum(), 2.0)))


def peak(function: Callable[[float], float], longest: float, steps: int, precision: float) -> float:
    """Return where a function is highest from −longest to longest: on 2 steps + 1 values, then on finer and finer ones.

    The lowest of equal ones.
    """
    grid = np.linspace(-longest, longest, 2 * steps + 1)
    while True:
        best = int(np.argmax([function(value) for value in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        if high - low < precision:
            return float(grid[best])
        grid = np.linspace(low, high, REFINED)


_REMEDY = {
    'gravity': 'state what `effort` is (recording.torque_without_gravity)',
    'mounting': 'correct robot.mounting',
    'time_reversed': 'correct the time stamps',
    'payload_mixed': 'identify them separately, or give those with the payload as --loaded',
    'recordings_differ': 'check that robot and signs were the same, or identify the recordings separately',
}
"""Remedies of explanations without a correction of their own."""


@dataclass(frozen=True)
class Explanation:
    """Another explanation of motion and torque than the given one: its text, fit and gain.

    Attributes
    ----------
    names
        of the joints.
    given, fitted
        the fit that it is better than, and its own, by the columns as recorded.
    gain
        log-likelihood of one over the other [nats].
    dispersion
        see `overdispersion`; one where the gain is too small to ask.
    mend
        the correction that makes it so, None where there is none.
    mounting
        of the base, roll, pitch, yaw [rad].
    matters
        whether it is held against recordings where it is clear.
    figures
        its entry in summary.json.
    """

    code: str
    text: str
    names: Sequence[str]
    given: ExplanationFit
    fitted: ExplanationFit
    gain: float
    dispersion: float = 1.0
    mend: Corrections | None = None
    mounting: tuple[float, float, float] | None = None
    matters: bool = True
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> Reason:
        """That this explanation is clearly better than the given one, by how much, and what to correct."""
        j = int(np.argmax(self.given.unexplained - self.fitted.unexplained))
        before, after = (100 * np.sqrt(fit.unexplained[j]) for fit in (self.given, self.fitted))
        config: dict[str, Any] = {} if self.mend is None else {'recording': self.mend.stated()}
        settings = ', '.join(f'recording.{name}' for name in config.get('recording', {}))
        remedy = _REMEDY.get(self.code, f'correct the recording, or state {settings}')
        return Reason(
            self.code,
            f'{self.text}: this explains the torques significantly better (residual of {self.names[j]} '
            f'{after:.3g} % instead of {before:.3g} %; log-likelihood +{self.gain:.0f}); {remedy}',
            mend=config if self.mounting is None else {'robot': {'mounting': list(self.mounting)}},
            joints=() if self.mend is None else self.mend.joints,
        )

    @property
    def clear(self) -> bool:
        """Whether it gains more than a model that is somewhat wrong gains by any freedom.

        Of a true model the likelihood of another one is eˣ times as large with probability e⁻ˣ at most [Ville 1939].
        """
        return self.gain > thresholds.MIN_EVIDENCE * self.dispersion

    def gained(self, count: FloatArray) -> float:
        """Return ΔL over the given fit [nats]; count (n,): independent samples, the same for all that are compared."""
        return gain(self.given, self.fitted, count)


def overdispersion(normal: NormalEquations, target: FloatArray, fit: ExplanationFit, count: FloatArray) -> float:
    """Return ĉ = max(1, 2 ΔL_own/k) of an explanation.

    With parameters of its own for every joint the likelihood rises by ΔL_own: in a right model by half a nat for each
    of the k further parameters, in a wrong model by more. Log-likelihoods are divided by this variance factor of the
    quasi-likelihood [McCullagh and Nelder 1989, ch. 9; Burnham and Anderson 2002, sect. 2.5]. It belongs to the other
    explanation, so that a corrupted recording does not count against its correction.

    normal, target: its normal equations, and the torque (joints, samples) that they are to explain; fit: its fit;
    count (joints,): effective samples.
    """
    alone = [normal.of_joint(j).fit(target[[j]]) for j in range(len(target))]
    own = np.array([fitted.unexplained[0] for fitted in alone])
    further = sum(fitted.rank for fitted in alone) - fit.rank
    rise = float(count @ np.log((fit.unexplained + thresholds.RESOLVED**2) / (own + thresholds.RESOLVED**2)))
    return max(1.0, rise / further) if further > 0 else 1.0


def most_samples(fits: Iterable[ExplanationFit]) -> FloatArray:
    """Return the largest effective number of samples of each joint by any of some fits, (n,)."""
    return np.asarray(np.max([fit.count for fit in fits if fit.count is not None], axis=0))
