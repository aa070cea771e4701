"""Computed torque of a rigid arm.

u = M(q_d) q̈_d + C q̇_d + g + B q̈_d + f [M2 eq 2.63, M6 eq 30 with the B q̈_d missing in print].

Rigid means that the motor is accelerated as the link is. The hysteresis of the friction, however, lives on the angle of
the motor, and a transmission bends by more than the width of the backlash when its load changes: a joint that stands
still while others move is carried through its hysteresis by nothing else. So where the stiffness is known, the
hysteresis is driven by q_d + φ(τ_J,d), not by q_d.
"""

from __future__ import annotations

from joint_dynamics.control.law import TorqueLaw


class ComputedTorque(TorqueLaw):
    """Rigid joints; friction `none` by default, its nominal model where asked for, never adapted."""
