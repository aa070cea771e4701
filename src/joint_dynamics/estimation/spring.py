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

"""One sample of the stiffness of one joint, compiled; `stiffness` explains the method and sets the records up."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.recursive import Numbers, rls_step
from joint_dynamics.records import KernelRecord

Array = FloatArray
InForce = tuple[Array, Array, Array]
"""Map in force of one joint: P (P, P), α (P,) and the mean square of the prediction error (1,), (N·m)²."""

JUMPED = 1  # flag: the prediction error has jumped, the covariance has to be opened
DUE = 2  # flag: the covariance has to be brought back between its bounds

FOLLOW, WAIT, REJECT = range(3)
"""Decision about a learnt map: it goes in force, waits, or is replaced by the map in force."""

STIFFNESS_DEVIATION = 0.3  # relative deviation of a described stiffness; a torque known worse than this does not teach
SHAPE = 0.3  # weight of the reference shape beside a sample, whose range may show a factor but no shape
LARGEST_TORQUE = 1e9  # N·m; a larger value is a broken sample and would overflow
CHECK = 64  # updates between two bounds of P; P grows at most by (1/μ)^64 between them
MIN_EXCITED_TIME = 2.0  # s of excited motion before a stiffness may count as reliable
UNEXPLAINED = 0.2  # largest mean square of the error, relative to that of the torque, of a map that fits
JUMP = 3.0  # smallest jump of the error, in its long-term level
STEP = 0.1  # largest relative change of a map in one stretch of motion: two standard deviations of its drift
CONFIRMING = 0.1  # s of a second stretch that decide about a larger change: errors are correlated for about as long


class Levels(KernelRecord):
    """Mean squares of prediction error and torque of one joint."""

    seen: float  # excited samples since the last jump
    excitation: float  # s of excited motion since the reset
    short: float  # (N·m)², error in the last window
    long: float  # (N·m)², error over twenty windows
    level: float  # (N·m)², torque in the last window
    usual: float  # (N·m)², torque over twenty windows
    samples: float  # excited samples since the last evaluation
    squares: float  # (N·m)², Σ ε²/(1 + r) over them
    torque: float  # (N·m)², Σ τ² over them


class Spring(KernelRecord):
    """Stiffness of one joint: settings, then the learnt state beside P and α."""

    gate: float  # rad, smallest deformation that teaches
    top: float  # rad, largest plausible deformation
    per_scale: float  # 1/rad, 1/φ_ref
    reach: float  # φ/φ_ref, beyond which the curve goes on along its tangent
    novelty: float  # rad, change of the deformation that makes a sample new
    floor: float  # (N·m)², smallest mean square of the error
    mu: float  # forgetting
    delta: float  # δ
    period: float  # s
    window: float  # excited samples of the short-term levels
    confirming: float  # excited samples of a second stretch that confirm a change
    change_share: float  # error relative to the torque at which a jump is detected
    hold: float  # updates for which a deformation counts as new
    stride: float  # updates between two evaluations
    anchor: float  # rad, deformation that was new last
    still: float  # updates since then
    updates: float  # all updates
    unknown: float  # (N·m)², Σ (u τ)² within the memory, u the relative deviation of τ
    learnt: float  # (N·m)², Σ τ² within the memory
    direction: float  # sign of the motion in the present stretch
    silent: float  # updates since the last excited one
    stretch: float  # excited samples of the present stretch
    begin: float  # N·m, torque of the map in force at φ_ref when the stretch began
    pending: float  # relative change beyond `STEP` that the previous stretch showed, 0 without
    shown: float  # relative change beyond `STEP` that the present stretch shows, 0 without
    stretch_error: float  # (N·m)², Σ of the squared error of the learnt map in the present stretch
    force_error: float  # (N·m)², the same of the map in force
    keep: bool  # whether the described map stays in force until the learnt one fits
    fresh: bool  # whether the deformation is new
    excited: bool  # whether the last sample taught
    reliable: bool  # whether the learnt map can be relied on
    jumped: bool  # whether the error has jumped at the last evaluation
    levels: Levels


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
    sample: tuple[float, float, float, float],
    scratch: Array,
) -> tuple[float, int]:
    """Take one sample of one joint; return ε [N·m] and flags of JUMPED and DUE.

    learnt: P (P, P) and α (P,), scaled. reference: (P,), see `keep_shape`. sample: φ [rad], τ [N·m], the relative
    deviation of τ by lasting errors, and the sign of the motion. scratch: (2, P), written.
    """
    (P, alpha), (phi, y, unknown, direction), psi, levels = learnt, sample, scratch[0], s.levels
    if s.updates % s.stride == 0:
        # A standstill repeats one torque with the friction error in it.
        if abs(phi) < s.top and abs(phi - s.anchor) >= s.novelty:
            s.anchor, s.still = phi, 0.0
        else:
            s.still += s.stride
        s.fresh = s.still <= s.hold
    s.excited = s.gate <= abs(phi) < s.top and abs(y) < LARGEST_TORQUE and s.fresh and unknown <= STIFFNESS_DEVIATION
    value, torque = (phi * s.per_scale, y) if s.excited else (0.0, 0.0)
    elastic(alpha, value, s.reach, scratch)
    numbers, expected = (s.mu, s.delta), 0.0
    for p in range(len(psi)):
        expected += in_force[1][p] * psi[p]
    error, share = rls_step(P, alpha, psi, torque, s.excited, numbers, scratch[1])
    if s.excited:
        if s.keep:
            keep_shape(P, alpha, reference, numbers, scratch)
        square = torque * torque
        s.unknown, s.learnt = s.mu * s.unknown + square * unknown * unknown, s.mu * s.learnt + square
        levels.samples += 1.0
        levels.squares += error * share
        levels.torque += square
    at_scale = 0.0
    for p in range(len(psi)):
        at_scale += (2.0 * p + 1.0) * alpha[p]
    fits = levels.long <= UNEXPLAINED * levels.usual and alpha[0] > 0.0 and at_scale > 0.0
    s.reliable = fits and levels.excitation >= MIN_EXCITED_TIME
    follow_stretch(s, direction, error, torque - expected, in_force[1])
    decision = decide(s, alpha) if s.keep else FOLLOW
    if decision == FOLLOW and (fits or not s.keep):
        in_force[0][:], in_force[1][:], in_force[2][0] = P, alpha, levels.long
    elif decision == REJECT:
        P[:], alpha[:] = in_force[0], in_force[1]
    s.updates += 1
    evaluated = s.updates % s.stride == 0
    s.jumped = evaluated and has_jumped(levels, s.period, s.window, s.change_share, s.floor)
    return error, (JUMPED if s.jumped else 0) | (DUE if evaluated and s.updates % CHECK < s.stride else 0)


@compiled
def at_reference(alpha: Array) -> float:
    """Return the torque of a map at φ_ref, Σ α_p, N·m."""
    total = 0.0
    for p in range(len(alpha)):
        total += alpha[p]
    return total


@compiled
def follow_stretch(s: Spring, direction: float, error: float, force_error: float, in_force: Array) -> None:
    """Add the errors [N·m] of the learnt map and of the map in force to the present stretch of motion.

    A stretch is a run of excited samples in one direction; a pause of `hold` updates ends it.
    """
    if not s.excited:
        s.silent += 1.0
        return
    if direction != s.direction or s.silent > s.hold:
        s.direction, s.pending = direction, s.shown
        s.begin, s.shown, s.stretch = at_reference(in_force), 0.0, 0.0
        s.stretch_error = s.force_error = 0.0
    s.silent = 0.0
    s.stretch += 1.0
    s.stretch_error += error * error
    s.force_error += force_error * force_error


@compiled
def decide(s: Spring, alpha: Array) -> int:
    """Return whether the map in force follows the learnt α (P,), waits, or replaces it.

    One stretch of motion may change the map by `STEP`. A larger change needs a second stretch, which decides between
    the two maps by their errors.
    """
    change = at_reference(alpha) / s.begin - 1.0 if s.begin > 0.0 else 0.0
    if abs(change) <= STEP:
        s.shown = 0.0
        return FOLLOW if s.begin > 0.0 else WAIT
    s.shown = change
    if s.pending * change <= 0.0 or s.stretch < s.confirming:
        return WAIT
    if s.stretch_error <= UNEXPLAINED * s.force_error:
        return FOLLOW
    if s.stretch_error > s.force_error:
        s.shown = 0.0
        return REJECT
    return WAIT


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
def has_jumped(s: Levels, period: float, window: float, share: float, floor: float) -> bool:
    """Update the levels with the samples since the last evaluation; return whether the error has jumped.

    The root mean square of the error must exceed `share` of that of the torque and three times its long-term level.

    Parameters
    ----------
    s
        levels of the joint.
    period
        s per sample.
    window
        samples of the short-term levels; the long-term ones have twenty times as many.
    share
        relative threshold; inf: never.
    floor
        (N·m)², smallest mean square of an error.
    """
    samples, squares, torque = s.samples, s.squares, s.torque
    s.samples = s.squares = s.torque = 0.0
    s.seen += samples
    s.excitation += period * samples
    count = max(s.seen, 1.0)
    quick = 1.0 / min(count, window)
    s.short += quick * (squares - samples * s.short)
    s.level += quick * (torque - samples * s.level)
    # One evaluation adds a bounded amount, so that a jump does not raise the long-term level.
    slow = min(samples / min(count, 20.0 * window), 1.0)
    s.usual += slow * (s.level - s.usual)
    s.long += slow * (min(max(s.short, floor), 2.0 * s.long) - s.long)
    # At a low torque, the error of a friction not yet learnt is a large share of it and no jump.
    return (
        share < np.inf
        and samples > 0.0
        and s.seen >= window
        and s.short > max(share * share * max(s.level, s.usual), JUMP * JUMP * s.long)
    )
