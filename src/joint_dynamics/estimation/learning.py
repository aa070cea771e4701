"""What a sample teaches of each joint, compiled: lost motion, stiffness, friction.

`LostMotion`, `StiffnessEstimator`, `FrictionEstimator` and `CoulombViscousEstimator` say how, hold the records and set
them up; `learn_stiffness` and `learn_friction` take what they need of a `sample.Sample` e with its settings u.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled, inlined_early
from joint_dynamics.joint.constants import record
from joint_dynamics.joint.stiffness import LOADS

JUMPED, DUE, READY, BEGUN, COMPLETE, BOUND = 1, 2, 4, 8, 16, 32
"""What a sample leaves to do: open the covariance of springs that jumped, or bring it back between its bounds; there
are estimates; a block of the changes has begun, or is complete; bring the covariance of the friction back."""
AS_DESCRIBED, ADAPTIVE, COULOMB_VISCOUS = range(3)
"""How friction is learnt."""
BY_MOTOR, BY_LINK, BY_ALL = range(3)
"""What teaches the stiffness."""
STIFFNESS_DEVIATION = 0.3
"""Relative deviation that a described stiffness is taken to have, and beyond which a torque, by what is not known of
lost motion, kinematic error and rotor inertia, does not teach it."""
SHAPE = 0.3
"""Weight of the usual shape beside the torque of a sample: those of a narrow range tell a factor, and no shape."""
LASTING_SLACK = 0.3
"""Share of the lost motion that is not known, two deviations, where an error that stays would be learnt or taken for a
change."""
LARGEST_TORQUE = 1e9
"""N·m: beyond, a sample is broken and would only overflow."""
SMALL_R = 1e-12
"""r below this carries no information that could be weighed: the down-date is skipped."""
SPRING_CHECK, COULOMB_CHECK = 64, 16
"""Updates after which a covariance is brought back between its bounds; between two checks it cannot grow by more than
(1/μ) to this power."""
MIN_EXCITED_TIME = 2.0
"""s of excited motion before a stiffness may count as reliable."""
GAINS_EVERY = 10
"""Updates after which the gains of the friction follow the means."""
LAGS, PARTS = (1.0, 3.0), len(LOADS)
"""Of the lost motion: time constants of low-passes of the load, in lags of it; parts that different loads take up."""

PLAY = record(
    'unknown keep keep_step theta place spread step motion slack uncertainty', 'known',
    per_load=(PARTS,), shares=(PARTS,), follow=(len(LAGS),), loads=(len(LAGS),),
)  # fmt: skip
"""Settings of one joint: two deviations of 𝓑, rad; shares kept per update of the spread and of the step; 1/τ_i; b_i/𝓑;
shares by which the low-passes follow. Its state: θ of the last update, rad (NaN: none yet); s; spread of g; rad;
low-passed loads, N·m; whether θ has passed through the play."""
LEVELS = record('seen excitation short long level usual samples squares torque')
"""Levels of prediction error and torque of one joint: samples since the last jump; s of all; present and usual mean
square of the error, (N·m)², and of the torque; since the last evaluation the samples, Σ ε²/(1 + r) and Σ torque²."""
SPRING = record(
    'gate top per_scale reach novelty floor mu delta period window fewest change_share hold stride anchor still '
    'updates unknown learnt', 'keep fresh excited reliable jumped', levels=LEVELS,
)  # fmt: skip
"""Settings of one joint: rad, rad, 1/rad, φ/φ_ref, rad, (N·m)²; s; updates; excited samples before what is learnt is
taken. What is learnt beside P and α: rad, the deformation that was new last, and updates since; updates; Σ (u τ)² and
Σ τ² of what is remembered, u its relative deviation."""
FRICTION = record(
    'omega_min hold length enough information seen still adapted updates', 'moving informative excited',
    lower=(2,), upper=(2,), rate=(2,), floor=(2,), means=(4,), gain=(2,),
)  # fmt: skip
"""Settings of one joint: rad/s; times in samples; bounds and, per sample, rates of α. What is learnt beside α: samples
of motion, since it moved, of adaptation, and in all; means of Y₁², Y₂², Y₁Y₂ and the squared prediction error over the
motion; γ_i T_s."""
COULOMB = record('omega_min forgetting seen updates', 'excited', scratch=(2, 2))
"""Settings of one joint, updates that taught, and all."""


@inlined_early
def learn_stiffness(e, u, learning, free):  # type: ignore[no-untyped-def]
    """Follow the play, and let the stiffness learn; return what is left to do."""
    todo, value = 0, e.smoother.states[0]
    for j in range(len(e.estimate)):
        s, lost, theta = e.estimate[j], e.play[j], value[u.theta + j]
        if u.backlash:
            lost_motion_step(lost, theta, s.torque_link, s.half_backlash)
        if not learning:
            continue
        measure = s.torque_motor if u.source == BY_MOTOR else s.torque_link if u.source == BY_LINK else s.torque
        phi = theta - value[u.q + j] - lost.motion
        inertial = s.rotor_inertia_deviation * abs(e.smoother.states[2, u.theta + j])
        wrong = np.hypot(0.5 * (LASTING_SLACK * lost.slack + lost.uncertainty), s.error_deviation)
        unknown = np.hypot(wrong / max(abs(phi), 1e-12), inertial / max(abs(measure), 1e-12))
        if not free or abs(e.smoother.states[1, u.theta + j]) < u.omega_min:
            unknown = np.inf
        state, learnt, spring = e.springs[j], (e.learnt[0][j], e.learnt[1][j]), e.spring
        in_force = spring.P[j], spring.alpha[j], spring.square[j : j + 1]
        x = phi * state.per_scale
        before = elastic(spring.alpha[j], x, state.reach, e.scratch)[0]
        y, usual = measure - s.damping_torque, e.spring_map[j]
        todo |= stiffness_step(state, learnt, in_force, usual, (phi, y, unknown), e.scratch)[1]
        # what is learnt is no push
        e.contacts[j].base[0] += elastic(spring.alpha[j], x, state.reach, e.scratch)[0] - before
    return todo


@compiled
def elastic(alpha, x, reach, work):  # type: ignore[no-untyped-def]
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
def lost_motion_step(s, theta, load, width):  # type: ignore[no-untyped-def]
    """`LostMotion.update` of one joint: s of `PLAY`, θ [rad], load [N·m] and 𝓑(θ) [rad]."""
    if s.theta != s.theta:
        s.theta = theta
        for m in range(len(s.loads)):
            s.loads[m] = load
    if width > 0.0:
        s.place += (theta - s.theta) / width
    s.place = min(max(s.place, -1.0), 1.0)
    s.known = s.known or abs(s.place) >= 1.0 or width <= 0.0
    s.theta = theta
    lowest, highest, second = np.inf, -np.inf, 0.0
    for m in range(len(s.loads) + 1):
        if m > 0:
            s.loads[m - 1] += s.follow[m - 1] * (load - s.loads[m - 1])
        of_load, left = load if m == 0 else s.loads[m - 1], 0.0
        for i in range(PARTS):
            ratio = of_load * s.per_load[i]
            left += s.shares[i] / (1.0 + ratio * ratio)
        lowest, highest = min(lowest, left), max(highest, left)
        if m == 1:
            second = left
    s.spread = max(highest - lowest, s.keep * s.spread)
    before, s.slack = s.motion, second * width
    s.motion = s.slack * s.place
    s.step = max(abs(s.motion - before), s.keep_step * s.step)
    s.uncertainty = (s.spread if s.known else 1.0) * width + highest * s.unknown + s.step


@compiled
def stiffness_step(s, learnt, in_force, usual, sample, scratch):  # type: ignore[no-untyped-def]
    """`StiffnessEstimator.update` of one joint: s of `SPRING`; return ε, and what is left to do.

    learnt: P (P, P) and α (P,), scaled; in_force: the same and the mean square of the error (1,). usual: (P,), see
    `keep_shape`. sample: φ, τ and the relative deviation of τ by errors that stay. scratch: (2, P), written. What is
    learnt goes in force where it is taken, or nothing is to be kept.
    """
    (P, alpha), (phi, y, unknown), psi, levels = learnt, sample, scratch[0], s.levels
    if s.updates % s.stride == 0:
        # A standstill tells one torque over and over, with the friction's error in it.
        if abs(phi) < s.top and abs(phi - s.anchor) >= s.novelty:
            s.anchor, s.still = phi, 0.0
        else:
            s.still += s.stride
        s.fresh = s.still <= s.hold
    s.excited = s.gate <= abs(phi) < s.top and abs(y) < LARGEST_TORQUE and s.fresh and unknown <= STIFFNESS_DEVIATION
    value, torque = (phi * s.per_scale, y) if s.excited else (0.0, 0.0)
    elastic(alpha, value, s.reach, scratch)
    numbers = s.mu, s.delta, True
    error, share = rls_step(P, alpha, psi, torque, s.excited, numbers, scratch[1])
    if s.excited:
        if s.keep:
            keep_shape(P, alpha, usual, numbers, scratch)
        square = torque * torque
        s.unknown, s.learnt = s.mu * s.unknown + square * unknown * unknown, s.mu * s.learnt + square
        levels.samples += 1.0
        levels.squares += error * share
        levels.torque += square
    at_scale = 0.0
    for p in range(len(psi)):
        at_scale += (2.0 * p + 1.0) * alpha[p]
    fits = levels.long <= 0.2 * levels.usual and alpha[0] > 0.0 and at_scale > 0.0
    s.reliable = fits and levels.excitation >= MIN_EXCITED_TIME
    if not s.keep or (fits and levels.short <= 0.2 * levels.usual and levels.seen >= s.fewest):
        in_force[0][:], in_force[1][:], in_force[2][0] = P, alpha, levels.long
    s.updates += 1
    looked = s.updates % s.stride == 0
    s.jumped = looked and jumped(levels, s.period, s.window, s.change_share, s.floor)
    return error, (JUMPED if s.jumped else 0) | (DUE if looked and s.updates % SPRING_CHECK < s.stride else 0)


@compiled
def keep_shape(P, alpha, usual, numbers, scratch):  # type: ignore[no-untyped-def]
    """Observe, after a sample, that a curve is its usual one times any factor: u_1 α_p − u_p α_1 = 0 for p > 1.

    usual: u (P,), scaled; zeros: none is. scratch: (2, P), in which the sample has left ψ, written.
    """
    psi, size, whole = scratch[0], 0.0, 0.0
    for p in range(len(psi)):
        size += psi[p] * psi[p]
        whole += usual[p] * usual[p]
    if whole == 0.0:
        return
    weight = SHAPE * np.sqrt(size / whole)
    for p in range(1, len(psi)):
        psi[:] = 0.0
        psi[0], psi[p] = -weight * usual[p], weight * usual[0]
        rls_step(P, alpha, psi, 0.0, True, numbers, scratch[1])


@compiled
def rls_step(P, alpha, psi, y, active, numbers, direction):  # type: ignore[no-untyped-def]
    """One step of one joint: P (p, p), α (p,), ψ (p,); ψ and y are 0 where it is not `active`. Return ε and ε/(1 + r).

    numbers: forgetting, δ, directional. direction: Pψ, written. With ψ = 0 only δ and exponential forgetting would
    change a joint, which `active` prevents.
    """
    forgetting, delta, directional = numbers
    order, r, error = len(psi), 0.0, y
    for p in range(order):
        total = 0.0
        for k in range(order):
            total += P[p, k] * psi[k]
        direction[p] = total
        r += psi[p] * total
        error -= alpha[p] * psi[p]
    # Not below zero, even where rounding has spoilt P until the next `bound`: then the step is harmless.
    r = max(r, 0.0)
    growth = (1.0 if directional else forgetting) + r
    # μ(1 + r) − 1 written so that μ = 1 gives r exactly.
    c = (forgetting * r - (1.0 - forgetting)) / (max(r, SMALL_R) * growth * forgetting) if directional else 1.0 / growth
    share = error / growth
    for p in range(order):
        for k in range(order):
            P[p, k] -= direction[p] * direction[k] * c
            if active and not directional:
                P[p, k] /= forgetting
        if active:
            P[p, p] += delta
        alpha[p] += direction[p] * share
    return error, share


@compiled
def jumped(s, period, window, share, floor):  # type: ignore[no-untyped-def]
    """Update the levels with the samples since the last evaluation, and return whether the error has jumped.

    Parameters
    ----------
    s
        a record of `LEVELS`.
    period
        s per sample.
    window
        samples over which the present levels are averaged; the usual ones over twenty times as many.
    share
        a jump is detected where the root mean square of the error exceeds this share of that of the torque, and three
        times its own usual level; inf: never.
    floor
        (N·m)², smallest mean square of an error.
    """
    samples, squares, torque = s.samples, s.squares, s.torque
    s.samples = s.squares = s.torque = 0.0
    s.seen += samples
    s.excitation += period * samples
    count = max(s.seen, 1.0)
    present = 1.0 / min(count, window)
    s.short += present * (squares - samples * s.short)
    s.level += present * (torque - samples * s.level)
    # The usual level never learns from a jump: what one sample can add to it is bounded.
    slow = min(samples / min(count, 20.0 * window), 1.0)
    s.usual += slow * (s.level - s.usual)
    s.long += slow * (min(max(s.short, floor), 2.0 * s.long) - s.long)
    # Where little torque is transmitted, that of a friction not yet learnt is a large share of it, and no jump.
    return (
        share < np.inf
        and samples > 0.0
        and s.seen >= window
        and s.short > max(share * share * max(s.level, s.usual), 9.0 * s.long)
    )


@inlined_early
def learn_friction(e, u, free):  # type: ignore[no-untyped-def]
    """Let the friction learn; return what is left to do."""
    for j in range(len(e.estimate)):
        s, alpha = e.estimate[j], e.alpha[j]
        residual = s.rotor_torque - s.torque_link
        if u.learns == ADAPTIVE:
            residual -= e.smoother.states[0, u.F_v + j]
            friction_step(e.friction[j], alpha, residual, s.coulomb_friction, s.held_speed, free)
        elif u.learns == COULOMB_VISCOUS:
            omega = e.smoother.states[1, u.theta + j]
            coulomb_viscous_step(e.coulomb[j], e.coulomb_P[j], alpha, residual, omega, free)
            s.coulomb_level = abs(alpha[0])
    return BOUND if u.learns == COULOMB_VISCOUS and e.coulomb[0].updates % COULOMB_CHECK == 0 else 0


@compiled
def friction_step(s, alpha, f, Y1, Y2, allowed):  # type: ignore[no-untyped-def]
    """`FrictionEstimator.update` of one joint: s of `FRICTION`, α (2,); return f − f̂ before."""
    s.updates += 1
    error = f - alpha[0] * Y1
    error -= alpha[1] * Y2
    sane = abs(error) < LARGEST_TORQUE and np.isfinite(Y1 + Y2)
    if not sane:
        Y1, Y2, error = 0.0, 0.0, 0.0
    s.still = 0.0 if abs(Y2) >= s.omega_min else s.still + 1.0
    s.moving = sane and allowed and s.still <= s.hold
    if s.moving:
        s.seen += 1.0
        share = 1.0 / min(s.seen, s.length)
        s.means[0] += (Y1 * Y1 - s.means[0]) * share
        s.means[1] += (Y2 * Y2 - s.means[1]) * share
        s.means[2] += (Y1 * Y2 - s.means[2]) * share
        s.means[3] += (error * error - s.means[3]) * share
    if s.updates % GAINS_EVERY == 1:
        first, second = s.means[0], s.means[1]
        s.gain[0] = s.rate[0] / max(first, s.floor[0])
        s.gain[1] = s.rate[1] / max(second, s.floor[1])
        correlation = abs(s.means[2]) / np.sqrt(max(first * second, 1e-300))
        s.informative = s.seen >= s.enough and 1.0 - correlation >= s.information and first > 0.0 and second > 0.0
    s.excited = s.moving and s.informative
    g1, g2 = s.gain[0] * Y1, s.gain[1] * Y2
    push = (error if s.excited else 0.0) / (1.0 + g1 * Y1 + g2 * Y2)
    alpha[0] = min(max(alpha[0] + g1 * push, s.lower[0]), s.upper[0])
    alpha[1] = min(max(alpha[1] + g2 * push, s.lower[1]), s.upper[1])
    if s.excited:
        s.adapted += 1.0
    return error


@compiled
def coulomb_viscous_step(s, P, alpha, f, omega, allowed):  # type: ignore[no-untyped-def]
    """`CoulombViscousEstimator.update` of one joint: s of `COULOMB`, P (2, 2), [F_C, F_V] (2,); return F − F̂ before."""
    size = abs(omega)
    s.excited = size > s.omega_min and size < LARGEST_TORQUE and abs(f) < LARGEST_TORQUE and allowed
    s.updates += 1
    if not s.excited:
        return 0.0
    s.seen += 1.0
    psi = s.scratch[0]
    psi[0], psi[1] = np.sign(omega), omega
    return rls_step(P, alpha, psi, f, True, (s.forgetting, 0.0, False), s.scratch[1])[0]
