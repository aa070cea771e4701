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

"""Conditions of a running estimation for diagnostics, and its estimates for plots and displays.

A condition is a level, a message and values; an estimate has a value and a deviation for each joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.health import ERROR, OK, WARNING, JointHealth
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.session import EstimationSession
from joint_dynamics.estimation.stiffness import StiffnessEstimator


class Condition(NamedTuple):
    """One condition: level `ok`, `warning` or `error`; message; values to show beside it."""

    level: str
    message: str
    values: dict[str, Any]


def _joints(names: Sequence[str], mask: BoolArray) -> str:
    return ', '.join(name for name, value in zip(names, mask, strict=True) if value)


def _of_joints(names: Sequence[str], reasons: Mapping[str, BoolArray]) -> str:
    return '; '.join(f'{reason}: {_joints(names, mask)}' for reason, mask in reasons.items() if mask.any())


def _by_joint(names: Sequence[str], values: FloatArray, form: str = '.4g') -> dict[str, str]:
    return {
        name: ' '.join(format(number, form) for number in np.atleast_1d(row))
        for name, row in zip(names, values, strict=True)
    }


def _first(values: dict[str, Any], otherwise: str, *said: tuple[Any, str, str]) -> Condition:
    """Return the condition of the first (holds, level, message) that holds, or the message `otherwise`."""
    level, message = next(((level, message) for holds, level, message in said if holds), (OK, otherwise))
    return Condition(level, message, values)


def conditions(session: EstimationSession) -> dict[str, Condition]:
    """Return the conditions of a session, by name."""
    by_name, estimator = {'samples': _samples(session)}, session.estimator
    if estimator is None:
        return by_name
    by_name['friction'] = _friction(estimator)
    by_name['temperature'] = _temperature(estimator, session.reads_temperature)
    if estimator.stiffness is not None:
        by_name['stiffness'] = _stiffness(estimator.arm.joint_names, estimator.stiffness)
    by_name['contact'] = contact_condition(estimator)
    if estimator.payload is not None:
        by_name['payload'] = _payload(estimator.payload)
    by_name['health'] = _health(estimator.arm.joint_names, session.health())
    return by_name


def _samples(session: EstimationSession) -> Condition:
    line = session.timeline
    values: dict[str, Any] = {
        'period_s': line.period or 0.0,
        'given': line.given,
        'bridged': line.bridged,
        'out_of_order': line.late,
        'implausible': line.broken,
        'gaps': line.gaps,
        'time_jumps': line.jumps,
        'alignment_error_s': line.error,
        'begun_anew': session.begun_anew,
        'step_us': 1e6 * session.seconds / max(session.steps, 1),
    }
    beyond, anew = line.beyond, session.begun_anew > session.begun_anew_said
    line.error, line.beyond, session.begun_anew_said = 0.0, '', session.begun_anew
    missing = '; '.join(f'{quantity} of {", ".join(joints)}' for quantity, joints in line.missing().items())
    silent, double, many = '; '.join(line.silent()), ', '.join(line.duplicates()), 0.01 * line.given + 10
    return _first(
        values,
        'aligned',
        (anew, ERROR, 'torques were not finite: the filters were restarted'),
        (beyond, ERROR, f'samples dropped as physically impossible: {beyond}'),
        (missing, ERROR, f'no samples yet of {missing}'),
        (silent, ERROR, f'waiting for {silent}'),
        (line.period is None, WARNING, 'determining the sample period'),
        (session.estimator is None or not session.estimator.filter.ready, WARNING, 'filling the filters'),
        (double, WARNING, f'several publishers give {double}'),
        (line.repeated > many, WARNING, 'stamps repeat, dropped: a clock that stands still, or messages sent twice'),
        (line.late > many, WARNING, 'samples out of order, dropped: several publishers, or clocks that differ'),
        (line.bridged > many, WARNING, 'samples are lost on the way, and bridged'),
    )


def _friction(estimator: JointEstimator) -> Condition:
    names, friction = estimator.arm.joint_names, estimator.friction
    if friction is None:
        return Condition(OK, 'as described, not adapted', {})
    values = _by_joint(names, friction.parameters)
    if not estimator.learning:
        return Condition(WARNING, 'not adapting: switched off', values)
    # A joint that stops changes no condition.
    begun = friction.excitation >= 1.0
    reasons = {
        'saturated, at a bound of its parameters': np.any(friction.saturated, axis=1),
        'not excited yet': ~begun,
        'not excited, the motion does not separate Coulomb from viscous friction': ~friction.informative & begun,
    }
    said = _of_joints(names, reasons)
    return _first(values, 'adapting', (said, WARNING, said))


def _temperature(estimator: JointEstimator, measured: bool) -> Condition:
    names, present, model = estimator.arm.joint_names, estimator.temperature, estimator.arm.friction
    values = _by_joint(names, present, '.1f')
    if model is None or not measured:
        return Condition(OK, 'not used' if measured else 'not measured', values)
    unknown = _joints(names, np.isnan(present))
    outside = _joints(names, (present < model.parameters['T_min']) | (present > model.parameters['T_max']))
    return _first(
        values,
        'in range',
        (unknown, WARNING, f'no samples yet of {unknown}'),
        (outside, WARNING, f'out of the range of the friction model, bounded: {outside}'),
    )


def _stiffness(names: Sequence[str], stiffness: StiffnessEstimator) -> Condition:
    values = _by_joint(names, stiffness.known)
    reasons = {
        'not excited yet': stiffness.excitation < 1.0,
        'torque and deformation do not match, nothing learnt': ~stiffness.reliable & (stiffness.excitation >= 5.0),
        'changed suddenly': stiffness.changes > 0,
    }
    said = _of_joints(names, reasons)
    return Condition(OK if stiffness.reliable.any() else WARNING, said or 'learnt', values)


def contact_condition(estimator: JointEstimator) -> Condition:
    """Return the condition of contacts."""
    names, detector = estimator.arm.joint_names, estimator.detector
    lasting, contact, learning = (
        _joints(names, mask) for mask in (detector.lasting, estimator.contact, ~detector.armed)
    )
    return _first(
        _by_joint(names, estimator.external, '.2f'),
        'none',
        (lasting, WARNING, f'unknown load: {lasting}'),
        (contact, WARNING, f'contact: {contact}'),
        (learning, OK, f'learning error levels: {learning}'),
    )


def _payload(payload: PayloadEstimator) -> Condition:
    values = {
        'mass_kg': payload.mass,
        'deviation_kg': payload.mass_deviation,
        'first_moments_kgm': ' '.join(f'{v:.4g}' for v in payload.first_moments),
    }
    return _first(values, 'known', (not payload.known, WARNING, 'not known yet: move the arm'))


def _health(names: Sequence[str], health: list[JointHealth]) -> Condition:
    values = {name: item.reason for name, item in zip(names, health, strict=True)}
    for level in (ERROR, WARNING):
        worn = [name for name, item in zip(names, health, strict=True) if item.status == level]
        if worn:
            return Condition(level, f'worn: {", ".join(f"{name} ({values[name]})" for name in worn)}', values)
    judged = any(item.status == OK for item in health)
    return Condition(OK, 'like the reference' if judged else 'not judged yet', values)


#: Unit and meaning of each quantity, in the order in which they are shown.
QUANTITIES: dict[str, tuple[str, str]] = {
    'friction_scale': ('1', 'α1, which scales the described Coulomb friction'),
    'viscous_change': ('N·m·s/rad', 'α2, viscous friction beyond the described one'),
    'stiffness': ('N·m/rad', 'stiffness of the transmission without load; with two encoders per joint'),
    'stiffness_ratio': ('1', 'torque of the spring over the working range, against the reference'),
    'friction_ratio': ('1', 'Coulomb friction against the reference'),
    'temperature': ('°C', 'temperature used for the friction'),
    'contact': ('1', '1 during a contact or with an unknown load, else 0'),
    'health': ('1', '0 ok, 1 warning, 2 error; NaN: not judged yet'),
}
LEVELS = {OK: 0.0, WARNING: 1.0, ERROR: 2.0}


@dataclass(frozen=True)
class Estimate:
    """Values (n,) in the unit of `QUANTITIES`, NaN where there is none yet; deviation (n,), None where not known."""

    value: FloatArray
    deviation: FloatArray | None = None


def quantities(session: EstimationSession) -> tuple[str, ...]:
    """Return the names in `QUANTITIES` that are estimated once there are samples."""
    trial = session.trial(session.settings)
    return tuple(estimates_of(trial, session.monitor.of(trial)))


def estimates(session: EstimationSession) -> dict[str, Estimate]:
    """Return the estimates of a session by the names of `QUANTITIES`; empty before it has samples."""
    return {} if session.estimator is None else estimates_of(session.estimator, session.health())


def estimates_of(estimator: JointEstimator, health: list[JointHealth]) -> dict[str, Estimate]:
    """Return the estimates of an estimator and its health; the names are the same in every state."""
    by_name: dict[str, Estimate] = {}
    if estimator.friction is not None:
        parameters, covariance = estimator.friction_scale()
        deviation = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
        for k, name in enumerate(('friction_scale', 'viscous_change')):
            by_name[name] = Estimate(parameters[:, k], deviation[:, k])
    if estimator.stiffness is not None:
        spring = estimator.stiffness
        by_name['stiffness'] = Estimate(
            spring.known[:, 0], np.sqrt(np.maximum(spring.covariance[:, 0, 0], 0.0)) * spring.noise
        )
    for name in ('stiffness_ratio', 'friction_ratio'):
        ratios = [getattr(item, name) for item in health]
        if any(ratio is not None for ratio in ratios):
            by_name[name] = Estimate(np.array([np.nan if ratio is None else ratio for ratio in ratios]))
    by_name['temperature'] = Estimate(np.asarray(estimator.temperature, dtype=float))
    by_name['contact'] = Estimate((estimator.contact | estimator.detector.lasting).astype(float))
    by_name['health'] = Estimate(np.array([LEVELS.get(item.status, np.nan) for item in health]))
    return {name: by_name[name] for name in QUANTITIES if name in by_name}
