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

"""How well a trajectory excites, and how far it stays from every limit, evaluated as it will be played.

The search minimises smoothed criteria of excitation, functions of the information matrix G = W_bᵀ W_b, with their
gradients.

The condition number σ_max / σ_min of W_b, with columns scaled to norm one, is not differentiable where singular values
coincide, and at the best motions many do. Its smooth form, of sharpness p, has the p-norm of the eigenvalues λ of the
scaled G in place of the largest one:

    log cond ≈ (log Σ λ^p + log Σ λ^−p) / 2p,

which tends to it from above as p grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.excitation.constraint import LIMIT_TOLERANCE, Constraint, motion_margins
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

Criterion = Callable[[FloatArray, float], tuple[float, FloatArray]]
"""(G (b, b), sharpness p) → value, gradient (b, b) symmetric, such that d value = Σ gradient · dG."""

_FLOOR = 1e-13
INFORMATION_WEIGHT = 0.2  # of −log det / b beside the log of the condition number


def log_condition(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
    """Return the smoothed log of the condition number of W_b with columns of norm one, and its gradient."""
    norm = np.sqrt(np.maximum(np.diag(G), 1e-300))
    scaled = G / np.outer(norm, norm)
    eigenvalues, U = np.linalg.eigh(scaled)
    log_lambda = np.log(np.maximum(eigenvalues, _FLOOR))
    value, slope = 0.0, np.zeros_like(log_lambda)
    for sign in (1.0, -1.0):
        exponent = sign * sharpness * log_lambda
        top = exponent.max()
        share = np.exp(exponent - top)
        value += (top + np.log(share.sum())) / (2 * sharpness)
        slope += sign * share / share.sum() / 2
    by_scaled = (U * (slope * np.exp(-log_lambda))) @ U.T
    gradient = by_scaled / np.outer(norm, norm)
    gradient[np.diag_indices(len(G))] -= (by_scaled * scaled).sum(axis=1) / norm**2
    return value, gradient


def negative_log_det(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
    """Return −log det G / b, the mean log of the variances' scale, and its gradient; the sharpness is not used."""
    eigenvalues, U = np.linalg.eigh(G)
    eigenvalues = np.maximum(eigenvalues, _FLOOR * eigenvalues[-1])
    return -float(np.log(eigenvalues).mean()), -(U / eigenvalues) @ U.T / len(G)


def informed_condition(G: FloatArray, sharpness: float) -> tuple[float, FloatArray]:
    """Return log_condition + 0.2 · (−log det G / b): it prefers stronger signals among motions of equal condition."""
    (value, gradient), (information, by_information) = log_condition(G, sharpness), negative_log_det(G, sharpness)
    return value + INFORMATION_WEIGHT * information, gradient + INFORMATION_WEIGHT * by_information


CRITERION_FUNCTIONS: Mapping[str, Criterion] = MappingProxyType(
    {'condition_number': informed_condition, 'log_det': negative_log_det}
)
BLOCK = 1000
SINGULAR = 1e6
"""Condition number from which on the columns count as dependent.

The information matrix has its square, near what doubles resolve.
"""


@dataclass(frozen=True)
class Assessment:
    """Quality of excitation and margins of a trajectory.

    Attributes
    ----------
    condition_number
        of the base regressor with columns of norm one; inf where parameters cannot be distinguished.
    log_det
        log det (W_bᵀ W_b / samples) in SI units; −inf where parameters cannot be distinguished.
    base_parameters
        their number b.
    margins
        per kind of limit the margin, as a fraction of the limit, proved or checked at 1 kHz (`constraint`);
        negative where a limit may be broken.
    samples
        number of samples behind the other figures.
    information
        W_bᵀ W_b (b, b).
    """

    condition_number: float
    log_det: float
    base_parameters: int
    margins: dict[str, float]
    samples: int
    information: FloatArray = field(repr=False, compare=False)

    @property
    def feasible(self) -> bool:
        """Whether every limit is kept."""
        return all(margin >= -LIMIT_TOLERANCE for margin in self.margins.values())

    @property
    def worst(self) -> tuple[str, float]:
        """The kind of limit with the smallest margin, and that margin."""
        return min(self.margins.items(), key=lambda item: item[1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers for `summary.json`; values that are not finite become None."""
        return {
            'condition_number': finite(self.condition_number),
            'log_det': finite(self.log_det),
            'base_parameters': self.base_parameters,
            'margins': {kind: finite(value) for kind, value in self.margins.items()},
            'samples': self.samples,
        }


def motion_blocks(model: RobotModel, trajectory: Trajectory, times: FloatArray) -> Iterator[RobotMotion]:
    """Yield a RobotMotion for one block of times after the other."""
    for start in range(0, len(times), BLOCK):
        yield RobotMotion(model, *trajectory.motion(times[start : start + BLOCK]))


def margins_of(motion: RobotMotion, constraints: Sequence[Constraint]) -> dict[str, float]:
    """Return the smallest margin of every kind of limit over the samples of a motion."""
    return {constraint.kind: constraint.scale * constraint.smallest(motion) for constraint in constraints}


def keeps(model: RobotModel, trajectory: Trajectory, times: FloatArray, constraints: Sequence[Constraint]) -> bool:
    """Whether every limit is kept at the given times (samples,) [s]; stops at the first that is not."""
    return all(
        constraint.smallest(motion) >= 0
        for motion in motion_blocks(model, trajectory, times)
        for constraint in constraints
    )


def assess(
    model: RobotModel,
    trajectory: Trajectory,
    times: FloatArray,
    constraints: Sequence[Constraint],
    kinds: Sequence[str],
    known: FloatArray | float = 0.0,
    known_samples: int = 0,
) -> Assessment:
    """Evaluate a trajectory: margins to `constraints`, and the condition of the base regressor.

    Parameters
    ----------
    model
        the robot.
    trajectory
        the motion.
    times
        (samples,) [s], at which the regressor is evaluated.
    constraints
        the limits.
    kinds
        of the parameters in the regressor.
    known, known_samples
        information matrix (b, b) of earlier motions and the number of samples behind it; the figures are those of all
        motions together.
    """
    base = model.base_parameters(kinds)
    columns = model.columns(kinds)[base.independent]
    G = np.zeros((len(columns), len(columns))) + known
    samples = len(times) + known_samples
    margins = motion_margins(model, trajectory, constraints)
    for motion in motion_blocks(model, trajectory, times):
        W = motion.regressor.rows[:, columns].transpose(1, 0, 2).reshape(len(columns), -1)
        G += W @ W.T
    norm = np.sqrt(np.diag(G))
    if norm.min() > 0:
        eigenvalues = np.linalg.eigvalsh(G / np.outer(norm, norm))
        if eigenvalues[0] * SINGULAR**2 > eigenvalues[-1]:
            log_det = float(np.log(eigenvalues).sum() + 2 * np.log(norm).sum() - len(columns) * np.log(samples))
            return Assessment(
                float(np.sqrt(eigenvalues[-1] / eigenvalues[0])), log_det, len(columns), margins, samples, G
            )
    return Assessment(np.inf, -np.inf, len(columns), margins, samples, G)
