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

"""The standard parameters of an arm, by name: ten of every link, four of every drive, three of every coupled motor.

Per link k = 1…N, first those of the n independent joints, then those of dependent joints: inertia XX XY XZ YY YZ ZZ
about the origin of joint frame k [kg·m²], first moments MX MY MZ [kg·m], mass M [kg], all in frame k; then rotor
inertia Ia [kg·m²] reflected to the joint, viscous Fv [N·m·s/rad] and Coulomb Fc [N·m] friction, and an offset off
[N·m]. For a prismatic joint the latter are in kg, N·s/m, N and N; for a dependent joint they have no effect, because
they are included in those of the joints that it follows. After the links, per coupled motor m: Ia_m, Fv_m, Fs_m (see
`DriveCoupling`). Only this module knows the positions in the vector.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

INERTIAL = ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'MX', 'MY', 'MZ', 'M')
JOINT = ('Ia', 'Fv', 'Fc', 'off')
PER_JOINT = len(INERTIAL) + len(JOINT)
_KINDS = (*INERTIAL, *JOINT)
# Where pinocchio's dynamic parameters (mass, first moments, xx xy yy xz yz zz) stand among ours, and ours among
# pinocchio's.
_FROM_PINOCCHIO = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
_TO_PINOCCHIO = [9, 6, 7, 8, 0, 1, 3, 2, 4, 5]


def parameter_names(links: int) -> list[str]:
    """Return the names of the standard parameters of N links, in the order of the regressor's columns."""
    return [f'{name}_{k}' for k in range(1, links + 1) for name in _KINDS]


def column(kind: str, joint: int) -> int:
    """Return the index of one parameter (`XX` … `M`, `Ia`, `Fv`, `Fc`, `off`) of joint `joint` (from 0)."""
    return PER_JOINT * joint + _KINDS.index(kind)


def link_columns(link: int) -> slice:
    """Return the columns of the ten inertial parameters of link `link` (from 0)."""
    return slice(PER_JOINT * link, PER_JOINT * link + len(INERTIAL))


def drive_columns(joint: int) -> slice:
    """Return the columns of Ia, Fv, Fc, off of joint `joint` (from 0)."""
    return slice(PER_JOINT * joint + len(INERTIAL), PER_JOINT * (joint + 1))


def coupled_columns(links: int) -> slice:
    """Return the columns of the parameters of coupled motors, after those of N links."""
    return slice(PER_JOINT * links, None)


def body_of(inertia: pinocchio.Inertia) -> FloatArray:
    """Return a pinocchio inertia as ten inertial parameters, in the order of `INERTIAL`."""
    return np.asarray(inertia.toDynamicParameters())[_FROM_PINOCCHIO]


def inertia_of(body: ArrayLike) -> pinocchio.Inertia:
    """Return ten inertial parameters as a pinocchio inertia.

    A tensor that is not positive, as identified sets can have, is accepted; a first moment without a mass is not (see
    `RigidBody`).
    """
    return pinocchio.Inertia.FromDynamicParameters(np.asarray(body, dtype=float)[_TO_PINOCCHIO])


def tensor_of(body: ArrayLike) -> FloatArray:
    """Return the inertia tensor (3, 3) [kg·m²] about the frame's origin of ten inertial parameters."""
    xx, xy, xz, yy, yz, zz = np.asarray(body, dtype=float)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def point_mass(mass: float, position: ArrayLike) -> FloatArray:
    """Return the ten inertial parameters of a point mass [kg] at `position` (3,) [m]."""
    x, y, z = np.asarray(position, dtype=float)
    return mass * np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y, x, y, z, 1.0])


class StandardParameters:
    """A standard parameter vector with views by meaning; writing into a view changes `values`.

    Parameters
    ----------
    values
        (14 N + c,), not copied.
    n
        number of joints.
    links
        N, number of links; None: n.

    Attributes
    ----------
    values
        (14 N + c,).
    links
        (N, 10) view, columns `INERTIAL`.
    rotor_inertia, viscous, coulomb, offset, coupled
        (n,) views, of `coupled` (c,).

    Raises
    ------
    JointDynamicsError
        Where there are fewer than 14 N values.

    """

    def __init__(self, values: ArrayLike, n: int, links: int | None = None):
        self.values: FloatArray = np.asarray(values, dtype=float)
        self.n = n
        links = n if links is None else links
        if self.values.ndim != 1 or len(self.values) < PER_JOINT * links:
            raise JointDynamicsError(
                f'standard parameters: expected {PER_JOINT * links} numbers or more for {links} links, found shape'
                f' {self.values.shape}'
            )
        per_link = self.values[: PER_JOINT * links].reshape(links, PER_JOINT)
        self.links = per_link[:, : len(INERTIAL)]
        self.rotor_inertia, self.viscous, self.coulomb, self.offset = per_link[:n, len(INERTIAL) :].T
        self.coupled = self.values[coupled_columns(links)]

    @classmethod
    def zeros(cls, n: int, coupled: int = 0, links: int | None = None) -> StandardParameters:
        """Return parameters that are all zero; coupled: number c of parameters of coupled motors."""
        return cls(np.zeros(PER_JOINT * (n if links is None else links) + coupled), n, links)

    def inertias(self) -> list[pinocchio.Inertia]:
        """Return the links as pinocchio inertias, see `inertia_of`."""
        return [inertia_of(body) for body in self.links]

    def copy(self) -> StandardParameters:
        """Return an independent copy."""
        return StandardParameters(self.values.copy(), self.n, len(self.links))

    def with_payload(self, body: ArrayLike) -> StandardParameters:
        """Return a copy with ten inertial parameters, in the frame of the last joint, added to the last link."""
        loaded = self.copy()
        loaded.links[self.n - 1] += np.asarray(body, dtype=float)
        return loaded

    def links_only(self) -> StandardParameters:
        """Return a copy whose drives are zero: no rotors, friction, offsets, coupled motors."""
        links = StandardParameters.zeros(self.n, len(self.coupled), len(self.links))
        links.links[:] = self.links
        return links

    def link_document(self, link: int) -> dict[str, float]:
        """Return the inertial parameters of one link as {name: value}."""
        return {name: float(value) for name, value in zip(INERTIAL, self.links[link], strict=True)}

    def take_link(self, link: int, document: Mapping[str, float]) -> None:
        """Set the inertial parameters of one link from {name: value}; those not named become zero."""
        self.links[link] = [document.get(name, 0.0) for name in INERTIAL]
