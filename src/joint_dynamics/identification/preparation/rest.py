"""Samples at rest: friction of a joint that does not move is unknown within its Coulomb level, and constant.

Treated like the others, such samples would repeat the same error many times, and pull friction and gravity parameters
towards the torque at which the drive happened to stop. So each joint's rows at rest have a deviation of their own,
estimated from the data, and a rest interval counts as one observation however long it lasts: its m rows are divided by
√m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.preparation.observations import Observation

REST_SPEED = 0.01
"""Speed [rad/s or m/s] below which a joint counts as resting."""
SHARE = 0.5
"""A filtered row counts as resting when its joint rested for more than this share of what the filter saw."""


@dataclass(frozen=True)
class Rest:
    """resting (n, K) bool and scale (n, K) of the kept samples of one observation: 1/√m at rest for m rows, else 1."""

    resting: BoolArray
    scale: FloatArray


def find_rest(observation: Observation, speed: float = REST_SPEED) -> Rest:
    """Return which rows of an observation's kept samples are at rest."""
    still = (np.abs(observation.dtheta) < speed).astype(float)
    share = still if observation.decimator is None else observation.decimator.apply(still)
    resting = (share > SHARE).T
    scale = np.ones(resting.shape)
    for j, row in enumerate(resting):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for start, end in edges.reshape(-1, 2):
            scale[j, start:end] = 1.0 / np.sqrt(end - start)
    return Rest(resting, scale)
