"""The regressor of the standard parameters at the full rate: computed once, asked for by columns and by load torque."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.regressor import PackedRows, RowPacker
from joint_dynamics.robot.standard_parameters import coupled_columns

BLOCK = 2048
"""Samples at a time."""
KEPT = 64 * 2**20
"""Size up to which, in all, the rows of observations are kept [bytes]; some 45 times that of their positions."""


class ModelRows:
    """Rows of some standard parameters of a robot.

    Parameters
    ----------
    wanted
        (b,) indices of the standard parameters that become columns 0 … b − 1; the same one may be there twice.
    """

    def __init__(self, model: RobotModel, wanted: IntArray):
        self._coupling, self._wanted = model.coupling, wanted
        self._first = coupled_columns(len(model.link_names)).start
        further = np.zeros((model.n, len(wanted)), dtype=bool)
        if self._coupling is not None:
            behind = wanted - self._first
            for k in np.flatnonzero(behind >= 0):
                further[:, k] = self._coupling.ratios[behind[k] // 3] != 0
        self._packer = RowPacker(model.chain, wanted, further)

    @property
    def count(self) -> int:
        """Number of rows that are not zero, and a spare one of each joint."""
        return int(self._packer.own.sum()) + len(self._packer.own)

    def of(self, observation: Observation, part: slice) -> PackedRows:
        """Return the rows of consecutive samples at the full rate."""
        motion = (observation.q, observation.dq, observation.ddq, observation.dtheta, observation.ddtheta)
        q, dq, ddq, dtheta, ddtheta = (np.ascontiguousarray(array[part]) for array in motion)
        packed_rows = self._packer.rows(q, dq, ddq, dtheta, ddtheta)
        if self._coupling is not None:
            coupled = self._coupling.regressor_rows(dtheta.T, ddtheta.T)
            for j, (columns, packed) in enumerate(zip(packed_rows.columns, packed_rows.parts, strict=True)):
                parameters = self._wanted[columns]
                for row in np.flatnonzero(parameters >= self._first):
                    packed_rows.values[packed.start + row] = coupled[j, parameters[row] - self._first]
        return packed_rows

    def among(self, standard: PackedRows) -> PackedRows:
        """Return these rows out of those of all standard parameters (`StandardRows`)."""
        columns = self._packer.columns
        places = np.concatenate(
            [
                np.append(part.start + np.searchsorted(every, self._wanted[own]), part.stop)
                for every, part, own in zip(standard.columns, standard.parts, columns, strict=True)
            ]
        )
        return PackedRows(standard.values[places], columns, len(self._wanted))


class StandardRows:
    """Rows of all standard parameters of whole observations, in pieces of `BLOCK` samples; kept while there is room."""

    def __init__(self, model: RobotModel):
        self._model = model
        self._rows: ModelRows | None = None
        self._kept: dict[int, tuple[Observation, list[PackedRows]]] = {}
        self._room = KEPT

    def of(self, observation: Observation) -> list[PackedRows] | None:
        """Return the pieces of an observation one after the other, None where there is no room for them."""
        known = self._kept.get(id(observation))
        if known is not None:
            return known[1]
        if self._rows is None:
            self._rows = ModelRows(self._model, np.arange(len(self._model.parameter_names)))
        rows, samples = self._rows, len(observation.q)
        size = 8 * rows.count * samples
        if size > self._room:
            return None
        self._room -= size
        pieces = [rows.of(observation, slice(start, start + BLOCK)) for start in range(0, samples, BLOCK)]
        self._kept[id(observation)] = observation, pieces
        return pieces

    def torque(self, pieces: list[PackedRows], links: FloatArray) -> FloatArray:
        """Return the torque of the links alone, (joints, samples) [N·m]; links: (n, 10) inertial parameters."""
        standard = self._model.standard()
        standard.links[:] = links
        parameters = standard.values
        return np.concatenate(
            [
                [parameters[own] @ piece.values[part] for own, part in zip(piece.columns, piece.parts, strict=True)]
                for piece in pieces
            ],
            axis=1,
        )
