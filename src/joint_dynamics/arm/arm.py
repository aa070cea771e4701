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

"""The arm as identified, in one frozen object, and the torque that its motors have to give for a motion.

    τ_m = τ_J + τ_rotor(θ̈) + f(θ, θ̇, τ_J, T) + Σ terms           [M6 eq 3-24, G eq 24-25];
    τ_J = M(q) q̈ + C q̇ + g, with payload and mounting;
    τ_rotor = B θ̈ + coupled rotors;
    f = α1 F(τ_J) H(θ) + α2 θ̇ + F_v(θ̇, T) + coupled friction.

θ is the motor side, reflected to the joint. Where it is not given, the motor is assumed to move as the link does,
except for the angle that drives the hysteresis: θ = q + φ(τ_J) + θ̃. Every function takes single states (n,) and
recordings (N, n). `load` is the τ_J on which friction and terms depend; a caller that measures it (the estimator) may
pass it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.fields import checked, constants_of
from joint_dynamics.arm.reading import read, read_joints
from joint_dynamics.arm.sample import (
    ArmConstants,
    drives_along,
    friction_along,
    motor_angles,
    rotors_along,
    slip_directions,
)
from joint_dynamics.arm.validity import Validity
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.laws import mapped
from joint_dynamics.robot import RigidBody, RobotModel, StandardParameters
from joint_dynamics.robot.newton_euler import inverse_dynamics_along
from joint_dynamics.robot.standard_parameters import point_mass

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription

# Given as an array or None, kept as an array.
Values = Any


@dataclass(frozen=True)
class Arm:
    """A robot arm of n joints; all values on the joint side, in the robot's joint order.

    Attributes
    ----------
    robot
        kinematics, limits, names, mounting, coupling.
    parameters : array, optional
        (14 n + …,) standard parameters, of which those of links and coupled motors are used; None: those of the URDF.
    rotor_inertia
        B (n,) kg·m²; None: the Ia of `parameters`.
    rotor_identifiable
        (n,) bool, whether B was distinguished from the link's ZZ.
    drive_gain
        K_τ (n,) N·m/A, NaN where unknown (then no current can be commanded or read).
    friction
        friction on the motor coordinate, or None.
    friction_described
        (n,) bool, which joints have friction of their own.
    friction_details
        (n,) friction documents, with standard deviations and the values in each direction; empty: not known.
    friction_scale
        present α = [α1, α2] (n, 2) of the friction, nominal [1, 0] [M6 eq 24].
    terms
        further torque: springs, counterbalances, friction beyond the model.
    stiffness
        of the transmissions, or None (rigid).
    stiffness_described
        (n,) bool, which joints have stiffness of their own.
    damping
        D (n,) N·m·s/rad, default 0.
    kinematic_error
        θ̃(θ), rad, or None.
    kinematic_error_deviation
        its standard deviation over θ, rad, or None.
    backlash
        𝓑(θ), half the measured lost motion, rad, or None.
    backlash_deviation
        (n,) rad, its standard deviation, default 0.
    load_shares, load_lag
        how a load takes it up, as in `joint.stiffness`: (n, 2) shares b_i/𝓑, default equal ones; (n,) s, default 0.1.
    payload
        (10,) inertial parameters of the payload on the last link, in the last joint's frame, in addition to
        `parameters`.
    validity
        range in which the friction was checked, or None; outside it, friction stays at its value at the limit, except
        that of coupled motors.
    remarks
        fields of a description that this arm ignores or uses differently, by field and joint.
    coupled
        parameters (3 c,) of coupled motors, of `parameters`; None: there are none.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit and numbers that are not finite.

    """

    robot: RobotModel
    parameters: Values = None
    rotor_inertia: Values = None
    drive_gain: Values = None
    friction: FrictionModel | None = None
    friction_scale: Values = None
    stiffness: TorsionalStiffness | None = None
    damping: Values = None
    kinematic_error: PeriodicMap | None = None
    kinematic_error_deviation: PeriodicMap | None = None
    backlash: PeriodicMap | None = None
    backlash_deviation: Values = None
    load_shares: Values = None
    load_lag: Values = None
    terms: DescribedTerms = field(default_factory=DescribedTerms)
    payload: Values = None
    rotor_identifiable: Values = None
    friction_described: Values = None
    stiffness_described: Values = None
    validity: Validity | None = None
    friction_details: tuple[Mapping[str, Any], ...] = ()
    remarks: tuple[str, ...] = ()
    coupled: FloatArray | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value in checked(vars(self)).items():
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.robot.n

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the robot's order."""
        return self.robot.joint_names

    @property
    def effort_limit(self) -> FloatArray:
        """Largest motor torque (n,) N·m or N stated by the URDF; infinite where it states none (or 0)."""
        return self.robot.limits.effort

    @classmethod
    def from_description(cls, robot: RobotModel | None, description: DynamicsDescription) -> Arm:
        """Build from a dynamics description, joints by name (docs/reference/dynamics_description.md).

        Parameters
        ----------
        robot
            the robot described; None: the one in the description. Its mounting and coupling, where it states them,
            override the description's.
        description
            the dynamics description.

        Raises
        ------
        JointDynamicsError
            Where the description does not fit the robot, or has a field that cannot be used.

        """
        return cls(**read(robot, description))

    @classmethod
    def of_joints(cls, description: DynamicsDescription) -> Arm:
        """Build an arm from the joints of a description that may have no kinematics.

        Without kinematics the links are massless and no limits are known; only drives and friction remain.
        """
        if {'urdf', 'mdh'} & set(description.document['robot']):
            return cls.from_description(None, description)
        return cls(**read_joints(description))

    @cached_property
    def standard(self) -> StandardParameters:
        """Standard parameters of links with payload, rotors and coupled motors, without friction."""
        values = self.robot.standard(self.parameters.copy()).with_payload(self.payload)
        values.rotor_inertia[:] = self.rotor_inertia
        values.viscous[:] = values.coulomb[:] = values.offset[:] = 0.0
        return values

    @cached_property
    def rigid(self) -> RigidBody:
        """Inverse dynamics, mass matrix and gravity of single states, payload included."""
        return self.robot.rigid_body(self.standard.values)

    def carrying(self, body: ArrayLike) -> Arm:
        """Return the arm with its payload replaced.

        body: (10,) inertial parameters [kg·m², kg·m, kg] in the last joint's frame.
        """
        return replace(self, payload=np.array(body, dtype=float))

    def with_payload(self, mass: float, center: Sequence[float] | ArrayLike = (0.0, 0.0, 0.0)) -> Arm:
        """Return the arm with a point mass [kg] at `center` (3,) [m] of the last joint added to its payload [G II.B].

        Raises JointDynamicsError for a mass below zero and anything that is not finite.
        """
        position = np.asarray(center, dtype=float)
        if position.shape != (3,) or not np.all(np.isfinite(position)) or not (np.isfinite(mass) and mass >= 0):
            raise JointDynamicsError(
                f'payload: expected a mass >= 0 kg and a centre of 3 numbers in m, found {mass} and {position.tolist()}'
            )
        return self.carrying(self.payload + point_mass(mass, position))

    def check_drives(self) -> None:
        """Raise JointDynamicsError for a negative rotor inertia, which identification may yield and no law can use."""
        for name, value in zip(self.joint_names, self.rotor_inertia, strict=True):
            if not value >= 0:
                raise JointDynamicsError(f'arm: expected joints.{name}.rotor_inertia >= 0, found {value:.4g} kg·m²')

    @cached_property
    def constants(self) -> ArmConstants:
        """All constants by name, as compiled functions take them."""
        return constants_of(vars(self), self.standard.links)

    # The parts of the torque, for arrays (…, n).

    def link_torque(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return τ_J [N·m] of q, dq, ddq (…, n) [rad, rad/s, rad/s²]."""
        return mapped(inverse_dynamics_along, (self.constants.links,), self.n, q, dq, ddq)

    def rotor_torque(self, acceleration: FloatArray) -> FloatArray:
        """Return the rotors' inertial torque (…, n) [N·m] at a motor-side acceleration θ̈ (…, n) [rad/s²]."""
        return mapped(rotors_along, (self.constants,), self.n, acceleration)

    def friction_torque(
        self,
        H: FloatArray,
        speed: FloatArray,
        load: FloatArray,
        temperature: ArrayLike | None = None,
        scale: FloatArray | None = None,
    ) -> FloatArray:
        """Return α1 F(τ_J) H + α2 θ̇ + F_v(θ̇, T) and the coupled motors' friction, (…, n) [N·m].

        Parameters
        ----------
        H
            (…, n), of `slip_direction`.
        speed, load
            θ̇ (…, n) [rad/s] and τ_J (…, n) [N·m].
        temperature
            (…, n) or one [°C]; None: T0, at which it has no effect.
        scale
            α (n, 2); None: the arm's own.
        """
        return mapped(friction_along, self._drive(scale), self.n, H, speed, load, _known(temperature))

    def slip_direction(self, theta: FloatArray, speed: FloatArray) -> FloatArray:
        """Return the hysteresis H (N, n) of a recording, undeformed at its first sample; sgn θ̇ where there is none.

        theta, speed: θ and θ̇ (N, n) [rad, rad/s]; H is without unit.
        """
        return mapped(slip_directions, (self.constants, self.begin()), self.n, theta, speed)

    def begin(self) -> FloatArray:
        """Return sliders (n, M) [rad] of a hysteresis that is undeformed at the first sample: NaN."""
        return np.full((self.n, max(1, int(self.constants.joints['operators'].max(initial=0)))), np.nan)

    def drive_torque(
        self,
        H: FloatArray,
        q: FloatArray,
        speed: FloatArray,
        acceleration: FloatArray,
        load: FloatArray,
        temperature: FloatArray | None = None,
    ) -> FloatArray:
        """Return τ_m − τ_J (…, n) [N·m]: rotors, friction and further terms.

        Parameters
        ----------
        q, acceleration
            link angles, and accelerations of the motor side (…, n) [rad, rad/s²].
        H, speed, load, temperature
            as in `friction_torque`.
        """
        given = (H, q, speed, acceleration, load, _known(temperature))
        return mapped(drives_along, self._drive(None), self.n, *given)

    def _drive(self, scale: FloatArray | None) -> tuple[ArmConstants, FloatArray, FloatArray]:
        alpha = self.friction_scale if scale is None else scale
        # Without friction there is no scale.
        return self.constants, alpha if self.friction is not None else np.tile([1.0, 0.0], (self.n, 1)), np.ones(self.n)

    def deformation(self, load: FloatArray) -> FloatArray:
        """Return the deformation φ (…, n) [rad] with τ_E(φ) = τ_J, constant beyond the largest torque of the stiffness.

        load: τ_J (…, n) [N·m].
        """
        return np.zeros_like(load) if self.stiffness is None else self.stiffness.bounded_deformation(load)

    def motor_angle(self, q: FloatArray, load: FloatArray) -> FloatArray:
        """Return the readings of the motors' encoders, q + φ(τ_J) + θ̃ (…, n) [rad].

        q: link angles (…, n) [rad]; load: τ_J (…, n) [N·m].
        """
        return mapped(motor_angles, (self.constants,), self.n, q, load)

    def motor_torque(self, q: FloatArray, dq: FloatArray, ddq: FloatArray, **motor: FloatArray | None) -> FloatArray:
        """Return τ_m (N, n) [N·m] of a recording: q, dq, ddq (N, n) [rad, rad/s, rad/s²] and others as in `drives`."""
        tau_J, drives, _ = self.drives(q, dq, ddq, **motor)
        return tau_J + drives

    def transmission_torque(
        self, motor_torque: FloatArray, q: FloatArray, dq: FloatArray, ddq: FloatArray, **motor: FloatArray | None
    ) -> FloatArray:
        """Return τ_J (N, n) [N·m], measured motor torque (N, n) [N·m] less that of the drives.

        The inverse of `motor_torque`; q, dq, ddq (N, n) [rad, rad/s, rad/s²] and others as in `drives`.
        """
        return motor_torque - self.drives(q, dq, ddq, **motor)[1]

    def drives(
        self,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        *,
        theta: FloatArray | None = None,
        dtheta: FloatArray | None = None,
        ddtheta: FloatArray | None = None,
        temperature: FloatArray | None = None,
        load: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return τ_J of the rigid bodies and τ_m − τ_J [N·m], and H without unit, (N, n) each.

        Parameters
        ----------
        q, dq, ddq
            of the links (N, n) [rad, rad/s, rad/s²].
        theta, dtheta, ddtheta
            the same of the motor side, reflected to the joint; None: see the module.
        temperature
            (N, n) [°C]; None: T0, at which it has no effect.
        load
            τ_J (N, n) [N·m] for friction and terms; None: that of the rigid bodies, which deforms the transmission.
        """
        tau_J = self.link_torque(q, dq, ddq)
        theta = self.motor_angle(q, tau_J) if theta is None else theta
        speed, acceleration = dq if dtheta is None else dtheta, ddq if ddtheta is None else ddtheta
        H = self.slip_direction(theta, speed)
        return tau_J, self.drive_torque(H, q, speed, acceleration, tau_J if load is None else load, temperature), H


def _known(temperature: ArrayLike | None) -> ArrayLike:
    return np.nan if temperature is None else temperature
