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

"""Rows of the linear system of a robot, and the torque of its links that columns of friction ask for.

The load torque is that of the full standard set that a solution of the base parameters stands for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.robot import BaseParameters, RobotModel, StandardParameters
from joint_dynamics.robot.regressor import PackedRows, RowPacker
from joint_dynamics.robot.standard_parameters import coupled_columns

BLOCK = 2048
"""Samples at a time."""
INERTIAL_SPREAD = 0.3
"""How far a URDF's inertials may be off, as a share of themselves.

What weighs one parameter of a base combination against another.
"""
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

    def of_joints(self, measured: BoolArray) -> Block:
        """Return the block without the rows of joints whose torque was not measured: zero, and not counted."""
        if measured.all():
            return self
        scale = np.ones_like(self.tau) if self.scale is None else self.scale
        rows, tau, scale = self.rows * measured[:, None, None], self.tau * measured[:, None], scale * measured[:, None]
        return replace(self, rows=rows, tau=tau, scale=scale)


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


def standard_set(base: BaseParameters, chi: FloatArray, prior: FloatArray | None) -> FloatArray:
    """Return a full standard set (p,) with base values chi (b,), as near as possible to `prior` (p,), the URDF's.

    Without one, all else zero.

    Distances are relative to the errors of a URDF. If motion shows only the sum of the inertias of link and rotor
    (ZZR), the link keeps the URDF's, and the rotor takes the rest, at least 0.
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
