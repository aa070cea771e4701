"""Conditions of a running estimation: a level, a message and values each, which a node publishes as diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.coulomb_viscous import CoulombViscousEstimator
from joint_dynamics.estimation.health import ERROR, OK, WARNING, JointHealth
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.estimation.timeline import Timeline


class Condition(NamedTuple):
    """One condition: level `ok`, `warning` or `error`; message; values to show beside it."""

    level: str
    message: str
    values: dict[str, Any]


class Running(Protocol):
    """The parts of a running estimation on which conditions depend, documented in `EstimationSession`."""

    timeline: Timeline
    estimator: JointEstimator | None
    reads_temperature: bool
    steps: int
    seconds: float
    begun_anew: int
    begun_anew_said: int

    def health(self) -> list[JointHealth]:
        """Return the health of every joint."""


def _joints(names: Sequence[str], mask: BoolArray) -> str:
    return ', '.join(name for name, value in zip(names, mask, strict=True) if value)


def _by_joint(names: Sequence[str], values: FloatArray, form: str = '.4g') -> dict[str, str]:
    return {
        name: ' '.join(format(number, form) for number in np.atleast_1d(row))
        for name, row in zip(names, values, strict=True)
    }


def conditions(session: Running) -> dict[str, Condition]:
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


def _samples(session: Running) -> Condition:
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
    beyond = line.beyond
    line.error, line.beyond = 0.0, ''
    if session.begun_anew > session.begun_anew_said:
        session.begun_anew_said = session.begun_anew
        return Condition(ERROR, 'torques were not finite: the filters have begun anew', values)
    if beyond:
        return Condition(ERROR, f'dropped, no joint can do this: {beyond}', values)
    missing, silent = line.missing(), line.silent()
    if missing:
        text = '; '.join(f'{quantity} of {", ".join(joints)}' for quantity, joints in missing.items())
        return Condition(ERROR, f'nothing yet of {text}', values)
    if silent:
        return Condition(ERROR, f'waiting for {"; ".join(silent)}', values)
    if line.period is None:
        return Condition(WARNING, 'finding the sample period', values)
    estimator = session.estimator
    if estimator is None or not estimator.filter.ready:
        return Condition(WARNING, 'filling the filters', values)
    double = line.duplicates()
    if double:
        return Condition(WARNING, f'several publishers give {", ".join(double)}', values)
    if line.repeated > 0.01 * line.given + 10:
        return Condition(WARNING, 'stamps repeat, dropped: a clock that stands still, or messages sent twice', values)
    if line.late > 0.01 * line.given + 10:
        return Condition(WARNING, 'samples out of order, dropped: several publishers, or clocks that differ', values)
    if line.bridged > 0.01 * line.given + 10:
        return Condition(WARNING, 'samples are lost on the way, and bridged', values)
    return Condition(OK, 'aligned', values)


def _friction(estimator: JointEstimator) -> Condition:
    names, friction = estimator.arm.joint_names, estimator.friction
    if friction is None:
        return Condition(OK, 'as described, not adapted', {})
    values = _by_joint(names, friction.parameters)
    if not estimator.learning:
        return Condition(WARNING, 'not adapting: switched off', values)
    if isinstance(friction, CoulombViscousEstimator):
        waiting = friction.seen == 0
        return (
            Condition(WARNING, f'not excited yet: {_joints(names, waiting)}', values)
            if waiting.any()
            else Condition(OK, 'adapting', values)
        )
    # Nothing here follows from whether a joint moves just now: a stop is no news.
    begun = friction.excitation >= 1.0
    reasons = {
        'saturated, at a bound of its parameters': np.any(friction.saturated, axis=1),
        'not excited yet': ~begun,
        'not excited, motion tells Coulomb from viscous friction too little': ~friction.informative & begun,
    }
    said = [f'{reason}: {_joints(names, mask)}' for reason, mask in reasons.items() if mask.any()]
    if said:
        return Condition(WARNING, '; '.join(said), values)
    return Condition(OK, 'adapting', values)


def _temperature(estimator: JointEstimator, measured: bool) -> Condition:
    names, present, model = estimator.arm.joint_names, estimator.temperature, estimator.friction_model
    values = _by_joint(names, present, '.1f')
    unknown = np.isnan(present)
    if model is None or not measured:
        return Condition(OK, 'not used' if measured else 'not measured', values)
    if unknown.any():
        return Condition(WARNING, f'nothing yet of {_joints(names, unknown)}', values)
    outside = (present < model.parameters['T_min']) | (present > model.parameters['T_max'])
    if outside.any():
        return Condition(WARNING, f'out of the range of the friction model, bounded: {_joints(names, outside)}', values)
    return Condition(OK, 'in range', values)


def _stiffness(names: Sequence[str], stiffness: StiffnessEstimator) -> Condition:
    values = _by_joint(names, stiffness.known)
    reasons = {
        'not excited yet': stiffness.excitation < 1.0,
        'torque and deformation do not fit, nothing learnt': ~stiffness.reliable & (stiffness.excitation >= 5.0),
        'changed suddenly': stiffness.changes > 0,
    }
    said = '; '.join(f'{reason}: {_joints(names, mask)}' for reason, mask in reasons.items() if mask.any())
    return Condition(OK if stiffness.reliable.any() else WARNING, said or 'learnt', values)


def contact_condition(estimator: JointEstimator) -> Condition:
    """Return the condition of contacts."""
    names, detector = estimator.arm.joint_names, estimator.detector
    values = _by_joint(names, estimator.external, '.2f')
    if detector.lasting.any():
        return Condition(WARNING, f'a load that the model does not have: {_joints(names, detector.lasting)}', values)
    if estimator.contact.any():
        return Condition(WARNING, f'contact: {_joints(names, estimator.contact)}', values)
    if not detector.armed.all():
        return Condition(OK, f'learning what is usual: {_joints(names, ~detector.armed)}', values)
    return Condition(OK, 'none', values)


def _payload(payload: PayloadEstimator) -> Condition:
    values = {
        'mass_kg': payload.mass,
        'deviation_kg': payload.mass_deviation,
        'first_moments_kgm': ' '.join(f'{v:.4g}' for v in payload.first_moments),
    }
    return (
        Condition(OK, 'known', values) if payload.known else Condition(WARNING, 'not known yet: move the arm', values)
    )


def _health(names: Sequence[str], health: list[JointHealth]) -> Condition:
    values = {name: item.reason for name, item in zip(names, health, strict=True)}
    for level in (ERROR, WARNING):
        worn = [name for name, item in zip(names, health, strict=True) if item.status == level]
        if worn:
            return Condition(level, f'worn: {", ".join(f"{name} ({values[name]})" for name in worn)}', values)
    judged = any(item.status == OK for item in health)
    return Condition(OK, 'as the reference' if judged else 'not judged yet', values)
