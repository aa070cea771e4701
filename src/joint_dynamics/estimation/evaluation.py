"""What the torques of a sample tell, compiled: contacts, the weights of the three sides by their noise, changes.

The stated deviations need not be exact: they decide which side is used; at rest the spring, in slip both, near φ = 0
the motor.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled, inlined_early
from joint_dynamics.estimation.change_test import begin_block, last_link_rows, take
from joint_dynamics.estimation.contact import contact_step
from joint_dynamics.estimation.learning import (
    ADAPTIVE,
    AS_DESCRIBED,
    BEGUN,
    COMPLETE,
    COULOMB_VISCOUS,
    LASTING_SLACK,
    elastic,
)
from joint_dynamics.estimation.torques import HYSTERESIS, NO_FRICTION

SLACK = 0.1
"""Share of the lost motion that is not known."""
ADAPTED = 15.0
"""s of motion after which friction counts as that of today."""
SLOW = 30.0
"""s of motion that teaches: a stiffness or friction that changed is compared with its mean over them."""


@inlined_early
def detect_contacts(e, u, may_teach):  # type: ignore[no-untyped-def]
    """Watch the range of the motion and detect contacts."""
    for j in range(len(e.estimate)):
        s, play, omega = e.estimate[j], e.play[j], e.smoother.states[1, u.theta + j]
        e.seen[0, j], e.seen[1, j] = np.fmax(e.seen[0, j], abs(omega)), np.fmax(e.seen[1, j], abs(s.torque))
        by_motor = s.torque_motor - s.torque_link
        spring, lost = (by_motor, 0.0), (0.0, 0.0, 0.0)
        if u.spring and s.elastic:
            k = rigidity(e, j, e.spring.alpha)[0]
            unknown = np.hypot(SLACK * play.slack + play.uncertainty, s.error_deviation)
            of_link = s.link_noise * s.torque_link
            spring = s.torque_spring - s.torque_link, np.hypot(k * unknown, of_link)
            lost = k * play.motion, k * play.uncertainty, of_link
        contact_step(
            e.contacts[j], (by_motor, s.motor_deviation), spring, lost,
            s.elastic, e.doubted[j], omega, may_teach and adapted(e, u, j),
        )  # fmt: skip
        s.contact = e.contacts[j].contact


@inlined_early
def adapted(e, u, j):  # type: ignore[no-untyped-def]
    """Whether the friction of a joint has had `ADAPTED` of motion; always where it is not learnt."""
    if u.learns == AS_DESCRIBED:
        return True
    return (e.friction[j].adapted if u.learns == ADAPTIVE else e.coulomb[j].seen) * u.turn > ADAPTED


@inlined_early
def rigidity(e, j, maps):  # type: ignore[no-untyped-def]
    """Return k(φ) of a joint by the map of `maps`, N·m/rad, and the variance of what is learnt of τ_E(φ), (N·m)².

    ψ is left in the scratch's first row.
    """
    s, P, psi, variance = e.springs[j], e.spring.P[j], e.scratch[0], 0.0
    slope = elastic(maps[j], e.estimate[j].deformation * s.per_scale, s.reach, e.scratch)[1]
    for p in range(len(psi)):
        for k in range(len(psi)):
            variance += psi[p] * P[p, k] * psi[k]
    return slope * s.per_scale, variance * e.spring.square[j]


@inlined_early
def weigh_torques(e, u):  # type: ignore[no-untyped-def]
    """Weigh the three torques by their noise, for the samples until the next turn."""
    for j in range(len(e.estimate)):
        s, spring = e.estimate[j], np.inf
        slip = abs(e.smoother.states[0, u.H + j]) if u.method == HYSTERESIS else 1.0
        motor = motor_variance(s, e.smoother.states[1, u.theta + j], slip)
        if u.spring:
            spring = spring_variance(s, e.play[j], e.springs[j], rigidity(e, j, e.spring.alpha))
        weigh(s, motor, spring, e.smoother.states[2, u.theta + j], e.doubted[j])


@compiled
def motor_variance(s, omega, slip):  # type: ignore[no-untyped-def]
    """Return the variance of the torque of the motor side, (N·m)²; slip: |H|, 1 where it is not known."""
    slipping = min(abs(omega) * s.per_slip_speed, 1.0) * min(slip, 1.0)
    wrong = (s.friction_noise + 0.5 * (1.0 - slipping)) * s.coulomb_level
    return s.floor + wrong * wrong


@compiled
def spring_variance(s, play, spring, of_map):  # type: ignore[no-untyped-def]
    """Return the variance of the torque of the spring, (N·m)², and note whether it is informative.

    play, spring: records of `PLAY` and `SPRING`. of_map: k(φ), N·m/rad, and the variance of τ_E(φ), (N·m)².
    """
    s.elastic = s.described or spring.reliable
    if s.hint != s.hint:
        lost = SLACK * play.slack + play.uncertainty
    else:
        ratio = s.deformation / s.hint
        lost = s.hint / (1.0 + ratio * ratio)
    (k, variance), unknown = of_map, 0.0 if s.elastic else 1e12
    noise = s.deformation_noise + s.error_deviation * s.error_deviation
    return unknown + s.floor + k * k * (noise + lost * lost) + variance


@compiled
def weigh(s, motor, spring, acceleration, doubted):  # type: ignore[no-untyped-def]
    """Write the weights of one joint into s of `ESTIMATE`: inverse variances.

    The torque of motor and spring together is measured, and so includes contacts; the link model has no weight where
    there is one.

    Parameters
    ----------
    s
        of `ESTIMATE`.
    motor, spring
        (N·m)², variances; that of the spring infinite where there is none.
    acceleration
        of the rotor, rad/s².
    doubted
        whether the stiffness is in doubt.
    """
    s.motor_deviation = s.external_deviation = np.sqrt(motor)
    rotor = s.rotor_inertia_deviation * acceleration
    s.spring_weight = 0.0
    if spring != np.inf and not doubted:
        s.spring_weight = (motor + rotor * rotor) / (motor + rotor * rotor + spring)
        s.external_deviation = np.sqrt(s.spring_weight * spring)
    square, link = s.external_deviation * s.external_deviation, s.link_noise * s.torque_link
    s.link_weight = 0.0 if s.contact else square / (square + s.floor + link * link + rotor * rotor)


@inlined_early
def watch_changes(e, u, known, disturbed):  # type: ignore[no-untyped-def]
    """Gather what tells a change, see `changes`; return whether a block has begun or is complete.

    known: whether the payload is; then only joints whose friction is learnt count, as one that is still being learnt
    looks like a change of anything.
    """
    motor, spring, total, slips = e.rows[:4], e.spring_rows, 0.0, False
    for j in range(len(e.estimate)):
        s, speed = e.estimate[j], abs(e.smoother.states[1, u.theta + j])
        (motor[1, j], motor[2, j]), alpha, learnt = friction_terms(e, u, j)
        motor[0, j] = s.torque_motor - s.torque_link + alpha[0] * motor[1, j] + alpha[1] * motor[2, j]
        motor[3, j] = 0.0
        total += motor[0, j]
        # what is learnt wanders within its memory; in one direction an error of the torque passes for friction
        if speed >= u.omega_min or not learnt:
            for p in range(2):
                e.scale[j, p] += (alpha[p] - e.scale[j, p]) / max(min(learnt, SLOW / u.turn), 1.0)
        if speed >= 5.0 * u.omega_min and (not known or adapted(e, u, j)):
            motor[3, j], slips = 1.0 / np.hypot(s.motor_deviation, s.link_noise * s.torque_link), True
    if not slips or not np.isfinite(total):
        return 0
    share = u.turn / SLOW
    for j in range(len(e.estimate)):
        s, lost = e.estimate[j], e.play[j]
        if not u.spring:
            continue
        if e.springs[j].excited:
            for p in range(e.spring_map.shape[1]):
                e.spring_map[j, p] += share * (e.spring.alpha[j, p] - e.spring_map[j, p])
        # by what it is compared with: one just learnt may bend over
        k, variance = rigidity(e, j, e.spring_map)
        play, link = k * (LASTING_SLACK * lost.slack + lost.uncertainty), s.link_noise * s.torque_link
        variance += play * play + link * link + s.floor + k * k * s.deformation_noise
        spring[0, j] = s.damping_torque - s.torque_link
        spring[1, j] = 1.0 / np.sqrt(variance) if motor[3, j] > 0.0 and s.elastic else 0.0
        for p in range(e.spring_map.shape[1]):
            spring[2 + p, j] = e.scratch[0, p]
        spring[2 + e.spring_map.shape[1], j] = 2.0 * k * (1.0 - lost.slack / max(s.half_backlash, 1e-9)) * lost.motion
        spring[3 + e.spring_map.shape[1], j] = k * s.error_deviation
    last_link_rows(e.arm.links, e.smoother.states[0, u.q : u.q + len(e.estimate)], e.work, e.link_rows)
    begun = e.blocks.place[1] == 0
    if begun:
        begin_block(e.blocks, e.carried, e.scale, e.spring_map)
    take(e.blocks, e.link_rows, motor, spring, disturbed, e.row)
    return (BEGUN if begun else 0) | (COMPLETE if e.blocks.place[1] >= u.per_block else 0)


@inlined_early
def friction_terms(e, u, j):  # type: ignore[no-untyped-def]
    """Return what α multiplies, N·m and rad/s, α in force, and how often it learnt; F_C is in units of its size."""
    s, omega, alpha = e.estimate[j], e.smoother.states[1, u.theta + j], e.alpha[j]
    if u.learns == COULOMB_VISCOUS:
        unit = s.coulomb_unit
        return (unit * np.sign(omega), omega), (alpha[0] / unit, alpha[1]), e.coulomb[j].seen
    if u.learns == ADAPTIVE:
        return (s.coulomb_friction, s.held_speed), (alpha[0], alpha[1]), float(e.friction[j].adapted)
    return (s.friction_torque, omega), (0.0 if u.method == NO_FRICTION else 1.0, 0.0), 0.0
