"""Block means of the samples at constant speed: the rows that the load and temperature fits are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.plateaus import PlateauSettings, constant_stretches


@dataclass(frozen=True)
class SteadyRows:
    """Block means at constant speed, in time order, each (R,).

    Speed rad/s, friction N·m, load N·m, temperature °C, angle rad.
    """

    speed: FloatArray
    friction: FloatArray
    load: FloatArray
    temperature: FloatArray
    theta: FloatArray

    @property
    def both_directions(self) -> bool:
        """Whether the joint was driven in both directions."""
        return bool(self.speed.min() < 0 < self.speed.max())


def steady_rows(recordings: Sequence[JointData], settings: PlateauSettings, block: float = 0.1) -> SteadyRows:
    """Cut every stretch of constant speed into blocks of `block` s and take their means.

    Load and temperature are NaN where they were not measured.

    Raises
    ------
    NotReliableError
        Without a stretch of constant speed.
    """
    rows: list[list[float]] = []
    for data in recordings:
        friction = data.friction()
        size = max(1, round(block * data.rate))
        for part in constant_stretches(data, settings):
            for start in range(part.start, part.stop - size + 1, size):
                cut = slice(start, start + size)
                rows.append(
                    [
                        data.omega[cut].mean(),
                        friction[cut].mean(),
                        np.nan if data.tau_J is None else data.tau_J[cut].mean(),
                        np.nan if data.temperature is None else data.temperature[cut].mean(),
                        data.theta[cut].mean(),
                    ]
                )
    if not rows:
        names = ', '.join(data.name for data in recordings)
        raise NotReliableError(
            f'{names}: {recordings[0].joint} has no stretch of constant speed of at least '
            f'{settings.min_duration:g} s above {settings.min_speed:g} rad/s'
        )
    return SteadyRows(*np.array(rows).T)
