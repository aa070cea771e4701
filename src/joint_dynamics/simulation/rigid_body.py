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
rigid bodies with pinocchio or with its own regressor; of these only the tree's constants are used here.

Intermediate vectors are tuples of three numbers, which the compiler keeps in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined

Vector = tuple[float, float, float]


@inlined
def _at(array: FloatArray, k: int, first: int) -> Vector:
    """Return the three numbers of row k from column `first` on."""
    return array[k, first], array[k, first + 1], array[k, first + 2]


@inlined
def _put(array: FloatArray, k: int, first: int, v: Vector) -> None:
    array[k, first], array[k, first + 1], array[k, first + 2] = v


@inlined
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def _sum(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def _difference(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def _times(a: Vector, factor: float) -> Vector:
    return a[0] * factor, a[1] * factor, a[2] * factor


@inlined
def _row_times(row: Vector, matrix: FloatArray, k: int) -> Vector:
    """Return `row` times the matrix k of `matrix` (n, 3, 3)."""
    return (
        row[0] * matrix[k, 0, 0] + row[1] * matrix[k, 1, 0] + row[2] * matrix[k, 2, 0],
        row[0] * matrix[k, 0, 1] + row[1] * matrix[k, 1, 1] + row[2] * matrix[k, 2, 1],
        row[0] * matrix[k, 0, 2] + row[1] * matrix[k, 1, 2] + row[2] * matrix[k, 2, 2],
    )


@inlined
def _place(links: Any, q: FloatArray, work: Any) -> None:
    """Fill the pose of every joint frame and every joint axis S_k = [u; o × u] (or [0; u] for a sliding joint)."""
    for k in range(q.size):
        parent = links.parent[k]
        u, t = _at(links.axis, k, 0), _at(links.translation, k, 0)
        sliding = links.prismatic[k]
        if sliding:
            s, c, way = 0.0, 1.0, q[k]
        else:
            s, c, way = np.sin(q[k]), np.cos(q[k]), 0.0
        for i in range(3):
            outer = work.rotation[parent, i, 0], work.rotation[parent, i, 1], work.rotation[parent, i, 2]
            # A row of the rotation before the joint's own turns about u (Rodrigues), and ends at u in the base frame.
            row = _row_times(outer, links.rotation, k)
            along = _dot(row, u)
            turned = _sum(_sum(_times(row, c), _times(u, (1.0 - c) * along)), _times(_cross(row, u), s))
            work.rotation[k, i, 0], work.rotation[k, i, 1], work.rotation[k, i, 2] = turned
            work.origin[k, i] = work.origin[parent, i] + _dot(outer, t) + way * along
            work.axis[k, 3 + i if sliding else i] = along
        if sliding:
            _put(work.axis, k, 0, (0.0, 0.0, 0.0))
        else:
            _put(work.axis, k, 3, _cross(_at(work.origin, k, 0), _at(work.axis, k, 0)))


@inlined
def _weigh(links: Any, work: Any) -> None:
    """Fill mass, first moment and inertia (xx, xy, xz, yy, yz, zz) of every link about the base origin."""
    for k in range(links.mass.size):
        m = links.mass[k]
        x = work.rotation[k, 0, 0], work.rotation[k, 0, 1], work.rotation[k, 0, 2]
        y = work.rotation[k, 1, 0], work.rotation[k, 1, 1], work.rotation[k, 1, 2]
        z = work.rotation[k, 2, 0], work.rotation[k, 2, 1], work.rotation[k, 2, 2]
        inside = _at(links.com, k, 0)
        c = _sum(_at(work.origin, k, 0), (_dot(x, inside), _dot(y, inside), _dot(z, inside)))
        h = _times(c, m)
        work.mass[k] = m
        _put(work.moment, k, 0, h)
        xI, yI, zI = _row_times(x, links.inertia, k), _row_times(y, links.inertia, k), _row_times(z, links.inertia, k)
        work.inertia[k, 0] = _dot(xI, x) + h[1] * c[1] + h[2] * c[2]
        work.inertia[k, 1] = _dot(xI, y) - h[0] * c[1]
        work.inertia[k, 2] = _dot(xI, z) - h[0] * c[2]
        work.inertia[k, 3] = _dot(yI, y) + h[0] * c[0] + h[2] * c[2]
        work.inertia[k, 4] = _dot(yI, z) - h[1] * c[2]
        work.inertia[k, 5] = _dot(zI, z) + h[0] * c[0] + h[1] * c[1]


@inlined
def _momentum(work: Any, k: int, w: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Return I ω + h × v and m v − h × ω of the (composite) inertia k under the spatial velocity [ω; v]."""
    xx, xy, xz = _at(work.inertia, k, 0)
    yy, yz, zz = _at(work.inertia, k, 3)
    h = _at(work.moment, k, 0)
    turning = _dot((xx, xy, xz), w), _dot((xy, yy, yz), w), _dot((xz, yz, zz), w)
    return _sum(turning, _cross(h, v)), _difference(_times(v, work.mass[k]), _cross(h, w))


@inlined
def mass_and_bias(links: Any, q: FloatArray, dq: FloatArray, work: Any) -> None:
    """Fill work.M with the mass matrix M(q) and work.bias with C(q, q̇) q̇ + g(q); tau = M q̈ + bias."""
    n = q.size
    _place(links, q, work)
    _weigh(links, work)
    # Where gravity pulls, the base falls upwards.
    _put(work.acceleration, n, 3, (-links.gravity[0], -links.gravity[1], -links.gravity[2]))
    for k in range(n):
        parent = links.parent[k]
        S, T = _times(_at(work.axis, k, 0), dq[k]), _times(_at(work.axis, k, 3), dq[k])
        w, v = _at(work.speed, parent, 0), _at(work.speed, parent, 3)
        # a += v × S q̇ with the speed before or after the joint: S × S = 0.
        b = _sum(_at(work.acceleration, parent, 0), _cross(w, S))
        a = _sum(_at(work.acceleration, parent, 3), _sum(_cross(w, T), _cross(v, S)))
        w, v = _sum(w, S), _sum(v, T)
        _put(work.speed, k, 0, w)
        _put(work.speed, k, 3, v)
        _put(work.acceleration, k, 0, b)
        _put(work.acceleration, k, 3, a)
        # f = I a + v ×* I v
        turning, pushing = _momentum(work, k, b, a)
        spin, pulse = _momentum(work, k, w, v)
        _put(work.force, k, 0, _sum(turning, _sum(_cross(w, spin), _cross(v, pulse))))
        _put(work.force, k, 3, _sum(pushing, _cross(w, pulse)))
    # Joints on different branches do not couple; the last factor of M may still stand there.
    work.M[:, :] = 0.0
    for k in range(n - 1, -1, -1):
        S, T = _at(work.axis, k, 0), _at(work.axis, k, 3)
        spin, pulse = _momentum(work, k, S, T)
        j = k
        while j >= 0:
            total = _dot(_at(work.axis, j, 0), spin) + _dot(_at(work.axis, j, 3), pulse)
            work.M[k, j] = total
            work.M[j, k] = total
            j = links.parent[j]
        work.bias[k] = _dot(S, _at(work.force, k, 0)) + _dot(T, _at(work.force, k, 3))
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


@inlined
def link_energy(links: Any, q: FloatArray, dq: FloatArray, work: Any) -> tuple[float, float]:
    """Return (kinetic, potential) energy [J] of the links, potential 0 with all mass at the base origin."""
    _place(links, q, work)
    _weigh(links, work)
    kinetic, potential = 0.0, 0.0
    g = links.gravity[0], links.gravity[1], links.gravity[2]
    for k in range(q.size):
        parent = links.parent[k]
        w = _sum(_at(work.speed, parent, 0), _times(_at(work.axis, k, 0), dq[k]))
        v = _sum(_at(work.speed, parent, 3), _times(_at(work.axis, k, 3), dq[k]))
        _put(work.speed, k, 0, w)
        _put(work.speed, k, 3, v)
        spin, pulse = _momentum(work, k, w, v)
        kinetic += 0.5 * (_dot(spin, w) + _dot(pulse, v))
        potential -= _dot(_at(work.moment, k, 0), g)
    return kinetic, potential
