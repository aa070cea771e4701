r"""The joint-torque regressor of a tree of rigid bodies, compiled: the wanted columns of many samples, without zeros.

With w, ẇ the link's angular velocity and acceleration, a its origin's acceleration less gravity (`newton_euler`), the
wrench of link i is linear in its standard parameters about the origin of its joint frame:

    f = K [MX MY MZ]ᵀ + a M,                     K = [ẇ]× + [w]×[w]×
    n = L(ẇ) I + w × L(w) I − a × [MX MY MZ]ᵀ,   I = [XX XY XZ YY YZ ZZ]ᵀ,  L(w) I = (inertia tensor) w

The torque of a revolute joint j before i is zᵀ n + uᵀ f with z its axis, u = z × (origin of j → origin of i), both in
frame i; of a prismatic one uᵀ f with u its axis and z = 0. Hence one row per pair (j, i) without any 6 by 10 matrix:

    inertia  L(ẇ)ᵀ z + L(w)ᵀ (z × w)      first moments  Kᵀ u + a × z      mass  u · a
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.robot.newton_euler import (
    add,
    base_motion,
    cross,
    dot,
    keep,
    kept,
    link_motion,
    placement,
    turn_back,
    vector,
)


@compiled
def link_columns(lever, motion):  # type: ignore[no-untyped-def]
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


@compiled
def carry(links, i, placed, dq, ddq, moving, levers):  # type: ignore[no-untyped-def]
    """Write w, ẇ, a of link i into moving (N, 9), and z, u of the joints that move it into levers (N, N, 6).

    Those of its parent must be written already; `placed`: from `placement`. Returns w, ẇ, a.
    """
    link, (R, p) = links[i], placed
    up = link.parent
    if up < 0:
        before = base_motion(link)
    else:
        before = kept(moving[up], 0), kept(moving[up], 3), kept(moving[up], 6)
    now = link_motion(link, placed, before, dq, ddq)
    keep(moving[i], 0, now[0])
    keep(moving[i], 3, now[1])
    keep(moving[i], 6, now[2])
    none, axis = (0.0, 0.0, 0.0), vector(link.axis)
    keep(levers[i, i], 0, none if link.prismatic else axis)
    keep(levers[i, i], 3, axis if link.prismatic else none)
    j = up
    while j >= 0:
        z, u = kept(levers[up, j], 0), kept(levers[up, j], 3)
        keep(levers[i, j], 0, turn_back(R, z))
        keep(levers[i, j], 3, turn_back(R, add(u, cross(z, p))))
        j = links[j].parent
    return now


@compiled
def fill_link_rows(links, place, motion, out):  # type: ignore[no-untyped-def]
    """Add the columns of the N links to out (rows, samples).

    place (n, N, 10): row of out for joint, joint of the tree and parameter, −1 for none. motion of the tree: q, sin q,
    1 − cos q, dq, ddq, (samples, N) each. A row is the sum over the tree's joints that the joint leads.
    """
    q, sine, versine, dq, ddq = motion
    n = len(links)
    moving, levers = np.zeros((n, 9)), np.zeros((n, n, 6))
    for s in range(len(q)):
        for i in range(n):
            placed = placement(links[i], q[s, i], sine[s, i], versine[s, i])
            now = carry(links, i, placed, dq[s, i], ddq[s, i], moving, levers)
            j = i
            while j >= 0:
                lever = kept(levers[i, j], 0), kept(levers[i, j], 3)
                values, turned = link_columns(lever, now), links[j]
                for m in range(turned.leaders):
                    joint, ratio = turned.leader[m], turned.ratio[m]
                    for k in range(10):
                        if place[joint, i, k] >= 0:
                            out[place[joint, i, k], s] += ratio * values[k]
                j = links[j].parent


@compiled
def fill_drive_rows(place, dtheta, ddtheta, out):  # type: ignore[no-untyped-def]
    """Write each drive's Ia, Fv, Fc, off into out (rows, samples); place (n, 4): rows of out, −1 for none."""
    for j in range(len(place)):
        for s in range(len(dtheta)):
            if place[j, 0] >= 0:
                out[place[j, 0], s] = ddtheta[s, j]
            if place[j, 1] >= 0:
                out[place[j, 1], s] = dtheta[s, j]
            if place[j, 2] >= 0:
                out[place[j, 2], s] = np.sign(dtheta[s, j])
            if place[j, 3] >= 0:
                out[place[j, 3], s] = 1.0
