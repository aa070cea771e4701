"""Link side of the plant: M(q) q̈ + C q̇ + g = τ, solved for q̈ by composite inertias in world coordinates.

Every spatial quantity is written in the base frame and about its origin, angular part first. Then no link-to-link
transforms
are left: spatial inertias (mass, first moment h, inertia I about the origin) of a subtree simply add, and
M_ij = S_iᵀ Iᶜ_j S_j for j behind i (Featherstone's composite-rigid-body algorithm). The rest of the package computes
rigid bodies with pinocchio or with its own regressor; nothing of either is used here but the tree's constants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation.compiled import call_outside, compiled


class Links(NamedTuple):
    """A tree of n one-axis joints with its inertials, joint frame k moving with link k.

    `parent` (n,) index, −1 for the base; `rotation` (n, 3, 3), `translation` (n, 3) [m] of frame k in its parent's at q
    = 0; `axis` (n, 3); `prismatic` (n,); `gravity` (3,) [m/s²]; `mass` (n,) [kg]; `com` (n, 3) [m]; `inertia` (n, 3, 3)
    about the centre of mass [kg·m²].
    """

    parent: FloatArray
    rotation: FloatArray
    translation: FloatArray
    axis: FloatArray
    prismatic: BoolArray
    gravity: FloatArray
    mass: FloatArray
    com: FloatArray
    inertia: FloatArray


class ExternalBodies(NamedTuple):
    """Another simulator's rigid bodies, in its own memory: called instead of the kernels here.

    Kernels take None where there is none: they are compiled for either, and not slowed down by what they do not use.

    Attributes
    ----------
    forward
        address of a C function void(model, data) that fills `acceleration` (n,), `smooth`, `bias` and `constraint` (n,)
        [N·m] from `position`, `velocity` and `applied` (n,).
    model, data
        its arguments. The arrays are views of that memory.
    """

    forward: int
    model: int
    data: int
    position: FloatArray
    velocity: FloatArray
    applied: FloatArray
    acceleration: FloatArray
    smooth: FloatArray
    bias: FloatArray
    constraint: FloatArray


class Workspace(NamedTuple):
    """Scratch memory of the kernels, so that nothing is allocated per evaluation."""

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
    """Return the tree of `model` with the inertials of its URDF; arrays are copies."""
    chain = model.chain
    bodies = [model.pinocchio.inertias[k + 1] for k in range(model.n)]
    return Links(
        np.array(chain.parent, dtype=np.int64),
        np.ascontiguousarray(chain.rotation),
        np.ascontiguousarray(chain.translation),
        np.ascontiguousarray(chain.axis),
        np.array(chain.prismatic, dtype=np.bool_),
        np.array(chain.gravity, dtype=float),
        np.array([body.mass for body in bodies]),
        np.array([body.lever for body in bodies]),
        np.array([body.inertia for body in bodies]),
    )


def workspace(n: int) -> Workspace:
    """Return scratch memory for `n` joints."""
    return Workspace(
        np.empty((n, 3, 3)),
        np.empty((n, 3)),
        np.empty((n, 6)),
        np.empty((n, 6)),
        np.empty((n, 6)),
        np.empty((n, 6)),
        np.empty(n),
        np.empty((n, 3)),
        np.empty((n, 3, 3)),
        np.zeros((n, n)),
        np.empty(n),
    )


@compiled
def _cross(a: FloatArray, b: FloatArray, out: FloatArray, sign: float) -> None:
    """Add sign · a × b to `out`."""
    out[0] += sign * (a[1] * b[2] - a[2] * b[1])
    out[1] += sign * (a[2] * b[0] - a[0] * b[2])
    out[2] += sign * (a[0] * b[1] - a[1] * b[0])


@compiled
def _place(links: Any, q: FloatArray, work: Any) -> None:
    """Fill the pose of every joint frame and every joint axis S_k = [u; o × u] (or [0; u] for a sliding joint)."""
    turn = np.empty((3, 3))
    local = np.empty(3)
    for k in range(q.size):
        ux, uy, uz = links.axis[k, 0], links.axis[k, 1], links.axis[k, 2]
        parent = links.parent[k]
        if links.prismatic[k]:
            s, c = 0.0, 1.0
        else:
            s, c = np.sin(q[k]), np.cos(q[k])
        d = 1.0 - c
        turn[0, 0], turn[0, 1], turn[0, 2] = c + d * ux * ux, d * ux * uy - s * uz, d * ux * uz + s * uy
        turn[1, 0], turn[1, 1], turn[1, 2] = d * ux * uy + s * uz, c + d * uy * uy, d * uy * uz - s * ux
        turn[2, 0], turn[2, 1], turn[2, 2] = d * ux * uz - s * uy, d * uy * uz + s * ux, c + d * uz * uz
        for i in range(3):
            local[i] = links.translation[k, i]
            if links.prismatic[k]:
                for j in range(3):
                    local[i] += links.rotation[k, i, j] * links.axis[k, j] * q[k]
        for i in range(3):
            for j in range(3):
                work.rotation[k, i, j] = 0.0
            for m in range(3):
                fixed = 0.0
                if parent < 0:
                    fixed = links.rotation[k, i, m]
                else:
                    for p in range(3):
                        fixed += work.rotation[parent, i, p] * links.rotation[k, p, m]
                for j in range(3):
                    work.rotation[k, i, j] += fixed * turn[m, j]
            if parent < 0:
                work.origin[k, i] = local[i]
            else:
                work.origin[k, i] = work.origin[parent, i]
                for j in range(3):
                    work.origin[k, i] += work.rotation[parent, i, j] * local[j]
        axis = work.axis[k]
        axis[:] = 0.0
        for i in range(3):
            u = work.rotation[k, i, 0] * ux + work.rotation[k, i, 1] * uy + work.rotation[k, i, 2] * uz
            if links.prismatic[k]:
                axis[3 + i] = u
            else:
                axis[i] = u
        if not links.prismatic[k]:
            _cross(work.origin[k], axis[:3], axis[3:], 1.0)


@compiled
def _weigh(links: Any, work: Any) -> None:
    """Fill mass, first moment and inertia of every link about the base origin."""
    c = np.empty(3)
    for k in range(links.mass.size):
        m = links.mass[k]
        R = work.rotation[k]
        for i in range(3):
            c[i] = work.origin[k, i] + R[i, 0] * links.com[k, 0] + R[i, 1] * links.com[k, 1] + R[i, 2] * links.com[k, 2]
            work.moment[k, i] = m * c[i]
        square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
        for i in range(3):
            r0 = R[i, 0] * links.inertia[k, 0, 0] + R[i, 1] * links.inertia[k, 1, 0] + R[i, 2] * links.inertia[k, 2, 0]
            r1 = R[i, 0] * links.inertia[k, 0, 1] + R[i, 1] * links.inertia[k, 1, 1] + R[i, 2] * links.inertia[k, 2, 1]
            r2 = R[i, 0] * links.inertia[k, 0, 2] + R[i, 1] * links.inertia[k, 1, 2] + R[i, 2] * links.inertia[k, 2, 2]
            for j in range(3):
                work.inertia[k, i, j] = r0 * R[j, 0] + r1 * R[j, 1] + r2 * R[j, 2] - m * c[i] * c[j]
            work.inertia[k, i, i] += m * square
        work.mass[k] = m


@compiled
def _momentum(work: Any, k: int, motion: FloatArray, out: FloatArray) -> None:
    """Momentum [I ω + h × v; m v − h × ω] of the (composite) inertia k under the spatial velocity `motion`."""
    for i in range(3):
        out[i] = (
            work.inertia[k, i, 0] * motion[0] + work.inertia[k, i, 1] * motion[1] + work.inertia[k, i, 2] * motion[2]
        )
        out[3 + i] = work.mass[k] * motion[3 + i]
    _cross(work.moment[k], motion[3:], out[:3], 1.0)
    _cross(work.moment[k], motion[:3], out[3:], -1.0)


@compiled
def mass_and_bias(links: Any, q: FloatArray, dq: FloatArray, work: Any) -> None:
    """Fill work.M with the mass matrix M(q) and work.bias with C(q, q̇) q̇ + g(q); tau = M q̈ + bias."""
    n = q.size
    _place(links, q, work)
    _weigh(links, work)
    pulse = np.empty(6)
    for k in range(n):
        parent = links.parent[k]
        v, a, S = work.speed[k], work.acceleration[k], work.axis[k]
        for i in range(3):
            if parent < 0:
                v[i], v[3 + i], a[i], a[3 + i] = 0.0, 0.0, 0.0, -links.gravity[i]
            else:
                v[i], v[3 + i] = work.speed[parent, i], work.speed[parent, 3 + i]
                a[i], a[3 + i] = work.acceleration[parent, i], work.acceleration[parent, 3 + i]
        # a += v × S q̇ with the speed before or after the joint: S × S = 0.
        _cross(v[:3], S[:3], a[:3], dq[k])
        _cross(v[:3], S[3:], a[3:], dq[k])
        _cross(v[3:], S[:3], a[3:], dq[k])
        for i in range(6):
            v[i] += S[i] * dq[k]
        # f = I a + v ×* I v
        f = work.force[k]
        _momentum(work, k, a, f)
        _momentum(work, k, v, pulse)
        _cross(v[:3], pulse[:3], f[:3], 1.0)
        _cross(v[3:], pulse[3:], f[:3], 1.0)
        _cross(v[:3], pulse[3:], f[3:], 1.0)
    # Joints on different branches do not couple; the last factor of M may still stand there.
    work.M[:, :] = 0.0
    for k in range(n - 1, -1, -1):
        S = work.axis[k]
        _momentum(work, k, S, pulse)
        j = k
        while j >= 0:
            total = 0.0
            for i in range(6):
                total += work.axis[j, i] * pulse[i]
            work.M[k, j] = total
            work.M[j, k] = total
            j = links.parent[j]
        total = 0.0
        for i in range(6):
            total += S[i] * work.force[k, i]
        work.bias[k] = total
        parent = links.parent[k]
        if parent >= 0:
            work.mass[parent] += work.mass[k]
            for i in range(3):
                work.moment[parent, i] += work.moment[k, i]
                for m in range(3):
                    work.inertia[parent, i, m] += work.inertia[k, i, m]
            for i in range(6):
                work.force[parent, i] += work.force[k, i]


@compiled
def forward_dynamics(
    links: Any, q: FloatArray, dq: FloatArray, tau: FloatArray, ddq: FloatArray, work: Any, outside: Any
) -> None:
    """Fill ddq (n,) with M(q)⁻¹ (tau − C q̇ − g).

    By Cholesky (work.M holds its factor then), or by `outside` if not None.
    """
    n = q.size
    if outside is not None:
        for i in range(n):
            outside.position[i], outside.velocity[i], outside.applied[i] = q[i], dq[i], tau[i]
        call_outside(outside.forward, outside.model, outside.data)  # type: ignore[call-arg]  # numba gives the first
        for i in range(n):
            ddq[i] = outside.acceleration[i]
        return
    mass_and_bias(links, q, dq, work)
    M = work.M
    for i in range(n):
        total = tau[i] - work.bias[i]
        for j in range(i + 1):
            entry = M[i, j]
            for k in range(j):
                entry -= M[i, k] * M[j, k]
            if i == j:
                M[i, i] = np.sqrt(entry)
            else:
                M[i, j] = entry / M[j, j]
        for j in range(i):
            total -= M[i, j] * ddq[j]
        ddq[i] = total / M[i, i]
    for i in range(n - 1, -1, -1):
        total = ddq[i]
        for j in range(i + 1, n):
            total -= M[j, i] * ddq[j]
        ddq[i] = total / M[i, i]


@compiled
def link_energy(links: Any, q: FloatArray, dq: FloatArray, work: Any) -> tuple[float, float]:
    """Return (kinetic, potential) energy [J] of the links, potential 0 with all mass at the base origin."""
    _place(links, q, work)
    _weigh(links, work)
    kinetic, potential = 0.0, 0.0
    pulse = np.empty(6)
    for k in range(q.size):
        parent = links.parent[k]
        for i in range(6):
            work.speed[k, i] = work.axis[k, i] * dq[k]
            if parent >= 0:
                work.speed[k, i] += work.speed[parent, i]
        _momentum(work, k, work.speed[k], pulse)
        for i in range(6):
            kinetic += 0.5 * pulse[i] * work.speed[k, i]
        for i in range(3):
            potential -= work.moment[k, i] * links.gravity[i]
    return kinetic, potential
