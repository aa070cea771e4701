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

"""The adapted dynamics description: a copy of the one that the estimation started from, with the learnt values.

Per joint `friction.scale` (α) and `stiffness.coefficients` are changed, and `payload`. `provenance.estimator` holds the
data to continue after a restart: the fingerprint of the original description, the stiffness when new (the reference of
the health), and one line of ratios per run.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import finite
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation.health import JointHealth
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.joint import TorsionalStiffness

RUNS = 200  # runs that are kept


def fingerprint(description: DynamicsDescription) -> str:
    """Return a fingerprint that identifies a description, without its provenance."""
    document = {key: value for key, value in description.document.items() if key != 'provenance'}
    return hashlib.sha256(DynamicsDescription(document).to_yaml().encode()).hexdigest()[:16]


def notes_of(description: DynamicsDescription | None) -> dict[str, Any]:
    """Return `provenance.estimator` of an adapted description, {} where there is none."""
    if description is None:
        return {}
    provenance = description.document.get('provenance')
    notes = provenance.get('estimator') if isinstance(provenance, Mapping) else None
    return dict(notes) if isinstance(notes, Mapping) else {}


def is_adapted_copy(saved: DynamicsDescription, description: DynamicsDescription) -> bool:
    """Whether `saved` is an adapted copy of `description`."""
    return notes_of(saved).get('base') == fingerprint(description)


def adapted_description(
    description: DynamicsDescription,
    estimator: JointEstimator,
    *,
    base: str,
    date: str,
    health: list[JointHealth],
    history: list[Any],
    reference: TorsionalStiffness | None = None,
) -> DynamicsDescription:
    """Return the adapted copy of `description`.

    Parameters
    ----------
    base
        `fingerprint` of the original description, before any adaptation.
    date
        of the run, ISO 8601.
    history
        the runs before this one.
    reference
        the stiffness when new, None where unknown.
    """
    document = copy.deepcopy(description.document)
    names = estimator.arm.joint_names
    kept: dict[str, Any] = {}
    for j, name in enumerate(names):
        part = document['joints'][name]
        if estimator.friction is not None and 'friction' in part:
            part['friction'] = {**part['friction'], 'scale': _plain(estimator.friction.parameters[j])}
        if reference is not None:
            kept[name] = {'stiffness': _plain(np.atleast_2d(reference.coefficients)[j])}
        stiffness = estimator.stiffness
        if stiffness is not None and stiffness.reliable[j]:
            coefficients = _plain(stiffness.coefficients[j])
            part['stiffness'] = {
                **part.get('stiffness', {}),
                'coefficients': coefficients,
                'standard_deviations': _plain(stiffness.standard_deviation[j]),
                'method': 'online',
            }
            # The first learnt stiffness is the reference of later ones.
            kept.setdefault(name, {'stiffness': coefficients})
    payload = estimator.payload
    if payload is not None and payload.known:
        deviations = np.sqrt(np.diag(payload.covariance))
        document['payload'] = {
            'mass': {'value': payload.mass, 'std': float(deviations[0])},
            'first_moments': _plain(payload.first_moments),
            'std': _plain(deviations),
            'attached': True,
        }
    ratios = {
        name: {'stiffness': finite(item.stiffness_ratio), 'friction': finite(item.friction_ratio)}
        for name, item in zip(names, health, strict=True)
    }
    run = {'date': date, 'joints': ratios}
    provenance = document.get('provenance')
    document['provenance'] = {
        **(provenance if isinstance(provenance, Mapping) else {}),
        'estimator': {'base': base, 'date': date, 'reference': kept, 'runs': [*history, run][-RUNS:]},
    }
    return DynamicsDescription(document)


def reference_of(description: DynamicsDescription, arm: Arm) -> TorsionalStiffness | None:
    """Return the stiffness of the joints when new: that kept in an adapted description, otherwise the described one.

    None if a joint lacks both.
    """
    kept, names = notes_of(description).get('reference', {}), arm.joint_names
    if all('stiffness' in kept.get(name, {}) for name in names):
        reach = np.full(len(names), np.inf) if arm.stiffness is None else arm.stiffness.reach
        new = [TorsionalStiffness(kept[name]['stiffness'], within) for name, within in zip(names, reach, strict=True)]
        return TorsionalStiffness.stack(new)
    return arm.stiffness if arm.stiffness_described.all() else None


def _plain(values: Any) -> list[float]:
    return [float(value) for value in values]
