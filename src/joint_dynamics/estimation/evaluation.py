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

"""What follows from the torques of a sample, compiled: learning, contacts, weights of the three sides, changes.

The functions take a `sample.Sample` e and its settings u. The weights are inverse variances. Their deviations need not
be exact; they select the side: the spring at rest, the spring and the motor in slip, the motor near φ = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.change_test import begin_block, last_link_rows, take
from joint_dynamics.estimation.contact import contact_step
from joint_dynamics.estimation.friction import friction_step
from joint_dynamics.estimation.lost_motion import Play, lost_motion_step
from joint_dynamics.estimation.spring import Spring, elastic, stiffness_step
from joint_dynamics.estimation.torques import HYSTERESIS, NO_FRICTION, Estimate

# Flags of a sample, beside JUMPED and DUE of `spring`.
READY = 4  # there are estimates
BEGUN = 8  # a block of the change detector has begun
COMPLETE = 16  # a block of the change detector is complete

LASTING_SLACK = 0.3  # two standard deviations of the lost motion, relative, where a lasting error would be learnt
SMALLEST = 1e-12  # rad or N·m, avoids a division by zero
SLACK = 0.1  # standard deviation of the lost motion, relative
ADAPTED = 15.0  # s of motion after which the friction counts as learnt
SLOW = 30.0  # s of learning motion, memory of the reference that a change is compared with
SLIPPING = 5.0  # speed of a joint whose friction is known, in omega_min
NO_SPRING = 1e12  # (N·m)², variance of a spring torque without information
SMALL_PLAY = 1e-9  # rad, avoids a division by zero


@compiled
def learn_stiffness(e: Any, u: Any, learning: bool, free: bool) -> int:
    """Follow the play and let the stiffness learn; return flags. free: whether no joint has a contact."""
    todo, value = 0, e.smoother.states[0]
    for j in range(len(e.estimate)):
        s, lost, theta = e.estimate[j], e.play[j], value[u.theta + j]
        if u.backlash:
            lost_motion_step(lost, theta, s.torque_link, s.half_backlash)
        if not learning:
            continue
        phi = theta - value[u.q + j] - lost.motion
        inertial = s.rotor_inertia_deviation * abs(e.smoother.states[2, u.theta + j])
        wrong = np.hypot(0.5 * (LASTING_SLACK * lost.slack + lost.uncertainty), s.error_deviation)
        unknown = np.hypot(wrong / max(abs(phi), SMALLEST), inertial / max(abs(s.torque_motor), SMALLEST))
        if not free or abs(e.smoother.states[1, u.theta + j]) < u.omega_min:
            unknown = np.inf
        state, learnt, spring = e.springs[j], (e.learnt[0][j], e.learnt[1][j]), e.spring
        in_force = spring.P[j], spring.alpha[j], spring.square[j : j + 1]
        x = phi * state.per_scale
        before = elastic(spring.alpha[j], x, state.reach, e.scratch)[0]
        sample = phi, s.torque_motor - s.damping_torque, unknown, np.sign(e.smoother.states[1, u.theta + j])
        todo |= stiffness_step(state, learnt, in_force, e.spring_map[j], sample, e.scratch)[1]
        # A change of the map is no push.
        e.contacts[j].base[0] += elastic(spring.alpha[j], x, state.reach, e.scratch)[0] - before
    return todo


@compiled
def learn_friction(e: Any, u: Any, free: bool) -> None:
    """Let the friction learn. free: whether no joint has a contact."""
    for j in range(len(e.estimate)):
        s = e.estimate[j]
        residual = s.rotor_torque - s.torque_link - e.smoother.states[0, u.F_v + j]
        friction_step(e.friction[j], e.alpha[j], residual, s.coulomb_friction, s.held_speed, free)


@compiled
def detect_contacts(e: Any, u: Any, may_teach: bool) -> None:
    """Note the range of the motion and detect contacts. may_teach: whether the sample may teach error levels."""
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


@compiled
def adapted(e: Any, u: Any, j: int) -> bool:
    """Return whether the friction of joint j is learnt, or does not learn."""
    return not u.adapts or e.friction[j].adapted * u.turn > ADAPTED


@compiled
def rigidity(e: Any, j: int, maps: Any) -> tuple[float, float]:
    """Return k(φ) of joint j by `maps` (n, P), N·m/rad, and the variance of the learnt τ_E(φ), (N·m)².

    Writes ψ into the first row of the scratch.
    """
    s, P, psi, variance = e.springs[j], e.spring.P[j], e.scratch[0], 0.0
    slope = elastic(maps[j], e.estimate[j].deformation * s.per_scale, s.reach, e.scratch)[1]
    for p in range(len(psi)):
        for k in range(len(psi)):
            variance += psi[p] * P[p, k] * psi[k]
    return slope * s.per_scale, variance * e.spring.square[j]


@compiled
def weigh_torques(e: Any, u: Any) -> None:
    """Write the weights of the three torques for the samples until the next turn."""
    for j in range(len(e.estimate)):
        s, spring = e.estimate[j], np.inf
        slip = abs(e.smoother.states[0, u.H + j]) if u.method == HYSTERESIS else 1.0
        motor = motor_variance(s, e.smoother.states[1, u.theta + j], slip)
        if u.spring:
            spring = spring_variance(s, e.play[j], e.springs[j], rigidity(e, j, e.spring.alpha))
        weigh(s, motor, spring, e.smoother.states[2, u.theta + j], e.doubted[j])


@compiled
def motor_variance(s: Estimate, omega: float, slip: float) -> float:
    """Return the variance of the torque of the motor side, (N·m)²; slip: |H|, or 1 where it is unknown."""
    slipping = min(abs(omega) * s.per_slip_speed, 1.0) * min(slip, 1.0)
    wrong = (s.friction_noise + 0.5 * (1.0 - slipping)) * s.coulomb_level
    return s.floor + wrong * wrong


@compiled
def spring_variance(s: Estimate, play: Play, spring: Spring, of_map: tuple[float, float]) -> float:
    """Return the variance of the torque of the spring, (N·m)², and note whether it is informative.

    of_map: k(φ), N·m/rad, and the variance of the learnt τ_E(φ), (N·m)².
    """
    s.elastic = s.described or spring.reliable
    if s.hint != s.hint:
        lost = SLACK * play.slack + play.uncertainty
    else:
        ratio = s.deformation / s.hint
        lost = s.hint / (1.0 + ratio * ratio)
    (k, variance), unknown = of_map, 0.0 if s.elastic else NO_SPRING
    noise = s.deformation_noise + s.error_deviation * s.error_deviation
    return unknown + s.floor + k * k * (noise + lost * lost) + variance


@compiled
def weigh(s: Estimate, motor: float, spring: float, acceleration: float, doubted: bool) -> None:
    """Write the weights of one joint: inverse variances.

    Motor and spring measure the torque with contacts; the link model ignores contacts and has no weight in one.

    Parameters
    ----------
    s
        the joint, written.
    motor, spring
        (N·m)², variances; infinite where there is no spring.
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


@compiled
def watch_changes(e: Any, u: Any, known: bool, disturbed: bool) -> int:
    """Add the sample to the open block of `changes`; return flags of BEGUN and COMPLETE.

    known: whether the payload is known; then only joints with a learnt friction count, because a friction that is being
    learnt resembles any change. disturbed: whether there is a contact.
    """
    motor, spring, total, slips = e.rows[:4], e.spring_rows, 0.0, False
    for j in range(len(e.estimate)):
        s, speed = e.estimate[j], abs(e.smoother.states[1, u.theta + j])
        (motor[1, j], motor[2, j]), alpha, learnt = friction_terms(e, u, j)
        motor[0, j] = s.torque_motor - s.torque_link + alpha[0] * motor[1, j] + alpha[1] * motor[2, j]
        motor[3, j] = 0.0
        total += motor[0, j]
        # α follows errors of the torque in one direction of motion; the reference averages over both.
        if speed >= u.omega_min or not learnt:
            for p in range(2):
                e.scale[j, p] += (alpha[p] - e.scale[j, p]) / max(min(learnt, SLOW / u.turn), 1.0)
        if speed >= SLIPPING * u.omega_min and (not known or adapted(e, u, j)):
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
        # The reference curve: a freshly learnt one may not be monotonic yet.
        k, variance = rigidity(e, j, e.spring_map)
        play, link = k * (LASTING_SLACK * lost.slack + lost.uncertainty), s.link_noise * s.torque_link
        variance += play * play + link * link + s.floor + k * k * s.deformation_noise
        spring[0, j] = s.damping_torque - s.torque_link
        spring[1, j] = 1.0 / np.sqrt(variance) if motor[3, j] > 0.0 and s.elastic else 0.0
        for p in range(e.spring_map.shape[1]):
            spring[2 + p, j] = e.scratch[0, p]
        g = lost.slack / max(s.half_backlash, SMALL_PLAY)
        spring[2 + e.spring_map.shape[1], j] = 2.0 * k * (1.0 - g) * lost.motion
        spring[3 + e.spring_map.shape[1], j] = k * s.error_deviation
    last_link_rows(e.arm.links, e.smoother.states[0, u.q : u.q + len(e.estimate)], e.work, e.link_rows)
    begun = e.blocks.place[1] == 0
    if begun:
        begin_block(e.blocks, e.carried, e.scale, e.spring_map)
    take(e.blocks, e.link_rows, motor, spring, disturbed, e.row)
    return (BEGUN if begun else 0) | (COMPLETE if e.blocks.place[1] >= u.per_block else 0)


@compiled
def friction_terms(e: Any, u: Any, j: int) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Return the regressor of α [N·m, rad/s], α and its number of updates."""
    s, omega, alpha = e.estimate[j], e.smoother.states[1, u.theta + j], e.alpha[j]
    if u.adapts:
        return (s.coulomb_friction, s.held_speed), (alpha[0], alpha[1]), float(e.friction[j].adapted)
    return (s.friction_torque, omega), (0.0 if u.method == NO_FRICTION else 1.0, 0.0), 0.0
