r"""The joint-torque regressor of a tree of rigid bodies, for many samples at once.

Newton-Euler in link frames, with the standard parameters of link i taken about the origin of its joint frame, so that
its wrench is linear in them. With w, ẇ the link's angular velocity and acceleration, a its origin's acceleration less
gravity:

    f = K [MX MY MZ]ᵀ + a M,                     K = [ẇ]× + [w]×[w]×
    n = L(ẇ) I + w × L(w) I − a × [MX MY MZ]ᵀ,   I = [XX XY XZ YY YZ ZZ]ᵀ,  L(w) I = (inertia tensor) w

The torque of a revolute joint j before i is zᵀ n + uᵀ f with z its axis, u = z × (origin of j → origin of i), both in
frame i; of a prismatic one uᵀ f with u its axis and z = 0. Hence one row per pair (j, i) without any 6 by 10 matrix:

    inertia  L(ẇ)ᵀ z + L(w)ᵀ (z × w)      first moments  Kᵀ u + a × z      mass  u · a

Arrays are laid out component-major, samples last, so that every operation runs over contiguous memory. Pinocchio
computes the same one sample at a time; the tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.link_motion import LinkMotion, cross_components
from joint_dynamics.robot.standard_parameters import drive_columns, link_columns, parameter_names


def _add(a: Any, b: Any) -> tuple[Any, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def regressor_rows(
    chain: Chain, q: FloatArray, dq: FloatArray, ddq: FloatArray, wanted: BoolArray | None = None
) -> FloatArray:
    """Return the regressor of one block of samples, component-major.

    Parameters
    ----------
    q, dq, ddq
        (joints, samples), rad (m), rad/s, rad/s². Returns (joints, parameters, samples), columns as
        `StandardParameters`.
    wanted
        (parameters,): the inertial parameters whose columns are needed, those of others stay zero; None: all.
    """
    n, samples = q.shape
    rows = np.zeros((n, len(parameter_names(n)), samples))
    for j, parameter, values in inertial_columns(chain, q, dq, ddq, wanted):
        rows[j, parameter] = values
    for j in range(n):
        rows[j, drive_columns(j)] = ddq[j], dq[j], np.sign(dq[j]), np.ones(samples)
    return rows


def inertial_columns(
    chain: Chain, q: FloatArray, dq: FloatArray, ddq: FloatArray, wanted: BoolArray | None = None
) -> Iterator[tuple[int, int, FloatArray]]:
    """Yield joint, index of the standard parameter and column (samples,) of all inertial columns that are not zero.

    Parameters
    ----------
    q, dq, ddq, wanted
        as for `regressor_rows`.
    """
    motion = LinkMotion(chain, q, dq, ddq)
    levers: list[dict[int, tuple[Any, ...]]] = []
    for i in range(chain.n):
        parent = chain.parent[i]
        axis = tuple(chain.axis[i])
        own = ((0.0, 0.0, 0.0), axis) if chain.prismatic[i] else (axis, (0.0, 0.0, 0.0))
        before = (
            {}
            if parent < 0
            else {
                j: (motion.into(i, z), motion.into(i, _add(u, cross_components(z, motion.position[i]))))
                for j, (z, u) in levers[parent].items()
            }
        )
        levers.append({**before, i: own})
        columns = link_columns(i)
        asked = [True] * 10 if wanted is None else wanted[columns].tolist()
        for j, k, values in _link_columns(levers[i], motion.w[i], motion.dw[i], motion.a[i], asked):
            yield j, columns.start + k, values


def _link_columns(
    levers: dict[int, tuple[Any, ...]], w: FloatArray, dw: FloatArray, a: FloatArray, asked: Sequence[bool]
) -> Iterator[tuple[int, int, FloatArray]]:
    """Yield joint, which of the ten, and column, of those inertial parameters of one link that are `asked` for.

    Of the joints in `levers`; columns that are zero are left out.
    """
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    K = ((-yy - zz, xy - dw[2], xz + dw[1]), (xy + dw[2], -xx - zz, yz - dw[0]), (xz - dw[1], yz + dw[0], -xx - yy))
    for j, (z, u) in levers.items():
        turns, shifts = (
            not all(isinstance(component, float) and component == 0.0 for component in lever) for lever in (z, u)
        )
        if turns:
            v = cross_components(z, w)
            if asked[0]:
                yield j, 0, dw[0] * z[0] + w[0] * v[0]
            if asked[1]:
                yield j, 1, dw[0] * z[1] + dw[1] * z[0] + w[0] * v[1] + w[1] * v[0]
            if asked[2]:
                yield j, 2, dw[0] * z[2] + dw[2] * z[0] + w[0] * v[2] + w[2] * v[0]
            if asked[3]:
                yield j, 3, dw[1] * z[1] + w[1] * v[1]
            if asked[4]:
                yield j, 4, dw[1] * z[2] + dw[2] * z[1] + w[1] * v[2] + w[2] * v[1]
            if asked[5]:
                yield j, 5, dw[2] * z[2] + w[2] * v[2]
            turned = cross_components(a, z)
        for k in range(3):
            if asked[6 + k]:
                shifted: Any = K[0][k] * u[0] + K[1][k] * u[1] + K[2][k] * u[2] if shifts else 0.0
                yield j, 6 + k, turned[k] + shifted if turns else shifted
        if shifts and asked[9]:
            yield j, 9, u[0] * a[0] + u[1] * a[1] + u[2] * a[2]
