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

"""One sample of a `JointEstimator`, compiled: the arrays it changes, and their order of evaluation.

    signals → torques → stiffness, friction, contact, weights, changes, one at a time

The torques are evaluated with every sample. The smoothed signals change little within some milliseconds, so the other
parts take turns, at most one per sample, each at about 125 Hz. The functions take a `Sample` e and its settings u.

The weights of the torques are inverse variances. They need not be exact: they select the spring at rest, the spring and
the motor in slip, the motor near φ = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arm.sample import ArmConstants
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.change_test import Blocks, begin_block, last_link_rows, take
from joint_dynamics.estimation.contact import contact_step
from joint_dynamics.estimation.friction import friction_step
from joint_dynamics.estimation.spring import elastic, stiffness_step
from joint_dynamics.estimation.torques import (
    DEFORMATION_NOISE,
    LINK_NOISE,
    SLACK,
    lost_motion_step,
    motor_variance,
    spring_variance,
    torques,
    weigh,
)
from joint_dynamics.records import Field, KernelRecord, Record
from joint_dynamics.signals.state_estimator import Smoother

# Flags of a sample, beside JUMPED and DUE of `spring`.
READY = 4  # there are estimates
BEGUN = 8  # a block of the change detector has begun
COMPLETE = 16  # a block of the change detector is complete

LASTING_SLACK = 0.3  # two standard deviations of the lost motion, relative, where a lasting error would be learnt
SMALLEST = 1e-12  # rad or N·m, avoids a division by zero
ADAPTED = 15.0  # s of motion after which the friction counts as learnt
SLOW = 30.0  # s of learning motion, memory of the reference that a change is compared with
SLIPPING = 5.0  # speed of a joint whose friction is known, in omega_min
SMALL_PLAY = 1e-9  # rad, avoids a division by zero

NOT_ESTIMATED, UNKNOWN, KNOWN = range(3)
"""State of the payload."""
TURNS = 5
"""Parts that take turns."""


class Numbers(KernelRecord):
    """Settings of an estimator."""

    per_span: float  # 1/s, factor of the difference that gives the speed of F_v
    turn: float  # s, between two turns of a part
    omega_min: float  # rad/s
    motor_side: bool  # whether θ is measured
    spring: bool  # whether there is a stiffness
    backlash: bool  # whether a backlash is described
    q: int  # first column of each signal in the smoother
    tau: int
    theta: int
    H: int
    F_v: int
    friction: bool  # whether friction is described
    adapts: bool  # whether it adapts
    lag: int  # samples d of the speed for F_v
    stride: int  # samples between two turns of a part
    per_block: int  # samples of a block of the change detector


class Status(KernelRecord):
    """State of an estimator."""

    finite: bool  # whether the torques of the last sample and its contact ratios are finite
    count: int  # samples taken


class Signal:
    """Value or derivative (0, 1, 2) of one smoothed signal of all joints, (n,): a view, written by the next sample."""

    def __init__(self, column: str, derivative: int = 0) -> None:
        self._column, self._derivative = column, derivative

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        start = int(owner.numbers[self._column][0])
        return owner.filter.states[self._derivative, start : start + owner.n] if start >= 0 else np.zeros(owner.n)


class Estimates:
    """Estimates of n joints.

    Attributes
    ----------
    q, dq, ddq
        of the link, smoothed, (n,) [rad, rad/s, rad/s²]. Like all estimates below, valid after an `update` that
        returned True, for the time `delay` s before that sample.
    theta, omega, rotor_acceleration
        of the motor side, reflected, less the kinematic error, (n,) [rad, rad/s, rad/s²].
    hysteresis, deformation
        H (n,); φ (n,) [rad], elastic.
    motor_torque, rotor_torque
        (n,) [N·m]; the latter K_τ i − B ω̇ − coupled drives − further terms.
    friction_torque, speed_friction, coulomb_level
        f̂ (n,) [N·m], and of it F_v and F(τ_J).
    torque_link, torque_spring, torque_motor, torque
        three estimates of τ_J and the fused one, (n,) [N·m].
    external, external_deviation, motor_deviation
        τ_ext (n,) [N·m] and its deviation; that of the torque of the motor side.
    contact, elastic
        (n,) bool; whether the torque of the spring is informative.
    spring_weight, link_weight
        of the spring beside the motor side and of the link model beside both, (n,), 0 … 1, of the next sample.
    numbers, status, estimate
        records of `Numbers`, `Status` and `torques.Estimate`.
    """

    q, dq, ddq = Signal('q'), Signal('q', 1), Signal('q', 2)
    theta, omega, rotor_acceleration = Signal('theta'), Signal('theta', 1), Signal('theta', 2)
    motor_torque, hysteresis, speed_friction = Signal('tau'), Signal('H'), Signal('F_v')
    rotor_torque, held_speed, damping_torque = Field('estimate'), Field('estimate'), Field('estimate')
    coulomb_level, coulomb_friction = Field('estimate'), Field('estimate')
    friction_torque, friction_error = Field('estimate'), Field('estimate')
    torque_link, torque_spring, torque_motor = Field('estimate'), Field('estimate'), Field('estimate')
    torque, external, deformation = Field('estimate'), Field('estimate'), Field('estimate')
    contact, elastic = Field('estimate'), Field('estimate')
    spring_weight, link_weight = Field('estimate'), Field('estimate')
    external_deviation, motor_deviation = Field('estimate'), Field('estimate')


class InForce(NamedTuple):
    """Map of n springs in force, as in `StiffnessEstimator`."""

    P: FloatArray  # (n, P, P)
    alpha: FloatArray  # (n, P)
    square: FloatArray  # (n,) (N·m)², mean square of the prediction error


class Sample(NamedTuple):
    """Arrays of an estimator of n joints with order P of the stiffness, M operators and C signals."""

    arm: ArmConstants  # its links carry the payload in force
    numbers: Record  # (1,) of `Numbers`
    status: Record  # (1,) of `Status`
    estimate: Record  # (n,) of `torques.Estimate`
    given: FloatArray  # (3, n): q, effort and θ of the sample
    bare: Record  # (n,) of `JOINT` without the kinematic error
    sliders: FloatArray  # (n, M) rad, state of the hysteresis
    line: FloatArray  # (2 d + 1, C), last samples
    smoother: Smoother
    temperature: FloatArray  # (n,) °C
    work: FloatArray  # (N, WORK_PER_LINK) of N links, written
    rows: FloatArray  # (5, n), written
    alpha: FloatArray  # (n, 2), α of the friction
    friction: Record  # (n,) of `friction.Adaptive`
    play: Record  # (n,) of `Play`
    springs: Record  # (n,) of `Spring`
    learnt: tuple[FloatArray, FloatArray]  # P (n, P, P) and α (n, P) of the learnt map
    spring: InForce
    contacts: Record  # (n,) of `Contact`
    seen: FloatArray  # (4, n) of `RangeWatch`
    blocks: Blocks
    doubted: BoolArray  # (n,), stiffnesses in doubt
    scale: FloatArray  # (n, 2), reference of α: its mean over `SLOW`
    carried: FloatArray  # (10,), inertial parameters of the payload in force
    spring_map: FloatArray  # (n, P), reference of the stiffness: its mean over `SLOW`
    link_rows: FloatArray  # (n, 10), written
    sides: FloatArray  # (2, 5, n), written; see `change_test.take`
    scratch: FloatArray  # (2, P), written


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
        x, before = phi * state.per_scale, spring.alpha[j].copy()
        sample = phi, s.torque_motor - s.damping_torque, unknown
        todo |= stiffness_step(state, learnt, in_force, e.spring_map[j], sample, e.scratch)[1]
        # A change of the map is no push.
        change = spring.alpha[j] - before
        e.contacts[j].base[0] += elastic(change, x, state.reach, e.scratch)[0]
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
            of_link = LINK_NOISE * s.torque_link
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
        slip = abs(e.smoother.states[0, u.H + j]) if u.friction else 1.0
        motor = motor_variance(s, e.smoother.states[1, u.theta + j], slip)
        if u.spring:
            spring = spring_variance(s, e.play[j], e.springs[j], rigidity(e, j, e.spring.alpha))
        weigh(s, motor, spring, e.smoother.states[2, u.theta + j], e.doubted[j])


@compiled
def watch_changes(e: Any, u: Any, known: bool, disturbed: bool) -> int:
    """Add the sample to the open block of `changes`; return flags of BEGUN and COMPLETE.

    known: whether the payload is known; then only joints with a learnt friction count, because a friction that is being
    learnt resembles any change. disturbed: whether there is a contact.
    """
    motor, spring, total, slips = e.sides[0], e.sides[1], 0.0, False
    for j in range(len(e.estimate)):
        s, speed = e.estimate[j], abs(e.smoother.states[1, u.theta + j])
        (motor[1, j], motor[2, j]), alpha, learnt = friction_terms(e, u, j)
        motor[0, j] = s.torque_motor - s.torque_link + alpha[0] * motor[1, j] + alpha[1] * motor[2, j]
        motor[4, j] = 0.0
        total += motor[0, j]
        # α follows errors of the torque in one direction of motion; the reference averages over both.
        if speed >= u.omega_min or not learnt:
            for p in range(2):
                e.scale[j, p] += (alpha[p] - e.scale[j, p]) / max(min(learnt, SLOW / u.turn), 1.0)
        if speed >= SLIPPING * u.omega_min and (not known or adapted(e, u, j)):
            motor[4, j], slips = 1.0 / np.hypot(s.motor_deviation, LINK_NOISE * s.torque_link), True
    if not slips or not np.isfinite(total):
        return 0
    share = u.turn / SLOW
    for j in range(len(e.estimate)):
        s, lost, state = e.estimate[j], e.play[j], e.springs[j]
        if not u.spring:
            continue
        if state.excited:
            for p in range(e.spring_map.shape[1]):
                e.spring_map[j, p] += share * (e.spring.alpha[j, p] - e.spring_map[j, p])
        # The reference curve: a freshly learnt one may not be monotonic yet.
        k, variance = rigidity(e, j, e.spring_map)
        play, link = k * (LASTING_SLACK * lost.slack + lost.uncertainty), LINK_NOISE * s.torque_link
        variance += play * play + link * link + s.floor + k * k * DEFORMATION_NOISE**2
        spring[0, j] = s.damping_torque - s.torque_link
        spring[1, j] = -elastic(e.spring_map[j], s.deformation * state.per_scale, state.reach, e.scratch)[0]
        spring[2, j] = 2.0 * k * (1.0 - lost.slack / max(s.half_backlash, SMALL_PLAY)) * lost.motion
        spring[3, j] = k * s.error_deviation
        spring[4, j] = 1.0 / np.sqrt(variance) if motor[4, j] > 0.0 and s.elastic else 0.0
    last_link_rows(e.arm.links, e.smoother.states[0, u.q : u.q + len(e.estimate)], e.work, e.link_rows)
    begun = e.blocks.place[1] == 0
    if begun:
        begin_block(e.blocks, e.carried, e.scale)
    take(e.blocks, e.link_rows, e.sides, disturbed)
    return (BEGUN if begun else 0) | (COMPLETE if e.blocks.place[1] >= u.per_block else 0)


@compiled
def friction_terms(e: Any, u: Any, j: int) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Return the regressor of α [N·m, rad/s], α and its number of updates."""
    s, omega, alpha = e.estimate[j], e.smoother.states[1, u.theta + j], e.alpha[j]
    if u.adapts:
        return (s.coulomb_friction, s.held_speed), (alpha[0], alpha[1]), float(e.friction[j].adapted)
    return (s.friction_torque, omega), (1.0, 0.0), 0.0


@compiled
def take_sample(e: Any, learning: bool, payload: int, suspected: bool) -> int:
    """Take the sample in `given` of a `Sample`; return flags, 0 without estimates.

    learning: whether α, stiffness and payload adapt. payload: NOT_ESTIMATED, UNKNOWN or KNOWN. suspected: whether a
    change of the load is suspected (`changes`).
    """
    u, todo = e.numbers[0], READY
    if not torques(e, u):
        return 0
    for turn in range(e.status[0].count % u.stride, TURNS, u.stride):
        # No joint learns during a contact of any joint, until it lasts longer than the patience.
        free = payload != UNKNOWN
        for j in range(len(e.contacts)):
            if 0.0 < e.contacts[j].since <= e.contacts[j].patience:
                free = False
        if turn == 0 and u.spring:
            todo |= learn_stiffness(e, u, learning, free)
        elif turn == 1 and learning and u.adapts:
            # A push that only some joints detect would be learnt as friction.
            learn_friction(e, u, free and not suspected)
        elif turn == 2:
            detect_contacts(e, u, payload == NOT_ESTIMATED or free)
        elif turn == 3:
            weigh_torques(e, u)
        elif turn == 4 and learning:
            todo |= watch_changes(e, u, payload != UNKNOWN, not free)
    total = 0.0
    for j in range(len(e.estimate)):
        s = e.estimate[j]
        total += s.torque + s.external + s.friction_torque + e.contacts[j].ratio
    e.status[0].finite = np.isfinite(total)
    return todo
