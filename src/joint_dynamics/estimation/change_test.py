"""The likelihood of each kind of change, compiled, from the information of the last seconds in blocks.

For joint j and each side of its transmission, the torque not explained by the model is linear in possible changes,

    motor   τ_m − B ω̇ − F_v − τ_bare = Y χ + α₁ F(τ_J) H + α₂ ω
    spring  D φ̇ − τ_bare             = Y χ − Σ_p a_p φ^{2p−1} + 2 ν k (1 − g) g 𝓑 s + ζ k σ(θ)

with Y (10,) the row of the last link's inertial parameters, χ those of the payload, and τ_bare the torque of the links
without it. How a load takes up lost motion g 𝓑 s is assumed (`torques`): ν is the error of the logarithm of the load at
which it does, 2 g (1 − g) 𝓑 s the derivative by it. The kinematic error is known within its deviation σ(θ), large at
angles that were not recorded: ζ is its error in deviations. A block holds W = Σ w² rowᵀrow of [Y, F(τ_J) H, ω, 1/w,
torque] and [Y, φ, φ³ …, 2 k (1 − g) g 𝓑 s, k σ, 1/w, torque], with w the inverse of the stated deviation, and the
parameters at its beginning. The parameter of 1/w is a constant error, such as model errors in one posture. Each block,
at angles of its own, has its own ζ and constant error, before a change as after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.robot.newton_euler import add, cross, dot, link_coefficients, rate, scaled, turn, vector

BODY = 10
"""Inertial parameters of the payload, in the order of `newton_euler.LINK`."""
MOTOR, SPRING = range(2)


class Blocks(NamedTuple):
    """Ring of k blocks.

    Attributes
    ----------
    motor, spring
        W (k, n, 14, 14) and (k, n, 14 + P, 14 + P).
    samples
        (k, 2, n) of each side.
    payload, friction, spring_map
        when the block began: χ (k, 10) in force, α (k, n, 2) and a (k, n, P) over the last half minute.
    disturbed
        (k,) bool: there was a contact in it, or what is carried was not known.
    place
        (2,) the block that is open, and how many samples it has.

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
    """Evaluation of changes at the beginning of the last 1, 2, … k blocks.

    Attributes
    ----------
    load
        (k,) gain in log-likelihood by another payload.
    payload
        (k, 10) change of the payload's inertial parameters.
    single, change
        (k, 2, n) gain by another Coulomb friction (row MOTOR) or another stiffness (row SPRING), and the change: of α₁,
        or relative of the stiffness.
    samples
        (k, 2, n) number of independent samples.
    cost, load_cost, single_cost
        (k, 2, n) mean squares times samples, in units of the usual mean square, if nothing changed, if the payload
        changed, and if that one parameter changed.

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
def last_link_rows(links, q, work, rows):  # type: ignore[no-untyped-def]
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
def add_row(W, row, weight):  # type: ignore[no-untyped-def]
    """W += w² rowᵀrow."""
    for r in range(len(row)):
        for c in range(len(row)):
            W[r, c] += weight * weight * row[r] * row[c]


@compiled
def begin_block(blocks, payload, friction, spring_map):  # type: ignore[no-untyped-def]
    """Empty the open block, and note what changes are compared with: χ (10,), α (n, 2), a (n, P)."""
    k = blocks.place[0]
    blocks.motor[k], blocks.spring[k], blocks.samples[k], blocks.disturbed[k] = 0.0, 0.0, 0.0, False
    blocks.payload[k], blocks.friction[k], blocks.spring_map[k] = payload, friction, spring_map


@compiled
def take(blocks, rows, motor, spring, disturbed, row):  # type: ignore[no-untyped-def]
    """Add one sample to the open block.

    rows: Y (n, 10). motor (4, n): torque less that of the links with the payload in force, F(τ_J) H, ω, w. spring
    (4 + P, n): D φ̇ less that of the links, w, φ^{2p−1}, 2 k (1 − g) g 𝓑 s, k σ. With w = 0 the side does not count.
    row: (14 + P,), written.
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
def about(W, reference, residual):  # type: ignore[no-untyped-def]
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
def sweep(W, k, prior):  # type: ignore[no-untyped-def]
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
def single_change(W, k, usual, possible):  # type: ignore[no-untyped-def]
    """Return gain, change and remaining cost if parameter k changed as far as possible, compared with as far as usual.

    usual, possible: inverse squares of these changes. Afterwards the parameter is eliminated as one with a usual
    change.
    """
    last = len(W) - 1
    w, v = W[k, k] + possible, W[k, last]
    left = W[last, last] - v * v / w
    sweep(W, k, usual)
    return 0.5 * v * v / w, v / w, left


@compiled
def solve(A, b, x):  # type: ignore[no-untyped-def]
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
def along_map(W, reference, one):  # type: ignore[no-untyped-def]
    """Write W of Y, the map scaled by one factor (its columns, weighted by the reference, become one) and torque."""
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
def judge(blocks, newest, filled, share, constant, usual, possible, play, body, scale, verdict):  # type: ignore[no-untyped-def]
    """Evaluate changes at the beginning of the last 1, 2, … `filled` blocks.

    share: of a sample that is independent of the preceding one. constant (2, n): mean square of one sample's error, so
    shared, over that of an error that stays for a block. usual, possible (3, n): inverse squares of the changes of α₁,
    α₂ and the stiffness, by usual drift over all blocks, and as large as possible; play, body (10,): that of ν by the
    former, of the payload by the latter. scale (2, n): inverse of the usual mean square.
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
        # what wanders has gone less far in a shorter time
        steady = ring / (length + 1.0)
        for p in range(BODY):
            J[p, p] = body[p]
            reference[p] = of_spring[p] = blocks.payload[k, p]
        for j in range(n):
            reference[10], reference[11] = blocks.friction[k, j, 0], blocks.friction[k, j, 1]
            about(motor[j], reference, m)
            m *= share * scale[MOTOR, j]
            sweep(m, 11, steady * usual[1, j])
            gain, change, rest = single_change(m, 10, steady * usual[0, j], possible[0, j])
            verdict.single[length, MOTOR, j], verdict.change[length, MOTOR, j] = gain, change
            verdict.single_cost[length, MOTOR, j] = rest
            for p in range(order):
                of_spring[BODY + p] = -blocks.spring_map[k, j, p]
            about(spring[j], of_spring, s)
            s *= share * scale[SPRING, j]
            sweep(s, BODY + order, steady * play)
            along_map(s, of_spring, one)
            gain, change, rest = single_change(one, 10, steady * usual[2, j], possible[2, j])
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
