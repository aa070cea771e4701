"""The constants of a described arm by name, as all compiled functions take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.joint.constants import Record, Tables, blank

if TYPE_CHECKING:
    from joint_dynamics.arm.fields import ArmFields

MOTOR = np.dtype([('inertia', 'f8'), ('viscous', 'f8'), ('coulomb', 'f8')], align=True)
"""What a motor that drives several joints adds: kg·m², N·m·s/rad, N·m."""


class ArmConstants(NamedTuple):
    """Constants of n joints; `tables` holds their arrays of variable length.

    Attributes
    ----------
    joints
        (n,) of `joint.constants.JOINT`.
    tables
        (m,), see `joint.constants.Tables`; evaluating a formula writes to its stack in it.
    links
        (n,) of `robot.newton_euler.LINK`, rotors and payload included.
    terms
        (k,) of `term_laws.TERM`.
    ratios
        (c, n) speed of the coupled motors per joint speed, 1 for their own joint.
    motors
        (c,) of `MOTOR`.

    """

    joints: Record
    tables: FloatArray
    links: Record
    terms: Record
    ratios: FloatArray
    motors: Record


def constants_of(arm: ArmFields, bodies: FloatArray) -> ArmConstants:
    """Return the constants of an arm whose links have inertial parameters `bodies` (n, 10)."""
    joints, tables = blank(arm.n), Tables()
    joints['rotor_inertia'], joints['damping'] = arm.rotor_inertia, arm.damping
    if arm.kinematic_error is not None:
        joints['error'] = arm.kinematic_error.records(tables)
    if arm.friction is not None:
        arm.friction.write_constants(joints)
        if arm.friction.maxwell_slip is not None:
            arm.friction.maxwell_slip.write_constants(joints, tables)
    if arm.stiffness is not None:
        arm.stiffness.write_constants(joints, tables)
    if arm.validity is not None:
        joints['speed_limit'], joints['load_limit'] = arm.validity.speed, arm.validity.load
    terms = arm.terms.records(tables)
    ratios, motors = np.zeros((0, arm.n)), np.zeros(0, MOTOR)
    if arm.coupled is not None and arm.robot.coupling is not None:
        ratios = arm.robot.coupling.ratios
        motors = np.zeros(len(ratios), MOTOR)
        for k, name in enumerate(MOTOR.names or ()):
            motors[name] = arm.coupled[k::3]
    return ArmConstants(joints, tables.array(), arm.robot.chain.links(bodies), terms, ratios, motors)
