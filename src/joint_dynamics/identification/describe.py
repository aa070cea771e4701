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

"""From an identification's result to the dynamics description."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

from joint_dynamics.arm import Term
from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.description import DynamicsDescription, identity_of
from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.physical.dissipation import checked_speed
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.methods import SolvedProblem
from joint_dynamics.identification.regression.residuals import overall_residual
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.joint import NO_PRESLIDING
from joint_dynamics.joint.friction_documents import PARAMETERS
from joint_dynamics.robot import StandardParameters, mounting_rotation
from joint_dynamics.version import __version__

FRICTION_NAMES = {'Fc': 'F_C0', 'Fv': 'F_V1', 'off': 'offset'}


def describe(
    solved: SolvedProblem,
    settings: IdentificationSettings,
    *,
    validity: Mapping[str, dict[str, Any]],
    transmissions: Mapping[str, dict[str, Any]],
    rotor: RotorSide | None = None,
    drive_gains: Mapping[str, dict[str, Any]] | None = None,
    payload: dict[str, Any] | None = None,
) -> DynamicsDescription:
    """Return the part of the description that torques depend on; keywords as fields of an `IdentificationResult`.

    It has standard parameters close to the URDF's, base parameters with deviations, linear friction, and further terms
    in the joints they were selected for. Training and validation are predicted from it; `with_provenance` adds them.
    """
    problem = solved.problem
    model = problem.model
    standard = model.standard(solved.standard)
    deviation = dict(zip(problem.names, solved.solution.deviation(solved.covariance), strict=True))
    values = dict(zip(problem.names, solved.solution.chi, strict=True))
    joints = {name: _joint(k, standard, deviation) for k, name in enumerate(model.joint_names)}
    for term in problem.terms:
        where = joints.setdefault(term.joint, {})
        add_term(where, term, values, deviation, problem.state, model.link_names.index(term.joint))
    for name, checked in validity.items():
        joints[name]['validity'] = dict(checked)
    for name, transmission in transmissions.items():
        joints[name] |= transmission
    if rotor is not None:
        for k, name in enumerate(model.joint_names):
            joints[name] |= rotor.document_of(name, _drive(standard, k))
    identified, stated = drive_gains or {}, settings.drive_gain_deviation
    for name, gain in (settings.drive_gains or {}).items():
        if name in joints:
            more = {
                key: identified[name][key] for key in ('std', 'prior') if identified.get(name, {}).get(key) is not None
            }
            if 'std' not in more and (share := stated.get(name, 0.0) if isinstance(stated, Mapping) else stated):
                more['std'] = float(share) * float(gain)
            joints[name]['drive_gain'] = {'value': float(gain), **more}
    inertial: dict[str, Any] = {
        'standard': {name: standard.link_document(k) for k, name in enumerate(model.link_names)},
        'base': [
            {'name': name, 'expression': expression, 'value': float(values[name]), 'std': finite(deviation[name])}
            for name, expression in zip(problem.base.names, problem.base.expressions, strict=True)
        ],
    }
    if model.weightless:
        has_masses = model.parameters is not None and np.any(model.parameters)
        inertial['gravity'] = 'robot_file' if has_masses else 'none'
    if model.without_torque:
        inertial['without_torque'] = list(model.without_torque)
    if model.coupling is not None:
        inertial['coupling'] = {
            name: float(value) for name, value in zip(model.coupling.parameter_names, standard.coupled, strict=True)
        }
    # the payload of a description is at the last link
    at = None if settings.payload is None else settings.payload.joint
    part = {'payload': payload_part(payload)} if payload is not None and at in (None, model.joint_names[-1]) else {}
    return DynamicsDescription(
        {
            **part,
            'robot': {
                'name': model.pinocchio.name,
                'joint_names': list(model.joint_names),
                **model.kinematics(),
                'identity': identity_of(model),
            },
            'inertial': inertial,
            'joints': joints,
            'mounting': mounting_rotation(model.mounting).tolist(),
        }
    )


def validity_of(solved: SolvedProblem) -> dict[str, dict[str, Any]]:
    """Return {joint: {speed, load, temperature}} where the friction was checked: beyond, readers hold it at the limit.

    speed: |ω| [rad/s] on the motor side up to which it was made to dissipate (`physical.dissipation`: `REACH` times the
    fastest of the recordings, or the joint's limit); load: largest torque through the transmission |τ_J| [N·m] that the
    recordings have; temperature: their [lowest, highest] [°C], absent where a recording lacks it.
    """
    problem, model = solved.problem, solved.problem.model
    links = model.standard(solved.standard).links
    load = np.zeros(model.n)
    for part in problem.observations:
        kept = part.kept
        torque = model.chain.torque(part.q[kept], part.dq[kept], part.ddq[kept], links)
        load = np.maximum(load, np.abs(torque).max(axis=0))
    if problem.state.load_limit is not None:
        load = np.maximum(load, problem.state.load_limit)
    ranges: dict[str, dict[str, Any]] = {
        name: {'speed': checked_speed(problem, j), 'load': float(load[j])} for j, name in enumerate(model.joint_names)
    }
    temperatures = [part.temperature[part.kept] for part in problem.observations if part.temperature is not None]
    if temperatures and len(temperatures) == len(problem.observations):
        seen = np.concatenate(temperatures)
        for j, name in enumerate(model.joint_names):
            ranges[name]['temperature'] = [float(seen[:, j].min()), float(seen[:, j].max())]
    return ranges


def load_deviation(solved: SolvedProblem) -> FloatArray:
    """Return the deviation of the torque through each transmission (n,), relative: its model error, as the residual."""
    squares = np.sum([(part.at_kept(part.tau) ** 2).sum(axis=0) for part in solved.problem.observations], axis=0)
    return solved.solution.sigma / np.sqrt(np.maximum(squares / sum(solved.problem.samples), np.finfo(float).tiny))


def with_provenance(result: IdentificationResult) -> DynamicsDescription:
    """Return the description of a result with where it comes from: recordings, residuals, verdict."""
    provenance = {
        'software': f'joint_dynamics {__version__}',
        'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
        'method': result.settings.method,
        'recordings': [fit.name for fit in result.training],
        'residual_percent': finite(overall_residual(result.training)[1]),
        'moving_residual_percent': finite(overall_residual(result.training, moving=True)[1]),
        'validation': {fit.name: finite(fit.residual_percent()[1]) for fit in result.validation},
        'condition_number': finite(result.solution.condition_number),
        'believable': not result.reasons,
        'reasons': [reason.text for reason in result.reasons],
        'joints': result.checks.get('joints'),
        'uses': result.checks.get('uses'),
        'filters': {name: finite(value) for name, value in vars(result.plan).items()},
    }
    return DynamicsDescription(result.description.document | {'provenance': provenance})


def payload_part(entries: dict[str, Any]) -> dict[str, Any]:
    """Payload in the last joint's frame; std in the order mass, first moments, inertia."""
    mass, first, inertia = ('M',), ('MX', 'MY', 'MZ'), ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ')
    std = entries['M']['std']
    # It is not on the arm of this description, which is that of the recordings without it.
    return {
        'attached': False,
        'mass': {'value': entries['M']['value']} | ({} if std is None else {'std': std}),
        'first_moments': [entries[name]['value'] for name in first],
        'inertia': [entries[name]['value'] for name in inertia],
        'std': [entries[name]['std'] for name in (*mass, *first, *inertia)],
    }


def _drive(standard: StandardParameters, k: int) -> dict[str, float]:
    views = {'Ia': standard.rotor_inertia, 'Fv': standard.viscous, 'Fc': standard.coulomb, 'off': standard.offset}
    return {kind: float(values[k]) for kind, values in views.items()}


def _joint(k: int, standard: StandardParameters, deviation: dict[str, float]) -> dict[str, Any]:
    own = _drive(standard, k)
    stated = {name: float(deviation.get(f'{kind}_{k + 1}', np.nan)) for kind, name in FRICTION_NAMES.items()}
    # Regrouped into ZZR: only the sum with the link's inertia was identified, and the value follows from where the
    # prior has the rest.
    std = deviation.get(f'Ia_{k + 1}')
    known = {'identifiable': False} if std is None else {'std': finite(std)}
    return {
        'rotor_inertia': {'value': own['Ia']} | known,
        'friction': {
            'parameters': {name: own[kind] for kind, name in FRICTION_NAMES.items()},
            'standard_deviations': {name: value for name, value in stated.items() if np.isfinite(value)},
            'method': 'robot identification',
        },
    }


def add_term(
    joint: dict[str, Any],
    term: Term,
    values: dict[str, float],
    deviation: dict[str, float],
    state: FrictionState,
    j: int,
) -> None:
    """Write a term into the friction document where that has a name for it, otherwise among the further terms."""
    friction, document = joint.get('friction', {}), term.document
    name, value, std = document.get('friction'), float(values[term.names[0]]), finite(deviation[term.names[0]])
    if 'stribeck' in document:
        friction['parameters'].update(F_S=friction['parameters']['F_C0'] + value, **document['stribeck'])
        deviations = friction['standard_deviations']
        if 'F_C0' in deviations:
            deviations['F_S'] = float(np.hypot(std or 0.0, deviations['F_C0']))
    elif 'hysteresis' in document:
        add_hysteresis(joint, document['hysteresis'], 0.0 if state.share is None else float(state.share[j]))
    elif name in PARAMETERS:
        friction['parameters'][name] = value
        if std is not None:
            friction['standard_deviations'][name] = std
        if 'T_0' in document:
            friction['parameters']['T_0'] = document['T_0']
        if 'load' in term.needs and state.load_limit is not None:
            friction['parameters']['tau_max'] = float(state.load_limit[j])
    else:
        bound = {'tau_max': float(state.load_limit[j])} if 'load' in term.needs and state.load_limit is not None else {}
        joint.setdefault('terms', []).append(
            {
                'document': {**document, **bound},
                'values': [float(values[name]) for name in term.names],
                'std': [finite(deviation[name]) for name in term.names],
            }
        )


def add_hysteresis(joint: dict[str, Any], width: float, share: float) -> None:
    """Write the fitted friction, (1 − share) sgn ω + share H, as two operators: one slips at once.

    The width is a length of the friction, not a backlash. A share of 0 is written as no hysteresis.
    """
    if share <= 0.0:
        return
    first = NO_PRESLIDING / width
    joint['friction']['maxwell_slip'] = {
        'limits': [first, 1.0],
        'stiffness': [(1.0 - share) / first, share],
        'operators': 2,
        'presliding': float(width),
    }
