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

"""The arm as identified: one model of the motor torque, built from a dynamics description.

It is evaluated for whole recordings and sample by sample (docs/explanation/arm.md).
"""

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arm.described_friction import SteadyFriction, apply_friction_scale, with_reversal
from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.sample import ArmConstants
from joint_dynamics.arm.terms import (
    FRICTION,
    RELUCTANCE,
    Motion,
    Term,
    check_place,
    fourier_term,
    friction_term,
    hysteresis_term,
    power_term,
    slip_of,
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
