"""The transmission torque from three sides, and their weights by noise.

link     τ_J = M q̈ + C q̇ + g      ignores contacts; error a share of the torque
spring   τ_J = τ_E(φ) + D φ̇       needs no friction model; deformation only partly elastic within the backlash
                                   (`lost_motion`)
motor    τ_J = K_τ i − B ω̇ − f̂    error a share of the Coulomb level, most of it where the joint does not slip
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.learning_kernels import spring_weight
from joint_dynamics.estimation.lost_motion import LostMotion
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.joint import FrictionModel

Array = FloatArray
#: How far a rotor inertia may be off that was not told apart from its link's, as a share: the URDF's inertials it
#: follows from are good to 30 %.
ROTOR_INERTIA_SPREAD = 0.3


class Sample(Protocol):
    """The quantities of one sample that determine the weights, (n,) each, documented in `JointTorques`."""

    omega: Array
    rotor_acceleration: Array
    hysteresis: Array
    deformation: Array
    torque_link: Array
    contact: BoolArray
    friction_model: FrictionModel | None
    stiffness: StiffnessEstimator | None
    lost_motion: LostMotion


class TorqueFusion:
    """Inverse-variance weights of the three estimates, for n joints.

    The stated deviations need not be exact: they decide which side is used; at rest the spring, in slip both, near φ =
    0 the motor.

    Parameters
    ----------
    arm
        the identified arm.
    settings
        EstimationSettings (deformation_noise, friction_noise, link_noise, torque_noise).

    Attributes
    ----------
    motor_deviation
        (n,) N·m, stated deviation of the motor side's torque.
    elastic
        (n,) bool, whether the spring's torque is informative.

    """

    def __init__(self, arm: Arm, settings: EstimationSettings) -> None:
        effort = arm.robot.limits.effort
        self.floor = (settings.torque_noise * np.where(np.isfinite(effort), effort, 100.0)) ** 2
        self._described = arm.stiffness_described
        self._friction, self._link = settings.friction_noise, settings.link_noise
        self._per_slip_speed = 0.2 / max(settings.omega_min, 1e-6)
        self._deformation = settings.deformation_noise**2
        # Measured backlash is taken off; where there is none, the presliding length of the friction hints at how much
        # there may be.
        self._known = arm.backlash is not None
        slip = None if arm.friction is None else arm.friction.maxwell_slip
        self._hint = 1e-9 if slip is None else np.maximum([table.max() for table in slip.presliding.tables], 1e-9)
        # Where only link and rotor together were identified, the torque between them is known up to what the rotor may
        # be off.
        self.rotor_inertia_deviation = np.where(arm.rotor_identifiable, 0.0, ROTOR_INERTIA_SPREAD * arm.rotor_inertia)
        self._fixed = np.array([self.floor, self.rotor_inertia_deviation])
        self._noise = float(self._friction), self._per_slip_speed, float(self._deformation)
        self.motor_deviation = np.full(arm.n, 1e6)
        self.elastic = np.zeros(arm.n, dtype=bool)

    def measured(self, estimate: Sample, level: Array) -> tuple[Array, Array]:
        """Return the weight of the spring beside the motor side (n,), and the deviation of both together, N·m (n,).

        level: Coulomb level F(τ_J), N·m. The combined torque is measured, and so includes contacts.
        """
        model, stiffness = estimate.friction_model, estimate.stiffness
        slip = estimate.hysteresis if model is not None and model.maxwell_slip is not None else None
        signals = np.array([estimate.omega, estimate.rotor_acceleration, estimate.deformation, level])
        if stiffness is None:
            none = np.zeros((len(level), 2, 1))
            quality: tuple[Array | BoolArray, ...] = np.zeros(len(level), dtype=bool), level, none, level
        else:
            quality = stiffness.quality
        weight, both, self.motor_deviation, elastic = spring_weight(
            signals, slip, self._fixed, self._noise, self._lost(estimate), self._described, *quality
        )
        if stiffness is None:
            return np.zeros_like(weight), self.motor_deviation
        self.elastic = elastic != 0.0
        return weight, both

    def _lost(self, estimate: Sample) -> Array:
        """Return what of the deformation may be lost motion, (n,) rad."""
        if self._known:
            lost: Array = 0.1 * estimate.lost_motion.slack + estimate.lost_motion.uncertainty
            return lost
        hinted: Array = self._hint / (1.0 + (estimate.deformation / self._hint) ** 2)
        return hinted

    def link_weight(self, estimate: Sample, deviation: Array) -> Array:
        """Return the weight of the link model relative to the measured torque, (n,): 0 where there is contact."""
        square = deviation**2
        variance = (
            self.floor
            + (self._link * estimate.torque_link) ** 2
            + (self.rotor_inertia_deviation * estimate.rotor_acceleration) ** 2
        )
        return np.where(estimate.contact, 0.0, square / (square + variance))
