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

"""The further laws of friction that are tried on held-out data.

Friction is of one kind in all joints of most arms, so a law is tried for all joints at once: n parameters decided by n
times the data. A spring or a counterbalance is tried joint by joint, and has to be more certain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from joint_dynamics.arm import Term, fourier_term, friction_term, hysteresis_term, stribeck_term
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.joint import REVERSAL

SPEED_LAWS = {'square root of speed (F_T0)': 'F_T0', 'square of speed (F_V2)': 'F_V2', 'cube of speed (F_V3)': 'F_V3'}
STRIBECK_SPEEDS = (0.4,)
"""Speeds V_S [rad/s] at which the Stribeck term is tried.

Narrower ones are moulded to how the training data stop and start.
"""
WIDTHS = (REVERSAL, 3e-4, 1e-3, 3e-3)
"""Widths [rad] over which Coulomb friction builds up after a reversal: of steps that data can tell, down to what a fast
reversal passes within a sample."""
LOAD_LAWS = {
    'load, linear (F_Cl)': 'F_Cl',
    'load, quadratic (F_C1)': 'F_C1',
    'motor and generator quadrants': 'load_sign',
}
"""Laws of friction that depends on the load. The other law of the quadrants, `load_gain`, is not tried: it is in
proportion to the torque of the links, so that it takes from them what a drive gain is off."""
WARMING = 3.0  # K, rise of temperature within the recordings below which no law of temperature is tried
FIRST_RIDGE = 0.1  # of all laws in the solution that weights of rows and load torque come from


@dataclass(frozen=True)
class CandidateGroup:
    """Terms that are selected together under one name.

    kind: of each kind at most one group is selected.
    """

    name: str
    terms: tuple[Term, ...]
    kind: str = ''
    single: bool = False

    @property
    def slow(self) -> bool:
        """Whether it is of temperature, which hardly changes within a recording."""
        return any('temperature' in term.needs for term in self.terms)

    @property
    def positive(self) -> bool:
        """Whether its coefficients are positive: slow friction and loaded friction are the larger ones."""
        kinds = {term.document.get('friction', term.kind) for term in self.terms}
        return kinds <= {'stribeck', 'hysteresis', 'F_Cl', 'F_C1'}


def menu(
    model_joints: Sequence[str],
    temperature: FloatArray | None,
    followers: Sequence[str] = (),
    given: Sequence[Term] = (),
    lifts: Sequence[str] = (),
) -> list[CandidateGroup]:
    """Return the candidates; temperature: (n, 2) lowest and highest of the recordings [°C], None where not measured.

    followers: joints that follow several others, along which springs and cables are tried. given: terms that were asked
    for; a joint has one width of hysteresis. lifts: joints whose load is the same in every posture: friction that
    rises with it is Coulomb friction.
    """
    wide = {term.joint for term in given if term.width is not None}

    def everywhere(
        name: str, make: Callable[[str], Term], kind: str = '', without: Collection[str] = ()
    ) -> CandidateGroup:
        return CandidateGroup(name, tuple(make(joint) for joint in model_joints if joint not in without), kind)

    groups = [everywhere(name, partial(friction_term, name=law), 'power of speed') for name, law in SPEED_LAWS.items()]
    groups += [
        everywhere(f'Stribeck at {V_S:g} rad/s (F_S)', partial(stribeck_term, V_S=V_S), 'stribeck')
        for V_S in STRIBECK_SPEEDS
    ]
    groups += [everywhere(name, partial(friction_term, name=law), without=lifts) for name, law in LOAD_LAWS.items()]
    groups += [
        everywhere(
            f'hysteresis of {width:g} rad (Maxwell-slip)', partial(hysteresis_term, width=width), 'hysteresis', wide
        )
        for width in WIDTHS
    ]
    if temperature is not None and (temperature[:, 1] - temperature[:, 0]).max() > WARMING:
        middle = [float(np.round(np.clip(value, 10.0, 70.0), 1)) for value in temperature.mean(axis=1)]
        groups += [
            CandidateGroup(
                f'temperature ({name})',
                tuple(friction_term(joint, name, T_0) for joint, T_0 in zip(model_joints, middle, strict=True)),
            )
            for name in ('F_T1', 'F_T2')
        ]
    groups += [
        CandidateGroup(f'position of {joint} (sin, cos of q and 2q)', (fourier_term(joint, [1, 2]),), single=True)
        for joint in (*model_joints, *followers)
    ]
    return [group for group in groups if group.terms]


def temperature_range(observations: Sequence[Observation]) -> FloatArray | None:
    """Return lowest and highest temperature per joint (n, 2) [°C], None where a recording lacks it."""
    measured = [observation.temperature for observation in observations if observation.temperature is not None]
    if len(measured) < len(observations):
        return None
    whole = np.concatenate(measured)
    return np.stack([whole.min(axis=0), whole.max(axis=0)], axis=1)


def first_terms(candidates: Sequence[CandidateGroup]) -> list[Term]:
    """Return one law of each kind for all joints, held back.

    Weights and load torque of a model without further friction are biased by the missing laws, and would favour terms
    that compensate for them.
    """
    laws = [group for group in candidates if not group.single and not group.slow]
    first = {group.kind or group.name: group for group in reversed(laws)}
    return [replace(term, ridge=FIRST_RIDGE, selected=True) for group in first.values() for term in group.terms]
