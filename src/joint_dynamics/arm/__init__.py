"""The arm as identified: one model of the motor torque, built from a dynamics description.

It is evaluated for whole recordings and sample by sample (docs/explanation/arm.md).
"""

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arm.described_friction import SteadyFriction, apply_friction_scale, with_reversal
from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.reading import FrictionDetail
from joint_dynamics.arm.sample import ArmConstants
from joint_dynamics.arm.term_columns import FRICTION, Motion, slip_of
from joint_dynamics.arm.terms import (
    RELUCTANCE,
    Term,
    check_place,
    fourier_term,
    friction_term,
    hysteresis_term,
    power_term,
    spring_term,
    stribeck_term,
    terms_from_config,
)
from joint_dynamics.arm.validity import RangeWatch, Validity

__all__ = [
    'FRICTION',
    'RELUCTANCE',
    'Arm',
    'ArmConstants',
    'DescribedTerms',
    'FrictionDetail',
    'Motion',
    'RangeWatch',
    'SteadyFriction',
    'Term',
    'Validity',
    'apply_friction_scale',
    'check_place',
    'fourier_term',
    'friction_term',
    'hysteresis_term',
    'power_term',
    'slip_of',
    'spring_term',
    'stribeck_term',
    'terms_from_config',
    'with_reversal',
]
