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

"""Newton-Euler recursion along a tree of one-axis joints, compiled: torque of one state and of recordings.

Everything of link i is in its own joint frame. With w, ẇ its angular velocity and acceleration, a its origin's
acceleration less gravity, its wrench is linear in its ten inertial parameters about that origin:

    f = ẇ × m c + w × (w × m c) + m a,      n = J ẇ + w × J w + m c × a.

A vector is a tuple of three numbers, a rotation a tuple of three rows: the compiler keeps them in registers.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import compiled, inlined
from joint_dynamics.records import KernelRecord

LEADERS = 4  # most joints that a dependent one follows
WORK_PER_LINK = 24  # numbers per link in the work array of `inverse_dynamics`

Vector: TypeAlias = tuple[float, float, float]
Rotation: TypeAlias = tuple[Vector, Vector, Vector]
Placement: TypeAlias = tuple[Rotation, Vector]
"""Rotation and origin of a link in its parent's frame, m."""
Motion: TypeAlias = tuple[Vector, Vector, Vector]
"""w [rad/s], ẇ [rad/s²] and a [m/s²] of a link, in its own frame."""


class Link(KernelRecord):
    """Constants of one link and its joint; `Chain.links` makes them.

    The rotation into the parent's frame is rotation + by_sine sin q + by_versine (1 − cos q), the origin in the
    parent's frame translation + slide q.
    """

    parent: int  # number of the link, −1: the base
    prismatic: int  # 1: the joint slides
    axis: Annotated[FloatArray, 3]  # unit vector
    rotation: Annotated[FloatArray, 3, 3]
    by_sine: Annotated[FloatArray, 3, 3]
    by_versine: Annotated[FloatArray, 3, 3]
    translation: Annotated[FloatArray, 3]  # m
    slide: Annotated[FloatArray, 3]  # m/m
    fall: Annotated[FloatArray, 3]  # −gravity in the base frame, m/s²
    body: Annotated[FloatArray, 10]  # XX XY XZ YY YZ ZZ [kg·m²], MX MY MZ [kg·m], M [kg]
    number: int  # of the link among the parameters
    leaders: int  # number of followed joints: q_tree = Σ ratio q_leader + offset; itself: one, 1, 0
    leader: Annotated[IntArray, np.dtype(('i8', (LEADERS,)))]
    ratio: Annotated[FloatArray, LEADERS]
    offset: float


@compiled
def vector(a: FloatArray) -> Vector:
    """Return three numbers of an array as a vector."""
    return a[0], a[1], a[2]


@inlined
def kept(row: FloatArray, k: int) -> Vector:
    """Return the vector at k of a row."""
    return row[k], row[k + 1], row[k + 2]


@inlined
def keep(row: FloatArray, k: int, v: Vector) -> None:
    """Write a vector at k into a row."""
    row[k], row[k + 1], row[k + 2] = v


@compiled
def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@compiled
def scaled(s: float, a: Vector) -> Vector:
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@compiled
def dot(a: Vector, b: Vector) -> float:
    """Return a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def cross(a: Vector, b: Vector) -> Vector:
    """Return a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def turn(R: Rotation, v: Vector) -> Vector:
    """R v: from the link's frame into its parent's."""
    return dot(R[0], v), dot(R[1], v), dot(R[2], v)


@compiled
def turn_back(R: Rotation, v: Vector) -> Vector:
    """Rᵀ v: from the parent's frame into the link's."""
    return (
        R[0][0] * v[0] + R[1][0] * v[1] + R[2][0] * v[2],
        R[0][1] * v[0] + R[1][1] * v[1] + R[2][1] * v[2],
        R[0][2] * v[0] + R[1][2] * v[1] + R[2][2] * v[2],
    )


@compiled
def _row(link: Link, r: int, sine: float, versine: float) -> Vector:
    return (
        link.by_sine[r, 0] * sine + link.by_versine[r, 0] * versine + link.rotation[r, 0],
        link.by_sine[r, 1] * sine + link.by_versine[r, 1] * versine + link.rotation[r, 1],
        link.by_sine[r, 2] * sine + link.by_versine[r, 2] * versine + link.rotation[r, 2],
    )


@inlined
def placement(link: Link, q: float, sine: float, versine: float) -> Placement:
    """Return rotation and origin of a link in its parent's frame at q [rad or m]; sine, versine: sin q, 1 − cos q.

    Rodrigues: E + sin q [axis]× + (1 − cos q) [axis]×².
    """
    if link.prismatic:
        return (
            (vector(link.rotation[0]), vector(link.rotation[1]), vector(link.rotation[2])),
            add(vector(link.translation), scaled(q, vector(link.slide))),
        )
    return (
        (_row(link, 0, sine, versine), _row(link, 1, sine, versine), _row(link, 2, sine, versine)),
        vector(link.translation),
    )


@compiled
def base_motion(link: Link) -> Motion:
    """Return w, ẇ and a of the base, at rest, with the acceleration −g that represents gravity."""
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), vector(link.fall)


@inlined
def link_motion(link: Link, placed: Placement, before: Motion, dq: float, ddq: float) -> Motion:
    """Return w, ẇ and a of a link from those of its parent `before`, both in their own frames."""
    (R, p), (w, dw, a) = placed, before
    a = turn_back(R, add(a, add(cross(dw, p), cross(w, cross(w, p)))))
    w, dw = turn_back(R, w), turn_back(R, dw)
    axis = vector(link.axis)
    gyro = scaled(dq, cross(w, axis))
    if link.prismatic:
        return w, dw, add(a, add(scaled(ddq, axis), scaled(2.0, gyro)))
    return add(w, scaled(dq, axis)), add(dw, add(scaled(ddq, axis), gyro)), a


@inlined
def wrench(link: Link, motion: Motion) -> tuple[Vector, Vector]:
    """Return the force and the moment about its origin that a link's motion requires."""
    w, dw, a = motion
    b = link.body
    first = b[6], b[7], b[8]
    tensor = (b[0], b[1], b[2]), (b[1], b[3], b[4]), (b[2], b[4], b[5])
    force = add(add(cross(dw, first), cross(w, cross(w, first))), scaled(b[9], a))
    moment = add(add(turn(tensor, dw), cross(w, turn(tensor, w))), cross(first, a))
    return force, moment


@compiled
def link_coefficients(lever: tuple[Vector, Vector], motion: Motion) -> tuple[float, ...]:
    """Return the ten coefficients of a link's XX … M in the torque of a joint with the lever (z, u)."""
    (z, u), (w, dw, a) = lever, motion
    v = cross(z, w)
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    K = ((-yy - zz, xy - dw[2], xz + dw[1]), (xy + dw[2], -xx - zz, yz - dw[0]), (xz - dw[1], yz + dw[0], -xx - yy))
    first = add(cross(a, z), turn_back(K, u))
    return (
        dw[0] * z[0] + w[0] * v[0],
        dw[0] * z[1] + dw[1] * z[0] + w[0] * v[1] + w[1] * v[0],
        dw[0] * z[2] + dw[2] * z[0] + w[0] * v[2] + w[2] * v[0],
        dw[1] * z[1] + w[1] * v[1],
        dw[1] * z[2] + dw[2] * z[1] + w[1] * v[2] + w[2] * v[1],
        dw[2] * z[2] + w[2] * v[2],
        first[0],
        first[1],
        first[2],
        dot(u, a),
    )


@inlined
def rate(link: Link, dq: FloatArray) -> float:
    """Return the speed of a link's joint from those that it follows: its row of G q̇, or of G q̈."""
    total = 0.0
    for k in range(link.leaders):
        total += link.ratio[k] * dq[link.leader[k]]
    return total


@compiled
def inverse_dynamics(
    links: Any, q: FloatArray, dq: FloatArray, ddq: FloatArray, work: FloatArray, out: FloatArray
) -> None:
    """Write M q̈ + C q̇ + g of one state (n,) [rad, rad/s, rad/s²] into out (n,) [N·m]: Gᵀ of that of the N links.

    work: (N, WORK_PER_LINK), written.
    """
    for j in range(len(out)):
        out[j] = 0.0
    for i in range(len(links)):
        link = links[i]
        angle, up = rate(link, q) + link.offset, link.parent
        placed = placement(link, angle, np.sin(angle), 1.0 - np.cos(angle))
        before = base_motion(link) if up < 0 else (kept(work[up], 15), kept(work[up], 18), kept(work[up], 21))
        motion = link_motion(link, placed, before, rate(link, dq), rate(link, ddq))
        vectors = *placed[0], *wrench(link, motion), *motion
        for k in range(8):
            keep(work[i], 3 * k, vectors[k])
    for i in range(len(links) - 1, -1, -1):
        link, up = links[i], links[i].parent
        force, moment = kept(work[i], 9), kept(work[i], 12)
        torque = dot(vector(link.axis), force if link.prismatic else moment)
        for k in range(link.leaders):
            out[link.leader[k]] += link.ratio[k] * torque
        if up < 0:
            continue
        R = kept(work[i], 0), kept(work[i], 3), kept(work[i], 6)
        p = vector(link.translation)
        if link.prismatic:
            p = add(p, scaled(rate(link, q) + link.offset, vector(link.slide)))
        force = turn(R, force)
        keep(work[up], 9, add(kept(work[up], 9), force))
        keep(work[up], 12, add(kept(work[up], 12), add(cross(p, force), turn(R, moment))))


@compiled
def inverse_dynamics_along(links: Any, q: FloatArray, dq: FloatArray, ddq: FloatArray, out: FloatArray) -> None:
    """`inverse_dynamics` of a recording (samples, n) into out (samples, n)."""
    work = np.empty((len(links), WORK_PER_LINK))
    for s in range(len(q)):
        inverse_dynamics(links, q[s], dq[s], ddq[s], work, out[s])
