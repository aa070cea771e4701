"""The kinematic tree as plain arrays, read off a pinocchio model once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio
from numpy.typing import NDArray

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.newton_euler import LINK, inverse_dynamics_along

Record = NDArray[np.void]


@dataclass(frozen=True)
class Chain:
    """A tree of n one-axis joints, parents first.

    `parent` (n,) index of the joint before, −1 for the base; `rotation` (n, 3, 3) and `translation` (n, 3) [m] of joint
    frame j in frame `parent[j]` at q = 0; `axis` (n, 3) unit vector in frame j; `prismatic` (n,) bool; `gravity` (3,)
    [m/s²] in the base frame.
    """

    parent: tuple[int, ...]
    rotation: FloatArray
    translation: FloatArray
    axis: FloatArray
    prismatic: BoolArray
    gravity: FloatArray

    @classmethod
    def from_pinocchio(cls, model: pinocchio.Model) -> Chain:
        """Read the tree off a model whose joints all have one coordinate; raise JointDynamicsError otherwise."""
        data = model.createData()
        neutral = pinocchio.neutral(model)
        parent, rotation, translation, axis, prismatic = [], [], [], [], []
        for j in range(1, model.njoints):
            joint = model.joints[j]
            if joint.nq != 1 or joint.nv != 1:
                raise JointDynamicsError(
                    f'robot: expected joints of one axis, found {model.names[j]} ({joint.shortname()})'
                )
            # the joint's own column of its Jacobian in its own frame: the axis, at any position
            motion = pinocchio.computeJointJacobian(model, data, neutral, j).reshape(6, model.nv)[:, joint.idx_v]
            sliding = np.linalg.norm(motion[:3]) > 0.5
            parent.append(model.parents[j] - 1)
            rotation.append(model.jointPlacements[j].rotation)
            translation.append(model.jointPlacements[j].translation)
            axis.append(motion[:3] if sliding else motion[3:])
            prismatic.append(sliding)
        return cls(
            tuple(parent),
            np.array(rotation),
            np.array(translation),
            np.array(axis),
            np.array(prismatic),
            np.array(model.gravity.linear),
        )

    def links(self, bodies: FloatArray | None = None) -> Record:
        """Return the constants of the links, (n,) of `newton_euler.LINK`.

        Parameters
        ----------
        bodies
            (n, 10) inertial standard parameters; None: none.
        """
        links = np.zeros(self.n, LINK)
        x, y, z = self.axis.T
        zero = np.zeros(self.n)
        hat = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
        links['parent'], links['prismatic'], links['axis'] = self.parent, self.prismatic, self.axis
        links['rotation'], links['translation'] = self.rotation, self.translation
        links['by_sine'], links['by_versine'] = self.rotation @ hat, self.rotation @ hat @ hat
        links['slide'] = np.einsum('ijk,ik->ij', self.rotation, self.axis)
        links['fall'] = -self.gravity
        if bodies is not None:
            links['body'] = bodies
        return links

    def torque(self, q: FloatArray, dq: FloatArray, ddq: FloatArray, bodies: FloatArray) -> FloatArray:
        """Return M q̈ + C q̇ + g of the links alone, τ_J, the load of the drives.

        Parameters
        ----------
        q, dq, ddq
            (samples, n) [rad, rad/s, rad/s²].
        bodies
            (n, 10) inertial standard parameters.

        Returns
        -------
        (samples, n) [N·m].
        """
        out = np.empty(q.shape)
        inverse_dynamics_along(self.links(bodies), *map(np.ascontiguousarray, (q, dq, ddq)), out)
        return out

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.parent)
