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

"""Likelihood of each kind of change, compiled, from the information of the last seconds in blocks.

For joint j and each side of its transmission, the torque beyond the model is linear in the possible changes:

    motor:   τ_m − B ω̇ − F_v − τ_bare = Y χ + α₁ F(τ_J) H + α₂ ω;
    spring:  D φ̇ − τ_bare             = Y χ − Σ_p a_p φ^{2p−1} + 2 ν k (1 − g) g 𝓑 s + ζ k σ(θ).

Y (10,) is the row of the last link's inertial parameters, χ those of the payload, τ_bare the torque of the links
without it. ν is the error of the logarithm of the load that takes up the lost motion g 𝓑 s, ζ the kinematic error in
units of its deviation σ(θ). docs/explanation/changes.md derives the test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.robot.newton_euler import add, cross, dot, link_coefficients, rate, scaled, turn, vector

BODY = 10  # inertial parameters of the payload, in the order of `newton_euler.Link`
MOTOR, SPRING = range(2)
"""Sides of a transmission."""


class Blocks(NamedTuple):
    """Ring of k blocks; a block holds W = Σ w² rowᵀrow with w the inverse of the stated deviation.

    The rows are [Y, F(τ_J) H, ω, 1/w, torque] of the motor and [Y, φ, φ³ …, 2 k (1 − g) g 𝓑 s, k σ, 1/w, torque] of the
    spring. The parameter of 1/w is a constant error, such as that of a posture; each block has its own, and its own ζ.

    Attributes
    ----------
    motor, spring
        W (k, n, 14, 14) and (k, n, 14 + P, 14 + P).
    samples
        (k, 2, n) of each side.
    payload, friction, spring_map
        references at the beginning of the block: χ (k, 10) in force, means of α (k, n, 2) and a (k, n, P).
    disturbed
        (k,) bool: whether there was a contact, or the payload was unknown.
    place
        (2,) the open block, and its number of samples.

    """

    motor: FloatArray
    spring: FloatArray
    samples: FloatArray
    payload: FloatArray
    friction: FloatArray
    spring_map: FloatArray
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
def add_row(W: FloatArray, row: FloatArray, weight: float) -> None:
    """W += w² rowᵀrow."""
    for r in range(len(row)):
        for c in range(len(row)):
            W[r, c] += weight * weight * row[r] * row[c]


@compiled
def begin_block(blocks: Any, payload: FloatArray, friction: FloatArray, spring_map: FloatArray) -> None:
    """Empty the open block and store the references χ (10,), α (n, 2) and a (n, P)."""
    k = blocks.place[0]
    blocks.motor[k], blocks.spring[k], blocks.samples[k], blocks.disturbed[k] = 0.0, 0.0, 0.0, False
    blocks.payload[k], blocks.friction[k], blocks.spring_map[k] = payload, friction, spring_map


@compiled
def take(
    blocks: Any, rows: FloatArray, motor: FloatArray, spring: FloatArray, disturbed: bool, row: FloatArray
) -> None:
    """Add one sample to the open block.

    rows: Y (n, 10). motor (4, n): torque less that of the links with the payload in force, F(τ_J) H, ω, w. spring
    (4 + P, n): D φ̇ less that of the links, w, φ^{2p−1}, 2 k (1 − g) g 𝓑 s, k σ. w = 0 leaves the side out. row:
    (14 + P,), written.
    """
    n, order, k = rows.shape[0], len(spring) - 4, blocks.place[0]
    blocks.place[1] += 1
    blocks.disturbed[k] = blocks.disturbed[k] or disturbed
    m, s = row[: BODY + 4], row[: BODY + 4 + order]
    for j in range(n):
        held = 0.0
        for p in range(BODY):
            row[p] = rows[j, p]
            held += rows[j, p] * blocks.payload[k, p]
        if motor[3, j] > 0.0:
            m[10], m[11], m[12], m[13] = motor[1, j], motor[2, j], 1.0 / motor[3, j], motor[0, j] + held
            add_row(blocks.motor[k, j], m, motor[3, j])
            blocks.samples[k, MOTOR, j] += 1.0
        if spring[1, j] > 0.0:
            for p in range(order + 2):
                s[BODY + p] = spring[2 + p, j]
            s[BODY + order + 2], s[BODY + order + 3] = 1.0 / spring[1, j], spring[0, j] + held
            add_row(blocks.spring[k, j], s, spring[1, j])
            blocks.samples[k, SPRING, j] += 1.0


@compiled
def about(W: FloatArray, reference: FloatArray, residual: FloatArray) -> None:
    """Write W with the torque replaced by the torque less row · reference."""
    last = len(W) - 1
    residual[:] = W
    square = W[last, last]
    for r in range(last):
        total = W[r, last]
        for c in range(last):
            total -= W[r, c] * reference[c]
        residual[r, last], residual[last, r] = total, total
        square -= reference[r] * (W[r, last] + total)
    residual[last, last] = square


@compiled
def sweep(W: FloatArray, k: int, prior: float) -> None:
    """Eliminate parameter k at its optimum, with a prior mean of 0 and standard deviation of 1/√prior."""
    size, pivot = len(W), W[k, k] + prior
    for r in range(size):
        if r == k:
            continue
        share = W[r, k] / pivot
        for c in range(size):
            if c != k:
                W[r, c] -= share * W[k, c]
    W[k, :] = 0.0
    W[:, k] = 0.0


@compiled
def single_change(W: FloatArray, k: int, drift: float, possible: float) -> tuple[float, float, float]:
    """Return gain, change and remaining cost of a change of parameter k, against ordinary drift.

    drift, possible: inverse variances of drift and change. Eliminates the parameter as one that drifts.
    """
    last = len(W) - 1
    w, v = W[k, k] + possible, W[k, last]
    left = W[last, last] - v * v / w
    sweep(W, k, drift)
    return 0.5 * v * v / w, v / w, left


@compiled
def solve(A: FloatArray, b: FloatArray, x: FloatArray) -> None:
    """Write the solution of A x = b, A symmetric and positive definite; A is overwritten (Cholesky)."""
    size = len(b)
    for i in range(size):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = np.sqrt(max(total, 1e-300)) if i == j else total / A[j, j]
        x[i] = b[i]
        for k in range(i):
            x[i] -= A[i, k] * x[k]
        x[i] /= A[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            x[i] -= A[k, i] * x[k]
        x[i] /= A[i, i]


@compiled
def along_map(W: FloatArray, reference: FloatArray, one: FloatArray) -> None:
    """Write W of Y, one factor of the reference map in place of its coefficients, and torque."""
    order, last = len(W) - BODY - 4, len(W) - 1
    for r in range(12):
        row = r if r < BODY else last
        for c in range(12):
            column = c if c < BODY else last
            if r != BODY and c != BODY:
                one[r, c] = W[row, column]
        if r != BODY:
            total = 0.0
            for p in range(order):
                total += W[row, BODY + p] * reference[BODY + p]
            one[r, BODY], one[BODY, r] = total, total
    total = 0.0
    for p in range(order):
        for c in range(order):
            total += reference[BODY + p] * W[BODY + p, BODY + c] * reference[BODY + c]
    one[BODY, BODY] = total


@compiled
def judge(
    blocks: Any,
    newest: int,
    filled: int,
    share: float,
    constant: FloatArray,
    drift: FloatArray,
    possible: FloatArray,
    play: float,
    body: FloatArray,
    scale: FloatArray,
    verdict: Any,
) -> None:
    """Evaluate changes at the beginning of the last 1, 2, … `filled` blocks.

    Parameters
    ----------
    blocks, verdict
        `Blocks`; `Verdict`, written.
    newest, filled
        the last complete block, and the number of complete blocks.
    share
        independent samples per sample.
    constant
        (2, n) mean square of the error of one sample, so shared, over that of a constant error of a block.
    drift, possible
        (3, n) inverse variances of α₁, α₂ and the stiffness, by drift over all blocks and by a change.
    play, body
        inverse variances of ν by drift, and (10,) of the payload by a change.
    scale
        (2, n) inverse of the expected mean square.

    """
    n, order, ring = blocks.spring_map.shape[1], blocks.spring_map.shape[2], len(blocks.payload)
    motor, spring = np.zeros((n, 14, 14)), np.zeros((n, 14 + order, 14 + order))
    samples = np.zeros((2, n))
    left = np.zeros((2, n, 11, 11))
    reference, of_spring = np.zeros(13), np.zeros(13 + order)
    m, s, one = np.empty((14, 14)), np.empty((14 + order, 14 + order)), np.empty((12, 12))
    J, h = np.empty((BODY, BODY)), np.empty(BODY)
    for length in range(filled):
        k = (newest - length) % ring
        for j in range(n):
            m[:], s[:] = blocks.motor[k, j], blocks.spring[k, j]
            sweep(m, 12, constant[MOTOR, j])
            sweep(s, BODY + order + 1, 1.0 / (share * scale[SPRING, j]))
            sweep(s, BODY + order + 2, constant[SPRING, j])
            motor[j] += m
            spring[j] += s
        samples += blocks.samples[k]
        J[:], h[:] = 0.0, 0.0
        # Drift is smaller over a shorter time.
        steady = ring / (length + 1.0)
        for p in range(BODY):
            J[p, p] = body[p]
            reference[p] = of_spring[p] = blocks.payload[k, p]
        for j in range(n):
            reference[10], reference[11] = blocks.friction[k, j, 0], blocks.friction[k, j, 1]
            about(motor[j], reference, m)
            m *= share * scale[MOTOR, j]
            sweep(m, 11, steady * drift[1, j])
            gain, change, rest = single_change(m, 10, steady * drift[0, j], possible[0, j])
            verdict.single[length, MOTOR, j], verdict.change[length, MOTOR, j] = gain, change
            verdict.single_cost[length, MOTOR, j] = rest
            for p in range(order):
                of_spring[BODY + p] = -blocks.spring_map[k, j, p]
            about(spring[j], of_spring, s)
            s *= share * scale[SPRING, j]
            sweep(s, BODY + order, steady * play)
            along_map(s, of_spring, one)
            gain, change, rest = single_change(one, 10, steady * drift[2, j], possible[2, j])
            verdict.single[length, SPRING, j], verdict.change[length, SPRING, j] = gain, change
            verdict.single_cost[length, SPRING, j] = rest
            for r in range(11):
                for c in range(11):
                    left[MOTOR, j, r, c] = m[r if r < BODY else 13, c if c < BODY else 13]
                    left[SPRING, j, r, c] = one[r if r < BODY else 11, c if c < BODY else 11]
            for side in range(2):
                verdict.samples[length, side, j] = share * samples[side, j]
                verdict.cost[length, side, j] = left[side, j, BODY, BODY]
                for r in range(BODY):
                    h[r] += left[side, j, r, BODY]
                    for c in range(BODY):
                        J[r, c] += left[side, j, r, c]
        payload = verdict.payload[length]
        solve(J, h, payload)
        verdict.load[length] = 0.5 * np.dot(h, payload)
        for side in range(2):
            for j in range(n):
                rest = left[side, j, BODY, BODY]
                for r in range(BODY):
                    rest -= 2.0 * left[side, j, r, BODY] * payload[r]
                    for c in range(BODY):
                        rest += payload[r] * left[side, j, r, c] * payload[c]
                verdict.load_cost[length, side, j] = rest
