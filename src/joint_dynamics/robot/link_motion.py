"""Where the links of a tree are and how they move, for many samples at once.

What regressor, torque, gradients and distances start from.

Vectors are (3, samples), rotations (3, 3, samples): component first, so that every operation runs over contiguous
memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.chain import Chain


def cross_components(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Cross product of three components each, which may be arrays of samples or numbers."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross product along the first axis, (3, …) each; np.cross moves axes about for every call."""
    first = a[1] * b[2]
    out = np.empty((3, *first.shape))
    np.subtract(first, a[2] * b[1], out=out[0])
    np.subtract(a[2] * b[0], a[0] * b[2], out=out[1])
    np.subtract(a[0] * b[1], a[1] * b[0], out=out[2])
    return out


def dot(a: Any, b: Any) -> Any:
    """Scalar product along the first axis, three components each, which may be arrays of samples or numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def turn(R: FloatArray, v: FloatArray) -> FloatArray:
    """R v for R (3, 3, samples) and v (3, samples) or (3, joints, samples)."""
    if v.ndim == 3:
        R = R[:, :, None]
    return R[:, 0] * v[0] + R[:, 1] * v[1] + R[:, 2] * v[2]


def turn_back(R: FloatArray, v: FloatArray) -> FloatArray:
    """Rᵀ v, shapes as for `turn`."""
    if v.ndim == 3:
        R = R[:, :, None]
    return R[0] * v[0] + R[1] * v[1] + R[2] * v[2]


class JointPlacements:
    """Place of every joint frame in the frame before, for q (joints, samples) [rad or m].

    Attributes
    ----------
    rotation: list of (3, 3, samples). position: list of (3, samples) [m], (3, 1) where it does not change.

    """

    def __init__(self, chain: Chain, q: FloatArray):
        samples = q.shape[1]
        self.rotation: list[FloatArray] = []
        self.position: list[FloatArray] = []
        for i in range(chain.n):
            fixed, axis, position = chain.rotation[i], chain.axis[i], chain.translation[i][:, None]
            if chain.prismatic[i]:
                rotation = np.broadcast_to(fixed[:, :, None], (3, 3, samples))
                position = position + (fixed @ axis)[:, None] * q[i]
            else:
                hat = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
                # Rodrigues: E + sin q [axis]× + (1 − cos q) [axis]×²
                rotation = (fixed @ hat)[:, :, None] * np.sin(q[i])
                rotation += (fixed @ hat @ hat)[:, :, None] * (1 - np.cos(q[i]))
                rotation += fixed[:, :, None]
            self.rotation.append(rotation)
            self.position.append(position)


class LinkMotion:
    """Motion of every link in its own joint frame, for q, dq, ddq (joints, samples), rad or m and per s and s².

    Attributes
    ----------
    chain; rotation, position: see `JointPlacements`.
    w, dw [rad/s, rad/s²], a [m/s²]: angular velocity and acceleration, and acceleration of the origin less gravity,
    lists of (3, samples). before: the same three of the link before, at this link's origin, turned into this link's
    frame; gyro: w of it × axis.

    """

    def __init__(
        self, chain: Chain, q: FloatArray, dq: FloatArray, ddq: FloatArray, placements: JointPlacements | None = None
    ):
        placements = placements or JointPlacements(chain, q)
        self.chain, self.rotation, self.position = chain, placements.rotation, placements.position
        self.w: list[FloatArray] = []
        self.dw: list[FloatArray] = []
        self.a: list[FloatArray] = []
        self.before: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.gyro: list[FloatArray] = []
        still = np.zeros((3, q.shape[1]))
        falling = np.broadcast_to(-chain.gravity[:, None], still.shape)
        for i, parent in enumerate(chain.parent):
            axis, R, p = chain.axis[i][:, None], self.rotation[i], self.position[i]
            if parent < 0:
                w = dw = still
                a = turn_back(R, falling)
            else:
                w, dw = self.w[parent], self.dw[parent]
                a = turn_back(R, self.a[parent] + cross(dw, p) + cross(w, cross(w, p)))
                w, dw = turn_back(R, w), turn_back(R, dw)
            gyro = cross(w, axis)
            self.before.append((w, dw, a))
            self.gyro.append(gyro)
            if chain.prismatic[i]:
                a = a + axis * ddq[i] + 2 * gyro * dq[i]
            else:
                dw = dw + axis * ddq[i] + gyro * dq[i]
                w = w + axis * dq[i]
            self.w.append(w)
            self.dw.append(dw)
            self.a.append(a)

    def into(self, i: int, vector: tuple[Any, ...] | FloatArray) -> tuple[Any, ...]:
        """Turn a vector of the frame before link i into frame i; its components may be numbers."""
        rotation = self.rotation[i]
        return tuple(
            rotation[0][k] * vector[0] + rotation[1][k] * vector[1] + rotation[2][k] * vector[2] for k in range(3)
        )
