"""The gains and resolutions of the simulated robot's joint controller."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import engine
from joint_dynamics.simulation.drives import Drives
from joint_dynamics.simulation.links import Links, Workspace
from joint_dynamics.simulation.model_errors import Sensors
from joint_dynamics.simulation.rigid_body import mass_and_bias


def joint_controller(
    drives: Drives, sensors: Sensors, largest: FloatArray, gains: Mapping[str, ArrayLike], motor_side: bool
) -> engine.Control:
    """Return the controller: gains of a double pole at 4 Hz for the largest inertia, where none are given.

    Parameters
    ----------
    largest
        (n,) kg·m², largest inertia of the links about each joint, see `largest_inertia`.
    gains
        kp, ki, kd, numbers or (n,) each, in place of the default.
    motor_side
        whether the position is fed back from the motor.

    Raises
    ------
    JointDynamicsError
        For an unknown gain, and for one that is not at least 0.
    """
    unknown = set(gains) - {'kp', 'ki', 'kd'}
    if unknown:
        raise JointDynamicsError(f'simulation: expected gains kp, ki, kd, found {", ".join(sorted(unknown))}')
    n = len(largest)
    inertia = largest + drives.rotor_inertia
    # Stiffer than the double pole where the rotor dominates; the integral takes 1/5 s.
    kp = 25.0**2 * inertia + 55.0**2 * drives.rotor_inertia
    default = {'kp': kp, 'ki': 5.0 * kp, 'kd': 2.0 * np.sqrt(kp * inertia)}
    values = {}
    for name, fallback in default.items():
        value = np.broadcast_to(np.asarray(gains.get(name, fallback), dtype=float), (n,)).copy()
        if not (np.isfinite(value) & (value >= 0.0)).all():
            raise JointDynamicsError(f'simulation: expected gains {name} >= 0, found {value}')
        values[name] = value
    motor = 2.0 * np.pi / 2.0**sensors.motor_bits / drives.gear_ratio if sensors.motor_bits else np.zeros(n)
    link = np.full(n, 2.0 * np.pi / 2.0**sensors.link_bits if sensors.link_bits else 0.0)
    return engine.Control(
        values['kp'], values['ki'], values['kd'], motor_side, link, motor, float(sensors.speed_bandwidth)
    )


def largest_inertia(links: Links, work: Workspace, n: int) -> FloatArray:
    """Return the largest inertia of the links about each joint, over sampled postures (n,) [kg·m²]."""
    largest = np.zeros(n)
    for q in np.random.default_rng(7).uniform(-np.pi, np.pi, (24, n)):
        mass_and_bias(links, q, np.zeros(n), work)
        largest = np.maximum(largest, np.diag(work.M))
    return largest
