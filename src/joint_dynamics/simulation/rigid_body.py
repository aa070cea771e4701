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

"""Link side of the plant: M(q) q̈ + C q̇ + g = τ, solved for q̈ by composite inertias in world coordinates.

Every spatial quantity is expressed in the base frame and about its origin, angular part first. Then no link-to-link
transforms are needed: spatial inertias (mass, first moment h, inertia I about the origin) of a subtree simply add, and
M_ij = S_iᵀ Iᶜ_j S_j for j behind i (Featherstone's composite-rigid-body algorithm). The rest of the package computes
rigid bodies with pinocchio or with its own regressor; of these only the tree's constants and vectors are used here.

The inertials are the URDF's with a spread, and a payload on the last link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import inlined
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.robot.newton_euler import Vector, add, cross, dot, keep, kept, scaled, turn_back, vector


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


@inlined
def _row_times(row: Vector, matrix: FloatArray) -> Vector:
    """Return `row` times `matrix` (3, 3)."""
    return turn_back((vector(matrix[0]), vector(matrix[1]), vector(matrix[2])), row)


@inlined
def _place(links: Any, q: FloatArray, work: Any) -> None:
    """Fill the pose of every joint frame and every joint axis S_k = [u; o × u] (or [0; u] for a sliding joint)."""
    for k in range(q.size):
        parent = links.parent[k]
        u, t = kept(links.axis[k], 0), kept(links.translation[k], 0)
        sliding = links.prismatic[k]
        if sliding:
            s, c, way = 0.0, 1.0, q[k]
        else:
            s, c, way = np.sin(q[k]), np.cos(q[k]), 0.0
        for i in range(3):
            outer = work.rotation[parent, i, 0], work.rotation[parent, i, 1], work.rotation[parent, i, 2]
            # A row of the rotation before the joint's own turns about u (Rodrigues), and ends at u in the base frame.
            row = _row_times(outer, links.rotation[k])
            along = dot(row, u)
            turned = add(add(scaled(c, row), scaled((1.0 - c) * along, u)), scaled(s, cross(row, u)))
            work.rotation[k, i, 0], work.rotation[k, i, 1], work.rotation[k, i, 2] = turned
            work.origin[k, i] = work.origin[parent, i] + dot(outer, t) + way * along
            work.axis[k, 3 + i if sliding else i] = along
        if sliding:
            keep(work.axis[k], 0, (0.0, 0.0, 0.0))
        else:
            keep(work.axis[k], 3, cross(kept(work.origin[k], 0), kept(work.axis[k], 0)))


@inlined
def _weigh(links: Any, work: Any) -> None:
    """Fill mass, first moment and inertia (xx, xy, xz, yy, yz, zz) of every link about the base origin."""
    for k in range(links.mass.size):
        m = links.mass[k]
        x = work.rotation[k, 0, 0], work.rotation[k, 0, 1], work.rotation[k, 0, 2]
        y = work.rotation[k, 1, 0], work.rotation[k, 1, 1], work.rotation[k, 1, 2]
        z = work.rotation[k, 2, 0], work.rotation[k, 2, 1], work.rotation[k, 2, 2]
        inside = kept(links.com[k], 0)
        c = add(kept(work.origin[k], 0), (dot(x, inside), dot(y, inside), dot(z, inside)))
        h = scaled(m, c)
        work.mass[k] = m
        keep(work.moment[k], 0, h)
        tensor = links.inertia[k]
        xI, yI, zI = _row_times(x, tensor), _row_times(y, tensor), _row_times(z, tensor)
        work.inertia[k, 0] = dot(xI, x) + h[1] * c[1] + h[2] * c[2]
        work.inertia[k, 1] = dot(xI, y) - h[0] * c[1]
        work.inertia[k, 2] = dot(xI, z) - h[0] * c[2]
        work.inertia[k, 3] = dot(yI, y) + h[0] * c[0] + h[2] * c[2]
        work.inertia[k, 4] = dot(yI, z) - h[1] * c[2]
        work.inertia[k, 5] = dot(zI, z) + h[0] * c[0] + h[1] * c[1]


@inlined
def _momentum(work: Any, k: int, w: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Return I ω + h × v and m v − h × ω of the (composite) inertia k under the spatial velocity [ω; v]."""
    xx, xy, xz = kept(work.inertia[k], 0)
    yy, yz, zz = kept(work.inertia[k], 3)
    h = kept(work.moment[k], 0)
    turning = dot((xx, xy, xz), w), dot((xy, yy, yz), w), dot((xz, yz, zz), w)
    return add(turning, cross(h, v)), add(scaled(work.mass[k], v), cross(w, h))


@inlined
def mass_and_bias(links: Any, q: FloatArray, dq: FloatArray, work: Any) -> None:
    """Fill work.M with the mass matrix M(q) and work.bias with C(q, q̇) q̇ + g(q); tau = M q̈ + bias."""
    n = q.size
    _place(links, q, work)
    _weigh(links, work)
    # Where gravity pulls, the base falls upwards.
    keep(work.acceleration[n], 3, (-links.gravity[0], -links.gravity[1], -links.gravity[2]))
    for k in range(n):
        parent = links.parent[k]
        S, T = scaled(dq[k], kept(work.axis[k], 0)), scaled(dq[k], kept(work.axis[k], 3))
        w, v = kept(work.speed[parent], 0), kept(work.speed[parent], 3)
        # a += v × S q̇ with the speed before or after the joint: S × S = 0.
        b = add(kept(work.acceleration[parent], 0), cross(w, S))
        a = add(kept(work.acceleration[parent], 3), add(cross(w, T), cross(v, S)))
        w, v = add(w, S), add(v, T)
        keep(work.speed[k], 0, w)
        keep(work.speed[k], 3, v)
        keep(work.acceleration[k], 0, b)
        keep(work.acceleration[k], 3, a)
        # f = I a + v ×* I v
        turning, pushing = _momentum(work, k, b, a)
        spin, pulse = _momentum(work, k, w, v)
        keep(work.force[k], 0, add(turning, add(cross(w, spin), cross(v, pulse))))
        keep(work.force[k], 3, add(pushing, cross(w, pulse)))
    # Joints on different branches do not couple; the last factor of M may still stand there.
    work.M[:, :] = 0.0
    for k in range(n - 1, -1, -1):
        S, T = kept(work.axis[k], 0), kept(work.axis[k], 3)
        spin, pulse = _momentum(work, k, S, T)
        j = k
        while j >= 0:
            total = dot(kept(work.axis[j], 0), spin) + dot(kept(work.axis[j], 3), pulse)
            work.M[k, j] = total
            work.M[j, k] = total
            j = links.parent[j]
        work.bias[k] = dot(S, kept(work.force[k], 0)) + dot(T, kept(work.force[k], 3))
        parent = links.parent[k]
        if parent >= 0:
            work.mass[parent] += work.mass[k]
            for i in range(3):
                work.moment[parent, i] += work.moment[k, i]
            for i in range(6):
                work.inertia[parent, i] += work.inertia[k, i]
                work.force[parent, i] += work.force[k, i]


@inlined
def forward_dynamics(links: Any, q: FloatArray, dq: FloatArray, tau: FloatArray, ddq: FloatArray, work: Any) -> None:
    """Fill ddq (n,) with M(q)⁻¹ (tau − C q̇ − g), by M = L D Lᵀ (work.M then holds L and 1/D)."""
    n = q.size
    mass_and_bias(links, q, dq, work)
    M = work.M
    for i in range(n):
        for j in range(1, i):
            # L D here, L in the rows before.
            entry = M[i, j]
            for k in range(j):
                entry -= M[i, k] * M[j, k]
            M[i, j] = entry
        total, pivot = tau[i] - work.bias[i], M[i, i]
        for j in range(i):
            scaled = M[i, j] * M[j, j]
            pivot -= M[i, j] * scaled
            total -= scaled * ddq[j]
            M[i, j] = scaled
        M[i, i] = 1.0 / pivot
        ddq[i] = total
    for i in range(n - 1, -1, -1):
        total = ddq[i] * M[i, i]
        for j in range(i + 1, n):
            total -= M[j, i] * ddq[j]
        ddq[i] = total
