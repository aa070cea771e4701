"""What a running estimation says of itself by name: conditions for diagnostics, estimates for plots and displays.

A condition is a level, a message and values; an estimate has a value and a deviation for each joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.friction import CoulombViscousEstimator
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


#: Unit and meaning of each quantity, in the order in which they are shown.
QUANTITIES: dict[str, tuple[str, str]] = {
    'friction_scale': ('1', 'α1, which scales Coulomb friction; where friction is described'),
    'viscous_change': ('N·m·s/rad', 'α2, viscous friction beyond the described one'),
    'coulomb_friction': ('N·m', 'F_C, where no friction is described'),
    'viscous_friction': ('N·m·s/rad', 'F_V, where no friction is described'),
    'stiffness': ('N·m/rad', 'stiffness of the transmission without load; with two encoders per joint'),
    'stiffness_ratio': ('1', 'torque of the spring over the working range, against the reference'),
    'friction_ratio': ('1', 'Coulomb friction against the reference'),
    'temperature': ('°C', 'temperature that the friction is taken at'),
    'contact': ('1', '1 while the joint feels a contact, or a load that the model does not have, else 0'),
    'health': ('1', '0 ok, 1 warning, 2 error; not a number: nothing can be judged yet'),
}
LEVELS = {OK: 0.0, WARNING: 1.0, ERROR: 2.0}


@dataclass(frozen=True)
class Estimate:
    """Values (n,) in the unit of `QUANTITIES`, NaN where there is none yet; deviation (n,), None where not known."""

    value: FloatArray
    deviation: FloatArray | None = None


def estimates(session: Running) -> dict[str, Estimate]:
    """Return the estimates of a session by the names of `QUANTITIES`; empty before it has samples."""
    return {} if session.estimator is None else estimates_of(session.estimator, session.health())


def estimates_of(estimator: JointEstimator, health: list[JointHealth]) -> dict[str, Estimate]:
    """Return the estimates of an estimator and its health; the names are the same in every state."""
    by_name: dict[str, Estimate] = {}
    if estimator.friction is not None:
        parameters, covariance = estimator.friction_scale()
        deviation = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
        names = 'friction_scale', 'viscous_change'
        if isinstance(estimator.friction, CoulombViscousEstimator) and estimator.arm.friction is None:
            names = 'coulomb_friction', 'viscous_friction'
            parameters = np.where(estimator.friction.seen[:, None] > 0, parameters, np.nan)
        for k, name in enumerate(names):
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
