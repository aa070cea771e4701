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

"""Settings of a simulated robot, its errors and sensors among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.settings import Settings, declarations, setting

#: Longest integration step, s.
MAX_STEP = 0.25e-3
GAINS = ('kp', 'ki', 'kd')


def _share(default: float, meaning: str) -> Any:
    return setting(default, meaning, lower=0, upper=0.5)


@dataclass(frozen=True)
class ModelErrors(Settings):
    """Effects in the plant that the methods' models lack; on by default, each switched off by 0 (or False)."""

    SECTION = 'model errors'

    inertia: float = _share(
        0.05,
        "relative spread of the true masses and inertias about the URDF's; centres of mass move by as much of 0.1 m",
    )
    drive_gain: float = _share(0.03, 'relative spread of the true drive gain about the nominal one')
    drive_gain_per_kelvin: float = setting(
        -5e-4,
        "relative change of the drive gain with the winding's temperature (magnets weaken)",
        '1/K',
        lower=-0.01,
        upper=0.01,
    )
    torque_ripple: float = _share(0.001, "cogging, 12 cycles per motor turn, as a fraction of the joint's torque limit")
    gear_ripple: float = setting(
        3e-6, 'kinematic error twice per motor turn, on the joint side', 'rad', lower=0, upper=0.5
    )
    friction_direction: float = _share(
        0.02, 'relative difference of Coulomb friction from its mean, + in one direction, − in the other'
    )
    friction_position: float = _share(0.02, 'relative change of Coulomb friction over one turn of the joint')
    load_linear: float = _share(0.003, 'friction in N·m per N·m of load torque, beside the quadratic law')
    smooth_hysteresis: bool = setting(
        True, 'a presliding curve of twelve operators and another shape, instead of the four operators of the law'
    )
    current_lag: float = setting(5e-4, 'time constant of the current loop', 's', lower=0, upper=0.5)
    temperature_lag: float = setting(20.0, 'time constant from the gear to the temperature sensor', 's', lower=0)

    @classmethod
    def none(cls) -> ModelErrors:
        """Return the plant that is exactly the methods' model."""
        return cls(*(0.0,) * 8, smooth_hysteresis=False, current_lag=0.0, temperature_lag=0.0)

    def scaled(self, factor: float) -> ModelErrors:
        """Return the same errors times `factor`; the shape of the hysteresis stays."""
        amounts = {name: getattr(self, name) * factor for name in declarations(ModelErrors)}
        return ModelErrors(**{**amounts, 'smooth_hysteresis': self.smooth_hysteresis})


@dataclass(frozen=True)
class Sensors(Settings):
    """Errors of the sensors."""

    SECTION = 'sensors'

    link_bits: int = setting(
        20, 'resolution of the link-side encoder, bits per turn of the joint; 0 for a perfect one', lower=0
    )
    motor_bits: int = setting(
        16, 'resolution of the motor-side encoder, bits per turn of the motor; 0 for a perfect one', lower=0
    )
    speed_bandwidth: float = setting(
        100.0, "cut-off of the drive's speed measurement (difference of encoder readings, low-passed)", 'Hz', above=0
    )
    current_noise: float = setting(
        0.004, "standard deviation of the measured current, as a fraction of the joint's largest current", lower=0
    )
    temperature_noise: float = setting(0.05, 'standard deviation of the measured temperature', '°C', lower=0)
    temperature_step: float = setting(0.1, 'resolution of the measured temperature; 0 for a perfect one', '°C', lower=0)

    @classmethod
    def ideal(cls) -> Sensors:
        """Return sensors without quantisation and noise; the speed is the drive's, with 1 kHz bandwidth."""
        return cls(0, 0, 1000.0, 0.0, 0.0, 0.0)


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
