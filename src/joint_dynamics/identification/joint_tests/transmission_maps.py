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

"""Kinematic error and backlash maps from slow reciprocating motion without load [M4 eq 29-32].

Past a reversal the deformation settles at φ₊(θ) in one direction and φ₋(θ) in the other: θ̃ = (φ₊ + φ₋)/2, and φ₊ − φ₋
is the backlash 2𝓑. Both maps are look-up tables with linear interpolation. Least squares on hat functions fits them to
all samples with engaged flanks, φ = θ̃(θ) + sgn(ω) 𝓑(θ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.regression.covariance import correlated_variance
from joint_dynamics.joint import PeriodicMap, TorsionalStiffness

TURN = 2 * np.pi
MIN_SPEED = 1e-4  # rad/s; a slower joint has no direction


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


def travel_since_reversal(data: JointData) -> tuple[FloatArray, FloatArray]:
    """Return the direction of motion (N,) in {−1, 0, 1}, 0 below `MIN_SPEED`, and the travel since its last change.

    The latter (N,) rad, of the motor side.
    """
    direction = np.where(np.abs(data.omega) > MIN_SPEED, np.sign(data.omega), 0.0)
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
                'kinematic error and backlash cannot be distinguished'
            )
        maps = _fit_tables(theta, side, value, points, engaged)
        widest = float(np.max(np.abs(maps.backlash.tables[0])[maps.covered], initial=0.0))
        if settle >= 2.2 * widest:
            return maps
        settle = 2.5 * widest
    return maps


def _fit_tables(
    theta: FloatArray, side: FloatArray, value: FloatArray, points: int, engaged: tuple[IntArray, ...]
) -> TransmissionMaps:
    """Solve φ = θ̃ + sgn·𝓑 on hat functions.

    A very small curvature penalty closes the gaps; it does not bend the measured parts.
    """
    place = np.mod(theta, TURN) * points / TURN
    left = np.minimum(place.astype(int), points - 1)
    entries = np.tile(np.arange(theta.size), 2), np.concatenate([left, (left + 1) % points])
    hats = csr_array((np.concatenate([1.0 - place + left, place - left]), entries), shape=(theta.size, points))
    W = hstack([hats, hats.multiply(side[:, None])], format='csr')
    normal = (W.T @ W).toarray()
    identity = np.eye(points)
    curvature = np.roll(identity, 1, 0) - 2 * identity + np.roll(identity, -1, 0)
    penalised = normal + np.kron(np.eye(2), 1e-4 * theta.size / points * (curvature.T @ curvature))
    solution = np.linalg.solve(penalised, W.T @ value)
    residual = value - W @ solution
    inverse = np.linalg.inv(penalised)
    # Residuals of one stroke hang together (quantisation, ripple): fewer independent samples than rows.
    std = np.sqrt(np.sum((inverse @ normal) * inverse, axis=1) * correlated_variance(residual, normal, inverse))
    nearest = np.mod(np.round(place).astype(int), points)
    forward, backward = (np.bincount(nearest[side == s], minlength=points) > 0 for s in (1.0, -1.0))
    return TransmissionMaps(
        PeriodicMap(solution[:points]),
        PeriodicMap(solution[points:]),
        std[:points],
        std[points:],
        forward & backward,
        engaged,
        float(np.sqrt(np.mean(residual**2))),
    )
