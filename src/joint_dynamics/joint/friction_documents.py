"""The parameters of a friction model by name, and the documents of joints that they are read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.load import QUADRANT_PARAMETERS, QuadrantFriction
from joint_dynamics.joint.maps import PeriodicMap
from joint_dynamics.joint.temperature import T_MAX, T_MIN

# Name, default, meaning and unit; the order is that of the documents. F_S None means F_C0.
PARAMETERS: dict[str, float | None] = {
    'F_C0': None,
    'F_Cl': 0.0,
    'F_C1': 0.0,
    'tau_max': np.inf,
    'F_S': None,
    'V_S': 0.1,
    'mu': 1.0,
    'F_V1': 0.0,
    'F_V2': 0.0,
    'F_V3': 0.0,
    'F_T0': 0.0,
    'F_T1': 0.0,
    'F_T2': 0.0,
    'T_0': 25.0,
    'T_min': T_MIN,
    'T_max': T_MAX,
    'offset': 0.0,
}
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

    Raises JointDynamicsError for a parameter that is not known, or without dq_s.
    """
    if all(document is None for document in documents):
        return None
    absent = dict.fromkeys((*QUADRANT_PARAMETERS, 'dq_s'), np.nan)
    rows = []
    for document in documents:
        if document is not None:
            check_fields(document, set(absent), needed='dq_s', what='quadrant parameter')
        rows.append(
            absent if document is None else {name: getattr(QuadrantFriction(**document), name) for name in absent}
        )
    return {name: np.array([float(row[name]) for row in rows]) for name in absent}


def check_fields(given: Mapping[str, Any], known: set[str], *, needed: str, what: str) -> None:
    """Raise JointDynamicsError for names that are not known, and where the needed one is absent."""
    unknown = sorted(set(given) - known, key=str)
    if unknown:
        raise JointDynamicsError(f'friction: expected a known {what}, found {unknown[0]!r}')
    if needed not in given:
        raise JointDynamicsError(
            f'friction: expected the {what} {needed}, found {", ".join(map(str, given)) or "none"}'
        )


def maps_of(items: Sequence[Mapping[str, Any] | PeriodicMap]) -> list[PeriodicMap]:
    """Return maps as they are, and documents as maps. Raises JointDynamicsError."""
    return [item if isinstance(item, PeriodicMap) else PeriodicMap.from_dict(item) for item in items]
