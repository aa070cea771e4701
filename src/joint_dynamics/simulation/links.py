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

"""The links of the plant as its kernels take them: a tree of one-axis joints, and scratch memory.

Their inertials are the URDF's with a spread, and a payload on the last link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel, StandardParameters


class Links(NamedTuple):
    """A tree of n one-axis joints with its inertials, joint frame k moving with link k.

    `parent` (n,) index, −1 for the base; `rotation` (n, 3, 3), `translation` (n, 3) [m] of frame k in its parent's at q
    = 0; `axis` (n, 3); `prismatic` (n,); `gravity` (3,) [m/s²]; `mass` (n,) [kg]; `com` (n, 3) [m]; `inertia` (n, 3, 3)
    about the centre of mass [kg·m²].
    """

    parent: IntArray
    rotation: FloatArray
    translation: FloatArray
    axis: FloatArray
    prismatic: BoolArray
    gravity: FloatArray
    mass: FloatArray
    com: FloatArray
    inertia: FloatArray


class Workspace(NamedTuple):
    """Scratch memory of the kernels, so that nothing is allocated per evaluation.

    Arrays are of n joints; poses, speeds and accelerations have one more row, that of the base: the last, to which the
    parent index −1 refers. `inertia` (n, 6): xx, xy, xz, yy, yz, zz.
    """

    rotation: FloatArray
    origin: FloatArray
    axis: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    force: FloatArray
    mass: FloatArray
    moment: FloatArray
    inertia: FloatArray
    M: FloatArray
    bias: FloatArray


def links_of(model: RobotModel) -> Links:
    """Return the tree of `model` with the inertials of its URDF; arrays are copies.

    Raises JointDynamicsError for a robot with mimic joints.
    """
    chain = model.chain
    if not chain.tree.plain:
        raise JointDynamicsError(
            'simulation: expected joints that move by themselves, found '
            f'{", ".join(chain.tree.dependent)}, which follow others: simulate its export to MJCF'
        )
    bodies = [model.pinocchio.inertias[k + 1] for k in range(model.n)]
    rotation, translation, axis = map(np.ascontiguousarray, (chain.rotation, chain.translation, chain.axis))
    mass, com, inertia = (np.array([getattr(body, name) for body in bodies]) for name in ('mass', 'lever', 'inertia'))
    parent, prismatic = np.array(chain.parent, dtype=np.int64), np.array(chain.prismatic, dtype=np.bool_)
    gravity = np.array(chain.gravity, dtype=float)
    return Links(parent, rotation, translation, axis, prismatic, gravity, mass, com, inertia)


def workspace(n: int) -> Workspace:
    """Return scratch memory for `n` joints."""
    rows = n + 1
    return Workspace(
        rotation=np.tile(np.eye(3), (rows, 1, 1)),
        origin=np.zeros((rows, 3)),
        axis=np.zeros((n, 6)),
        speed=np.zeros((rows, 6)),
        acceleration=np.zeros((rows, 6)),
        force=np.zeros((n, 6)),
        mass=np.zeros(n),
        moment=np.zeros((n, 3)),
        inertia=np.zeros((n, 6)),
        M=np.zeros((n, n)),
        bias=np.zeros(n),
    )


@dataclass(frozen=True)
class Payload:
    """A body held by the last link.

    `mass` [kg], `com` (3,) [m] in the frame of the last joint, `inertia` (3, 3) about its com [kg·m²].
    """

    mass: float
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        com, inertia = np.asarray(self.com, dtype=float), np.asarray(self.inertia, dtype=float)
        if not (np.isfinite(self.mass) and self.mass >= 0.0):
            raise JointDynamicsError(f'payload: expected a mass >= 0 kg, found {self.mass}')
        if com.shape != (3,) or not np.isfinite(com).all():
            raise JointDynamicsError(f'payload: expected a centre of mass of 3 numbers [m], found {self.com}')
        if (
            inertia.shape != (3, 3)
            or not np.allclose(inertia, inertia.T)
            or not np.linalg.eigvalsh(inertia).min() >= -1e-12
        ):
            raise JointDynamicsError(f'payload: expected a symmetric inertia (3, 3) >= 0 [kg·m²], found {self.inertia}')
        object.__setattr__(self, 'com', com)
        object.__setattr__(self, 'inertia', inertia)


def _steiner(mass: float, lever: FloatArray) -> FloatArray:
    return mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))


def spread(links: Links, amount: float, seed: int) -> Links:
    """Return `links` with masses and inertias off by up to ±`amount` (relative), centres of mass by 0.1 m times it."""
    rng = np.random.default_rng([seed, 0x1E])
    n = links.mass.size
    factor = 1.0 + amount * rng.uniform(-1.0, 1.0, n)
    inertia = links.inertia * (factor * (1.0 + amount * rng.uniform(-1.0, 1.0, n)))[:, None, None]
    return links._replace(
        mass=links.mass * factor, com=links.com + 0.1 * amount * rng.uniform(-1.0, 1.0, (n, 3)), inertia=inertia
    )


def with_payload(links: Links, payload: Payload | None) -> Links:
    """Return `links` with `payload` fixed to the last one."""
    mass, com, inertia = links.mass.copy(), links.com.copy(), links.inertia.copy()
    if payload is not None and payload.mass > 0.0:
        total = mass[-1] + payload.mass
        center = (mass[-1] * com[-1] + payload.mass * np.asarray(payload.com)) / total
        inertia[-1] = (
            inertia[-1]
            + _steiner(mass[-1], com[-1] - center)
            + np.asarray(payload.inertia)
            + _steiner(payload.mass, np.asarray(payload.com) - center)
        )
        mass[-1], com[-1] = total, center
    return links._replace(mass=mass, com=com, inertia=inertia)


def standard_parameters(
    links: Links, rotor_inertia: FloatArray, viscous: FloatArray, coulomb: FloatArray
) -> FloatArray:
    """Return the (14 n,) standard parameters in the order of `RobotModel.parameter_names`; offsets are zero."""
    standard = StandardParameters.zeros(links.mass.size)
    for k in range(links.mass.size):
        mass, com = links.mass[k], links.com[k]
        about = links.inertia[k] + _steiner(mass, com)
        standard.links[k] = *about[np.triu_indices(3)], *(mass * com), mass
    standard.rotor_inertia[:], standard.viscous[:], standard.coulomb[:] = rotor_inertia, viscous, coulomb
    return standard.values
