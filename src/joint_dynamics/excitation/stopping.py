"""Where a robot is on the motion it plays, and how it is brought to rest when it is not on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.trajectory import Trajectory

LAG = 0.5
"""Greatest delay [s] of the robot behind the motion that is looked for."""
SAME = 1e-3
"""Distance [rad] below which two delays explain what is measured equally well.

What an encoder and a position loop leave open.
"""
SHORTEST = 0.1
"""Shortest time [s] in which a robot is held."""


def delay_of(trajectory: Trajectory, at: float, q: ArrayLike) -> tuple[float, float]:
    """Return by how much a robot at q (n,) [rad] at time `at` [s] of the motion is behind it [s].

    How far from it even so [rad].

    Of the delays from 0 to 0.5 s the shortest that explains the posture as well as any other does, to 1 mrad and half
    as much again: where the motion is slow, all do, and the delay is 0.
    """
    delays = np.linspace(0.0, LAG, 101)
    apart = np.abs(
        trajectory.position(np.clip(at - delays, 0.0, trajectory.duration)) - np.asarray(q, dtype=float)
    ).max(axis=1)
    enough = int(np.argmax(apart <= 1.5 * apart.min() + SAME))
    return float(delays[enough]), float(apart[enough])


def come_to_rest(q: ArrayLike, dq: ArrayLike, acceleration: ArrayLike) -> tuple[FloatArray, float]:
    """Return the posture (n,) [rad] where a robot at q that moves at dq (n,) [rad/s] is at rest.

    The time that takes [s].

    All joints slow down evenly and together, the one that needs longest at its allowed acceleration (n,) [rad/s²].
    """
    speed = np.nan_to_num(np.asarray(dq, dtype=float))
    duration = max(SHORTEST, float(np.max(np.abs(speed) / np.asarray(acceleration, dtype=float), initial=0.0)))
    return np.asarray(q, dtype=float) + speed * duration / 2, duration
