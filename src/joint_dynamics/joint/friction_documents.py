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

"""Friction parameters by name and Maxwell-slip operators, as read from the documents of joints.

Operators that are not given follow polynomial laws [M6 eq 17-18].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.constants import FRICTION_FIELDS, QUADRANT_FIELDS
from joint_dynamics.joint.maps import PeriodicMap

T_MIN = 5.0  # °C, default lower bound of T: T⁻³ diverges at 0 °C
T_MAX = 80.0  # °C, default upper bound of T
PARAMETERS: dict[str, float | None] = dict.fromkeys(FRICTION_FIELDS, 0.0)
PARAMETERS |= {'F_C0': None, 'F_S': None, 'V_S': 0.1, 'mu': 1.0, 'tau_max': np.inf}
PARAMETERS |= {'T_0': 25.0, 'T_min': T_MIN, 'T_max': T_MAX}
"""Names and defaults, in the order of the documents; F_S None means F_C0."""
QUADRANTS = {**dict.fromkeys(QUADRANT_FIELDS, 0.0), 'a_m': 1.0, 'a_g': 1.0}
"""Names and defaults of Hamon's parameters; dq_s has none."""
DOCUMENT_FIELDS = {
    'parameters',
    'standard_deviations',
    'maxwell_slip',
    'directions',
    'scale',
    'quadrants',
    'range',
    'method',
}


def quadrants_of(documents: Sequence[Mapping[str, Any] | None]) -> dict[str, FloatArray] | None:
    """Return Hamon's parameters (n,) by name, NaN for joints without; None where no joint has them.

    Raises JointDynamicsError for an unknown parameter, or where dq_s is missing.
    """
    if all(document is None for document in documents):
        return None
    for document in documents:
        if document is not None:
            check_fields(document, set(QUADRANTS), needed='dq_s', what='quadrant parameter')
    rows = [dict.fromkeys(QUADRANTS, np.nan) if given is None else {**QUADRANTS, **given} for given in documents]
    return {name: np.array([row[name] for row in rows], dtype=float) for name in QUADRANTS}


def check_fields(given: Mapping[str, Any], known: set[str], *, needed: str, what: str) -> None:
    """Raise JointDynamicsError for unknown names, and where the `needed` one is missing."""
    unknown = sorted(set(given) - known, key=str)
    if unknown:
        raise JointDynamicsError(f'friction: expected a known {what}, found {unknown[0]!r}')
    if needed not in given:
        raise JointDynamicsError(
            f'friction: expected the {what} {needed}, found {", ".join(map(str, given)) or "none"}'
        )


def check_values(values: Mapping[str, FloatArray]) -> None:
    """Raise JointDynamicsError for parameters (n,) that no joint can have; only tau_max may be infinite."""
    for name, value in values.items():
        if name == 'tau_max':
            if not np.all(value >= 0):
                raise JointDynamicsError(f'tau_max: expected values >= 0, found {value.tolist()}')
        elif not np.all(np.isfinite(value)):
            raise JointDynamicsError(f'{name}: expected finite numbers, found {value.tolist()}')
        elif name in ('V_S', 'mu', 'dq_s') and not np.all(value > 0):
            raise JointDynamicsError(f'{name}: expected values > 0, found {value.tolist()}')


def check_temperatures(low: FloatArray, high: FloatArray, T_0: FloatArray) -> None:
    """Raise JointDynamicsError unless 0 < T_min < T_max and T_0 lies between them, (n,) each [°C]."""
    if not (np.all(low > 0) and np.all(high > low)):
        raise JointDynamicsError(f'temperature bounds: expected 0 < T_min < T_max in °C, found {low} and {high}')
    if not (np.all(low <= T_0) and np.all(high >= T_0)):
        raise JointDynamicsError(f'T_0: expected within [T_min, T_max], found {T_0}')


def polynomial_limits(operators: int, r_Delta: float = 4.0) -> FloatArray:
    """Deformation limits Δ_i = (i/M)^{r_Δ}, i = 1…M, relative to the backlash [M6 eq 17]; r_Δ = 1 is linear spacing.

    Shape (M,).
    """
    return (np.arange(1, operators + 1) / operators) ** r_Delta


def polynomial_stiffness(limits: ArrayLike, r_k: float = 2.0) -> FloatArray:
    """Stiffness of the operators k_i = (1/Δ_i)(M+1−i)^{r_k}/Σ_j j^{r_k}, so that Σ k_i Δ_i = 1 [M6 eq 18].

    Shape (M,).
    """
    limits = np.asarray(limits, dtype=float)
    share = np.arange(limits.size, 0, -1.0) ** r_k
    return share / share.sum() / limits


def operators_of(
    documents: Sequence[Mapping[str, Any]],
) -> tuple[FloatArray, FloatArray, PeriodicMap, dict[str, float] | None]:
    """Read the operators of all joints from one document per joint.

    Returns
    -------
    limits, stiffness
        Δ_i and k_i, (n, M) each, relative.
    presliding
        presliding lengths [rad], one map of n joints.
    laws
        the exponents r_Δ and r_k that all joints share; None where limits or stiffness are given explicitly, or where
        joints differ.

    Raises
    ------
    JointDynamicsError
        For an unknown or missing field, and where joints have different numbers of operators.
    """
    limits, stiffness, presliding = [], [], []
    for document in documents:
        unknown = set(document) - {'operators', 'r_Delta', 'r_k', 'limits', 'stiffness', 'presliding'}
        if unknown:
            raise JointDynamicsError(f'maxwell_slip: expected a known field, found {min(unknown, key=str)!r}')
        presliding.append(_presliding(document))
        given = document.get('limits')
        law = document.get('stiffness')
        operators, r_Delta = int(document.get('operators', 4)), document.get('r_Delta', 4.0)
        row = polynomial_limits(operators, r_Delta) if given is None else np.asarray(given, float)
        limits.append(row)
        stiffness.append(polynomial_stiffness(row, document.get('r_k', 2.0)) if law is None else np.asarray(law, float))
    if len({row.size for row in limits}) != 1 or any(
        k.shape != row.shape for k, row in zip(stiffness, limits, strict=True)
    ):
        raise JointDynamicsError(
            'maxwell_slip: expected the same number of operators for every joint, and limits and stiffness '
            'alike, found '
            f'{[row.size for row in limits]} limits and {[k.size for k in stiffness]} stiffnesses'
        )
    shared = None
    laws = [{key: document[key] for key in ('r_Delta', 'r_k') if key in document} for document in documents]
    if all(law == laws[0] for law in laws) and not any('limits' in d or 'stiffness' in d for d in documents):
        shared = {'r_Delta': float(laws[0].get('r_Delta', 4.0)), 'r_k': float(laws[0].get('r_k', 2.0))}
    return np.stack(limits), np.stack(stiffness), PeriodicMap.stack(presliding), shared


def _presliding(document: Mapping[str, Any]) -> PeriodicMap:
    if 'presliding' not in document:
        raise JointDynamicsError(
            'maxwell_slip.presliding: expected the presliding length, a number [rad] or a map over the angle, found'
            ' nothing'
        )
    given = document['presliding']
    return PeriodicMap.from_dict(given) if isinstance(given, Mapping) else PeriodicMap.constant(given)
