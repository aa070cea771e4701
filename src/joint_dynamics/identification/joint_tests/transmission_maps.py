"""Kinematic error and backlash maps from slow reciprocating motion without load [M4 eq 29-32].

Past a reversal the deformation settles at φ₊(θ) in one direction and φ₋(θ) in the other: θ̃ = (φ₊ + φ₋)/2, and φ₊ − φ₋
is the backlash 2𝓑. Both maps are look-up tables with linear interpolation, and the tables are fitted as such: least
squares on hat functions over all samples with engaged flanks, φ = θ̃(θ) + sgn(ω) 𝓑(θ), rather than read off at the
reversals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.regression.covariance import correlation_length
from joint_dynamics.joint import PeriodicMap, TorsionalStiffness

TURN = 2 * np.pi


@dataclass(frozen=True)
class TransmissionMaps:
    """Both maps as tables of K points over one turn, and how well the data determines them.

    Attributes
    ----------
    kinematic_error, backlash
        θ̃ and 𝓑 [rad].
    kinematic_error_std, backlash_std
        deviations of their points [rad], (K,).
    covered
        (K,) bool: points that both directions of motion reach.
    engaged
        per recording, (N,) bool: samples far enough past a reversal for the flanks to be engaged.
    residual_rms
        of the deformation at those samples [rad].
    """

    kinematic_error: PeriodicMap
    backlash: PeriodicMap
    kinematic_error_std: FloatArray
    backlash_std: FloatArray
    covered: BoolArray
    engaged: tuple[IntArray, ...]
    residual_rms: float


def travel_since_reversal(data: JointData, min_speed: float = 1e-4) -> tuple[FloatArray, FloatArray]:
    """Direction of motion (N,) in {−1, 0, 1} and the travel since its last change, rad (N,)."""
    direction = np.where(np.abs(data.omega) > min_speed, np.sign(data.omega), 0.0)
    changes = np.flatnonzero(np.diff(direction)) + 1
    start = np.zeros(direction.size, dtype=int)
    start[changes] = changes
    start = np.maximum.accumulate(start)
    return direction, np.abs(data.theta - data.theta[start])


def fit_transmission_maps(
    recordings: Sequence[JointData],
    points: int = 240,
    settle: float = 4e-3,
    stiffness: TorsionalStiffness | None = None,
) -> TransmissionMaps:
    """Fit θ̃ and 𝓑 as tables of `points` over one turn, from all samples more than `settle` rad past a reversal.

    Where no sample falls, the tables go on smoothly and are not `covered`. When the backlash is wider than `settle`
    allows (2.2 𝓑), the fit is repeated with more.

    Parameters
    ----------
    recordings
        of one joint, with θ and q.
    points
        per turn.
    settle
        rad.
    stiffness
        of the transmission: with a known load, its deformation is taken off first.

    Raises
    ------
    NotReliableError
        When one direction is missing.
    """
    phi = []
    for data in recordings:
        data.need('theta')
        load = 0.0 if data.tau_J is None or stiffness is None else stiffness.deformation(data.tau_J)
        phi.append(data.theta - data.q - load)
    travels = [travel_since_reversal(data) for data in recordings]
    for _ in range(3):
        engaged = tuple((direction != 0) & (travel > settle) for direction, travel in travels)
        theta = np.concatenate([data.theta[rows] for data, rows in zip(recordings, engaged, strict=True)])
        side = np.concatenate([direction[rows] for (direction, _), rows in zip(travels, engaged, strict=True)])
        value = np.concatenate([deformation[rows] for deformation, rows in zip(phi, engaged, strict=True)])
        if not (np.any(side > 0) and np.any(side < 0)):
            raise NotReliableError(
                f'{recordings[0].joint}: the motion never settles in both directions ({settle:g} rad past a reversal): '
                'kinematic error and backlash cannot be told apart'
            )
        maps = _fit_tables(theta, side, value, points, engaged)
        widest = float(np.max(np.abs(maps.backlash.tables[0])[maps.covered], initial=0.0))
        if settle >= 2.2 * widest:
            return maps
        settle = 2.5 * widest
    return maps


def _hats(theta: FloatArray, points: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Cell, its right neighbour, and the weight of the neighbour, of each angle."""
    u = np.mod(theta, TURN) * points / TURN
    cell = np.minimum(u.astype(int), points - 1)
    return cell, (cell + 1) % points, u - cell


def _fit_tables(
    theta: FloatArray, side: FloatArray, value: FloatArray, points: int, engaged: tuple[IntArray, ...]
) -> TransmissionMaps:
    """Solve φ = θ̃ + sgn·𝓑 on hat functions.

    A very small curvature penalty closes the gaps without bending what is measured.
    """
    left, right, fraction = _hats(theta, points)
    weight = (1.0 - fraction, fraction)
    normal = np.zeros((2 * points, 2 * points))
    target = np.zeros(2 * points)
    for a, wa in ((left, weight[0]), (right, weight[1])):
        for half, sa in ((0, 1.0), (points, side)):
            np.add.at(target, half + a, wa * sa * value)
            for b, wb in ((left, weight[0]), (right, weight[1])):
                for other, sb in ((0, 1.0), (points, side)):
                    np.add.at(normal, (half + a, other + b), wa * sa * wb * sb)
    identity = np.eye(points)
    curvature = np.roll(identity, 1, 0) - 2 * identity + np.roll(identity, -1, 0)
    smooth = 1e-4 * theta.size / points * (curvature.T @ curvature)
    penalised = normal.copy()
    penalised[:points, :points] += smooth
    penalised[points:, points:] += smooth
    solution = np.linalg.solve(penalised, target)
    error, width = solution[:points], solution[points:]

    def interpolate(table: FloatArray) -> FloatArray:
        return table[left] + fraction * (table[right] - table[left])

    residual = value - interpolate(error) - side * interpolate(width)
    inverse = np.linalg.inv(penalised)
    # Residuals of one stroke hang together (quantisation, ripple): fewer independent samples than rows.
    growth = 1.0 + 2.0 * correlation_length(residual, longest=2000)
    covariance = np.sum((inverse @ normal) * inverse, axis=1) * float(np.mean(residual**2)) * growth
    std = np.sqrt(covariance)
    counts = [
        np.bincount(
            np.mod(np.round(np.mod(theta[side == s], TURN) * points / TURN).astype(int), points), minlength=points
        )
        for s in (-1.0, 1.0)
    ]
    covered = (counts[0] > 0) & (counts[1] > 0)
    return TransmissionMaps(
        PeriodicMap(error),
        PeriodicMap(width),
        std[:points],
        std[points:],
        covered,
        engaged,
        float(np.sqrt(np.mean(residual**2))),
    )
