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

"""The shipped laws: computed torque, alone or with adaptive friction, and feedforward of flexible joints.

Computed torque of a rigid arm [M2 eq 2.63, M6 eq 30 with the B q̈_d missing in print]:

    u = M(q_d) q̈_d + C q̇_d + g + B q̈_d + f

Flexible joints: the motor leads the link by the deformation of the transmission under the desired torque
[M2 eq 2.64-2.69].

    θ_d = q_d + φ(τ_J,d) + θ̃(θ_d);    u = τ_J,d + B θ̈_d + f(θ̇_d, τ_J,d, T).

A robot that adds gravity itself (a Universal Robots arm in torque mode) receives u − g(q_d); gravity still counts as
load of friction and transmission. Derivation and limits: docs/explanation/control.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.friction import FrictionCompensation, friction_parameters
from joint_dynamics.control.interface import Law, LawParameter
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.stiffness import check_range

STEP = 2e-3
"""h [s] of the stencils of `torque_derivatives`: truncation and rounding are then below 1e-6 of the derivatives."""
FIRST_DERIVATIVE = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / (60.0 * STEP)
"""Central stencil of sixth order at −3h … 3h, error h⁶ f⁽⁷⁾/140."""
SECOND_DERIVATIVE = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180.0 * STEP**2)
"""Central stencil of sixth order at −3h … 3h, error h⁶ f⁽⁸⁾/560."""

COMMON_PARAMETERS = (
    LawParameter('gravity', True, 'whether the effort holds gravity; false for a robot that adds it itself'),
    LawParameter(
        'output', 'effort', 'effort: joint torque in N·m; current: motor current in A', choices=('effort', 'current')
    ),
)


def command_scale(arm: Arm, output: str) -> FloatArray:
    """Return the command per torque (n,): 1, or 1/K_τ [A/(N·m)] where `output` is `current`.

    Raises
    ------
    JointDynamicsError
        Where a joint has no drive gain and the command is a current.
    """
    if output != 'current':
        return np.ones(arm.n)
    if not np.all(np.isfinite(arm.drive_gain)):
        missing = arm.joint_names[int(np.argmin(np.isfinite(arm.drive_gain)))]
        raise JointDynamicsError(
            f'output: expected a drive gain of every joint for a command in A, found none for {missing}'
        )
    return np.asarray(1.0 / arm.drive_gain)


def torque_derivatives(arm: Arm, motion: FloatArray) -> FloatArray:
    """Return τ_J N·m, τ̇_J N·m/s and τ̈_J N·m/s² (N, 3, n) of a desired motion (N, 5, n) [rad, rad/s, …].

    They depend only on the motion up to q⁗, so the Taylor polynomial x(s) = q + q̇ s + … + q⁗ s⁴/24 has the same ones.
    Its torque at s = −3h … 3h is differentiated by central stencils.
    """
    q, v, a, jerk, snap = (motion[:, None, k] for k in range(5))
    s = (STEP * np.arange(-3, 4))[:, None]
    torque = arm.link_torque(
        q + s * (v + s * (a / 2.0 + s * (jerk / 6.0 + s * snap / 24.0))),
        v + s * (a + s * (jerk / 2.0 + s * snap / 6.0)),
        a + s * (jerk + s * snap / 2.0),
    )
    rows = [np.eye(7)[3], FIRST_DERIVATIVE, SECOND_DERIVATIVE]
    return np.einsum('ds,Nsn->Ndn', np.array(rows), torque)


class ComputedTorque(Law):
    """Computed torque of rigid joints; no friction by default.

    The hysteresis of the friction depends on the angle of the motor, and a change of load deforms the transmission by
    more than the presliding length. So where the stiffness is known, the hysteresis is driven by q_d + φ(τ_J,d).

    Attributes
    ----------
    friction
        the compensation, with its state.
    ADAPTS
        whether the law uses the estimator's α.
    """

    PARAMETERS: ClassVar[tuple[LawParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('none'))
    ADAPTS: ClassVar[bool] = False

    def __init__(self, arm: Arm, parameters: Mapping[str, Any]):
        super().__init__(arm, parameters)
        arm.check_drives()
        if arm.stiffness is not None:
            # Every torque that the joint can bear needs a deformation.
            check_range(arm.stiffness, arm.joint_names, arm.effort_limit)
        self.output = parameters['output']
        self._scale, self._gravity = command_scale(arm, self.output), bool(parameters['gravity'])
        self.friction = FrictionCompensation(
            arm,
            parameters['friction'],
            gain=parameters['friction_gain'],
            rest_gain=parameters['rest_gain'],
            smoothing=parameters['friction_smoothing'],
            alpha_bounds=(parameters['alpha_lower'], parameters['alpha_upper']),
            viscous_share=parameters['viscous_share'],
        )

    def reset(self) -> None:
        """Forget the hysteresis."""
        self.friction.reset()

    def adapt(self, temperature: FloatArray, friction_scale: FloatArray) -> None:
        """Take the present temperatures (n,) °C and, where the law adapts, α (n, 2); NaN keeps the last value."""
        self.friction.take_temperature(temperature)
        if self.ADAPTS:
            self.friction.take_scale(friction_scale)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of the friction, where it is compensated."""
        return () if self.friction.kind == 'none' else ('temperature', 'friction_scale')[: 1 + self.ADAPTS]

    def effort_along(self, motion: FloatArray) -> FloatArray:
        """Return the effort (N, n) along a desired motion (N, 5, n); the hysteresis continues from its state."""
        q = motion[:, 0]
        load, theta, speed, acceleration = self._motor_side(motion)
        torque = load + self.friction.drive_torque(q, theta, speed, acceleration, load)
        if not self._gravity:
            still = np.zeros_like(q)
            torque -= self.arm.link_torque(q, still, still)
        return torque * self._scale

    def _motor_side(self, motion: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return τ_J,d, θ_d, θ̇_d, θ̈_d (N, n); θ_d as the encoder shows it."""
        q, dq, ddq = motion[:, 0], motion[:, 1], motion[:, 2]
        load = self.arm.link_torque(q, dq, ddq)
        return load, self.friction.arm.motor_angle(q, load), dq, ddq

    @property
    def remarks(self) -> tuple[str, ...]:
        """Fields of the dynamics description that this law ignores or uses differently; to be shown once."""
        return (*self.arm.remarks, *self.friction.remarks, *self._unused_fields())

    def _unused_fields(self) -> list[str]:
        arm, flexible = self.arm, isinstance(self, FlexibleJoint)
        # A rigid law takes of the transmission what drives the hysteresis of the friction, and nothing else.
        rigid, none = not flexible and self.friction.kind != 'hysteresis', np.zeros(arm.n, dtype=bool)
        unused = {
            'stiffness': arm.stiffness_described if rigid else none,
            'kinematic_error': ~none if rigid and arm.kinematic_error is not None else none,
            'backlash': none if arm.backlash is None else ~none,
            'damping': none if flexible else arm.damping > 0,
        }
        names = {
            key: ', '.join(name for name, is_there in zip(arm.joint_names, where, strict=True) if is_there)
            for key, where in unused.items()
        }
        return [
            f'joints.({joints}).{key}: not used by {type(self).__name__}' for key, joints in names.items() if joints
        ]

    @property
    def validity_violations(self) -> tuple[str, ...]:
        """Joints and quantities that have left the range of validity of the friction since the last `reset`."""
        return tuple(self.friction.watch.notes())


class AdaptiveFriction(ComputedTorque):
    """Computed torque with friction `hysteresis` by default, scaled by the estimator's α [M6 eq 29-30].

    Until the first α arrives, it is that of the dynamics description.
    """

    PARAMETERS: ClassVar[tuple[LawParameter, ...]] = (*COMMON_PARAMETERS, *friction_parameters('hysteresis'))
    ADAPTS = True


class FlexibleJoint(AdaptiveFriction):
    """Feedforward of flexible joints; needs a motion that is four times differentiable, and a described stiffness.

    With τ_E(φ) + D φ̇ = τ_J, k = dτ_E/dφ and k' = d²τ_E/dφ²:

        φ̇ = τ̇_J / k,    φ̈ = (τ̈_J − k' φ̇²) / k,    φ = φ_E(τ_J) − D φ̇ / k

    The damping counts to first order in D/k (about 1 ms). The kinematic error θ̃ shifts the angle at which friction is
    evaluated; its B d²θ̃/dt² is below 0.01 N·m and neglected.
    """

    DERIVATIVES = 4

    def __init__(self, arm: Arm, parameters: Mapping[str, Any]):
        if arm.stiffness is None:
            raise JointDynamicsError(
                'flexible_joint: expected the stiffness of the transmissions in the dynamics description, found none'
            )
        super().__init__(arm, parameters)

    def motor_motion(self, motion: FloatArray) -> FloatArray:
        """Return θ_d rad, θ̇_d, θ̈_d (N, 3, n) as the motors' encoders show them, with the kinematic error in θ_d."""
        return np.stack(self._motor_side(motion)[1:], axis=1)

    def _motor_side(self, motion: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        assert self.arm.stiffness is not None
        load, rate, bend = torque_derivatives(self.arm, motion).swapaxes(0, 1)
        phi = self.arm.deformation(load)
        k, slope = self.arm.stiffness.stiffness(phi), self.arm.stiffness.curvature(phi)
        dphi = rate / k
        theta = self.friction.arm.motor_angle(motion[:, 0] - self.arm.damping * dphi / k, load)
        return load, theta, motion[:, 1] + dphi, motion[:, 2] + (bend - slope * dphi**2) / k


SHIPPED: tuple[type[Law], ...] = (ComputedTorque, AdaptiveFriction, FlexibleJoint)
