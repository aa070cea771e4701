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

"""The transmission torque from three sides, of one sample, and their weights by their noise, compiled.

link     τ_J = M q̈ + C q̇ + g      ignores contacts; error relative to the torque
spring   τ_J = τ_E(φ) + D φ̇       needs no friction model; φ is only partly elastic within the backlash
motor    τ_J = K_τ i − B ω̇ − f̂    error relative to the Coulomb level, largest outside slip
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arm.sample import add_coupled_friction, add_rotors, term_torques
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.spring import Spring, elastic
from joint_dynamics.joint.constants import MAP
from joint_dynamics.joint.laws import coulomb_level, dry_friction, held, map_value, slip, speed_friction, warmth
from joint_dynamics.joint.stiffness import LOADS, loads_of
from joint_dynamics.records import KernelRecord, Record
from joint_dynamics.robot.newton_euler import inverse_dynamics
from joint_dynamics.signals.state_estimator import smooth

ROTOR_INERTIA_SPREAD = 0.3  # relative error of a rotor inertia that follows from the inertials of a URDF
FRICTION_NOISE = 0.1  # deviation of the friction in slip, relative to the Coulomb level
LINK_NOISE = 0.05  # deviation of the link model, relative to its torque
DEFORMATION_NOISE = 5e-6  # rad, deviation of the smoothed deformation: encoders and the remaining kinematic error
NO_SPRING = 1e12  # (N·m)², variance of a spring torque without information
SLACK = 0.1  # standard deviation of the lost motion, relative
UNKNOWN = 1e6  # N·m, deviation before the first estimate
NO_LIMIT = 100.0  # N·m, torque limit of a joint without a stated one
SLIP_SPEED = 0.2  # 1/omega_min: a joint slips fully at five times that speed

LAGS = (1.0, 3.0)  # time constants of the low-passes of the load, in lags T
PARTS = len(LOADS)  # terms of g
FILTERS = len(LAGS)
SPREAD_TIME = 0.2  # s, memory of the spread of g
STEP_TIME = 0.05  # s, memory of the largest step: smoothed signals pass through the play differently from raw ones
DEVIATIONS = 2.0  # possible error of 𝓑, in its standard deviations
UNSEEN = 1.0  # rad, uncertainty of the lost motion before the first sample: more than any joint has


class Play(KernelRecord):
    """Backlash of one joint: settings, then state [M4 eq 30-32].

        s ← clip(s + Δθ/𝓑(θ), ±1);   φ_elastic = φ − g(τ) 𝓑(θ) s;   g = Σ share_i/(1 + (τ/τ_i)²);   T τ̇ + τ = τ_J.

    The reduction g by load is this package's (`joint.stiffness`). Load and lag are known roughly, so the spread of g
    over loads of lag 0, T and 3 T counts as uncertainty: all of 𝓑 until θ has passed through the play; then two
    deviations of 𝓑, reduced by the load, the spread of g and the largest recent step.
    """

    unknown: float  # rad, two standard deviations of 𝓑
    keep: float  # share of the spread kept per update
    keep_step: float  # share of the step kept per update
    per_load: Annotated[FloatArray, PARTS]  # 1/(N·m), 1/τ_i
    shares: Annotated[FloatArray, PARTS]  # share of 𝓑 that the load τ_i halves
    follow: Annotated[FloatArray, FILTERS]  # share by which a low-pass follows per update
    theta: float  # rad, motor angle at the last update; NaN before the first
    position: float  # s, −1 … 1 between the stops
    spread: float  # difference of g over the lags
    step: float  # rad, largest recent step of the lost motion
    motion: float  # rad, g 𝓑 s
    slack: float  # rad, g 𝓑, the largest possible lost motion
    uncertainty: float  # rad, of the lost motion
    loads: Annotated[FloatArray, FILTERS]  # N·m, low-passed loads
    known: bool  # whether θ has passed through the whole play


@compiled
def lost_motion_step(s: Play, theta: float, load: float, width: float) -> None:
    """Take θ [rad] without its kinematic error, the load [N·m] and 𝓑(θ) [rad] of one joint."""
    if s.theta != s.theta:
        s.theta = theta
        for m in range(len(s.loads)):
            s.loads[m] = load
    if width > 0.0:
        s.position += (theta - s.theta) / width
    s.position = min(max(s.position, -1.0), 1.0)
    s.known = s.known or abs(s.position) >= 1.0 or width <= 0.0
    s.theta = theta
    lowest, highest, second = np.inf, -np.inf, 0.0
    for m in range(len(s.loads) + 1):
        if m > 0:
            s.loads[m - 1] += s.follow[m - 1] * (load - s.loads[m - 1])
        of_load, g = load if m == 0 else s.loads[m - 1], 0.0
        for i in range(PARTS):
            ratio = of_load * s.per_load[i]
            g += s.shares[i] / (1.0 + ratio * ratio)
        lowest, highest = min(lowest, g), max(highest, g)
        if m == 1:
            second = g
    s.spread = max(highest - lowest, s.keep * s.spread)
    before, s.slack = s.motion, second * width
    s.motion = s.slack * s.position
    s.step = max(abs(s.motion - before), s.keep_step * s.step)
    s.uncertainty = (s.spread if s.known else 1.0) * width + highest * s.unknown + s.step


def play_of(arm: Arm, limit: FloatArray, period: float) -> Record:
    """Return the records (n,) of `Play` before any sample; limit: (n,) N·m, of which the loads τ_i are shares."""
    return Play.filled(
        arm.n,
        unknown=DEVIATIONS * arm.backlash_deviation,
        theta=np.nan,
        per_load=1.0 / loads_of(limit),
        follow=period / np.maximum(np.multiply.outer(arm.load_lag, LAGS), period),
        shares=arm.load_shares,
        keep=max(1.0 - period / SPREAD_TIME, 0.0),
        keep_step=max(1.0 - period / STEP_TIME, 0.0),
        uncertainty=0.0 if arm.backlash is None else UNSEEN,
    )


class Estimate(KernelRecord):
    """One joint: settings, then the estimates of the last sample (`sample.Estimates` documents them)."""

    floor: float  # (N·m)², variance of any torque
    rotor_inertia_deviation: float  # kg·m²
    per_slip_speed: float  # s/rad
    hint: float  # rad, presliding length, a guess of the lost motion; NaN: backlash is described
    gain: float  # N·m/A, or 1: torque per effort
    described: bool  # whether the stiffness is described
    backlash: Annotated[Any, MAP]  # 𝓑(θ), rad
    deviations: Annotated[Any, MAP]  # standard deviation of the kinematic error, rad
    rotor_torque: float  # N·m, K_τ i − B ω̇ − coupled drives − further terms
    held_speed: float  # rad/s, speed within the range of validity of the friction
    coulomb_level: float  # N·m, F(τ_J)
    coulomb_friction: float  # N·m, F(τ_J) H
    friction_torque: float  # N·m, f̂
    friction_error: float  # N·m, f − f̂
    torque_motor: float  # N·m, τ_J of the motor side
    torque_link: float  # N·m, τ_J of the link model
    torque_spring: float  # N·m, τ_J of the spring
    torque: float  # N·m, fused τ_J
    external: float  # N·m, τ_ext
    damping_torque: float  # N·m, D φ̇
    deformation: float  # rad, elastic φ
    half_backlash: float  # rad, 𝓑(θ)
    error_deviation: float  # rad, deviation of the kinematic error at θ
    spring_weight: float  # weight of the spring beside the motor side
    link_weight: float  # weight of the link model beside both
    external_deviation: float  # N·m, of τ_ext
    motor_deviation: float  # N·m, of the motor side
    elastic: bool  # whether the torque of the spring is informative
    contact: bool


def estimate_of(arm: Arm, settings: EstimationSettings) -> Record:
    """Return the records (n,) of `Estimate` of an arm, before any sample."""
    effort = arm.robot.limits.effort
    # Without described backlash, the presliding length of the friction gives its order of magnitude.
    slip = None if arm.friction is None else arm.friction.maxwell_slip
    hint = 0.0 if slip is None else np.array([table.max() for table in slip.presliding.tables])
    return Estimate.filled(
        arm.n,
        floor=(settings.torque_noise * np.where(np.isfinite(effort), effort, NO_LIMIT)) ** 2,
        # Where only the sum of link and rotor was identified, the torque between them has the error of the rotor.
        rotor_inertia_deviation=np.where(arm.rotor_identifiable, 0.0, ROTOR_INERTIA_SPREAD * arm.rotor_inertia),
        described=arm.stiffness_described,
        per_slip_speed=SLIP_SPEED / max(settings.omega_min, 1e-6),
        hint=np.nan if arm.backlash is not None else np.maximum(hint, 1e-9),
        gain=1.0,
        external_deviation=UNKNOWN,
        motor_deviation=UNKNOWN,
    )


@compiled
def take_signals(e: Any, u: Any) -> bool:
    """Pass the sample in `given` with its hysteresis H and speed part F_v to the smoother; return whether it is full.

    The speed of F_v is a difference over 2 d samples; all signals are delayed by d samples to match it.
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
        if u.friction:
            x[u.H + j] = slip(e.bare[j], tables, motor, e.sliders[j])
    if status.count < length:
        return False
    middle, oldest = (newest - u.lag) % length, (newest + 1) % length
    if u.friction:
        for j in range(len(e.estimate)):
            c, side = e.arm.joints[j], u.theta + j
            omega = held((e.line[newest, side] - e.line[oldest, side]) * u.per_span, c.speed_limit)
            F_v = speed_friction(c, e.line[middle, u.H + j], omega, warmth(c, e.temperature[j]))
            e.line[middle, u.F_v + j] = F_v
    return smooth(e.smoother, e.line[middle])


@compiled
def torques(e: Any, u: Any) -> bool:
    """Take the sample in `given`; write the torques of the smoothed one and return whether the smoother is full.

    Friction and further terms use the load of the previous sample.
    """
    if not take_signals(e, u):
        return False
    n, value = len(e.estimate), e.smoother.states[0]
    link, H, drives, share, before = e.rows[0], e.rows[1], e.rows[2], e.rows[3], e.rows[4]
    q, dq, ddq = value[u.q : u.q + n], e.smoother.states[1, u.q : u.q + n], e.smoother.states[2, u.q : u.q + n]
    omega, acceleration = e.smoother.states[1, u.theta : u.theta + n], e.smoother.states[2, u.theta : u.theta + n]
    inverse_dynamics(e.arm.links, q, dq, ddq, e.work, link)
    for j in range(n):
        drives[j], share[j], before[j] = 0.0, 1.0, e.estimate[j].torque
        H[j] = value[u.H + j] if u.friction else np.sign(omega[j])
    add_rotors(e.arm, acceleration, drives)
    add_coupled_friction(e.arm, share, omega, drives)
    term_torques(e.arm.terms, (share, 1.0), q, (omega, H, before, e.temperature), drives)
    for j in range(n):
        c, s, alpha = e.arm.joints[j], e.estimate[j], e.alpha[j]
        speed, load = held(omega[j], c.speed_limit), held(before[j], c.load_limit)
        s.torque_link, s.rotor_torque, s.held_speed = link[j], value[u.tau + j] - drives[j], speed
        s.friction_torque = 0.0
        if u.friction:
            dry = dry_friction(c, H[j], speed, load)
            s.coulomb_level, s.coulomb_friction = coulomb_level(c, load), dry
            s.friction_torque = value[u.F_v + j] + (alpha[0] * dry + alpha[1] * speed)
        total = s.rotor_torque - link[j]
        s.friction_error = total - s.friction_torque
        s.torque_motor = measured = link[j] + s.friction_error
        if u.spring:
            if u.backlash:
                s.half_backlash = map_value(s.backlash, e.arm.tables, value[u.theta + j])
            s.error_deviation = map_value(s.deviations, e.arm.tables, value[u.theta + j])
            s.deformation = value[u.theta + j] - q[j] - e.play[j].motion
            s.damping_torque = c.damping * (omega[j] - dq[j])
            spring = e.springs[j]
            x = s.deformation * spring.per_scale
            s.torque_spring = elastic(e.spring.alpha[j], x, spring.reach, e.scratch)[0] + s.damping_torque
            measured += s.spring_weight * (s.torque_spring - measured)
        s.external = measured - link[j]
        s.torque = measured - s.link_weight * s.external
    return True


@compiled
def motor_variance(s: Estimate, omega: float, slip: float) -> float:
    """Return the variance of the torque of the motor side, (N·m)²; slip: |H|, or 1 where it is unknown."""
    slipping = min(abs(omega) * s.per_slip_speed, 1.0) * min(slip, 1.0)
    wrong = (FRICTION_NOISE + 0.5 * (1.0 - slipping)) * s.coulomb_level
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
    noise = DEFORMATION_NOISE**2 + s.error_deviation * s.error_deviation
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
    square, link = s.external_deviation * s.external_deviation, LINK_NOISE * s.torque_link
    s.link_weight = 0.0 if s.contact else square / (square + s.floor + link * link + rotor * rotor)
