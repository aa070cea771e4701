"""The linear system Y = W χ + ρ of a robot, served block by block so that memory does not grow with the recording."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from joint_dynamics.arm import Motion, Term, slip_of
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.preparation.rest import REST_SPEED, Rest, find_rest
from joint_dynamics.identification.regression.block import Block
from joint_dynamics.identification.regression.friction_state import FrictionState
from joint_dynamics.identification.regression.torque import LoadTorques
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.packed_rows import PackedRows, RowPacker
from joint_dynamics.robot.standard_parameters import coupled_columns

BLOCK = 2048
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
        self.loads = LoadTorques(model)

    @cached_property
    def _packer(self) -> RowPacker:
        coupling, independent = self.model.coupling, self.base.independent
        further = np.zeros((self.model.n, len(independent)), dtype=bool)
        if coupling is not None:
            behind = independent - coupled_columns(self.model.n).start
            for k in np.flatnonzero(behind >= 0):
                further[:, k] = coupling.matrix[coupling.motors[behind[k] // 3]] != 0
        return RowPacker(self.model.chain, independent, further)

    def rows(self, observation: Observation, part: slice) -> FloatArray:
        """Regressor of consecutive samples at the full rate, (joints, base parameters, samples)."""
        return self.packed_rows(observation, part).dense()

    def packed_rows(self, observation: Observation, part: slice) -> PackedRows:
        """Return the same without its zeros."""
        motion = (observation.q, observation.dq, observation.ddq, observation.dtheta, observation.ddtheta)
        q, dq, ddq, dtheta, ddtheta = (np.ascontiguousarray(array[part]) for array in motion)
        found = self._packer.rows(q, dq, ddq, dtheta, ddtheta)
        if self.model.coupling is not None:
            coupled = self.model.coupling.regressor_rows(dtheta.T, ddtheta.T)
            first = coupled_columns(self.model.n).start
            for j, (columns, packed) in enumerate(zip(found.columns, found.parts, strict=True)):
                parameters = self.base.independent[columns]
                for row in np.flatnonzero(parameters >= first):
                    found.values[packed.start + row] = coupled[j, parameters[row] - first]
        return found

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
    """Yield (kept samples, first, end, weights).

    The inputs first…end that some kept samples are sums of, in one matrix product.
    """
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


class Problem:
    """Y = W χ + ρ over several observations of one robot.

    With the columns of its base parameters and of additional terms.

    Attributes
    ----------
    names: of the b columns; base: the robot's BaseParameters, whose columns come first; terms: the additional ones;
    state: what friction columns take from the solution before; loads: LoadTorques of the observations. rest_speed:
    joints below it rest (see `rest`), 0: rest is not looked at.

    """

    def __init__(
        self,
        model: RobotModel,
        observations: Sequence[Observation],
        terms: Sequence[Term] = (),
        state: FrictionState | None = None,
        rest_speed: float = 0.0,
        rows: BaseRows | None = None,
    ):
        self.model = model
        self.terms = list(terms)
        for term in self.terms:
            if term.joint not in model.joint_names:
                raise JointDynamicsError(
                    f'terms: expected a joint of {", ".join(model.joint_names)}, found {term.joint!r}'
                )
        self.state = state or FrictionState()
        self.base_rows = rows or BaseRows(model, observations)
        self.observations = self.base_rows.observations
        self.loads = self.base_rows.loads
        self.base = self.base_rows.base
        self.names = self.base.names + [name for term in self.terms for name in term.names]
        self.rest_speed = rest_speed
        self._extra: dict[int, FloatArray] = {}
        self._rest: dict[int, Rest] = {}
        self._torque: dict[int, FloatArray] = {}

    @property
    def still_joints(self) -> list[str]:
        """Joints that move in no recording: below `REST_SPEED` at every sample."""
        fastest = np.max([np.abs(observation.dtheta).max(axis=0) for observation in self.observations], axis=0)
        return [name for name, speed in zip(self.model.joint_names, fastest, strict=True) if speed < REST_SPEED]

    @property
    def columns(self) -> int:
        """Number of parameters b."""
        return len(self.names)

    @property
    def samples(self) -> list[int]:
        """Kept samples of every observation."""
        return [len(observation.kept) for observation in self.observations]

    @property
    def optional(self) -> FloatArray:
        """How far each column is held back, (b,): 0 for the base parameters, the terms' `ridge`."""
        return np.concatenate(
            [np.zeros(self.base.count), *(np.full(len(term.names), term.ridge) for term in self.terms)]
        )

    @property
    def selected(self) -> BoolArray:
        """Which columns were chosen by held-out data, (b,) bool: they do not count when the excitation is judged."""
        return np.concatenate(
            [np.zeros(self.base.count, dtype=bool), *(np.full(len(term.names), term.selected) for term in self.terms)]
        )

    @property
    def joints_of_extra(self) -> list[int]:
        """Joint index of every additional column."""
        return [self.model.joint_names.index(term.joint) for term in self.terms for _ in term.names]

    def on(self, observations: Sequence[Observation]) -> Problem:
        """Return the same columns on other observations."""
        return Problem(self.model, observations, self.terms, self.state, self.rest_speed)

    def with_terms(self, terms: Sequence[Term], state: FrictionState | None = None) -> Problem:
        """Return the same observations with other terms or another state; the base columns are shared."""
        other = Problem(self.model, self.observations, terms, state or self.state, self.rest_speed, self.base_rows)
        other._rest, other._torque = self._rest, self._torque
        return other

    def with_columns(self, terms: Sequence[Term], columns: dict[str, FloatArray]) -> Problem:
        """Return the same problem with terms of which only the named columns differ.

        These are given at the kept samples, (K,) end to end.
        """
        other = self.with_terms(terms)
        first = 0
        for index, observation in enumerate(self.observations):
            kept = slice(first, first + len(observation.kept))
            first = kept.stop
            other._extra[index] = self.extra(index).copy()
            for name, values in columns.items():
                other._extra[index][self.names.index(name) - self.base.count] = values[kept]
        return other

    def with_torque(self, torque: Sequence[FloatArray]) -> Problem:
        """Return the same problem for other torques.

        One array (samples, joints) [N·m] per observation, at the full rate.
        """
        other = self.with_terms(self.terms)
        other._extra = self._extra
        other._torque = {
            index: (values if part.decimator is None else part.decimator.apply(values)).T
            for index, (part, values) in enumerate(zip(self.observations, torque, strict=True))
        }
        return other

    def rest(self, index: int) -> Rest:
        """Return where the joints of one observation rest."""
        if index not in self._rest:
            self._rest[index] = find_rest(self.observations[index], self.rest_speed)
        return self._rest[index]

    def extra_columns(self, observation: Observation, part: slice, slips: dict[float, FloatArray]) -> FloatArray:
        """Additional columns of consecutive samples at the full rate, (columns, samples); slips: see `slips`."""
        q, dtheta = observation.q[part].T, observation.dtheta[part].T
        load = self._load(observation, part)
        state, found = self.state, np.empty((self.columns - self.base.count, q.shape[1]))
        first = 0
        for term in self.terms:
            j = self.model.joint_names.index(term.joint)
            sign = None
            if state.share is not None and state.width is not None and state.share[j] > 0:
                sign = (
                    np.sign(dtheta[j]) * (1 - state.share[j]) + state.share[j] * slips[float(state.width[j])][part, j]
                )
            motion = Motion(
                q[j],
                dtheta[j],
                sign,
                None if load is None else load[j],
                None if observation.temperature is None else observation.temperature[part, j],
                {} if term.width is None else {term.width: slips[term.width][part, j]},
            )
            found[first : first + len(term.names)] = term.of(motion)
            first += len(term.names)
        return found

    def _load(self, observation: Observation, part: slice) -> FloatArray | None:
        if self.state.links is None or not any('load' in term.needs for term in self.terms):
            return None
        load = self.loads.of(observation, self.state.links, part)
        limit = self.state.load_limit
        return load if limit is None else np.clip(load, -limit[:, None], limit[:, None])

    def slips(self, observation: Observation) -> dict[float, FloatArray]:
        """Return {width: H (samples, n)} for all widths that terms or the state ask for."""
        widths = {term.width for term in self.terms if term.width is not None}
        if self.state.width is not None and self.state.share is not None:
            widths |= {float(width) for width in self.state.width[self.state.share > 0]}
        return {width: slip_of(observation.theta, width) for width in sorted(widths)}

    def extra(self, index: int) -> FloatArray:
        """Additional columns of one observation at its kept samples, (columns, kept)."""
        if index not in self._extra:
            observation = self.observations[index]
            slips = self.slips(observation)
            if observation.decimator is None:
                self._extra[index] = self.extra_columns(observation, slice(0, len(observation.q)), slips)
            else:
                self._extra[index] = np.concatenate(
                    [
                        self.extra_columns(observation, slice(first, end), slips) @ weights
                        for _, first, end, weights in spans(observation)
                    ],
                    axis=1,
                )
        return self._extra[index]

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in order: base columns, then those of the terms, in the rows of their joints."""
        where = self.joints_of_extra
        for block in self.base_rows.blocks():
            if where:
                n, b, samples = block.rows.shape
                rows = np.zeros((n, b + len(where), samples))
                rows[:, :b] = block.rows
                for column, (j, values) in enumerate(
                    zip(where, self.extra(block.observation)[:, block.kept], strict=True)
                ):
                    rows[j, b + column] = values
                block = replace(block, rows=rows)
            if self._torque:
                block = replace(block, tau=self._torque[block.observation][:, block.kept])
            if self.rest_speed > 0:
                rest = self.rest(block.observation)
                block = replace(block, resting=rest.resting[:, block.kept], scale=rest.scale[:, block.kept])
            yield block
