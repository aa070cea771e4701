"""The demonstration: a simulated robot excited, recorded, identified, estimated and fed forward over real ROS 2.

Each node its own process. Its settings, and those of the chain without ROS, are here.
"""

from __future__ import annotations

from dataclasses import dataclass

from joint_dynamics.settings import Settings, setting


@dataclass(frozen=True)
class RunSettings(Settings):
    """What both have in common: the simulated robot, and the motion that excites it."""

    seed: int = setting(0, 'of the simulated robot: its drives, its inertials, its tool', lower=0)
    period: float = setting(10.0, 'of the exciting motion', 's', above=0)
    repeats: int = setting(2, 'periods of the exciting motion', lower=1)
    starts: int = setting(1, "of the excitation's search", lower=1)


@dataclass(frozen=True)
class DemoSettings(RunSettings):
    """How long the demonstration is."""

    SECTION = 'demo'

    speed: float = setting(2.0, 'simulated seconds per second of the wall, at most; 0: as fast as possible', lower=0)
    online: bool = setting(True, 'whether the robot is worn, warmed, estimated and compensated after it was identified')


@dataclass(frozen=True)
class ChainSettings(RunSettings):
    """The whole chain in one process."""

    SECTION = 'chain'

    cycles: int = setting(2, 'of the work that the estimator learns from', lower=0)
