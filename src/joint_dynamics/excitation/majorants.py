"""Arithmetic of bounds: c_k ≥ sup|f^(k)|/k! represent every function with such derivatives over an interval of time.

The Taylor coefficients of a product are the convolution of those of its factors, and of a sum their sum; with
magnitudes instead of coefficients, these rules give bounds. All terms are positive, so there is no cancellation: N
operations change a bound by a share of at most N · 1.1e-16.

Bounds on the change of torque and position of the links follow from Newton-Euler on such bounds: the recursion of the
regressor (`joint_dynamics.robot.regressor`), in link frames, with every vector replaced by bounds of its norm and of
the norms of its derivatives over an interval of time: a rotation about joint i has the norm 1, and its derivatives
depend only on q̇_i …; |a × b| ≤ |a| |b|, |J ω| ≤ ‖J‖ |ω|. The result bounds the torque and its derivatives over the
whole interval.
"""

from __future__ import annotations

from math import comb

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.standard_parameters import link_columns


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the coefficients (orders, …) of a product, for as many orders as the shorter factor has."""
    return np.array([sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(min(len(a), len(b)))])


def derivative(a: FloatArray) -> FloatArray:
    """Return the coefficients of the derivative, one fewer."""
    return a[1:] * np.arange(1, len(a)).reshape(-1, *[1] * (a.ndim - 1))


def rotation_norm_bound(angle: FloatArray) -> FloatArray:
    """Return bounds of the norm of the derivatives of a rotation about a fixed axis, its angle bounded by (orders, …).

    R′ = φ′ [axis]× R, and so ‖R‖ has the majorant exp(Σ_k≥1 φ_k t^k).
    """
    rate = derivative(angle)
    bounds = [np.ones_like(angle[0])]
    for k in range(1, len(angle)):
        bounds.append(sum(rate[i] * bounds[k - 1 - i] for i in range(k)) / k)
    return np.array(bounds)


def compose_series(outer: FloatArray, inner: FloatArray) -> FloatArray:
    """Return the coefficients (orders, …) of f(g(t)) from those of f and g.

    f is expanded at the constant term of g, which is not used otherwise.
    """
    series = np.zeros(np.broadcast_shapes(outer.shape, inner.shape))
    series[0] = outer[0]
    step = inner.copy()
    step[0] = 0.0
    power = step
    for order in range(1, len(outer)):
        series = series + outer[order] * power
        power = product(power, step)
    return series


def taylor_shift_bound(middle: FloatArray, half: FloatArray, count: int) -> FloatArray:
    """Return bounds of the first `count` coefficients over m ± half, by Taylor's theorem.

    Parameters
    ----------
    middle
        the coefficients at m, (orders, …, N), except the last, which is a bound over all of m ± half.
    half
        half length of the intervals (N,) [s].
    count
        number of coefficients.
    """
    return np.array(
        [sum(comb(p, k) * half ** (p - k) * middle[p] for p in range(k, len(middle))) for k in range(count)]
    )


def tree_majorants(chain: Chain, q: FloatArray) -> FloatArray:
    """Return majorants (ORDERS, tree, N) of the tree's motion from those of the joints (ORDERS, joints, N)."""
    if chain.tree.plain:
        return q
    bounds = np.asarray(np.abs(chain.tree.matrix) @ q)
    bounds[0] += np.abs(chain.tree.offset)[:, None]
    return bounds


class MotionBounds:
    """Bounds of the links' motion for majorants q (ORDERS, joints, N) of the joints'.

    Lists of (orders, N), one per link, in the order of the tree.

    Parameters
    ----------
    gravity
        True: the acceleration of the origins less gravity, as forces need it; False: the kinematic acceleration.
    """

    def __init__(self, chain: Chain, q: FloatArray, gravity: bool = True):
        self.turn: list[FloatArray] = []
        self.lever: list[FloatArray] = []
        self.w: list[FloatArray] = []
        self.a: list[FloatArray] = []
        q = tree_majorants(chain, q)
        orders, _, count = q.shape
        still_w, still_a = np.zeros((orders - 1, count)), np.zeros((orders - 2, count))
        still_a[0] = np.linalg.norm(chain.gravity) if gravity else 0.0
        for i, parent in enumerate(chain.parent):
            w, a = (still_w, still_a) if parent < 0 else (self.w[parent], self.a[parent])
            lever = np.zeros((orders, count))
            lever[0] = np.linalg.norm(chain.translation[i])
            rate = derivative(q[:, i])
            if chain.prismatic[i]:
                lever += q[:, i]
            a = a + product(derivative(w), lever[: orders - 2]) + product(product(w, w), lever[: orders - 2])
            if chain.prismatic[i]:
                turn = np.zeros((orders, count))
                turn[0] = 1.0
                a = a + derivative(rate) + 2 * product(w, rate)[: orders - 2]
            else:
                turn = rotation_norm_bound(q[:, i])
                w, a = product(turn[: orders - 1], w), product(turn[: orders - 2], a)
                w = w + rate
            self.turn.append(turn)
            self.lever.append(lever)
            self.w.append(w)
            self.a.append(a)


def torque_bounds(chain: Chain, parameters: FloatArray, q: FloatArray) -> FloatArray:
    """Return bounds of |τ^(k)|/k! of the links' torque, (3, joints, N), without rotors, friction and offsets.

    Parameters
    ----------
    parameters : array
        standard parameters (p,).
    q
        majorants (ORDERS, joints, N) of the joints' motion.
    """
    motion = MotionBounds(chain, q)
    n, orders = len(chain.parent), len(q) - 2
    forces, moments = [], []
    for i, link in enumerate(chain.tree.link):
        xx, xy, xz, yy, yz, zz, mx, my, mz, mass = parameters[link_columns(link)]
        tensor = np.abs(np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).max()
        first = np.sqrt(mx**2 + my**2 + mz**2)
        swing = derivative(motion.w[i]) + product(motion.w[i], motion.w[i])[:orders]
        forces.append(abs(mass) * motion.a[i] + first * swing)
        moments.append(tensor * swing + first * motion.a[i])
    bounds = np.empty((orders, n, q.shape[2]))
    for i in reversed(range(n)):
        bounds[:, i] = forces[i] if chain.prismatic[i] else moments[i]
        parent = chain.parent[i]
        if parent >= 0:
            force = product(motion.turn[i][:orders], forces[i])
            forces[parent] = forces[parent] + force
            moments[parent] = (
                moments[parent]
                + product(motion.turn[i][:orders], moments[i])
                + product(motion.lever[i][:orders], force)
            )
    return bounds if chain.tree.plain else np.asarray(np.abs(chain.tree.matrix).T @ bounds)


def point_acceleration(chain: Chain, link: int, offset: FloatArray, q: FloatArray) -> FloatArray:
    """Return bounds (N,) of |p̈| [m/s²] of the point at `offset` (3,) [m] in link `link`.

    Parameters
    ----------
    q
        majorants (ORDERS, joints, N).
    """
    motion = MotionBounds(chain, q, gravity=False)
    swing = derivative(motion.w[link])[0] + motion.w[link][0] ** 2
    return motion.a[link][0] + swing * np.linalg.norm(offset)
