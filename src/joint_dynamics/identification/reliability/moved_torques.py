"""Torques moved in time against the motion: their fits for a grid of delays, many of them in one pass over the rows.

A torque that is read between two samples is a mean of both, so that its products with the rows are means of those of
whole samples. A fit needs nothing but these products; where gaps or spikes raise the bandwidth, a grid asks for
thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain

TOGETHER = 32
"""Delays whose products are formed in one pass."""


def best_delay(
    delays: FloatArray,
    alternatives: Alternatives,
    observations: Sequence[Observation],
    smooth: Sequence[FloatArray],
    start: ExplanationFit,
) -> int:
    """Return the index of the delay [s] among `delays` whose fit gains most over `start`.

    smooth: filtered torques (samples, joints) of each observation at its full rate; ends are held.
    """
    gains = [
        gain(start, alternatives.normal.fit_products(vector, size), alternatives.count)
        for vector, size in _products(delays, alternatives, observations, smooth)
    ]
    return int(np.argmax(gains))


def _products(
    delays: FloatArray, alternatives: Alternatives, observations: Sequence[Observation], smooth: Sequence[FloatArray]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the products with the rows (joints, columns) and the size² (joints,) of the torques of each delay."""
    rows, weight, part = alternatives.normal.rows, alternatives.normal.weight, alternatives.samples.part
    for first in range(0, len(delays), TOGETHER):
        some = delays[first : first + TOGETHER]
        vectors = np.zeros((len(some), *rows.shape[:2]))
        sizes = np.zeros((len(some), len(rows)))
        for index, (observation, values) in enumerate(zip(observations, smooth, strict=True)):
            here = np.flatnonzero(part == index)
            whole, share = np.divmod(some * (len(values) - 1) / (observation.time[-1] - observation.time[0]), 1.0)
            lags, place = np.unique(np.concatenate([whole, whole + 1]).astype(int), return_inverse=True)
            before, after = place[: len(some)], place[len(some) :]
            at = np.clip(observation.kept[:, None] + lags, 0, len(values) - 1)
            own = slice(here[0], here[-1] + 1)
            for j in range(len(rows)):
                moved = values[at, j] * weight[j, own, None]
                product = rows[j, :, own] @ moved
                vectors[:, j] += ((1 - share) * product[:, before] + share * product[:, after]).T
                sizes[:, j] += (((1 - share) * moved[:, before] + share * moved[:, after]) ** 2).sum(axis=0)
        yield from zip(vectors, sizes, strict=True)
