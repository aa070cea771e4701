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

"""Settings of a simulated robot, its errors and sensors among them, and the time step that it needs.

The step is short enough for every mode of the arm in any posture. Linearised about any rest, the plant is
ẍ = −𝓜⁻¹(𝓚 x + 𝓓 ẋ), x = [q, θ], with the steepest spring and the steepest presliding friction there are. Classical
Runge-Kutta multiplies a mode of eigenvalue λ by R(λh) = Σ_{k≤4} (λh)^k / k!, and |R| ≤ 1 holds in all of the left half
plane within |λh| ≤ 2.6. The step keeps |λ|h ≤ 1.5 for all modes at sampled postures; a payload only slows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Settings, setting
from joint_dynamics.simulation.drives import Drives
from joint_dynamics.simulation.dynamics import SMOOTHING_SPEED
from joint_dynamics.simulation.links import Links, workspace
from joint_dynamics.simulation.model_errors import ModelErrors, Sensors
from joint_dynamics.simulation.rigid_body import mass_and_bias

#: Longest integration step, s.
MAX_STEP = 0.25e-3
GAINS = ('kp', 'ki', 'kd')


def _gains(gains: Mapping[str, Any]) -> str | None:
    try:
        values = [np.asarray(value, dtype=float) for value in gains.values()]
        right = set(gains) <= set(GAINS) and all((np.isfinite(value) & (value >= 0.0)).all() for value in values)
    except (AttributeError, TypeError, ValueError):
        right = False
    return None if right else 'gains kp, ki, kd >= 0'


@dataclass(frozen=True)
class SimulationSettings(Settings):
    """How a `FlexibleJointRobot` is built, apart from its description and its drives."""

    SECTION = 'simulation'

    rate: float = setting(
        1000.0, 'control ticks per second (`record` can keep every k-th sample)', 'Hz', lower=400, upper=10000
    )
    seed: int = setting(0, 'seed of drives, model errors and noise', lower=0)
    errors: ModelErrors = setting(ModelErrors(), 'effects that the models lack')
    sensors: Sensors = setting(Sensors(), 'errors of the sensors')
    gains: Mapping[str, Any] = setting(
        {},
        'joint PID of the controller: kp, ki, kd, each (n,) or a number; those left out are matched to the inertia',
        check=_gains,
    )
    feedback: str = setting(
        'link', "side of the position fed back; the speed is always the motor's", choices=('link', 'motor')
    )
    position: Any = setting(
        None, '(n,) [rad] initial position', none="a UR's home; otherwise 0, or the nearest limit to it"
    )
    temperature: float = setting(25.0, 'initial temperature of all parts', '°C')
    ambient: float | None = setting(None, 'temperature of the surroundings', '°C', none='`temperature`')
    heat_speed: float = setting(1.0, 'factor of the speed of heat flow', lower=0, upper=2000)
    max_step: float = setting(MAX_STEP, 'longest integration step', 's', above=0, upper=MAX_STEP)


#: Largest |λ|h allowed; Runge-Kutta is stable up to 2.6.
MARGIN = 1.5
#: A plant that needs more steps per tick than this is no robot.
MAX_SUBSTEPS = 400


def eigenvalues(links: Links, drives: Drives, postures: FloatArray) -> FloatArray:
    """Return the eigenvalues [1/s] of the linearised plant at rest in `postures` (k, n): (k, 4 n), complex."""
    n = drives.gain.size
    work = workspace(n)
    limit = drives.max_current * drives.nominal_gain
    deflection = limit / drives.stiffness
    spring = drives.stiffness + 3.0 * drives.stiffness_cubic * deflection**2 + drives.slip_stiffness
    spring += 5.0 * drives.stiffness_quintic * deflection**4
    # A power law of the speed is steepest at rest (`dynamics.THIN`), oil thickest when cold.
    thick = np.exp(drives.viscosity_slope * (drives.reference_temperature - drives.temperature_range[0]))
    viscous = (drives.viscous * SMOOTHING_SPEED ** (drives.viscous_power - 1.0) + drives.bristle_damping) * thick
    grip = (drives.static + drives.coulomb_load * limit**2 + drives.load_linear * limit) * (1.0 + drives.wear_friction)
    grip = grip * (1.0 + drives.viscosity_share * (thick - 1.0))
    steepest = np.where(drives.bristle > 0.0, drives.bristle * (1.0 + drives.unloading), drives.weight.sum())
    presliding = grip * steepest / drives.backlash[:, :, 0].min(axis=1)
    K = np.block([[np.diag(spring), -np.diag(spring)], [-np.diag(spring), np.diag(spring + presliding)]])
    D = np.diag(drives.damping)
    C = np.block([[D, -D], [-D, D + np.diag(viscous)]])
    spectra = []
    for q in postures:
        mass_and_bias(links, q, np.zeros(n), work)
        M = np.zeros((2 * n, 2 * n))
        M[:n, :n] = work.M
        M[n:, n:] = np.diag(drives.rotor_inertia)
        A = np.block([[np.zeros((2 * n, 2 * n)), np.eye(2 * n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
        spectra.append(np.linalg.eigvals(A))
    return np.array(spectra)


def substeps(links: Links, drives: Drives, period: float, max_step: float = MAX_STEP, postures: int = 24) -> int:
    """Return the number of integration steps in a tick of `period` [s].

    Raises JointDynamicsError where no reasonable number is sufficient.
    """
    n = drives.gain.size
    sampled = np.random.default_rng(24).uniform(-np.pi, np.pi, (postures, n)) * np.where(links.prismatic, 0.1, 1.0)
    fastest = np.abs(eigenvalues(links, drives, sampled)).max()
    count = int(np.ceil(period / min(max_step, MARGIN / fastest) - 1e-9))
    if count > MAX_SUBSTEPS:
        raise JointDynamicsError(
            f'simulation: expected at most {MAX_SUBSTEPS} steps per tick of {period:g} s, found that the fastest mode, '
            f'{fastest:.3g} rad/s, needs {count}: give less stiffness or damping, or more inertia in link and rotor'
        )
    return count
