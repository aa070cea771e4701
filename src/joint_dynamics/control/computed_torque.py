"""Computed torque of a rigid arm: u = M(q_d) q̈_d + C q̇_d + g + B q̈_d, friction on request [M2 eq 2.63, M6 eq 30 with the B q̈_d missing in print]."""
from __future__ import annotations

from numpy.typing import NDArray

from joint_dynamics.control.law import TorqueLaw


class ComputedTorque(TorqueLaw):
    """Rigid joints (θ = q); friction `none` by default, its nominal model where asked for, never adapted."""

    def feedforward(self, motion: NDArray) -> NDArray:
        """Return the motor torque (n,) N·m of q_d, q̇_d, q̈_d (3, n)."""
        q, dq, ddq = motion
        tau_J = self.arm.rigid.inverse_dynamics(q, dq, ddq)
        return tau_J + self.arm.rotor_inertia * ddq + self.friction.torque(q, dq, tau_J)
