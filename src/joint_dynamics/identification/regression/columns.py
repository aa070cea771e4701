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

"""The columns of the linear system for some observations: of the base parameters, and of additional terms.

Those of the base parameters are the same for all terms; they are computed block by block, so that memory does not grow
with the recording. Those of the terms are linear only for a given load torque and hysteresis.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np

from joint_dynamics.arm import Motion, Term, slip_of
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.observations import Observation, Rest, find_rest
from joint_dynamics.identification.regression.rows import BLOCK, Block, ModelRows, load_torque
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.regressor import PackedRows

MOST_SHARED = 16
"""So many of these are kept at most for the next block, which of long kernels is not all that it shares."""
CACHE = 64 * 2**20
"""Blocks are kept for the next pass up to this size [bytes]; beyond it they are built again."""
DIRECTED = {'F_S', 'F_Cl', 'F_C1'}
"""Parameters of friction in the direction of slip, which hysteresis turns gradually."""


class BaseRows:
    """The columns of the base parameters for some observations; kept in memory up to `CACHE` bytes.

    Parameters
    ----------
    rest_speed
        rad/s or m/s below which a joint rests, see `find_rest`; 0: rest is not looked at.
    """

    def __init__(self, model: RobotModel, observations: Sequence[Observation], rest_speed: float = 0.0):
        self.model = model
        self.observations = list(observations)
        self.rest_speed = rest_speed
        self.base = model.base_parameters()
        self._cache: list[Block] = []
        self._rest: dict[int, Rest] = {}

    @cached_property
    def _own(self) -> ModelRows:
        return ModelRows(self.model, self.base.independent)

    def packed_rows(self, observation: Observation, part: slice) -> PackedRows:
        """Return the regressor of consecutive samples at the full rate, (joints, base parameters, samples)."""
        return self._own.of(observation, part)

    def _build(self) -> Iterator[Block]:
        for index, observation in enumerate(self.observations):
            decimator = observation.decimator
            piece = self._pieces(observation, decimator.half)
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
                yield self._block(
                    rows, observation.tau[first:end].T @ weights, observation.dq[decimator.kept[part]].T, index, part
                )

    def _block(self, packed: PackedRows, tau: FloatArray, dq: FloatArray, index: int, part: slice) -> Block:
        rows = packed.dense()
        if self.rest_speed <= 0:
            return Block(rows, tau, dq, index, part)
        rest = self.rest(index)
        return Block(rows, tau, dq, index, part, rest.resting[:, part], rest.scale[:, part])

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

    def rest(self, index: int) -> Rest:
        """Return where the joints of one observation rest."""
        if index not in self._rest:
            self._rest[index] = find_rest(self.observations[index], self.rest_speed)
        return self._rest[index]


def spans(observation: Observation) -> Iterator[tuple[slice, int, int, FloatArray]]:
    """Yield (kept samples, first, end, weights): the kept samples are weighted sums of the inputs first…end."""
    decimator = observation.decimator
    kept = len(decimator.kept)
    step = int(decimator.kept[1] - decimator.kept[0]) if kept > 1 else 1
    # blocks overlap by the kernel's reach: long enough that this costs little, short enough to stay small
    chunk = max(8, max(BLOCK, 6 * decimator.half) // step)
    for start in range(0, kept, chunk):
        part = slice(start, min(start + chunk, kept))
        first, end = decimator.span(part)
        yield part, first, end, decimator.weights(part)


@dataclass(frozen=True)
class FrictionState:
    """The state of the friction columns, taken from the preceding solution.

    The columns are linear only for a given state, so state and solution are iterated.

    Attributes
    ----------
    links
        (n, 10) inertial parameters for computing the load torque.
    load_limit
        (n,) bound of |τ_J| [N·m], so that no law is extrapolated.
    width, share
        (n,) of the hysteresis, zero where there is none.
    """

    links: FloatArray | None = None
    load_limit: FloatArray | None = None
    width: FloatArray | None = None
    share: FloatArray | None = None

    def load(self, model: RobotModel, observation: Observation, part: slice = slice(None)) -> FloatArray | None:
        """Return the bounded load torque of (a part of) an observation, (n, samples) [N·m]; None without `links`."""
        if self.links is None:
            return None
        load = load_torque(model, observation, self.links, part)
        limit = np.inf if self.load_limit is None else self.load_limit[:, None]
        return np.clip(load, -limit, limit)


def columns_at_kept_samples(
    model: RobotModel, observation: Observation, terms: Sequence[Term], state: FrictionState
) -> FloatArray:
    """Return the columns of terms for one observation at its kept samples, (columns, kept)."""
    if not terms:
        return np.zeros((0, len(observation.kept)))
    slips = slips_of(observation, terms, state, model.joint_names)
    return np.concatenate(
        [
            columns_at_full_rate(model, observation, slice(first, end), terms, state, slips) @ weights
            for _, first, end, weights in spans(observation)
        ],
        axis=1,
    )


def columns_at_full_rate(
    model: RobotModel,
    observation: Observation,
    part: slice,
    terms: Sequence[Term],
    state: FrictionState,
    slips: dict[float, FloatArray],
) -> FloatArray:
    """Return the columns of terms for consecutive samples, (columns, samples); slips: see `slips_of`."""
    q, dtheta = (np.ascontiguousarray(values[part].T) for values in (observation.q, observation.dtheta))
    direction, tree = np.sign(dtheta), model.chain.tree
    load = state.load(model, observation, part) if any('load' in term.needs for term in terms) else None
    rows = np.empty((sum(len(term.names) for term in terms), q.shape[1]))
    first = 0
    for term in terms:
        columns = slice(first, first + len(term.names))
        first = columns.stop
        if term.joint not in model.joint_names:
            position = tree.positions(observation.q[part])[:, tree.names.index(term.joint)]
            rows[columns] = term.of(Motion(position, np.zeros_like(position)))
            continue
        j = model.joint_names.index(term.joint)
        sign = direction[j]
        directed = any(name in DIRECTED for column in term.columns for name, _ in column.law)
        if directed and state.share is not None and state.width is not None and state.share[j] > 0:
            share = float(state.share[j])
            sign = sign * (1 - share) + share * slips[float(state.width[j])][part, j]
        motion = Motion(
            q[j],
            dtheta[j],
            sign,
            None if load is None else load[j],
            None if observation.temperature is None else observation.temperature[part, j],
            {} if term.width is None else {term.width: slips[term.width][part, j]},
        )
        rows[columns] = term.of(motion)
    return rows


def slips_of(
    observation: Observation, terms: Sequence[Term], state: FrictionState, joint_names: Sequence[str]
) -> dict[float, FloatArray]:
    """Return {width [rad]: H (samples, n)} for all widths that terms, or the state of their joints, ask for."""
    widths = {term.width for term in terms if term.width is not None}
    if state.width is not None and state.share is not None:
        joints = {joint_names.index(term.joint) for term in terms if term.joint in joint_names}
        widths |= {float(state.width[j]) for j in joints if state.share[j] > 0}
    return {width: slip_of(observation.theta, width) for width in sorted(widths)}
