"""Computed torque of a rigid arm.

u = M(q_d) q̈_d + C q̇_d + g + B q̈_d + f [M2 eq 2.63, M6 eq 30 with the B q̈_d missing in print].

Rigid means that the motor is accelerated as the link is. The hysteresis of the friction, however, lives on the angle of
the motor, and a transmission bends by more than the width of the backlash when its load changes: a joint that stands
still while others move is carried through its hysteresis by nothing else. So where the stiffness is known, the
hysteresis is driven by q_d + φ(τ_J,d), not by q_d.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.interface import ControllerSetup
from joint_dynamics.control.law import TorqueLaw


class ComputedTorque(TorqueLaw):
    """Rigid joints; friction `none` by default, its nominal model where asked for, never adapted."""

    def on_configure(self, setup: ControllerSetup) -> None:
        """Take the arm and the parameters; raises JointDynamicsError when the arm lacks what they ask for."""
        super().on_configure(setup)
        packed = self.transmission.packed
        self._drive, self._error = None, None
        if packed is not None and self._springs is None:
            self._drive, self._error = np.vstack([packed[0], self.arm.rotor_inertia]), packed[1]
            self.friction.load_motor_torque(self._drive, self._error)

    def feedforward(self, motion: FloatArray) -> FloatArray:
        """Return the motor torque (n,) N·m of q_d, q̇_d, q̈_d (3, n)."""
        q, dq, ddq = motion[0], motion[1], motion[2]
        tau_J = self.arm.rigid.inverse_dynamics(q, dq, ddq)
        if self._drive is not None and self.transmission.compiled:
            found = self.friction.motor_torque(q, dq, ddq, tau_J, self._drive, self._error)
            if found is not None:
                return found
        theta = self.transmission.motor_angle(q, tau_J) if self.friction.kind == 'hysteresis' else None
        return self.motor_torque(q, theta, dq, ddq, tau_J)
