"""The transmission torque from three sides, of one sample, compiled; `evaluation` weighs them by their noise.

link     τ_J = M q̈ + C q̇ + g      ignores contacts; error a share of the torque
spring   τ_J = τ_E(φ) + D φ̇       needs no friction model; deformation only partly elastic within the backlash
motor    τ_J = K_τ i − B ω̇ − f̂    error a share of the Coulomb level, most of it where the joint does not slip

The part of the deformation that is not elastic is lost motion within the backlash [M4 eq 30-32]:

    s ← clip(s + Δθ/𝓑(θ), ±1),   φ_elastic = φ − g(τ) 𝓑(θ) s,   g = Σ share_i/(1 + (τ/τ_i)²),   T τ̇ + τ = τ_J

The play is the thesis's; its reduction by load, g, is no published law: `joint.stiffness` has it, `identify` fits the
shares and the lag T, and where only the width is described, the shares are taken to be equal and T 0.1 s.

Unloaded, φ differs by ±𝓑(θ) with the direction of the last motion; times the stiffness, this exceeds the torque of a
wrist. How fast and how far load takes up the play is known roughly, so the spread of g over loads of no lag, T and 3 T
counts as uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm
from joint_dynamics.arm.sample import add_coupled_friction, add_rotors, term_torques
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined_early
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.learning import LAGS, PLAY, elastic, lost_motion_step
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.joint.constants import MAP, Field, Record, filled, record
from joint_dynamics.joint.laws import coulomb_level, dry_friction, held, map_value, slip, speed_friction, warmth
from joint_dynamics.joint.stiffness import LOAD_LAG, LOAD_SHARES, loads_of
from joint_dynamics.robot.newton_euler import inverse_dynamics
from joint_dynamics.signals.state_estimator import smooth

#: How far a rotor inertia may be off that was not told apart from its link's, as a share: the URDF's inertials it
#: follows from are good to 30 %.
ROTOR_INERTIA_SPREAD = 0.3
# N·m, deviation before there is an estimate.
UNKNOWN = 1e6

NO_FRICTION, OWN, HYSTERESIS, STATIC = range(4)
"""Friction: none, an estimator of its own, the described model on the smoothed hysteresis, or that in steady slip."""
ESTIMATE = record(
    'floor rotor_inertia_deviation friction_noise link_noise per_slip_speed deformation_noise hint gain coulomb_unit '
    'rotor_torque held_speed coulomb_level coulomb_friction friction_torque friction_error torque_motor deformation '
    'damping_torque torque_spring external torque torque_link spring_weight link_weight external_deviation '
    'motor_deviation half_backlash error_deviation', 'described elastic contact', backlash=MAP, deviations=MAP,
)  # fmt: skip
"""Settings of one joint: (N·m)², of any torque; kg·m²; shares; s/rad; rad²; rad, of lost motion (NaN: the backlash is
described); torque per effort; N·m, of a learnt Coulomb friction; whether the stiffness is described; maps of the
backlash and of the deviation of the kinematic error. Then what is estimated, see `Estimates`; 𝓑(θ) and that deviation,
rad."""


def estimate_of(arm: Arm, settings: EstimationSettings) -> Record:
    """Return records of an arm's joints, (n,) of `ESTIMATE`, with what is stated of them, before any estimate."""
    effort = arm.robot.limits.effort
    # Measured backlash is taken off; where there is none, the presliding length of the friction hints at how much there
    # may be.
    slip = None if arm.friction is None else arm.friction.maxwell_slip
    hint = 0.0 if slip is None else np.array([table.max() for table in slip.presliding.tables])
    return filled(
        arm.n, ESTIMATE, floor=(settings.torque_noise * np.where(np.isfinite(effort), effort, 100.0)) ** 2,
        # Where only link and rotor together were identified, the torque between them is known up to what the rotor may
        # be off.
        rotor_inertia_deviation=np.where(arm.rotor_identifiable, 0.0, ROTOR_INERTIA_SPREAD * arm.rotor_inertia),
        friction_noise=settings.friction_noise, link_noise=settings.link_noise, described=arm.stiffness_described,
        per_slip_speed=0.2 / max(settings.omega_min, 1e-6), deformation_noise=settings.deformation_noise**2,
        hint=np.nan if arm.backlash is not None else np.maximum(hint, 1e-9), gain=1.0, coulomb_unit=1.0,
        external_deviation=UNKNOWN, motor_deviation=UNKNOWN,
    )  # fmt: skip


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
    """Take the sample in `given`, write all torques of the smoothed one into `estimate`; return whether there is one.

    Friction and terms are those at the torque of the sample before.
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
        H[j] = value[u.H + j] if u.method == HYSTERESIS else np.sign(omega[j])
    add_rotors(e.arm, acceleration, drives)
    add_coupled_friction(e.arm, share, omega, drives)
    term_torques(e.arm.terms, (share, 1.0), q, (omega, H, before, e.temperature), drives)
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


Array = FloatArray
# s: how long a spread of the load, and how long a movement of the play is remembered.
HELD, WINDOW = 0.2, 0.05
# The backlash may be so many of its deviations off.
DEVIATIONS = 2.0
# rad, lost motion that no sample has told of yet: more than any.
UNSEEN = 1.0


class LostMotion:
    """Lost motion of n joints, sample by sample.

    Parameters
    ----------
    backlash
        function of θ (n,) rad: 𝓑(θ), half the backlash, rad, 0 where it is unknown and assumed absent; None: unknown
        for all joints.
    limit
        N·m, number or (n,): torque limit, of which the loads τ_i are shares.
    period
        s.
    deviation
        rad, number or (n,): standard deviation of 𝓑.
    shares
        (2,) or (n, 2), of 𝓑 that the loads τ_i halve.
    lag
        s, number or (n,): of the load that takes it up.

    Attributes
    ----------
    states
        (n,) of `PLAY`, which `lost_motion_step` takes.
    motion
        g 𝓑 s (n,) rad, to be subtracted from the deformation.
    slack
        g 𝓑 (n,) rad, the largest possible `motion`.
    uncertainty
        (n,) rad, in addition to a share of `motion`: any before the first sample; all of 𝓑 until θ has passed through
        it once; two deviations of 𝓑, reduced by the load; and the largest change in one of the last updates, because
        smoothed signals pass through the play differently from raw ones.

    """

    motion, slack, uncertainty = Field(), Field(), Field()

    def __init__(
        self,
        joints: int,
        backlash: Callable[[Array], Array] | None,
        limit: ArrayLike,
        period: float,
        deviation: ArrayLike = 0.0,
        shares: ArrayLike = LOAD_SHARES,
        lag: ArrayLike = LOAD_LAG,
    ) -> None:
        self.joints, self.backlash = int(joints), backlash
        period = positive('period', period)
        self.states = filled(
            self.joints, PLAY, unknown=DEVIATIONS * np.asarray(deviation, dtype=float), theta=np.nan,
            per_load=1.0 / loads_of(per_joint('limit', limit, self.joints)),
            follow=period / np.maximum(np.multiply.outer(np.asarray(lag, dtype=float), LAGS), period), shares=shares,
            keep=max(1.0 - period / HELD, 0.0), keep_step=max(1.0 - period / WINDOW, 0.0),
            uncertainty=0.0 if backlash is None else UNSEEN,
        )  # fmt: skip
        self._start = self.states.copy()

    def reset(self) -> None:
        """Discard the state of the play and the load."""
        self.states[:] = self._start

    def update(self, theta: Array, load: Array) -> None:
        """Take θ (n,) rad without its kinematic error and the load (n,) N·m of the same instant."""
        if self.backlash is not None:
            for joint in zip(self.states, theta, load, self.backlash(theta), strict=True):
                lost_motion_step(*joint)
