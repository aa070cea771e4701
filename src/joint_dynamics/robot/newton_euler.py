"""Torque of a tree of rigid bodies for whole recordings at once: Newton-Euler with samples last, without a regressor in between."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.regressor import LinkMotion

BLOCK = 4096


def rigid_torque(chain: Chain, q: NDArray, dq: NDArray, ddq: NDArray, links: NDArray) -> NDArray:
    """Return M q̈ + C q̇ + g of the links alone, (joints, samples) [N·m], for motion of that shape [rad, rad/s, rad/s²].

    links: (n, 10) inertial standard parameters. This is the torque τ_J through the transmissions, the load of the drives.
    """
    out = np.empty_like(q)
    for start in range(0, q.shape[1], BLOCK):
        part = slice(start, min(start + BLOCK, q.shape[1]))
        out[:, part] = _block(chain, np.ascontiguousarray(q[:, part]), np.ascontiguousarray(dq[:, part]), np.ascontiguousarray(ddq[:, part]), links)
    return out


def _cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _wrench(motion: LinkMotion, i: int, link: NDArray) -> tuple[list, list]:
    """Force and moment about the origin of frame i that link i's motion takes."""
    xx, xy, xz, yy, yz, zz, mx, my, mz, mass = link
    w, dw, a = motion.w[i], motion.dw[i], motion.a[i]
    first = (mx, my, mz)
    swing, turn = _cross(dw, first), _cross(w, _cross(w, first))
    force = [swing[k] + turn[k] + mass * a[k] for k in range(3)]
    tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    spin = tuple(sum(tensor[r][c] * w[c] for c in range(3)) for r in range(3))
    gyro, lever = _cross(w, spin), _cross(first, a)
    moment = [sum(tensor[r][c] * dw[c] for c in range(3)) + gyro[r] + lever[r] for r in range(3)]
    return force, moment


def _block(chain: Chain, q: NDArray, dq: NDArray, ddq: NDArray, links: NDArray) -> NDArray:
    motion = LinkMotion(chain, q, dq, ddq)
    wrenches = [_wrench(motion, i, links[i]) for i in range(chain.n)]
    tau = np.empty_like(q)
    for i in reversed(range(chain.n)):
        force, moment = wrenches[i]
        along = force if chain.prismatic[i] else moment
        tau[i] = sum(chain.axis[i][k] * along[k] for k in range(3))
        parent = chain.parent[i]
        if parent < 0:
            continue
        R, p = motion.rotation[i], motion.position[i]
        turned = [sum(R[r][c] * force[c] for c in range(3)) for r in range(3)]
        lever = _cross(p, turned)
        for r in range(3):
            wrenches[parent][0][r] = wrenches[parent][0][r] + turned[r]
            wrenches[parent][1][r] = wrenches[parent][1][r] + lever[r] + sum(R[r][c] * moment[c] for c in range(3))
    return tau
