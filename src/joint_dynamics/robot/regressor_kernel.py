"""`regressor_rows` as one compiled loop over samples, for the columns that are wanted.

The same operations on the same numbers in the same order, so that the result is the same to the last bit and nothing
depends on which of the two computed it; numpy's passes over memory are what is saved. Importing this module imports
numba, and the first call compiles or loads the kernel: `packed_rows` decides when that pays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.compilation import compiled


@compiled
def fill_rows(
    parent: Any,
    fixed: Any,
    by_sine: Any,
    by_cosine: Any,
    translation: Any,
    axis: Any,
    slide: Any,
    prismatic: Any,
    gravity: Any,
    place: Any,
    q: Any,
    sine: Any,
    versine: Any,
    dq: Any,
    ddq: Any,
    dtheta: Any,
    ddtheta: Any,
    drives: Any,
    out: Any,
) -> None:
    """Write the columns of links and drives into out (rows, samples).

    parent (n,), fixed, by_sine, by_cosine (n, 3, 3), translation, axis, slide (n, 3), prismatic (n,), gravity (3,): of
    the chain; place (n, n, 10): row of out for joint, link and kind, −1 for none; q, sine, versine (1 − cos q), dq,
    ddq, dtheta, ddtheta (samples, n); drives (n, 4): row of out for each drive's Ia, Fv, Fc, off, −1 for none. Symbols
    as in `regressor`.
    """
    samples, n = q.shape
    W, DW, A = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    Z, U = np.zeros((n, n, 3)), np.zeros((n, n, 3))
    for s in range(samples):
        for i in range(n):
            up = parent[i]
            x, y, z = axis[i, 0], axis[i, 1], axis[i, 2]
            p0, p1, p2 = translation[i, 0], translation[i, 1], translation[i, 2]
            r00, r01, r02 = fixed[i, 0, 0], fixed[i, 0, 1], fixed[i, 0, 2]
            r10, r11, r12 = fixed[i, 1, 0], fixed[i, 1, 1], fixed[i, 1, 2]
            r20, r21, r22 = fixed[i, 2, 0], fixed[i, 2, 1], fixed[i, 2, 2]
            if prismatic[i]:
                p0, p1, p2 = p0 + slide[i, 0] * q[s, i], p1 + slide[i, 1] * q[s, i], p2 + slide[i, 2] * q[s, i]
            else:
                sn, vs = sine[s, i], versine[s, i]
                r00 = by_sine[i, 0, 0] * sn + by_cosine[i, 0, 0] * vs + r00
                r01 = by_sine[i, 0, 1] * sn + by_cosine[i, 0, 1] * vs + r01
                r02 = by_sine[i, 0, 2] * sn + by_cosine[i, 0, 2] * vs + r02
                r10 = by_sine[i, 1, 0] * sn + by_cosine[i, 1, 0] * vs + r10
                r11 = by_sine[i, 1, 1] * sn + by_cosine[i, 1, 1] * vs + r11
                r12 = by_sine[i, 1, 2] * sn + by_cosine[i, 1, 2] * vs + r12
                r20 = by_sine[i, 2, 0] * sn + by_cosine[i, 2, 0] * vs + r20
                r21 = by_sine[i, 2, 1] * sn + by_cosine[i, 2, 1] * vs + r21
                r22 = by_sine[i, 2, 2] * sn + by_cosine[i, 2, 2] * vs + r22
            if up < 0:
                w0, w1, w2 = 0.0, 0.0, 0.0
                d0, d1, d2 = 0.0, 0.0, 0.0
                f0, f1, f2 = -gravity[0], -gravity[1], -gravity[2]
            else:
                v0, v1, v2 = W[up, 0], W[up, 1], W[up, 2]
                e0, e1, e2 = DW[up, 0], DW[up, 1], DW[up, 2]
                c0, c1, c2 = v1 * p2 - v2 * p1, v2 * p0 - v0 * p2, v0 * p1 - v1 * p0
                f0 = A[up, 0] + (e1 * p2 - e2 * p1) + (v1 * c2 - v2 * c1)
                f1 = A[up, 1] + (e2 * p0 - e0 * p2) + (v2 * c0 - v0 * c2)
                f2 = A[up, 2] + (e0 * p1 - e1 * p0) + (v0 * c1 - v1 * c0)
                w0 = r00 * v0 + r10 * v1 + r20 * v2
                w1 = r01 * v0 + r11 * v1 + r21 * v2
                w2 = r02 * v0 + r12 * v1 + r22 * v2
                d0 = r00 * e0 + r10 * e1 + r20 * e2
                d1 = r01 * e0 + r11 * e1 + r21 * e2
                d2 = r02 * e0 + r12 * e1 + r22 * e2
            a0 = r00 * f0 + r10 * f1 + r20 * f2
            a1 = r01 * f0 + r11 * f1 + r21 * f2
            a2 = r02 * f0 + r12 * f1 + r22 * f2
            g0, g1, g2 = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x
            speed, acceleration = dq[s, i], ddq[s, i]
            if prismatic[i]:
                a0 = a0 + x * acceleration + 2 * g0 * speed
                a1 = a1 + y * acceleration + 2 * g1 * speed
                a2 = a2 + z * acceleration + 2 * g2 * speed
            else:
                d0 = d0 + x * acceleration + g0 * speed
                d1 = d1 + y * acceleration + g1 * speed
                d2 = d2 + z * acceleration + g2 * speed
                w0, w1, w2 = w0 + x * speed, w1 + y * speed, w2 + z * speed
            W[i, 0], W[i, 1], W[i, 2] = w0, w1, w2
            DW[i, 0], DW[i, 1], DW[i, 2] = d0, d1, d2
            A[i, 0], A[i, 1], A[i, 2] = a0, a1, a2

            xx, yy, zz = w0 * w0, w1 * w1, w2 * w2
            xy, xz, yz = w0 * w1, w0 * w2, w1 * w2
            k00, k01, k02 = -yy - zz, xy - d2, xz + d1
            k10, k11, k12 = xy + d2, -xx - zz, yz - d0
            k20, k21, k22 = xz - d1, yz + d0, -xx - yy
            j = i
            while j >= 0:
                if j == i:
                    z0, z1, z2 = (0.0, 0.0, 0.0) if prismatic[i] else (x, y, z)
                    u0, u1, u2 = (x, y, z) if prismatic[i] else (0.0, 0.0, 0.0)
                else:
                    b0, b1, b2 = Z[up, j, 0], Z[up, j, 1], Z[up, j, 2]
                    h0 = U[up, j, 0] + (b1 * p2 - b2 * p1)
                    h1 = U[up, j, 1] + (b2 * p0 - b0 * p2)
                    h2 = U[up, j, 2] + (b0 * p1 - b1 * p0)
                    z0 = r00 * b0 + r10 * b1 + r20 * b2
                    z1 = r01 * b0 + r11 * b1 + r21 * b2
                    z2 = r02 * b0 + r12 * b1 + r22 * b2
                    u0 = r00 * h0 + r10 * h1 + r20 * h2
                    u1 = r01 * h0 + r11 * h1 + r21 * h2
                    u2 = r02 * h0 + r12 * h1 + r22 * h2
                Z[i, j, 0], Z[i, j, 1], Z[i, j, 2] = z0, z1, z2
                U[i, j, 0], U[i, j, 1], U[i, j, 2] = u0, u1, u2
                m0, m1, m2 = 0.0, 0.0, 0.0
                if j != i or not prismatic[i]:
                    t0, t1, t2 = z1 * w2 - z2 * w1, z2 * w0 - z0 * w2, z0 * w1 - z1 * w0
                    if place[j, i, 0] >= 0:
                        out[place[j, i, 0], s] = d0 * z0 + w0 * t0
                    if place[j, i, 1] >= 0:
                        out[place[j, i, 1], s] = d0 * z1 + d1 * z0 + w0 * t1 + w1 * t0
                    if place[j, i, 2] >= 0:
                        out[place[j, i, 2], s] = d0 * z2 + d2 * z0 + w0 * t2 + w2 * t0
                    if place[j, i, 3] >= 0:
                        out[place[j, i, 3], s] = d1 * z1 + w1 * t1
                    if place[j, i, 4] >= 0:
                        out[place[j, i, 4], s] = d1 * z2 + d2 * z1 + w1 * t2 + w2 * t1
                    if place[j, i, 5] >= 0:
                        out[place[j, i, 5], s] = d2 * z2 + w2 * t2
                    m0, m1, m2 = a1 * z2 - a2 * z1, a2 * z0 - a0 * z2, a0 * z1 - a1 * z0
                if j != i or prismatic[i]:
                    m0 = m0 + (k00 * u0 + k10 * u1 + k20 * u2)
                    m1 = m1 + (k01 * u0 + k11 * u1 + k21 * u2)
                    m2 = m2 + (k02 * u0 + k12 * u1 + k22 * u2)
                    if place[j, i, 9] >= 0:
                        out[place[j, i, 9], s] = u0 * a0 + u1 * a1 + u2 * a2
                if place[j, i, 6] >= 0:
                    out[place[j, i, 6], s] = m0
                if place[j, i, 7] >= 0:
                    out[place[j, i, 7], s] = m1
                if place[j, i, 8] >= 0:
                    out[place[j, i, 8], s] = m2
                j = parent[j]
            if drives[i, 0] >= 0:
                out[drives[i, 0], s] = ddtheta[s, i]
            if drives[i, 1] >= 0:
                out[drives[i, 1], s] = dtheta[s, i]
            if drives[i, 2] >= 0:
                turn = dtheta[s, i]
                out[drives[i, 2], s] = 1.0 if turn > 0 else (-1.0 if turn < 0 else turn)
            if drives[i, 3] >= 0:
                out[drives[i, 3], s] = 1.0
