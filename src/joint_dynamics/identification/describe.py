"""From an identification's result to the dynamics description."""
from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics import __version__
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.residuals import together
from joint_dynamics.robot import INERTIAL, PER_JOINT, mounting_rotation

if TYPE_CHECKING:
    from joint_dynamics.identification.result import IdentificationResult

FRICTION_NAMES = {'Fc': 'F_C0', 'Fv': 'F_V1', 'off': 'offset'}


def describe(result: IdentificationResult) -> DynamicsDescription:
    """Return the description: standard set near the URDF's, base set with deviations, linear friction, terms, provenance."""
    model = result.problem.model
    standard = result.standard_parameters
    deviation = dict(zip(result.names, result.deviation, strict=True))
    values = dict(zip(result.names, result.solution.chi, strict=True))
    joints = {name: _joint(k, standard, deviation) for k, name in enumerate(model.joint_names)}
    for term in result.problem.terms:
        _add_term(joints[term.joint], term, values, deviation)
    for name, gain in (result.settings.drive_gains or {}).items():
        if name in joints:
            joints[name]['drive_gain'] = {'value': float(gain)}
    inertial: dict[str, Any] = {
        'standard': {name: {parameter: float(standard[PER_JOINT * k + i]) for i, parameter in enumerate(INERTIAL)}
                     for k, name in enumerate(model.joint_names)},
        'base': [{'name': name, 'expression': expression, 'value': float(values[name]), 'std': _finite(deviation[name])}
                 for name, expression in zip(result.problem.base.names, result.problem.base.expressions, strict=True)]}
    if model.coupling is not None:
        inertial['coupling'] = {name: float(value) for name, value in zip(
            model.parameter_names[PER_JOINT * model.n:], standard[PER_JOINT * model.n:], strict=True)}
    return DynamicsDescription({
        'robot': {'name': model.pinocchio.name, 'joint_names': list(model.joint_names), **model.kinematics()},
        'inertial': inertial,
        'joints': joints,
        'mounting': mounting_rotation(model.mounting).tolist(),
        'provenance': {
            'software': f'joint_dynamics {__version__}',
            'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
            'method': result.settings.method,
            'recordings': [fit.name for fit in result.training],
            'residual_percent': _finite(together(result.training)[1]),
            'validation': {fit.name: _finite(fit.residual_percent()[1]) for fit in result.validation},
            'condition_number': _finite(result.solution.condition_number),
            'believable': not result.reasons,
            'filters': {name: _finite(value) for name, value in vars(result.plan).items()}}})


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _joint(k: int, standard: np.ndarray, deviation: dict[str, float]) -> dict[str, Any]:
    first = PER_JOINT * k + len(INERTIAL)
    own = dict(zip(('Ia', 'Fv', 'Fc', 'off'), standard[first:first + 4], strict=True))
    deviations = {FRICTION_NAMES[kind]: float(deviation[f'{kind}_{k + 1}']) for kind in FRICTION_NAMES
                  if np.isfinite(deviation.get(f'{kind}_{k + 1}', np.nan))}
    return {
        'rotor_inertia': {'value': float(own['Ia']), 'std': _finite(deviation.get(f'Ia_{k + 1}'))},
        'friction': {'parameters': {FRICTION_NAMES[kind]: float(own[kind]) for kind in ('Fc', 'Fv', 'off')}, 'standard_deviations': deviations,
                     'method': 'robot identification'}}


def _add_term(joint: dict[str, Any], term: Any, values: dict[str, float], deviation: dict[str, float]) -> None:
    if 'friction' in term.document:
        name = term.document['friction']
        joint['friction']['parameters'][name] = float(values[term.names[0]])
        joint['friction']['standard_deviations'][name] = float(deviation[term.names[0]])
        return
    joint.setdefault('terms', []).append({
        'document': dict(term.document), 'values': [float(values[name]) for name in term.names],
        'std': [_finite(deviation[name]) for name in term.names]})
