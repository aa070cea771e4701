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

"""One sample of the stiffness of one joint, compiled; `stiffness` explains the method and sets the records up.

Recursive least squares with directional forgetting and a bounded covariance [M3 eq 18]:

    y = ψᵀα;   ε = y − ψᵀα;   r = ψᵀPψ;   α ← α + Pψ ε/(1 + r);
    P ← P − c Pψψᵀ P + δ I;   c = (μ(1 + r) − 1)/(μ r (1 + r)) = 1/(1/β + r).

The printed form has a pole at r = 1/μ − 1, where P stays well defined; c is that factor without the pole. μ = 1, δ = 0
is ordinary recursive least squares.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.records import KernelRecord

Array = FloatArray
Numbers = tuple[float, float]
"""Forgetting μ, and δ."""
InForce = tuple[Array, Array, Array]
"""Map in force of one joint: P (P, P), α (P,) and the mean square of the prediction error (1,), (N·m)²."""

JUMPED = 1  # flag: the prediction error has jumped, the covariance has to be opened
DUE = 2  # flag: the covariance has to be brought back between its bounds

STIFFNESS_DEVIATION = 0.3  # relative deviation of a described stiffness; a torque known worse than this does not teach
SHAPE = 0.3  # weight of the reference shape beside a sample, whose range may show a factor but no shape
LARGEST_TORQUE = 1e9  # N·m; a larger value is a broken sample and would overflow
CHECK = 64  # updates between two bounds of P; P grows at most by (1/μ)^64 between them
MIN_EXCITED_TIME = 2.0  # s of excited motion before a stiffness may count as reliable
UNEXPLAINED = 0.2  # largest mean square of the error, relative to that of the torque, of a map that fits
JUMP = 3.0  # smallest jump of the error, in its long-term level
LONG = 20.0  # memory of the long-term levels, in windows

LOWEST = 1e-24  # lower bound of the eigenvalues of P, relative to P(0)
HIGHEST = 1.0  # upper bound of the same
CONDITION = 1e14  # largest ratio of two eigenvalues, near the resolution of a float
SMALL_R = 1e-12  # r of a sample without information; below, the down-date would divide by rounding errors


class Spring(KernelRecord):
    """Stiffness of one joint: settings, then the learnt state beside P and α."""

    gate: float  # rad, smallest deformation that teaches
    top: float  # rad, largest plausible deformation
    per_scale: float  # 1/rad, 1/φ_ref
    reach: float  # φ/φ_ref, beyond which the curve goes on along its tangent
    floor: float  # (N·m)², smallest mean square of the error
    mu: float  # forgetting
    delta: float  # δ
    period: float  # s
    window: float  # excited samples of the short-term levels
    change_share: float  # error relative to the torque at which a jump is detected
    updates: float  # all updates
    seen: float  # excited samples since the last jump
    excitation: float  # s of excited motion since the reset
    short: float  # (N·m)², mean square of the error in the last window
    long: float  # (N·m)², the same over twenty windows
    level: float  # (N·m)², mean square of the torque in the last window
    usual: float  # (N·m)², the same over twenty windows
    unknown: float  # (N·m)², Σ (u τ)² within the memory, u the relative deviation of τ
    learnt: float  # (N·m)², Σ τ² within the memory
    keep: bool  # whether the described map stays in force until the learnt one fits
    excited: bool  # whether the last sample taught
    reliable: bool  # whether the learnt map can be relied on
    jumped: bool  # whether the error has jumped with the last sample


@compiled
def rls_step(
    P: Array, alpha: Array, psi: Array, y: float, active: bool, numbers: Numbers, direction: Array
) -> tuple[float, float]:
    """Take one sample of one joint: update P (p, p) and α (p,) in place; return ε and ε/(1 + r).

    psi: ψ (p,). `psi` and y are 0 where the joint is not `active`. direction: (p,), written.
    """
    forgetting, delta = numbers
    order, r, error = len(psi), 0.0, y
    for p in range(order):
        total = 0.0
        for k in range(order):
            total += P[p, k] * psi[k]
        direction[p] = total
        r += psi[p] * total
        error -= alpha[p] * psi[p]
    # Rounding may spoil P until the next `bound`; r ≥ 0 keeps the step harmless.
    r = max(r, 0.0)
    growth = 1.0 + r
    # μ(1 + r) − 1 in a form that gives exactly r for μ = 1.
    c = (forgetting * r - (1.0 - forgetting)) / (max(r, SMALL_R) * growth * forgetting)
    share = error / growth
    for p in range(order):
        for k in range(order):
            P[p, k] -= direction[p] * direction[k] * c
        if active:
            P[p, p] += delta
        alpha[p] += direction[p] * share
    return error, share


def bound(covariance: Array, initial: Array, joints: IntArray | slice = slice(None)) -> None:
    """Clip the eigenvalues of P (n, p, p), relative to the diagonal `initial` (n, p) of P(0), to their bounds.

    P of `joints` is then positive definite and bounded after any input.
    """
    root, P = np.sqrt(initial[joints]), covariance[joints]
    unit = root[:, :, None] * root[:, None, :]
    values, vectors = np.linalg.eigh(0.5 * (P + P.transpose(0, 2, 1)) / unit)
    top = np.clip(values[:, -1], LOWEST, HIGHEST)
    bottom = np.maximum(top / CONDITION, LOWEST)
    wrong = (values[:, 0] < bottom) | (values[:, -1] > top)
    if wrong.any():
        values = np.clip(values[wrong], bottom[wrong, None], top[wrong, None])
        bounded = (vectors[wrong] * values[:, None, :]) @ vectors[wrong].transpose(0, 2, 1)
        P[wrong] = 0.5 * (bounded + bounded.transpose(0, 2, 1)) * unit[wrong]
        covariance[joints] = P


@compiled
def elastic(alpha: Array, x: float, reach: float, work: Array) -> tuple[float, float]:
    """Return τ_E = Σ α_p ψ_p and dτ_E/dx of one joint at x = φ/φ_ref; beyond ±`reach` its tangent there.

    work: (2, P), ψ_p = x^{2p−1} and their derivatives, written.
    """
    inside = min(max(x, -reach), reach)
    square, power, torque, slope = inside * inside, 1.0, 0.0, 0.0
    for p in range(len(alpha)):
        work[1, p] = (2.0 * p + 1.0) * power
        work[0, p] = power * inside + work[1, p] * (x - inside)
        torque += alpha[p] * work[0, p]
        slope += alpha[p] * work[1, p]
        power *= square
    return torque, slope


@compiled
def stiffness_step(
    s: Spring,
    learnt: tuple[Array, Array],
    in_force: InForce,
    reference: Array,
    sample: tuple[float, float, float],
    scratch: Array,
) -> tuple[float, int]:
    """Take one sample of one joint; return ε [N·m] and flags of JUMPED and DUE.

    learnt: P (P, P) and α (P,), scaled. reference: (P,), see `keep_shape`. sample: φ [rad], τ [N·m], and the
    relative deviation of τ by lasting errors. scratch: (2, P), written.
    """
    (P, alpha), (phi, y, unknown), psi = learnt, sample, scratch[0]
    s.excited = s.gate <= abs(phi) < s.top and abs(y) < LARGEST_TORQUE and unknown <= STIFFNESS_DEVIATION
    value, torque = (phi * s.per_scale, y) if s.excited else (0.0, 0.0)
    elastic(alpha, value, s.reach, scratch)
    numbers = s.mu, s.delta
    error, share = rls_step(P, alpha, psi, torque, s.excited, numbers, scratch[1])
    if s.excited:
        if s.keep:
            keep_shape(P, alpha, reference, numbers, scratch)
        square = torque * torque
        s.unknown, s.learnt = s.mu * s.unknown + square * unknown * unknown, s.mu * s.learnt + square
    at_scale = 0.0
    for p in range(len(psi)):
        at_scale += (2.0 * p + 1.0) * alpha[p]
    fits = s.long <= UNEXPLAINED * s.usual and alpha[0] > 0.0 and at_scale > 0.0
    s.reliable = fits and s.excitation >= MIN_EXCITED_TIME
    if s.reliable or not s.keep:
        in_force[0][:], in_force[1][:], in_force[2][0] = P, alpha, s.long
    s.updates += 1
    s.jumped = s.excited and has_jumped(s, error * share, torque * torque)
    return error, (JUMPED if s.jumped else 0) | (DUE if s.updates % CHECK == 0 else 0)


@compiled
def keep_shape(P: Array, alpha: Array, reference: Array, numbers: Numbers, scratch: Array) -> None:
    """Observe that the curve is the reference u times a factor: u_1 α_p − u_p α_1 = 0 for p > 1.

    reference: u (P,), scaled; zeros: no reference. scratch: (2, P) with ψ of the sample in its first row, written.
    """
    psi, size, whole = scratch[0], 0.0, 0.0
    for p in range(len(psi)):
        size += psi[p] * psi[p]
        whole += reference[p] * reference[p]
    if whole == 0.0:
        return
    weight = SHAPE * np.sqrt(size / whole)
    for p in range(1, len(psi)):
        psi[:] = 0.0
        psi[0], psi[p] = -weight * reference[p], weight * reference[0]
        rls_step(P, alpha, psi, 0.0, True, numbers, scratch[1])


@compiled
def has_jumped(s: Spring, squares: float, torque: float) -> bool:
    """Update the levels with an excited sample; return whether the error has jumped.

    The root mean square of the error must exceed `change_share` of that of the torque and three times its long-term
    level. squares: ε²/(1 + r); torque: τ², (N·m)².
    """
    s.seen += 1.0
    s.excitation += s.period
    quick, slow = 1.0 / min(s.seen, s.window), 1.0 / min(s.seen, LONG * s.window)
    s.short += quick * (squares - s.short)
    s.level += quick * (torque - s.level)
    s.usual += slow * (s.level - s.usual)
    # One sample adds a bounded amount, so that a jump does not raise the long-term level.
    s.long += slow * (min(max(s.short, s.floor), 2.0 * s.long) - s.long)
    # At a low torque, the error of a friction not yet learnt is a large share of it and no jump.
    least = max(s.change_share * s.change_share * max(s.level, s.usual), JUMP * JUMP * s.long)
    return s.change_share < np.inf and s.seen >= s.window and s.short > least
