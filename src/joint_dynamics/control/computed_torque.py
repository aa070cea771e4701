"""Computed torque of a rigid arm.

u = M(q_d) q̈_d + C q̇_d + g + B q̈_d + f [M2 eq 2.63, M6 eq 30 with the B q̈_d missing in print].

Rigid means that motor and link have the same acceleration. The hysteresis of the friction, however, depends on the
angle of the motor, and a change of load deforms the transmission by more than the presliding length: in a joint that
stands still while others move, nothing else drives the hysteresis. So where the stiffness is known, the hysteresis is
driven by q_d + φ(τ_J,d), not by q_d.
"""

from __future__ import annotations

from joint_dynamics.control.law import TorqueLaw


class ComputedTorque(TorqueLaw):
    """Computed torque of rigid joints; no friction by default, the nominal model where selected, never adapted."""
