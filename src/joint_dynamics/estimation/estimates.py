"""The estimates of a running estimation, joint by joint, by name, for plots and displays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.estimation.conditions import Running
from joint_dynamics.estimation.coulomb_viscous import CoulombViscousEstimator
from joint_dynamics.estimation.health import ERROR, OK, WARNING, JointHealth
from joint_dynamics.estimation.joint_estimator import JointEstimator

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
