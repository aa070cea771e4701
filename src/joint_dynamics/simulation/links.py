"""The links of the plant as its kernels want them: a tree of one-axis joints, and memory to compute in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel


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
    """Scratch memory of the kernels, so that nothing is allocated per evaluation.

    Of n joints; poses, speeds and accelerations have one row more, the base's: it is the last, where the parent −1
    points. `inertia` (n, 6): xx, xy, xz, yy, yz, zz.
    """

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
    """Return the tree of `model` with the inertials of its URDF; arrays are copies.

    Raise JointDynamicsError for a robot with joints that follow others.
    """
    chain = model.chain
    if not chain.tree.plain:
        raise JointDynamicsError(
            'simulation: expected joints that move by themselves, found '
            f'{", ".join(chain.tree.dependent)}, which follow others: simulate its export to MJCF'
        )
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
    rows = n + 1
    return Workspace(
        rotation=np.tile(np.eye(3), (rows, 1, 1)),
        origin=np.zeros((rows, 3)),
        axis=np.zeros((n, 6)),
        speed=np.zeros((rows, 6)),
        acceleration=np.zeros((rows, 6)),
        force=np.zeros((n, 6)),
        mass=np.zeros(n),
        moment=np.zeros((n, 3)),
        inertia=np.zeros((n, 6)),
        M=np.zeros((n, n)),
        bias=np.zeros(n),
    )
