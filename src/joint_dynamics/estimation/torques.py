"""The transmission torque from three sides, and their weights by noise, compiled.

link     τ_J = M q̈ + C q̇ + g      ignores contacts; error a share of the torque
spring   τ_J = τ_E(φ) + D φ̇       needs no friction model; deformation only partly elastic within the backlash
                                   (`lost_motion`)
motor    τ_J = K_τ i − B ω̇ − f̂    error a share of the Coulomb level, most of it where the joint does not slip

The stated deviations need not be exact: they decide which side is used; at rest the spring, in slip both, near φ = 0
the motor.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.records import filled, record
from joint_dynamics.estimation.stiffness_map import slope_and_variance
from joint_dynamics.joint.constants import MAP, Record

#: How far a rotor inertia may be off that was not told apart from its link's, as a share: the URDF's inertials it
#: follows from are good to 30 %.
ROTOR_INERTIA_SPREAD = 0.3
# Share of the lost motion that is not known.
SLACK = 0.1
# N·m, deviation before there is an estimate.
UNKNOWN = 1e6

ESTIMATE = record(
    'floor rotor_inertia_deviation friction_noise link_noise per_slip_speed deformation_noise hint gain coulomb_unit '
    'rotor_torque held_speed coulomb_level coulomb_friction friction_torque friction_error torque_motor deformation '
    'damping_torque torque_spring external torque torque_link spring_weight link_weight external_deviation '
    'motor_deviation', 'described elastic contact', backlash=MAP,
)  # fmt: skip
"""Settings of one joint: (N·m)², of any torque; kg·m²; shares; s/rad; rad²; rad, of lost motion (NaN: the backlash is
described); torque per effort; N·m, of a learnt Coulomb friction; whether the stiffness is described; map of the
backlash. Then what is estimated, see `Estimates`."""


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


@compiled
def motor_variance(s, omega, slip):  # type: ignore[no-untyped-def]
    """Return the variance of the torque of the motor side, (N·m)²; slip: |H|, 1 where it is not known."""
    slipping = min(abs(omega) * s.per_slip_speed, 1.0) * min(slip, 1.0)
    wrong = (s.friction_noise + 0.5 * (1.0 - slipping)) * s.coulomb_level
    return s.floor + wrong * wrong


@compiled
def spring_variance(s, play, spring, in_force):  # type: ignore[no-untyped-def]
    """Return the variance of the torque of the spring, (N·m)², and note whether it is informative.

    play, spring: records of `PLAY` and `SPRING`. in_force: P (P, P), α (P,) and the mean square of the error.
    """
    s.elastic = s.described or spring.reliable
    if s.hint != s.hint:
        lost = SLACK * play.slack + play.uncertainty
    else:
        ratio = s.deformation / s.hint
        lost = s.hint / (1.0 + ratio * ratio)
    P, alpha, square = in_force
    slope, variance = slope_and_variance(P, alpha, s.deformation * spring.per_scale)
    slope *= spring.per_scale
    unknown = 0.0 if s.elastic else 1e12
    return unknown + s.floor + slope * slope * (s.deformation_noise + lost * lost) + variance * square


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
