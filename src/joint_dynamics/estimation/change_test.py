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

"""Likelihood of each kind of change, from the information of the last seconds in blocks.

For joint j and each side of its transmission, the torque beyond the model is linear in the possible changes:

    motor:   τ_m − B ω̇ − F_v − τ_bare = Y χ + α₁ F(τ_J) H + α₂ ω;
    spring:  D φ̇ − τ_bare             = Y χ − κ τ_E(φ) + 2 ν k (1 − g) g 𝓑 s + ζ k σ(θ).

Y (10,) is the row of the last link's inertial parameters, χ those of the payload, τ_bare the torque of the links
without it. κ is the factor of the reference curve τ_E, 1 without a change. ν is the error of the logarithm of the load
that takes up the lost motion g 𝓑 s, ζ the kinematic error in units of its deviation σ(θ). docs/explanation/changes.md
derives the test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.robot.newton_euler import add, cross, dot, link_coefficients, rate, scaled, turn, vector

BODY = 10  # inertial parameters of the payload, in the order of `newton_euler.Link`
CHANGE = BODY  # column of the parameter that may change: α₁ or κ
DRIFT = BODY + 1  # column of the parameter that drifts: α₂ or ν
KINEMATIC = BODY + 2  # column of the kinematic error ζ of a block
CONSTANT = BODY + 3  # column of the constant error of a block, such as that of a posture
ROW = BODY + 5  # length of a row; the torque is its last number
MOTOR, SPRING = range(2)
"""Sides of a transmission."""


class Blocks(NamedTuple):
    """Ring of k blocks; a block holds W = Σ w² rowᵀrow with w the inverse of the stated deviation.

    The rows are [Y, F(τ_J) H, ω, 0, 1/w, torque] of the motor and [Y, −τ_E(φ), 2 k (1 − g) g 𝓑 s, k σ, 1/w, torque]
    of the spring.

    Attributes
    ----------
    information
        W (k, 2, n, 15, 15) of each side.
    samples
        (k, 2, n) of each side.
    payload, reference
        references at the beginning of the block: χ (k, 10) in force; means of α and [κ, ν], (k, 2, n, 2).
    disturbed
        (k,) bool: whether there was a contact, or the payload was unknown.
    place
        (2,) the open block, and its number of samples.

    """

    information: FloatArray
    samples: FloatArray
    payload: FloatArray
    reference: FloatArray
    disturbed: BoolArray
    place: IntArray


class Verdict(NamedTuple):
    """Evaluation of changes at the beginning of the last 1, 2, … k blocks (first axis).

    Attributes
    ----------
    load
        (k,) gain in log-likelihood by a change of the payload.
    payload
        (k, 10) change of the payload's inertial parameters.
    single, change
        (k, 2, n) gain by a change of Coulomb friction (MOTOR) or stiffness (SPRING), and that change: of α₁, or
        relative of the stiffness.
    samples
        (k, 2, n) number of independent samples.
    cost, load_cost, single_cost
        (k, 2, n) mean squares times samples, relative to the expected mean square. They are those without a change,
        with a change of the payload, and with a change of that one parameter.

    """

    load: FloatArray
    payload: FloatArray
    single: FloatArray
    change: FloatArray
    samples: FloatArray
    cost: FloatArray
    load_cost: FloatArray
    single_cost: FloatArray


@compiled
def last_link_rows(links: Any, q: FloatArray, work: FloatArray, rows: FloatArray) -> None:
    """Write Y (n, 10) of the last joint's link: its parameters times a row are the torque of that joint.

    work: (N, WORK) as `inverse_dynamics` left it for this motion.
    """
    last = 0
    for i in range(len(links)):
        if links[i].number == len(rows) - 1:
            last = i
    own = work[last]
    motion = vector(own[15:18]), vector(own[18:21]), vector(own[21:24])
    rows[:] = 0.0
    # axes and origin of the last link in the frame of link i
    x, y, z, origin = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    i = last
    while i >= 0:
        link = links[i]
        turning, shift = (0.0, 0.0, 0.0), vector(link.axis)
        if not link.prismatic:
            turning, shift = shift, cross(shift, origin)
        lever = (dot(x, turning), dot(y, turning), dot(z, turning)), (dot(x, shift), dot(y, shift), dot(z, shift))
        values = link_coefficients(lever, motion)
        for k in range(link.leaders):
            for p in range(BODY):
                rows[link.leader[k], p] += link.ratio[k] * values[p]
        R = vector(work[i, 0:3]), vector(work[i, 3:6]), vector(work[i, 6:9])
        place = vector(link.translation)
        if link.prismatic:
            place = add(place, scaled(rate(link, q) + link.offset, vector(link.slide)))
        x, y, z, origin = turn(R, x), turn(R, y), turn(R, z), add(place, turn(R, origin))
        i = link.parent


@compiled
def begin_block(blocks: Any, payload: FloatArray, friction: FloatArray) -> None:
    """Empty the open block and store the references χ (10,) and α (n, 2)."""
    k = blocks.place[0]
    blocks.information[k], blocks.samples[k], blocks.disturbed[k] = 0.0, 0.0, False
    blocks.payload[k], blocks.reference[k, MOTOR] = payload, friction
    blocks.reference[k, SPRING, :, 0], blocks.reference[k, SPRING, :, 1] = 1.0, 0.0


@compiled
def take(blocks: Any, rows: FloatArray, sides: FloatArray, disturbed: bool) -> None:
    """Add one sample to the open block.

    rows: Y (n, 10). sides (2, 5, n): torque less that of the links with the payload in force, the columns `CHANGE`,
    `DRIFT` and `KINEMATIC`, and w. w = 0 leaves the side out.
    """
    k, row = blocks.place[0], np.empty(ROW)
    blocks.place[1] += 1
    blocks.disturbed[k] = blocks.disturbed[k] or disturbed
    for side in range(2):
        for j in range(len(rows)):
            weight = sides[side, 4, j]
            if not weight > 0.0:
                continue
            row[:BODY], row[CHANGE:CONSTANT], row[CONSTANT] = rows[j], sides[side, 1:4, j], 1.0 / weight
            row[-1] = sides[side, 0, j] + np.dot(rows[j], blocks.payload[k])
            blocks.samples[k, side, j] += 1.0
            W = blocks.information[k, side, j]
            for r in range(ROW):
                for c in range(ROW):
                    W[r, c] += weight * weight * row[r] * row[c]


def residual(W: FloatArray, reference: FloatArray) -> FloatArray:
    """Return W (…, m + 1, m + 1) with the torque less row · reference, (…, m), in place of the torque."""
    turn = np.concatenate([-reference, np.ones((*reference.shape[:-1], 1))], axis=-1)
    last, W = np.einsum('...rc,...c->...r', W, turn), W.copy()
    W[..., -1, :], W[..., :, -1], W[..., -1, -1] = last, last, np.sum(turn * last, axis=-1)
    return W


def eliminated(W: FloatArray, k: int, prior: FloatArray | float) -> FloatArray:
    """Return W without parameter k, which is at its optimum, with a prior mean of 0 and inverse variance `prior`."""
    left = [row for row in range(W.shape[-1]) if row != k]
    own, scaled = W[..., left, k], W[..., left, k] / np.asarray(W[..., k, k] + prior)[..., None]
    return np.asarray(W[..., left, :][..., left] - scaled[..., :, None] * own[..., None, :])


def judge(
    blocks: Blocks,
    latest: list[int],
    share: float,
    constant: FloatArray,
    drift: FloatArray,
    possible: FloatArray,
    body: FloatArray,
    square: FloatArray,
) -> Verdict:
    """Return the evaluation of changes at the beginning of each of the blocks `latest`, the newest first.

    Parameters
    ----------
    share
        independent samples per sample.
    constant
        (2, n) mean square of a constant error of a block, over that of the error of one sample.
    drift
        (2, 2, n) inverse variances by drift over all blocks: of α₁ and α₂, of κ and ν.
    possible
        (2, n) inverse variances of a change of α₁ and of κ.
    body
        (10,) inverse variances of a change of the payload.
    square
        (2, n) ordinary mean square of the error, relative to the stated variance.

    """
    # Drift is smaller over a shorter time.
    steady = (len(blocks.payload) / np.arange(1.0, len(latest) + 1.0))[:, None, None]
    W = eliminated(blocks.information[latest], CONSTANT, 1.0 / (share * constant))
    W = np.cumsum(eliminated(W, KINEMATIC, square / share), axis=0)
    payload = np.broadcast_to(blocks.payload[latest, None, None], (*W.shape[:3], BODY))
    W = residual(W, np.concatenate([payload, blocks.reference[latest]], axis=-1)) * (share / square)[..., None, None]
    W = eliminated(W, DRIFT, steady * drift[:, 1])
    v, w = W[..., CHANGE, -1], W[..., CHANGE, CHANGE] + possible
    single, single_cost = 0.5 * v * v / w, W[..., -1, -1] - v * v / w
    W = eliminated(W, CHANGE, steady * drift[:, 0])
    A, b, cost = W[..., :BODY, :BODY], W[..., :BODY, -1], W[..., -1, -1]
    h = b.sum(axis=(1, 2))
    added = np.linalg.solve(A.sum(axis=(1, 2)) + np.diag(body), h[..., None])[..., 0]
    load_cost = cost - 2.0 * np.einsum('ksjr,kr->ksj', b, added) + np.einsum('kr,ksjrc,kc->ksj', added, A, added)
    samples = share * np.cumsum(blocks.samples[latest], axis=0)
    return Verdict(0.5 * np.sum(h * added, axis=1), added, single, v / w, samples, cost, load_cost, single_cost)
