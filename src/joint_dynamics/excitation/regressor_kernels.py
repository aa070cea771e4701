"""The link columns of `RegressorGradient` and their reverse pass, compiled: one sample after the other.

What `regressor_gradient` does with arrays of all samples, written out for one; symbols as there. Importing this module
imports numba.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.robot.standard_parameters import PER_JOINT


@compiled
def _cross(a, b):  # type: ignore[no-untyped-def]
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def _dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def _add(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@compiled
def _times(k, a):  # type: ignore[no-untyped-def]
    return k * a[0], k * a[1], k * a[2]


@compiled
def _vector(a):  # type: ignore[no-untyped-def]
    return a[0], a[1], a[2]


@compiled
def _put(out, a):  # type: ignore[no-untyped-def]
    out[0], out[1], out[2] = a


@compiled
def _grow(out, a):  # type: ignore[no-untyped-def]
    out[0] += a[0]
    out[1] += a[1]
    out[2] += a[2]


@compiled
def _turn(R, v):  # type: ignore[no-untyped-def]
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@compiled
def _turn_back(R, v):  # type: ignore[no-untyped-def]
    return (
        R[0, 0] * v[0] + R[1, 0] * v[1] + R[2, 0] * v[2],
        R[0, 1] * v[0] + R[1, 1] * v[1] + R[2, 1] * v[2],
        R[0, 2] * v[0] + R[1, 2] * v[1] + R[2, 2] * v[2],
    )


@compiled
def _symmetric(weight, v):  # type: ignore[no-untyped-def]
    """S v, S the tensor whose components XX, XY, XZ, YY, YZ, ZZ the weight (10,) begins with."""
    return (
        weight[0] * v[0] + weight[1] * v[1] + weight[2] * v[2],
        weight[1] * v[0] + weight[3] * v[1] + weight[4] * v[2],
        weight[2] * v[0] + weight[4] * v[1] + weight[5] * v[2],
    )


@compiled
def _forward(chain, q, dq, ddq, s, R, link, levers):  # type: ignore[no-untyped-def]
    """Motion of all links at sample s: rotations R (n, 3, 3), link (n, 8, 3), levers (2, n, n, 3) of link and joint.

    link: position p, w, ẇ, a; then w, ẇ, a of the link before turned into this one, and gyro.
    """
    parent, fixed, by_sine, by_cosine, translation, axes, slide, prismatic, gravity = chain
    for i in range(len(parent)):
        axis, up = _vector(axes[i]), parent[i]
        p = _vector(translation[i])
        if prismatic[i]:
            R[i] = fixed[i]
            p = _add(p, _times(q[i, s], _vector(slide[i])))
        else:
            sine, versine = np.sin(q[i, s]), 1 - np.cos(q[i, s])
            for r in range(3):
                for c in range(3):
                    R[i, r, c] = by_sine[i, r, c] * sine + by_cosine[i, r, c] * versine + fixed[i, r, c]
        if up < 0:
            w = dw = (0.0, 0.0, 0.0)
            a = _turn_back(R[i], (-gravity[0], -gravity[1], -gravity[2]))
        else:
            w, dw, a = _vector(link[up, 1]), _vector(link[up, 2]), _vector(link[up, 3])
            a = _turn_back(R[i], _add(_add(a, _cross(dw, p)), _cross(w, _cross(w, p))))
            w, dw = _turn_back(R[i], w), _turn_back(R[i], dw)
        gyro = _cross(w, axis)
        _put(link[i, 0], p)
        _put(link[i, 4], w)
        _put(link[i, 5], dw)
        _put(link[i, 6], a)
        _put(link[i, 7], gyro)
        if prismatic[i]:
            a = _add(a, _add(_times(ddq[i, s], axis), _times(2 * dq[i, s], gyro)))
        else:
            dw = _add(dw, _add(_times(ddq[i, s], axis), _times(dq[i, s], gyro)))
            w = _add(w, _times(dq[i, s], axis))
        _put(link[i, 1], w)
        _put(link[i, 2], dw)
        _put(link[i, 3], a)
        j = up
        while j >= 0:
            z, u = _vector(levers[0, up, j]), _vector(levers[1, up, j])
            _put(levers[0, i, j], _turn_back(R[i], z))
            _put(levers[1, i, j], _turn_back(R[i], _add(u, _cross(z, p))))
            j = parent[j]
        _put(levers[0, i, i], (0.0, 0.0, 0.0) if prismatic[i] else axis)
        _put(levers[1, i, i], axis if prismatic[i] else (0.0, 0.0, 0.0))


@compiled
def link_rows(chain, q, dq, ddq, rows):  # type: ignore[no-untyped-def]
    """Write the inertial columns of all links into rows (n, p, samples); chain: see `chain_arguments`."""
    parent = chain[0]
    n, samples = q.shape
    R, link, levers = np.zeros((n, 3, 3)), np.zeros((n, 8, 3)), np.zeros((2, n, n, 3))
    for s in range(samples):
        _forward(chain, q, dq, ddq, s, R, link, levers)
        for i in range(n):
            w, dw, a, first = _vector(link[i, 1]), _vector(link[i, 2]), _vector(link[i, 3]), PER_JOINT * i
            j = i
            while j >= 0:
                z, u, row = _vector(levers[0, i, j]), _vector(levers[1, i, j]), rows[j]
                v = _cross(z, w)
                row[first, s] = dw[0] * z[0] + w[0] * v[0]
                row[first + 1, s] = dw[0] * z[1] + dw[1] * z[0] + w[0] * v[1] + w[1] * v[0]
                row[first + 2, s] = dw[0] * z[2] + dw[2] * z[0] + w[0] * v[2] + w[2] * v[0]
                row[first + 3, s] = dw[1] * z[1] + w[1] * v[1]
                row[first + 4, s] = dw[1] * z[2] + dw[2] * z[1] + w[1] * v[2] + w[2] * v[1]
                row[first + 5, s] = dw[2] * z[2] + w[2] * v[2]
                moments = _add(_add(_cross(a, z), _cross(u, dw)), _cross(_cross(u, w), w))
                row[first + 6, s], row[first + 7, s], row[first + 8, s] = moments
                row[first + 9, s] = _dot(u, a)
                j = parent[j]


@compiled
def pull_back(chain, q, dq, ddq, weight, grad_q, grad_dq, grad_ddq):  # type: ignore[no-untyped-def]
    """Add the gradients of Σ weight · rows of the inertial columns; weight (n, p, samples), grad_… (n, samples)."""
    parent, axes, slide, prismatic = chain[0], chain[5], chain[6], chain[7]
    n, samples = q.shape
    R, link, levers = np.zeros((n, 3, 3)), np.zeros((n, 8, 3)), np.zeros((2, n, n, 3))
    link_bar, lever_bar, own = np.zeros((n, 3, 3)), np.zeros((2, n, n, 3)), np.zeros(10)
    for s in range(samples):
        _forward(chain, q, dq, ddq, s, R, link, levers)
        link_bar[:] = 0.0
        lever_bar[:] = 0.0
        for i in range(n - 1, -1, -1):
            w, dw, a, axis = _vector(link[i, 1]), _vector(link[i, 2]), _vector(link[i, 3]), _vector(axes[i])
            j = i
            while j >= 0:
                for k in range(10):
                    own[k] = weight[j, PER_JOINT * i + k, s]
                z, u = _vector(levers[0, i, j]), _vector(levers[1, i, j])
                m, mu, v, Sw = (own[6], own[7], own[8]), own[9], _cross(z, w), _symmetric(own, w)
                mw, uw, um = _dot(m, w), _dot(u, w), _dot(u, m)
                _grow(link_bar[i, 0], _add(_symmetric(own, v), _cross(Sw, z)))
                _grow(link_bar[i, 0], _add(_add(_times(mw, u), _times(uw, m)), _times(-2 * um, w)))
                _grow(link_bar[i, 1], _add(_symmetric(own, z), _cross(m, u)))
                _grow(link_bar[i, 2], _add(_cross(z, m), _times(mu, u)))
                _grow(lever_bar[0, i, j], _add(_add(_symmetric(own, dw), _cross(w, Sw)), _cross(m, a)))
                _grow(lever_bar[1, i, j], _add(_cross(dw, m), _times(mw, w)))
                _grow(lever_bar[1, i, j], _add(_times(-_dot(w, w), m), _times(mu, a)))
                j = parent[j]
            w_bar, dw_bar, a_bar = _vector(link_bar[i, 0]), _vector(link_bar[i, 1]), _vector(link_bar[i, 2])
            gyro, p, up = _vector(link[i, 7]), _vector(link[i, 0]), parent[i]
            if prismatic[i]:
                grad_ddq[i, s] += _dot(axis, a_bar)
                grad_dq[i, s] += 2 * _dot(gyro, a_bar)
                w1_bar = _add(w_bar, _times(2 * dq[i, s], _cross(axis, a_bar)))
            else:
                grad_ddq[i, s] += _dot(axis, dw_bar)
                grad_dq[i, s] += _dot(axis, w_bar) + _dot(gyro, dw_bar)
                w1_bar = _add(w_bar, _times(dq[i, s], _cross(axis, dw_bar)))
                # d(Rᵀx)/dq = Rᵀx × axis for everything that was turned into this frame
                moment = _add(_cross(w1_bar, _vector(link[i, 4])), _cross(dw_bar, _vector(link[i, 5])))
                moment = _add(moment, _cross(a_bar, _vector(link[i, 6])))
                j = up
                while j >= 0:
                    for kind in range(2):
                        turned = _cross(_vector(lever_bar[kind, i, j]), _vector(levers[kind, i, j]))
                        moment = _add(moment, turned)
                    j = parent[j]
                grad_q[i, s] += _dot(axis, moment)
            if up < 0:
                continue  # gravity is the same everywhere: the position of a first slide acts on nothing
            w0, dw0, acc_bar = _vector(link[up, 1]), _vector(link[up, 2]), _turn(R[i], a_bar)
            _grow(link_bar[up, 0], _add(_turn(R[i], w1_bar), _times(_dot(acc_bar, w0), p)))
            _grow(link_bar[up, 0], _add(_times(_dot(w0, p), acc_bar), _times(-2 * _dot(acc_bar, p), w0)))
            _grow(link_bar[up, 1], _add(_turn(R[i], dw_bar), _cross(p, acc_bar)))
            _grow(link_bar[up, 2], acc_bar)
            p_bar = _add(_cross(acc_bar, dw0), _add(_times(_dot(w0, acc_bar), w0), _times(-_dot(w0, w0), acc_bar)))
            j = up
            while j >= 0:
                arm_bar = _turn(R[i], _vector(lever_bar[1, i, j]))
                _grow(lever_bar[0, up, j], _add(_turn(R[i], _vector(lever_bar[0, i, j])), _cross(p, arm_bar)))
                _grow(lever_bar[1, up, j], arm_bar)
                p_bar = _add(p_bar, _cross(arm_bar, _vector(levers[0, up, j])))
                j = parent[j]
            if prismatic[i]:
                grad_q[i, s] += _dot(_vector(slide[i]), p_bar)
