"""The arm as identified: one model from a dynamics description and one motor torque, for whole recordings and sample by sample (docs/arm.md)."""
from joint_dynamics.arm.arm import Arm
from joint_dynamics.arm.coupled import CoupledDrives
from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.stream import MotorTorque
from joint_dynamics.arm.term_columns import FRICTION, Motion, slip_of
from joint_dynamics.arm.terms import (
    RELUCTANCE,
    Term,
    fourier_term,
    friction_term,
    function_term,
    hysteresis_term,
    stribeck_term,
    terms_from_config,
)
from joint_dynamics.arm.transmission import Transmission
from joint_dynamics.arm.validity import RangeWatch, Validity

__all__ = [
    'FRICTION', 'RELUCTANCE', 'Arm', 'CoupledDrives', 'DescribedTerms', 'Motion', 'MotorTorque', 'RangeWatch', 'Term', 'Transmission', 'Validity',
    'fourier_term', 'friction_term', 'function_term', 'hysteresis_term', 'slip_of', 'stribeck_term', 'terms_from_config',
]
