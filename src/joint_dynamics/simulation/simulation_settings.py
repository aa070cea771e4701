"""Settings of a simulated robot, its errors, sensors and laws among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Settings, setting
from joint_dynamics.simulation.laws import Laws
from joint_dynamics.simulation.model_errors import ModelErrors, Sensors
from joint_dynamics.simulation.stability import MAX_STEP

#: Who computes the links.
ENGINES = ('own', 'mujoco')
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
    seed: int = setting(0, "draws the drives' spread, the model errors and the sensors' noise", lower=0)
    errors: ModelErrors = setting(ModelErrors(), 'effects that the models lack')
    sensors: Sensors = setting(Sensors(), 'errors of the sensors')
    laws: Laws | None = setting(None, 'laws of the plant', none="the methods' own")
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
    heat_speed: float = setting(1.0, 'how many times faster than in reality heat flows', lower=0, upper=2000)
    max_step: float = setting(MAX_STEP, 'longest integration step', 's', above=0, upper=MAX_STEP)
    dynamics: str = setting(
        'own',
        'simulator of the links: the `own` kernels, or `mujoco`, which also has contacts and pushes on bodies',
        choices=ENGINES,
    )
    floor: float | None = setting(None, "height of a floor over the base's origin, with mujoco", 'm', none='no floor')

    def check(self) -> None:
        """Check that a floor has a simulator that knows contacts."""
        if self.floor is not None and self.dynamics != 'mujoco':
            raise JointDynamicsError(
                f'simulation.floor: expected dynamics mujoco with a floor, found dynamics {self.dynamics}'
            )
