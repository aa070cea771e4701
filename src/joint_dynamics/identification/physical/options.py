"""How an estimate is moved into the set of physical parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joint_dynamics.settings import Settings, setting


def _bounds(mass: Sequence[float] | None) -> str | None:
    if mass is None or (mass[0] <= mass[1] and mass[1] > 0):
        return None
    return '[smallest, largest] total mass, smallest ≤ largest and largest > 0'


@dataclass(frozen=True)
class PhysicalOptions(Settings):
    """The prior and its weight, and what is known of the robot's mass."""

    SECTION = 'identification.physical'

    pull: float = setting(0.1, 'weight of the prior', above=0)
    prior: str | None = setting(
        None,
        'URDF, MJCF (extra mujoco) or SDF of the robot, whose inertials are the prior',
        none='those of the robot file',
    )
    mass: tuple[float, ...] | None = setting(
        None,
        'smallest and largest total mass of the moving links',
        'kg',
        lower=0,
        length=2,
        none='not known',
        check=_bounds,
    )

    @classmethod
    def from_given(cls, given: Any, where: str = '') -> PhysicalOptions:
        """Return the options; true stands for the defaults. Raises JointDynamicsError."""
        return cls() if given is True else super().from_given(given, where)
