"""The arm as identified, in one frozen object, and the torque its motors have to give for a motion.

    τ_m = τ_J + τ_rotor(θ̈) + f(θ, θ̇, τ_J, T) + Σ terms,      τ_J = M(q) q̈ + C q̇ + g
        (with payload and mounting)
    τ_rotor = B θ̈ + coupled rotors,      f = α1 F(τ_J) H(θ) + α2 θ̇ + F_v(θ̇, T) + coupled friction
        [M6 eq 3-24, G eq 24-25]

θ is the motor side, reflected. Where it is not given the motor is taken to move as the link does, but for its angle, on
which the hysteresis lives: θ = q + φ(τ_J) + θ̃. Every function takes single states (n,) and recordings (N, n) through
the same lines. `load` is the τ_J that friction and terms depend on; whoever measures it (the estimator) may give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm.constants import ArmConstants, constants_of
from joint_dynamics.arm.fields import ArmFields
from joint_dynamics.arm.reading import read, read_joints
from joint_dynamics.arm.sample import drives_along, friction_along, motor_angles, rotors_along, slip_directions
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.laws import mapped
from joint_dynamics.robot import RigidBody, RobotModel, StandardParameters
from joint_dynamics.robot.newton_euler import inverse_dynamics_along
from joint_dynamics.robot.standard_parameters import point_mass

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription


@dataclass(frozen=True)
class Arm(ArmFields):
    """A robot arm of n joints; all values on the joint side, in the robot's joint order.

    Attributes
    ----------
    robot
        kinematics, limits, names, mounting, coupling. parameters: (14 n + …,) standard parameters, of which links and
        coupled motors count; None: those of the URDF.
    rotor_inertia
        B (n,) kg·m²; None: the Ia of `parameters`. rotor_identifiable: (n,) bool, whether B was told apart from the
        link's ZZ.
    drive_gain
        K_τ (n,) N·m/A, NaN where unknown (then no current can be commanded or read).
    friction
        friction on the motor coordinate, or None. friction_described: (n,) bool, which joints have one of their own.
        friction_details: (n,) FrictionDetail, how sure it is and what it is in each direction alone; empty: not known.
    friction_scale
        present α = [α1, α2] (n, 2) of the friction, nominal [1, 0] [M6 eq 24].
    terms
        further torque: springs, counterbalances, friction beyond the model.
    stiffness
        of the transmissions, or None (rigid). stiffness_described: (n,) bool. damping: D (n,) N·m·s/rad.
    kinematic_error
        θ̃(θ), rad, or None. backlash: 𝓑(θ), half the lost motion that was measured, rad, or None.
        backlash_deviation: (n,) rad, its standard deviation, default 0.
    payload
        (10,) inertial parameters of what hangs on the last link, in the last joint's frame, beside `parameters`.
    validity
        where the friction was checked, or None; beyond, it is the friction at the limit, all of it but that of coupled
        motors.
    remarks
        what of a description this arm does not use, or uses in another way than it stands there, each naming field and
        joint.

    Raises JointDynamicsError for shapes that do not fit and numbers that are not finite.

    """

    @classmethod
    def from_description(
        cls, robot: RobotModel | None, description: DynamicsDescription, *, payload: bool | None = None
    ) -> Arm:
        """Build from a dynamics description, joints by name.

        The one place where its meaning is decided (docs/reference/dynamics_description.md).

        robot: the robot it is for; None: the one the description carries. Its mounting and coupling go before the
        description's where it states them. payload: whether the described payload hangs on the arm; None: as the
        description says. Raises JointDynamicsError where the description does not fit the robot, or has a field that
        cannot be honoured.
        """
        return cls(**read(robot, description, payload))

    @classmethod
    def of_joints(cls, description: DynamicsDescription) -> Arm:
        """Build what a description says of the joints alone, for one that may carry no kinematics.

        Without kinematics its links weigh nothing and no limit is known: drives and friction are all it has.
        """
        if {'urdf', 'mdh'} & set(description.document['robot']):
            return cls.from_description(None, description)
        return cls(**read_joints(description))

    @cached_property
    def standard(self) -> StandardParameters:
        """Standard parameters of links with payload, rotors and coupled motors; friction is not in them."""
        found = self.robot.standard(self.parameters.copy()).with_payload(self.payload)
        found.rotor_inertia[:] = self.rotor_inertia
        found.viscous[:] = found.coulomb[:] = found.offset[:] = 0.0
        return found

    @cached_property
    def rigid(self) -> RigidBody:
        """Inverse dynamics, mass matrix and gravity of single states, payload included."""
        return self.robot.rigid_body(self.standard.values)

    def carrying(self, body: ArrayLike) -> Arm:
        """Return the arm with another payload in the place of its own.

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
        """Raise JointDynamicsError for a rotor inertia below zero, which identification may leave and no law bears."""
        for name, value in zip(self.joint_names, self.rotor_inertia, strict=True):
            if not value >= 0:
                raise JointDynamicsError(f'arm: expected joints.{name}.rotor_inertia >= 0, found {value:.4g} kg·m²')

    @cached_property
    def constants(self) -> ArmConstants:
        """All of it by name, as what is compiled takes it."""
        return constants_of(self, self.standard.links)

    # The parts of the torque, for arrays (…, n).

    def link_torque(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return τ_J [N·m] of q, dq, ddq (…, n) [rad, rad/s, rad/s²]."""
        return mapped(inverse_dynamics_along, (self.constants.links,), self.n, q, dq, ddq)

    def rotor_torque(self, acceleration: FloatArray) -> FloatArray:
        """Return what the rotors take at a motor-side acceleration θ̈ (…, n) [rad/s²], (…, n) [N·m]."""
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
            (…, n) or one [°C]; None: that without effect.
        scale
            α (n, 2) in the place of the arm's own.
        """
        return mapped(friction_along, self._drive(scale), self.n, H, speed, load, _known(temperature))

    def slip_direction(self, theta: FloatArray, speed: FloatArray, sliders: FloatArray | None = None) -> FloatArray:
        """Return the hysteresis H (N, n) of a recording, without unit; sgn θ̇ where there is none.

        theta, speed: θ and θ̇ (N, n) [rad, rad/s]. sliders: of the hysteresis (`begin`), which go on; None: it is
        undeformed at the first sample.
        """
        return mapped(slip_directions, (self.constants, self.begin() if sliders is None else sliders), self.n, theta,
                      speed)  # fmt: skip

    def begin(self) -> FloatArray:
        """Return sliders (n, M) [rad] of a hysteresis that the first sample finds undeformed: not a number."""
        return np.full((self.n, max(1, int(self.constants.joints['operators'].max(initial=0)))), np.nan)

    def drive_torque(
        self,
        H: FloatArray,
        q: FloatArray,
        speed: FloatArray,
        acceleration: FloatArray,
        load: FloatArray,
        temperature: FloatArray | None = None,
        scale: FloatArray | None = None,
    ) -> FloatArray:
        """Return τ_m − τ_J (…, n) [N·m]: rotors, friction and further terms.

        Parameters
        ----------
        H
            (…, n), of `slip_direction`.
        q
            link angles (…, n) [rad].
        speed, acceleration
            of the motor side (…, n) [rad/s, rad/s²].
        load
            τ_J (…, n) [N·m].
        temperature
            (…, n) [°C]; None: that without effect.
        scale
            α (n, 2) in the place of the arm's own.
        """
        given = (H, q, speed, acceleration, load, _known(temperature))
        return mapped(drives_along, self._drive(scale), self.n, *given)

    def _drive(self, scale: FloatArray | None) -> tuple[ArmConstants, FloatArray, FloatArray]:
        alpha = self.friction_scale if scale is None else scale
        # What is not there is not scaled.
        return self.constants, alpha if self.friction is not None else np.tile([1.0, 0.0], (self.n, 1)), np.ones(self.n)

    def deformation(self, load: FloatArray) -> FloatArray:
        """Return the deformation φ (…, n) [rad], τ_E(φ) = τ_J; beyond the largest torque there is, what it is there.

        load: τ_J (…, n) [N·m].
        """
        return np.zeros_like(load) if self.stiffness is None else self.stiffness.bounded_deformation(load)

    def motor_angle(self, q: FloatArray, load: FloatArray) -> FloatArray:
        """Return what the motors' encoders show, q + φ(τ_J) + θ̃ (…, n) [rad].

        Parameters
        ----------
        q
            link angles (…, n) [rad].
        load
            τ_J (…, n) [N·m].
        """
        return mapped(motor_angles, (self.constants,), self.n, q, load)

    # The motor torque of recordings; `MotorTorque` is the same sample by sample.

    def motor_torque(
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
    ) -> FloatArray:
        """Return τ_m (N, n) [N·m] of a recording. The hysteresis is undeformed at the first sample.

        Parameters
        ----------
        q, dq, ddq
            of the links (N, n) [rad, rad/s, rad/s²].
        theta, dtheta, ddtheta
            of the motor side, reflected, likewise; None: see the module.
        temperature
            (N, n) [°C]; None: that without effect.
        load
            τ_J (N, n) [N·m] for friction and terms; None: that of the rigid bodies.
        """
        tau_J = self.link_torque(q, dq, ddq)
        drives, _ = self.drives(tau_J if load is None else load, tau_J, q, dq, ddq, theta, dtheta, ddtheta, temperature)
        return tau_J + drives

    def transmission_torque(
        self,
        motor_torque: FloatArray,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        *,
        theta: FloatArray | None = None,
        dtheta: FloatArray | None = None,
        ddtheta: FloatArray | None = None,
        temperature: FloatArray | None = None,
        load: FloatArray | None = None,
    ) -> FloatArray:
        """Return τ_J (N, n) [N·m] that measured motor torque leaves for the links. The inverse of `motor_torque`.

        Parameters
        ----------
        motor_torque
            τ_m (N, n) [N·m].
        q, dq, ddq, theta, dtheta, ddtheta, temperature, load
            as of `motor_torque`.
        """
        tau_J = self.link_torque(q, dq, ddq)
        drives, _ = self.drives(tau_J if load is None else load, tau_J, q, dq, ddq, theta, dtheta, ddtheta, temperature)
        return motor_torque - drives

    def drives(
        self,
        load: FloatArray,
        tau_J: FloatArray,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        theta: FloatArray | None,
        dtheta: FloatArray | None,
        ddtheta: FloatArray | None,
        temperature: FloatArray | None,
        sliders: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return τ_m − τ_J [N·m] and H without unit, (N, n) both.

        Parameters
        ----------
        load
            τ_J (N, n) [N·m] for friction and terms.
        tau_J
            that of the rigid bodies (N, n) [N·m], which bends the transmission.
        q, dq, ddq, theta, dtheta, ddtheta, temperature
            as of `motor_torque`.
        sliders
            as of `slip_direction`.
        """
        theta = self.motor_angle(q, tau_J) if theta is None else theta
        speed, acceleration = dq if dtheta is None else dtheta, ddq if ddtheta is None else ddtheta
        H = self.slip_direction(theta, speed, sliders)
        return self.drive_torque(H, q, speed, acceleration, load, temperature), H


def _known(temperature: ArrayLike | None) -> ArrayLike:
    return np.nan if temperature is None else temperature
