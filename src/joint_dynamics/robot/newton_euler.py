"""Torque of a tree of rigid bodies for whole recordings at once.

Newton-Euler with samples last, without a regressor in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.link_motion import LinkMotion, cross_components, dot

BLOCK = 4096


def rigid_torque(chain: Chain, q: FloatArray, dq: FloatArray, ddq: FloatArray, links: FloatArray) -> FloatArray:
    """Return M q̈ + C q̇ + g of the links alone, (joints, samples) [N·m], for motion of that shape [rad, rad/s, rad/s²].

    Parameters
    ----------
    links
        (n, 10) inertial standard parameters. This is the torque τ_J through the transmissions, the load of the drives.
    """
    out = np.empty_like(q)
    for start in range(0, q.shape[1], BLOCK):
        part = slice(start, min(start + BLOCK, q.shape[1]))
        positions, speeds, accelerations = (np.ascontiguousarray(array[:, part]) for array in (q, dq, ddq))
        out[:, part] = _torque(LinkMotion(chain, positions, speeds, accelerations), links)
    return out


def _wrench(motion: LinkMotion, i: int, link: FloatArray) -> tuple[list[Any], list[Any]]:
    """Force and moment about the origin of frame i that link i's motion takes."""
    xx, xy, xz, yy, yz, zz, mx, my, mz, mass = link
    w, dw, a = motion.w[i], motion.dw[i], motion.a[i]
    first = (mx, my, mz)
    swing, turn = cross_components(dw, first), cross_components(w, cross_components(w, first))
    force = [swing[k] + turn[k] + mass * a[k] for k in range(3)]
    tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    spin = tuple(dot(row, w) for row in tensor)
    gyro, lever = cross_components(w, spin), cross_components(first, a)
    moment = [dot(row, dw) + gyro[r] + lever[r] for r, row in enumerate(tensor)]
    return force, moment


def _torque(motion: LinkMotion, links: FloatArray) -> FloatArray:
    chain = motion.chain
    wrenches = [_wrench(motion, i, links[i]) for i in range(chain.n)]
    tau = np.empty((chain.n, motion.w[0].shape[1]))
    for i in reversed(range(chain.n)):
        force, moment = wrenches[i]
        along = force if chain.prismatic[i] else moment
        tau[i] = dot(chain.axis[i], along)
        parent = chain.parent[i]
        if parent < 0:
            continue
        R, p = motion.rotation[i], motion.position[i]
        turned = [dot(R[r], force) for r in range(3)]
        lever = cross_components(p, turned)
        for r in range(3):
            wrenches[parent][0][r] = wrenches[parent][0][r] + turned[r]
            wrenches[parent][1][r] = wrenches[parent][1][r] + lever[r] + dot(R[r], moment)
    return tau
