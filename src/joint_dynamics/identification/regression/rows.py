"""Rows of the linear system of a robot, and the torque of its links that columns of friction ask for.

The regressor of all standard parameters is computed once, and asked for by columns and by load torque. The load torque
is that of the full standard set that a solution of the base parameters stands for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.robot import BaseParameters, RobotModel, StandardParameters
from joint_dynamics.robot.regressor import PackedRows, RowPacker
from joint_dynamics.robot.standard_parameters import coupled_columns

BLOCK = 2048
"""Samples at a time."""
ROWS_KEPT = 64 * 2**20
"""Size up to which, in all, the rows of observations are kept [bytes]; some 45 times that of their positions."""
INERTIAL_SPREAD = 0.3
"""How far a URDF's inertials may be off, as a share of themselves.

What weighs one parameter of a base combination against another.
"""
TORQUE_KEPT = 16 * 2**20
"""Size of an observation's positions up to which its load torque is kept [bytes]."""
UNKNOWN = 100.0
"""Spread of a rotor inertia, of which a URDF says nothing, in units of the largest spread of a link's inertia."""


@dataclass(frozen=True)
class Block:
    """Some samples of one observation.

    rows (joints, parameters, samples); tau and dq (joints, samples), index of the
    observation; kept: which of its kept samples; resting (joints, samples) bool and scale (joints, samples): see
    `rest`, None where rest is not looked at.
    """

    rows: FloatArray
    tau: FloatArray
    dq: FloatArray
    observation: int
    kept: slice = field(default_factory=lambda: slice(None))
    resting: BoolArray | None = None
    scale: FloatArray | None = None


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
        """Number of rows that are not zero."""
        return int(self._packer.own.sum())

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
                part.start + np.searchsorted(every, self._wanted[own])
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
        self._room = ROWS_KEPT

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


def standard_set(base: BaseParameters, chi: FloatArray, prior: FloatArray | None) -> FloatArray:
    """Return a full standard set (p,) with base values chi (b,), as near as possible to `prior` (p,), the URDF's.

    Without one, all else zero.

    Near is meant in what a URDF may be off by: where motion shows only the sum of a link's inertia and its rotor's
    (ZZR), the link's stays with the URDF's and the rotor, of which that says nothing, takes the rest, but never less
    than nothing.
    """
    if prior is not None and np.any(prior):
        spread = prior_spread(base, prior)
        rotors = np.array([name.startswith('Ia_') for name in base.standard_names]) & ~_alone(base)
        while True:
            lifted = base.lift(chi, prior, spread)
            below = rotors & (lifted < 0)
            if not below.any():
                return lifted
            prior, spread = np.where(below, 0.0, prior), np.where(below, 0.0, spread)
    if prior is not None:
        return base.lift(chi, prior)
    standard = np.zeros(len(base.standard_names))
    standard[base.independent] = chi
    return standard


def _alone(base: BaseParameters) -> BoolArray:
    """Which standard parameters (p,) are a base parameter by themselves: no prior can change them."""
    alone = np.zeros(len(base.standard_names), dtype=bool)
    alone[base.independent[np.count_nonzero(base.matrix, axis=1) == 1]] = True
    return alone


def prior_spread(base: BaseParameters, prior: FloatArray) -> FloatArray:
    """Return the standard deviation of each parameter of the prior, (p,) [SI].

    For a link it follows from `INERTIAL_SPREAD` of its mass, radius of gyration and inertia.
    """
    n = sum(name.startswith('M_') for name in base.standard_names)
    links = StandardParameters(prior, n).links
    mass, inertia = np.maximum(links[:, 9], 1e-3), np.maximum(0.5 * np.abs(links[:, [0, 3, 5]]).sum(axis=1), 1e-6)
    standard = StandardParameters(np.ones(len(prior)), n)
    standard.links[:, :6], standard.links[:, 6:9], standard.links[:, 9] = (
        inertia[:, None],
        np.sqrt(mass * inertia)[:, None],
        mass,
    )
    standard.links[:] *= INERTIAL_SPREAD
    standard.rotor_inertia[:] = UNKNOWN * INERTIAL_SPREAD * inertia.max()
    return standard.values


class LoadTorques:
    """Load torques of whole observations, kept until others are asked for: most are asked for several times."""

    def __init__(self, model: RobotModel, rows: StandardRows):
        self._model, self._rows = model, rows
        self._kept: dict[int, tuple[Observation, bytes, FloatArray]] = {}

    def of(self, observation: Observation, links: FloatArray, part: slice = slice(None)) -> FloatArray:
        """Return `load_torque` of (a part of) an observation; of long ones nothing is kept.

        Parameters
        ----------
        links
            (n, 10) inertial parameters.
        """
        if observation.q.nbytes > TORQUE_KEPT:
            return load_torque(self._model, observation, links, part)
        known, key, torque = self._kept.get(id(observation), (None, b'', np.zeros(0)))
        if known is not observation or key != links.tobytes():
            pieces = self._rows.of(observation)
            torque = (
                load_torque(self._model, observation, links) if pieces is None else self._rows.torque(pieces, links)
            )
            self._kept[id(observation)] = observation, links.tobytes(), torque
        return torque[:, part]


def load_torque(
    model: RobotModel, observation: Observation, links: FloatArray, part: slice = slice(None)
) -> FloatArray:
    """Return the torque τ_J of the links alone, (joints, samples) [N·m], of (a part of) an observation.

    Parameters
    ----------
    links
        (n, 10) inertial parameters.
    """
    return model.chain.torque(observation.q[part], observation.dq[part], observation.ddq[part], links).T
