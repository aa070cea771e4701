"""What a trajectory is worth and how far it stays from every limit, evaluated as it will be played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.constraint import ALLOWED, Constraint
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.proof import certified_margins
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

BLOCK = 1000
SINGULAR = 1e6
"""Condition number from which on the columns count as dependent.

The information matrix has its square, near what doubles resolve.
"""


@dataclass(frozen=True)
class Assessment:
    """Worth and margins of a trajectory.

    Attributes
    ----------
    condition_number
        of the base regressor with columns of norm one, inf where parameters cannot be told apart.
    log_det
        log det (W_bᵀ W_b / samples) in SI units, −inf likewise.
    base_parameters
        their number b.
    margins
        per kind of limit the margin kept at all times, as a fraction of the limit, proved (`proof`); negative where a
        limit may be broken.
    samples
        how many the other figures come from.
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
        return all(margin >= -ALLOWED for margin in self.margins.values())

    @property
    def worst(self) -> tuple[str, float]:
        """The kind of limit with the smallest margin, and that margin."""
        return min(self.margins.items(), key=lambda item: item[1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers for `summary.json`; what is not finite becomes None."""

        def plain(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        return {
            'condition_number': plain(self.condition_number),
            'log_det': plain(self.log_det),
            'base_parameters': self.base_parameters,
            'margins': {kind: plain(value) for kind, value in self.margins.items()},
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
    """Whether every limit is kept at the times given (samples,) [s]; looks no further than the first that is not."""
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
    """Evaluate a trajectory: certified margins to `constraints`, and the condition of the base regressor.

    Parameters
    ----------
    times
        (samples,) [s], what the regressor is evaluated at.
    kinds
        of the parameters it has.
    known, known_samples
        information matrix (b, b) that is there already, and how many samples it comes from: the worth is that of both.
    """
    base = model.base_parameters(kinds)
    columns = model.columns(kinds)[base.independent]
    G = np.zeros((len(columns), len(columns))) + known
    samples = len(times) + known_samples
    margins = certified_margins(model, trajectory, constraints)
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
