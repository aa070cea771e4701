"""How fast torque and place of the links can change: Newton-Euler on bounds instead of vectors.

The recursion is that of the regressor (`joint_dynamics.robot.regressor`), in link frames, with every vector replaced by
bounds of its norm and of the norms of its derivatives over an interval of time (`majorants`): a turn about joint i has
the norm 1, and its derivatives depend on q̇_i … only; |a × b| ≤ |a| |b|, |J ω| ≤ ‖J‖ |ω|. What comes out bounds the
torque and its derivatives over all of the interval.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.majorants import derivative, product, turning
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.standard_parameters import link_columns


class MotionBounds:
    """Bounds of the links' motion for majorants q (ORDERS, joints, N) of the joints'.

    Lists of (orders, N), one per link.

    Parameters
    ----------
    gravity
        whether the acceleration of the origins is that less gravity, as a force needs it, or that of the place.
    """

    def __init__(self, chain: Chain, q: FloatArray, gravity: bool = True):
        self.turn: list[FloatArray] = []
        self.lever: list[FloatArray] = []
        self.w: list[FloatArray] = []
        self.a: list[FloatArray] = []
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
                turn = turning(q[:, i])
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
    n, orders = chain.n, len(q) - 2
    forces, moments = [], []
    for i in range(n):
        xx, xy, xz, yy, yz, zz, mx, my, mz, mass = parameters[link_columns(i)]
        tensor = np.abs(np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).max()
        first = np.sqrt(mx**2 + my**2 + mz**2)
        swing = derivative(motion.w[i]) + product(motion.w[i], motion.w[i])[:orders]
        forces.append(abs(mass) * motion.a[i] + first * swing)
        moments.append(tensor * swing + first * motion.a[i])
    found = np.empty((orders, n, q.shape[2]))
    for i in reversed(range(n)):
        found[:, i] = forces[i] if chain.prismatic[i] else moments[i]
        parent = chain.parent[i]
        if parent >= 0:
            force = product(motion.turn[i][:orders], forces[i])
            forces[parent] = forces[parent] + force
            moments[parent] = (
                moments[parent]
                + product(motion.turn[i][:orders], moments[i])
                + product(motion.lever[i][:orders], force)
            )
    return found


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
