"""One sample of a `JointEstimator`, compiled: its torques, and what is learnt from them, all joints in one call.

    e  `sample.Sample`;  u  its record of `sample.NUMBERS`

    signals → torques → stiffness, friction, contact, weights, changes, one at a time

After the smoother nothing changes within some milliseconds. What learns or judges therefore takes turns, at most one
part per sample, each at some 125 Hz; the torques are of every sample.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm.sample import add_coupled_friction, add_rotors, term_torques
from joint_dynamics.compilation import inlined_early
from joint_dynamics.estimation.change_test import begin_block, last_link_rows, take
from joint_dynamics.estimation.contact import contact_step
from joint_dynamics.estimation.coulomb_viscous import CHECK, coulomb_viscous_step
from joint_dynamics.estimation.friction import friction_step
from joint_dynamics.estimation.lost_motion import lost_motion_step
from joint_dynamics.estimation.stiffness import stiffness_step
from joint_dynamics.estimation.stiffness_map import slope_and_variance
from joint_dynamics.estimation.torques import SLACK, motor_variance, spring_variance, weigh
from joint_dynamics.joint.laws import coulomb_level, dry_friction, held, map_value, slip, speed_friction, warmth
from joint_dynamics.robot.newton_euler import inverse_dynamics
from joint_dynamics.signals.state_estimator import smooth

NO_FRICTION, OWN, HYSTERESIS, STATIC = range(4)
"""Friction: none, an estimator of its own, the described model on the smoothed hysteresis, or that in steady slip."""
AS_DESCRIBED, ADAPTIVE, COULOMB_VISCOUS = range(3)
"""How friction is learnt."""
BY_MOTOR, BY_LINK, BY_ALL = range(3)
"""What teaches the stiffness."""
READY, BEGUN, COMPLETE, BOUND = 4, 8, 16, 32
"""What a sample comes to, beside what the stiffness leaves to do: there are estimates; a block of the changes has
begun, or is complete; the covariance of the friction is to be brought back between its bounds."""
NOT_ESTIMATED, UNKNOWN, KNOWN = range(3)
"""The payload."""
TURNS = 5
ADAPTED = 15.0
"""s of motion after which friction counts as that of today."""
MAX_UNCERTAINTY = 0.3
"""Share of a deformation that may be lost motion of unknown size for it to teach the stiffness."""
CHANGE_SLACK = 0.3
"""Share of the lost motion that is not known, where an error that stays would be taken for a change."""
SLOW = 30.0
"""s of excited motion over which a stiffness that changed is compared with what it was."""


@inlined_early
def take_signals(e, u):  # type: ignore[no-untyped-def]
    """Take the sample in `given`: hysteresis H, speed part F_v, smoother; return whether this is full.

    The speed for F_v is a difference over 2 d samples, so all else waits d samples for it.
    """
    status, length, tables = e.status[0], len(e.line), e.arm.tables
    newest = status.count % length
    status.count += 1
    x = e.line[newest]
    for j in range(len(e.estimate)):
        motor = e.given[0, j]
        x[u.q + j], x[u.tau + j] = motor, e.given[1, j] * e.estimate[j].gain
        if u.motor_side:
            motor = e.given[2, j] - map_value(e.arm.joints[j].error, tables, e.given[2, j])
            x[u.theta + j] = motor
        if u.method == HYSTERESIS:
            x[u.H + j] = slip(e.bare[j], tables, motor, e.sliders[j])
    if status.count < length:
        return False
    middle, oldest = (newest - u.lag) % length, (newest + 1) % length
    if u.method == HYSTERESIS:
        for j in range(len(e.estimate)):
            c, side = e.arm.joints[j], u.theta + j
            omega = held((e.line[newest, side] - e.line[oldest, side]) * u.per_span, c.speed_limit)
            F_v = speed_friction(c, e.line[middle, u.H + j], omega, warmth(c, e.temperature[j]))
            e.line[middle, u.F_v + j] = F_v
    return smooth(e.smoother, e.line[middle])


@inlined_early
def torques(e, u):  # type: ignore[no-untyped-def]
    """Write all torques of the smoothed sample into `estimate`; friction and terms at the torque of the one before."""
    n, value = len(e.estimate), e.smoother.states[0]
    link, H, drives, share, before = e.rows[0], e.rows[1], e.rows[2], e.rows[3], e.rows[4]
    q, dq, ddq = value[u.q : u.q + n], e.smoother.states[1, u.q : u.q + n], e.smoother.states[2, u.q : u.q + n]
    omega, acceleration = e.smoother.states[1, u.theta : u.theta + n], e.smoother.states[2, u.theta : u.theta + n]
    inverse_dynamics(e.arm.links, q, dq, ddq, e.work, link)
    for j in range(n):
        drives[j], share[j], before[j] = 0.0, 1.0, e.estimate[j].torque
        H[j] = value[u.H + j] if u.method == HYSTERESIS else np.sign(omega[j])
    add_rotors(e.arm, acceleration, drives)
    add_coupled_friction(e.arm, share, omega, drives)
    term_torques(e.arm.terms, e.arm.tables, (share, 1.0), q, (omega, H, before, e.temperature), drives)
    for j in range(n):
        c, s, alpha = e.arm.joints[j], e.estimate[j], e.alpha[j]
        speed, load = held(omega[j], c.speed_limit), held(before[j], c.load_limit)
        dry = dry_friction(c, H[j], speed, load)
        s.torque_link, s.rotor_torque, s.held_speed = link[j], value[u.tau + j] - drives[j], speed
        s.friction_torque = 0.0
        if u.method == OWN:
            s.friction_torque = alpha[0] * np.sign(omega[j]) + alpha[1] * omega[j]
        elif u.method == HYSTERESIS:
            s.coulomb_level, s.coulomb_friction = coulomb_level(c, load), dry
            s.friction_torque = value[u.F_v + j] + (alpha[0] * dry + alpha[1] * speed)
        elif u.method == STATIC:
            F_v = speed_friction(c, H[j], speed, warmth(c, e.temperature[j]))
            s.friction_torque = F_v + (alpha[0] * dry + alpha[1] * speed)
        lacking = s.rotor_torque - link[j]
        s.friction_error = lacking - s.friction_torque
        s.torque_motor = measured = link[j] + s.friction_error
        if u.spring:
            s.deformation = value[u.theta + j] - q[j] - e.play[j].motion
            x = s.deformation * e.springs[j].per_scale
            square, total = x * x, 0.0
            for p in range(e.spring.alpha.shape[1] - 1, -1, -1):
                total = total * square + e.spring.alpha[j, p]
            s.damping_torque = c.damping * (omega[j] - dq[j])
            s.torque_spring = x * total + s.damping_torque
            measured += s.spring_weight * (s.torque_spring - measured)
        s.external = measured - link[j]
        s.torque = measured - s.link_weight * s.external


@inlined_early
def undisturbed(e, free):  # type: ignore[no-untyped-def]
    """Whether joints may learn: no joint has a contact, but one that lasts so long that it is none; else `free`."""
    for j in range(len(e.estimate)):
        if e.estimate[j].contact and not e.contacts[j].since > e.contacts[j].patience:
            return False
    return free


@inlined_early
def adapted(e, u, j):  # type: ignore[no-untyped-def]
    """Whether the friction of a joint has had `ADAPTED` of motion; always where it is not learnt."""
    if u.learns == AS_DESCRIBED:
        return True
    return (e.friction[j].adapted if u.learns == ADAPTIVE else e.coulomb[j].seen) * u.turn > ADAPTED


@inlined_early
def learn_stiffness(e, u, learning, free):  # type: ignore[no-untyped-def]
    """Follow the play, and let the stiffness learn; return what is left to do."""
    todo, value = 0, e.smoother.states[0]
    for j in range(len(e.estimate)):
        s, lost, theta = e.estimate[j], e.play[j], value[u.theta + j]
        if u.backlash:
            lost_motion_step(lost, theta, s.torque_link, map_value(s.backlash, e.arm.tables, theta))
        if not learning:
            continue
        measure = s.torque_motor if u.source == BY_MOTOR else s.torque_link if u.source == BY_LINK else s.torque
        phi = theta - value[u.q + j] - lost.motion
        inertial = s.rotor_inertia_deviation * abs(e.smoother.states[2, u.theta + j])
        clear = lost.uncertainty <= MAX_UNCERTAINTY * abs(phi) and inertial <= MAX_UNCERTAINTY * abs(measure)
        may = free and clear and abs(e.smoother.states[1, u.theta + j]) >= u.omega_min
        state, learnt, spring = e.springs[j], (e.learnt[0][j], e.learnt[1][j]), e.spring
        in_force = spring.P[j], spring.alpha[j], spring.square[j : j + 1]
        todo |= stiffness_step(state, learnt, in_force, phi, measure - s.damping_torque, may, e.scratch)[1]
    return todo


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
    return BOUND if u.learns == COULOMB_VISCOUS and e.coulomb[0].updates % CHECK == 0 else 0


@inlined_early
def rigidity(e, j):  # type: ignore[no-untyped-def]
    """Return k(φ) of a joint, N·m/rad, and the variance of τ_E(φ), (N·m)²."""
    per_scale = e.springs[j].per_scale
    slope, variance = slope_and_variance(e.spring.P[j], e.spring.alpha[j], e.estimate[j].deformation * per_scale)
    return slope * per_scale, variance * e.spring.square[j]


@inlined_early
def detect_contacts(e, u, may_teach):  # type: ignore[no-untyped-def]
    """Watch the range of the motion and detect contacts."""
    for j in range(len(e.estimate)):
        s, lost, omega = e.estimate[j], e.play[j], e.smoother.states[1, u.theta + j]
        e.seen[0, j], e.seen[1, j] = np.fmax(e.seen[0, j], abs(omega)), np.fmax(e.seen[1, j], abs(s.torque))
        by_motor = s.torque_motor - s.torque_link
        spring, taken_off = (by_motor, 0.0), (0.0, 0.0)
        if u.spring and s.elastic:
            k = rigidity(e, j)[0]
            wrong = np.hypot(k * (SLACK * lost.slack + lost.uncertainty), s.link_noise * s.torque_link)
            spring, taken_off = (s.torque_spring - s.torque_link, wrong), (k * lost.motion, k * lost.uncertainty)
        contact_step(
            e.contacts[j], (by_motor, s.motor_deviation), spring, taken_off,
            s.elastic, e.doubted[j], omega, may_teach and adapted(e, u, j),
        )  # fmt: skip
        s.contact = e.contacts[j].contact


@inlined_early
def weigh_torques(e, u):  # type: ignore[no-untyped-def]
    """Weigh the three torques by their noise, for the samples until the next turn."""
    for j in range(len(e.estimate)):
        s, spring = e.estimate[j], np.inf
        slip = abs(e.smoother.states[0, u.H + j]) if u.method == HYSTERESIS else 1.0
        motor = motor_variance(s, e.smoother.states[1, u.theta + j], slip)
        if u.spring:
            in_force = e.spring.P[j], e.spring.alpha[j], e.spring.square[j]
            spring = spring_variance(s, e.play[j], e.springs[j], in_force)
        weigh(s, motor, spring, e.smoother.states[2, u.theta + j], e.doubted[j])


@inlined_early
def friction_terms(e, u, j):  # type: ignore[no-untyped-def]
    """Write α in force, and return what it multiplies, N·m and rad/s; F_C is in units of its size."""
    s, omega, scale = e.estimate[j], e.smoother.states[1, u.theta + j], e.scale[j]
    if u.learns == COULOMB_VISCOUS:
        unit = s.coulomb_unit
        scale[0], scale[1] = e.alpha[j, 0] / unit, e.alpha[j, 1]
        return unit * np.sign(omega), omega
    if u.learns == ADAPTIVE:
        scale[0], scale[1] = e.alpha[j, 0], e.alpha[j, 1]
        return s.coulomb_friction, s.held_speed
    scale[0], scale[1] = 0.0 if u.method == NO_FRICTION else 1.0, 0.0
    return s.friction_torque, omega


@inlined_early
def watch_changes(e, u, known, disturbed):  # type: ignore[no-untyped-def]
    """Gather what tells a change, see `changes`; return whether a block has begun or is complete.

    known: whether the payload is; then only joints whose friction is learnt count, as one that is still being learnt
    looks like a change of anything.
    """
    motor, spring, total, slips = e.rows[:4], e.spring_rows, 0.0, False
    for j in range(len(e.estimate)):
        s, speed = e.estimate[j], abs(e.smoother.states[1, u.theta + j])
        motor[0, j], motor[3, j] = s.torque_motor - s.torque_link, 0.0
        total += motor[0, j]
        if speed >= 5.0 * u.omega_min and (not known or adapted(e, u, j)):
            motor[3, j], slips = 1.0 / np.hypot(s.motor_deviation, s.link_noise * s.torque_link), True
    if not slips or not np.isfinite(total):
        return 0
    share = u.turn / SLOW
    for j in range(len(e.estimate)):
        s, lost = e.estimate[j], e.play[j]
        motor[1, j], motor[2, j] = friction_terms(e, u, j)
        motor[0, j] += e.scale[j, 0] * motor[1, j] + e.scale[j, 1] * motor[2, j]
        if not u.spring:
            continue
        # what is learnt wanders within its memory
        if e.springs[j].excited:
            for p in range(e.spring_map.shape[1]):
                e.spring_map[j, p] += share * (e.spring.alpha[j, p] - e.spring_map[j, p])
        k, variance = rigidity(e, j)
        play, link = k * (CHANGE_SLACK * lost.slack + lost.uncertainty), s.link_noise * s.torque_link
        variance += play * play + link * link + s.floor + k * k * s.deformation_noise
        spring[0, j] = s.damping_torque - s.torque_link
        spring[1, j] = 1.0 / np.sqrt(variance) if motor[3, j] > 0.0 and s.elastic else 0.0
        x = s.deformation * e.springs[j].per_scale
        square = x * x
        for p in range(e.spring_map.shape[1]):
            spring[2 + p, j] = x
            x *= square
    last_link_rows(e.arm.links, e.smoother.states[0, u.q : u.q + len(e.estimate)], e.work, e.link_rows)
    begun = e.blocks.place[1] == 0
    if begun:
        begin_block(e.blocks, e.carried, e.scale, e.spring_map)
    take(e.blocks, e.link_rows, motor, spring, disturbed, e.row)
    return (BEGUN if begun else 0) | (COMPLETE if e.blocks.place[1] >= u.per_block else 0)


@inlined_early
def all_finite(e):  # type: ignore[no-untyped-def]
    """Whether all torques, and what tells a contact in them, are finite."""
    total = 0.0
    for j in range(len(e.estimate)):
        s = e.estimate[j]
        total += s.torque + s.external + s.friction_torque + e.contacts[j].ratio
    return np.isfinite(total)


@inlined_early
def take_sample(e, learning, payload, suspected):  # type: ignore[no-untyped-def]
    """Take the sample in `given`; return what it comes to.

    learning: whether α, stiffness and payload adapt. payload: of NOT_ESTIMATED, UNKNOWN, KNOWN.
    suspected: whether another load is, see `changes`.
    """
    u, todo = e.numbers[0], READY
    if not take_signals(e, u):
        return 0
    torques(e, u)
    for turn in range(e.status[0].count % u.stride, TURNS, u.stride):
        free = undisturbed(e, payload != UNKNOWN)
        if turn == 0 and u.spring:
            todo |= learn_stiffness(e, u, learning, free)
        elif turn == 1 and learning:
            # a push that not every joint feels would pass for friction
            todo |= learn_friction(e, u, free and not suspected)
        elif turn == 2:
            detect_contacts(e, u, payload == NOT_ESTIMATED or free)
        elif turn == 3:
            weigh_torques(e, u)
        elif turn == 4 and learning:
            todo |= watch_changes(e, u, payload != UNKNOWN, not free)
    e.status[0].finite = all_finite(e)
    return todo
