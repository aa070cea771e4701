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

r"""Iteratively reweighted least squares: outliers are rejected, noise correlated between joints whitened [L §2.3].

With the residuals E (n, m) of the rows kept, the joint covariance is Ω = E Eᵀ/(m − p) [L eq 14]. Rows of one sample are
multiplied by Ω^{-1/2}, here C^{-1/2} D^{-1} with D the deviations and C the correlation, and by hard weights [L eq 12]:
1 where the normalised residual is at most T, else 0. A joint at rest (see `rest`) keeps its own deviation and stands
alone. Estimate, covariance and weights follow from each other until they stand.

A parallel filter spreads each spike over all rows within its reach: with one sample in ten wrong, every row is. So
gross outliers are detected at the full rate against the predicted torque, and replaced by the prediction plus the mean
residual of the good samples around them. Alternately estimating and replacing is an EM iteration, whose result does not
depend on the replaced values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.regression.covariance import sandwich
from joint_dynamics.identification.regression.least_squares import Solution, solve
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque, predict
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate

GROSS = 5.0  # residual beyond which a sample counts as grossly wrong, in robust deviations
MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
THRESHOLD = 4.0  # hard threshold T on the normalised residual; normal residuals exceed it once in 16000
SWEEPS = 30  # of weights and covariance, at most
PASSES = 12  # of replacing gross outliers, at most
CONVERGED = 1e-2  # change of an estimate, in its deviations, that counts as none
MIN_SAMPLES = 20  # per joint, below which correlations are not estimated
MIN_EIGENVALUE = 0.05  # smallest eigenvalue of the correlation matrix that is taken as it is


def find_outliers(problem: Problem, chi: FloatArray, gross: float = GROSS) -> tuple[list[BoolArray], list[FloatArray]]:
    """Return, per observation, which samples are gross outliers, (samples, n) bool, and the residuals [N·m].

    The deviation of a joint is that of all observations together, robustly: more than half of the samples have to be
    good.
    """
    residuals = [
        (observation.tau - full_rate_torque(problem, observation, chi)) * observation.measured
        for observation in problem.observations
    ]
    pooled = np.concatenate(residuals)
    deviation = MAD * np.median(np.abs(pooled), axis=0)
    # data without noise: the residual is rounding, without outliers
    floor = 1e-6 * np.sqrt(
        np.mean([np.mean(observation.tau**2, axis=0) for observation in problem.observations], axis=0)
    )
    return [np.abs(residual) > gross * np.maximum(deviation, floor) for residual in residuals], residuals


def cleaned(problem: Problem, chi: FloatArray, gross: float = GROSS) -> tuple[Problem, list[BoolArray]]:
    """Return the problem with gross outliers of the torque replaced, and where: (samples, n) bool per observation."""
    wrong, residuals = find_outliers(problem, chi, gross)
    if not any(mask.any() for mask in wrong):
        return problem, wrong
    from scipy.ndimage import uniform_filter1d  # here, as `identify` imports this module and mostly has no outliers

    torques = []
    for mask, residual, observation in zip(wrong, residuals, problem.observations, strict=True):
        size = observation.decimator.half + 1
        good = uniform_filter1d((~mask).astype(float), size, axis=0)
        near = uniform_filter1d(np.where(mask, 0.0, residual), size, axis=0) / np.maximum(good, 1.0 / size)
        torques.append(np.where(mask, observation.tau - residual + near, observation.tau))
    return problem.with_torque(torques), wrong


@dataclass(frozen=True)
class Noise:
    """sigma, rest_sigma: (n,) deviations of moving and resting rows [N·m]; correlation (n, n) of the moving ones."""

    sigma: FloatArray
    rest_sigma: FloatArray | None
    correlation: FloatArray

    def root(self, moving: FloatArray) -> FloatArray:
        """Return C^{-1/2} (n, n) of the joints that move (n,) bool, the identity for the others."""
        out = np.eye(len(moving))
        index = np.flatnonzero(moving)
        if len(index):
            values, vectors = np.linalg.eigh(self.correlation[np.ix_(index, index)])
            out[np.ix_(index, index)] = (vectors / np.sqrt(np.maximum(values, MIN_EIGENVALUE))) @ vectors.T
        return out

    def deviations(self, block: Block) -> FloatArray:
        """Return the deviation of each row of a block, (n, samples) [N·m]."""
        plain = np.broadcast_to(self.sigma[:, None], block.tau.shape)
        if block.resting is None or self.rest_sigma is None:
            return plain
        return np.where(block.resting, self.rest_sigma[:, None], plain)


def whitened(blocks: Iterator[Block], noise: Noise) -> Iterator[Block]:
    """Yield blocks with the rows of each sample multiplied by Ω^{-1/2}; a rest interval of m rows also by 1/√m."""
    roots: dict[bytes, FloatArray] = {}
    for block in blocks:
        deviation = noise.deviations(block)
        both = np.concatenate([block.rows, block.tau[:, None]], axis=1) / deviation[:, None]
        resting = np.zeros(block.tau.shape, dtype=bool) if block.resting is None else block.resting
        patterns, which = np.unique(resting.T, axis=0, return_inverse=True)
        out = np.empty_like(both)
        for k, pattern in enumerate(patterns):
            root = roots.setdefault(pattern.tobytes(), noise.root(~pattern))
            here = which.ravel() == k
            part = both[:, :, here]
            out[:, :, here] = (root @ part.reshape(len(root), -1)).reshape(part.shape)
        if block.scale is not None:
            out *= block.scale[:, None]
        yield replace(block, rows=out[:, :-1], tau=out[:, -1], resting=None, scale=None)


@dataclass(frozen=True)
class WeightedEstimate:
    """An estimate with its noise and weights: solution; noise; weights (n, samples) of 0 or 1 per block.

    `problem` is the problem with the cleaned torques.
    """

    problem: Problem
    solution: Solution
    noise: Noise
    weights: list[FloatArray]
    converged: bool = True

    @property
    def rejected_percent(self) -> float:
        """Share of rows left out, percent."""
        return 100 * (
            1 - float(sum(part.sum() for part in self.weights)) / max(sum(part.size for part in self.weights), 1)
        )

    def covariance(self) -> FloatArray:
        """Return the covariance (b, b) of the estimate, see `regression.covariance`."""
        plain = replace(self.solution, sigma=np.ones_like(self.solution.sigma), rest_sigma=None)
        blocks = list(whitened(self.problem.blocks(), self.noise))
        kept = [
            replace(block, rows=block.rows * weight[:, None], tau=block.tau * weight)
            for block, weight in zip(blocks, self.weights, strict=True)
        ]
        return sandwich(lambda: kept, plain)


def _noise(
    problem: Problem, solution: Solution, first: Solution, weights: list[FloatArray] | None, threshold: float
) -> Noise:
    """Estimate Ω from the rows kept, the first time robustly.

    Resting rows keep the ratio they had in the first solution.
    """
    parts = [
        (block.tau, predict(block, solution.chi), np.zeros(block.tau.shape) if block.resting is None else block.resting)
        for block in problem.blocks()
    ]
    torque, predicted, still = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    residual, still = torque - predicted, still.astype(bool)
    kept = ~still if weights is None else ~still & (np.concatenate(weights, axis=1) > 0)
    n = len(residual)
    floor = 1e-9 * max(float(np.abs(torque).max()), np.finfo(float).tiny)
    # the deviation of a normal distribution cut at T is a little too small
    density = np.exp(-(threshold**2) / 2) / np.sqrt(2 * np.pi)
    cut = 1.0 if weights is None else np.sqrt(1 - 2 * threshold * density / (2 * NormalDist().cdf(threshold) - 1))
    sigma = np.empty(n)
    for j in range(n):
        own = residual[j, kept[j]]
        if len(own) <= MIN_SAMPLES:
            sigma[j] = first.sigma[j]
        elif weights is None:
            sigma[j] = MAD * np.median(np.abs(own))
        else:
            free = max(len(own) - problem.columns / n, 1.0)
            sigma[j] = np.sqrt(own @ own / free) / cut
    sigma = np.maximum(sigma, floor)
    complete = kept.all(axis=0)
    correlation = np.eye(n)
    if complete.sum() > MIN_SAMPLES * n:
        normal = np.clip(residual[:, complete] / sigma[:, None], -threshold, threshold)
        gram = normal @ normal.T
        scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        correlation = gram / np.outer(scale, scale)
        correlation[np.diag_indices(n)] = 1.0
    rest = None if first.rest_sigma is None else np.maximum(first.rest_sigma * sigma / first.sigma, floor)
    return Noise(sigma, rest, correlation)


def _weights(problem: Problem, chi: FloatArray, noise: Noise, threshold: float) -> list[FloatArray]:
    """Return the hard weights (n, samples) per block: 1 where the normalised residual is at most the threshold."""
    residuals = (
        replace(block, rows=block.rows[:, :0], tau=block.tau - predict(block, chi), scale=None)
        for block in problem.blocks()
    )
    return [(np.abs(block.tau) <= threshold).astype(float) for block in whitened(residuals, noise)]


def solved(problem: Problem, noise: Noise, weights: list[FloatArray], fixed: BoolArray, values: FloatArray) -> Solution:
    """Return the solution of the rows kept, the columns `fixed` (b,) bool moved to the right side at `values` [L eq 7].

    Those keep their value and have no deviation.
    """
    triangles = triangulate(whitened(problem.blocks(), noise), weights)
    factors = triangles.factors.copy()
    factors[:, :, -1] -= factors[:, :, :-1][:, :, fixed] @ values[fixed]
    factors[:, :, :-1][:, :, fixed] = 0.0
    free = solve(
        replace(triangles, factors=factors), np.ones(problem.model.n), problem.optional, None, problem.selected | fixed
    )
    return replace(
        free,
        chi=np.where(fixed, values, free.chi),
        sigma=noise.sigma,
        rest_sigma=noise.rest_sigma,
        inflation=np.where(fixed, 1.0, free.inflation),
        inverse=np.where(fixed | fixed[:, None], 0.0, free.inverse),
    )


def reweight(
    problem: Problem,
    first: Solution,
    threshold: float = THRESHOLD,
    fixed: BoolArray | None = None,
    start: WeightedEstimate | None = None,
) -> WeightedEstimate:
    """Run loops 1 and 2 of [L] from a first solution until the weights stand.

    Parameters
    ----------
    fixed
        (b,) bool columns that keep their value in `first`; deviations in the result are those of the other columns.
    start
        initial weights and noise.
    """
    solution, weights, noise = first, None if start is None else start.weights, None if start is None else start.noise
    fixed = np.zeros(problem.columns, dtype=bool) if fixed is None else fixed
    converged = False
    for sweep in range(SWEEPS):
        noise = noise if sweep == 0 and noise is not None else _noise(problem, solution, first, weights, threshold)
        before, earlier = weights, solution.chi
        weights = _weights(problem, earlier, noise, threshold)
        solution = solved(problem, noise, weights, fixed, first.chi)
        change = change_in_deviations(solution, earlier)
        changed = (
            np.inf if before is None else sum(np.count_nonzero(a != b) for a, b in zip(before, weights, strict=True))
        )
        if converged := bool(change < CONVERGED and changed <= 1e-3 * sum(part.size for part in weights)):
            break
    assert noise is not None and weights is not None
    return WeightedEstimate(problem, solution, noise, weights, converged)


def change_in_deviations(solution: Solution, chi: FloatArray) -> float:
    """Return the largest change of a parameter from `chi`, in its deviations."""
    deviation = np.sqrt(np.maximum(np.diag(solution.inverse), 0.0))
    shown = deviation > 0
    return float(np.max(np.abs(solution.chi - chi)[shown] / deviation[shown], initial=0.0))


def irls(problem: Problem, first: Solution, threshold: float = THRESHOLD) -> WeightedEstimate:
    """Identify robustly from a first (least-squares) solution of `problem`.

    Gross outliers are replaced and rows reweighted alternately until the estimate converges. The result's problem has
    the cleaned torques.
    """
    clean, wrong = cleaned(problem, first.chi)
    estimate = reweight(clean, first, threshold)
    for _ in range(PASSES if any(mask.any() for mask in wrong) else 0):
        clean, after = cleaned(problem, estimate.solution.chi)
        changed = sum(np.count_nonzero(a != b) for a, b in zip(wrong, after, strict=True))
        before, wrong = estimate.solution.chi, after
        estimate = reweight(clean, replace(first, chi=estimate.solution.chi), threshold, start=estimate)
        change = change_in_deviations(estimate.solution, before)
        if change < CONVERGED and changed <= 1e-4 * sum(mask.size for mask in wrong):
            return estimate
        estimate = replace(estimate, converged=False)
    return estimate
