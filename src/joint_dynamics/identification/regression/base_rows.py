"""The columns of the base parameters, computed block by block so that memory does not grow with the recording."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, reduce
from typing import Any

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.standard_rows import BLOCK, ModelRows, StandardRows
from joint_dynamics.identification.regression.torque import LoadTorques
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.regressor import PackedRows

MOST_SHARED = 16
"""So many of these are kept at most for the next block, which of long kernels is not all that it shares."""
FULL_RATE_BLOCK = 500
"""Samples at a time that are taken as they are: their rows stay in the processor's cache."""
CACHE = 64 * 2**20
"""Blocks are kept for the next pass up to this size [bytes]; beyond it they are built again."""


class BaseRows:
    """The columns of the base parameters for some observations; kept in memory up to `CACHE` bytes."""

    def __init__(self, model: RobotModel, observations: Sequence[Observation]):
        self.model = model
        self.observations = list(observations)
        self.base = model.base_parameters()
        self._cache: list[Block] = []
        self._standard = StandardRows(model)
        self.loads = LoadTorques(model, self._standard)

    @cached_property
    def _own(self) -> ModelRows:
        return ModelRows(self.model, self.base.independent)

    def rows(self, observation: Observation, part: slice) -> FloatArray:
        """Regressor of consecutive samples at the full rate, (joints, base parameters, samples)."""
        return self.packed_rows(observation, part).dense()

    def packed_rows(self, observation: Observation, part: slice) -> PackedRows:
        """Return the same without its zeros."""
        return self._own.of(observation, part)

    def _build(self) -> Iterator[Block]:
        rows: Any  # packed, which a block takes for rows
        for index, observation in enumerate(self.observations):
            decimator = observation.decimator
            if decimator is None:
                for start in range(0, len(observation.q), FULL_RATE_BLOCK):
                    part = slice(start, min(start + FULL_RATE_BLOCK, len(observation.q)))
                    rows = self.packed_rows(observation, part)
                    yield Block(rows, observation.tau[part].T, observation.dq[part].T, index, part)
                continue
            kept = self._standard.of(observation)
            piece = kept.__getitem__ if kept is not None else self._pieces(observation, decimator.half)
            for part, first, end, weights in spans(observation):
                rows = reduce(
                    operator.add,
                    (
                        piece(number).between(low - number * BLOCK, high - number * BLOCK)
                        @ weights[low - first : high - first]
                        for number in range(first // BLOCK, -(-end // BLOCK))
                        for low, high in [(max(first, number * BLOCK), min(end, (number + 1) * BLOCK))]
                    ),
                )
                if kept is not None:
                    rows = self._own.among(rows)
                yield Block(
                    rows, observation.tau[first:end].T @ weights, observation.dq[decimator.kept[part]].T, index, part
                )

    def _pieces(self, observation: Observation, half: int) -> Callable[[int], PackedRows]:
        """Return what computes the rows of the k-th `BLOCK` samples, once for all blocks that draw on them.

        half: reach of the parallel filter to either side, by twice which the inputs of neighbouring blocks overlap.
        """

        @lru_cache(min(2 * half // BLOCK + 2, MOST_SHARED))
        def rows(k: int) -> PackedRows:
            return self.packed_rows(observation, slice(k * BLOCK, (k + 1) * BLOCK))

        return rows

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in order, from memory on later passes where they fit."""
        if self._cache:
            yield from self._cache
            return
        samples = sum(len(observation.kept) for observation in self.observations)
        if 8 * samples * self.model.n * self.base.count > CACHE:
            yield from self._build()
            return
        fresh = []
        for block in self._build():
            fresh.append(block)
            yield block
        self._cache = fresh


def spans(observation: Observation) -> Iterator[tuple[slice, int, int, FloatArray]]:
    """Yield (kept samples, first, end, weights): the kept samples are weighted sums of the inputs first…end."""
    decimator = observation.decimator
    if decimator is None:
        raise ValueError('an observation without a parallel filter has no spans')
    kept = len(decimator.kept)
    step = int(decimator.kept[1] - decimator.kept[0]) if kept > 1 else 1
    # blocks overlap by the kernel's reach: long enough that this costs little, short enough to stay small
    chunk = max(8, max(BLOCK, 6 * decimator.half) // step)
    for start in range(0, kept, chunk):
        part = slice(start, min(start + chunk, kept))
        first, end = decimator.span(part)
        yield part, first, end, decimator.weights(part)
