"""The linear system Y = W χ + ρ of a robot, served block by block so that memory does not grow with the recording."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.terms import Term
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel
from joint_dynamics.robot.regressor import regressor_rows

BLOCK = 2048
CACHE = 64 * 2**20
"""Blocks are kept for the next pass up to this size [bytes]; beyond it they are built again."""


@dataclass(frozen=True)
class Block:
    """Some samples of one observation: rows (joints, parameters, samples), tau and dq (joints, samples), index of the observation."""

    rows: NDArray
    tau: NDArray
    dq: NDArray
    observation: int


class Problem:
    """Y = W χ + ρ over several observations of one robot, with the columns of its base parameters and of additional terms.

    Attributes
    ----------
    names: of the b columns; base: the robot's BaseParameters, whose columns come first; joints_of: (n, b) bool, which
    columns joint j's equation can hold.

    """

    def __init__(self, model: RobotModel, observations: Sequence[Observation], terms: Sequence[Term] = ()):
        self.model = model
        self.observations = list(observations)
        self.terms = list(terms)
        for term in self.terms:
            if term.joint not in model.joint_names:
                raise JointDynamicsError(f'terms: expected a joint of {", ".join(model.joint_names)}, found {term.joint!r}')
        self.base = model.base_parameters()
        self.names = self.base.names + [name for term in self.terms for name in term.names]
        self._cache: list[Block] | None = []
        self._cached = 0

    @property
    def columns(self) -> int:
        """Number of parameters b."""
        return len(self.names)

    @property
    def optional(self) -> NDArray:
        """Which columns belong to additional terms, (b,) bool."""
        return np.arange(self.columns) >= self.base.count

    def on(self, observations: Sequence[Observation]) -> Problem:
        """Return the same columns on other observations."""
        return Problem(self.model, observations, self.terms)

    def _rows(self, observation: Observation, part: slice) -> NDArray:
        """Regressor of consecutive samples at the full rate, (joints, columns, samples)."""
        q, dq, ddq, dtheta, ddtheta = (np.ascontiguousarray(array[part].T) for array in (
            observation.q, observation.dq, observation.ddq, observation.dtheta, observation.ddtheta))
        full = regressor_rows(self.model.chain, q, dq, ddq)
        if observation.dtheta is not observation.dq:
            for j in range(self.model.n):
                first = PER_JOINT * j + len(INERTIAL)
                full[j, first:first + 3] = ddtheta[j], dtheta[j], np.sign(dtheta[j])
        if self.model.coupling is not None:
            full = np.concatenate([full, self.model.coupling.regressor_rows(dtheta, ddtheta)], axis=1)
        rows = full[:, self.base.independent]
        if not self.terms:
            return rows
        extra = np.zeros((self.model.n, self.columns - rows.shape[1], q.shape[1]))
        column = 0
        for term in self.terms:
            j = self.model.joint_names.index(term.joint)
            extra[j, column:column + len(term.names)] = term.values(q[j], dtheta[j])
            column += len(term.names)
        return np.concatenate([rows, extra], axis=1)

    def _build(self) -> Iterator[Block]:
        for index, observation in enumerate(self.observations):
            decimator = observation.decimator
            if decimator is None:
                for start in range(0, len(observation.q), BLOCK):
                    part = slice(start, min(start + BLOCK, len(observation.q)))
                    yield Block(self._rows(observation, part), observation.tau[part].T, observation.dq[part].T, index)
                continue
            kept = len(decimator.kept)
            step = int(decimator.kept[1] - decimator.kept[0]) if kept > 1 else 1
            # blocks overlap by the kernel's reach: long enough that this costs little, short enough to stay small
            chunk = max(8, max(BLOCK, 6 * decimator.half) // step)
            for start in range(0, kept, chunk):
                part = slice(start, min(start + chunk, kept))
                first, end = decimator.span(part)
                weights = decimator.weights(part)
                rows = np.zeros((self.model.n, self.columns, weights.shape[1]))
                for begin in range(first, end, BLOCK):
                    piece = slice(begin, min(begin + BLOCK, end))
                    rows += self._rows(observation, piece) @ weights[begin - first:piece.stop - first]
                yield Block(rows, observation.tau[first:end].T @ weights, observation.dq[decimator.kept[part]].T, index)

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in order, from memory on later passes where they fit."""
        if self._cache:
            yield from self._cache
            return
        fresh: list[Block] | None = []
        size = 0
        for block in self._build():
            if fresh is not None:
                size += block.rows.nbytes
                fresh = None if size > CACHE else [*fresh, block]
            yield block
        self._cache = fresh

    def raw_blocks(self) -> Iterator[Block]:
        """Yield blocks at the full rate, torque and regressor without the parallel filter."""
        for index, observation in enumerate(self.observations):
            for start in range(0, len(observation.q), BLOCK):
                part = slice(start, min(start + BLOCK, len(observation.q)))
                yield Block(self._rows(observation, part), observation.tau[part].T, observation.dq[part].T, index)
