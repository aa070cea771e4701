"""The kinematic tree as plain arrays, read off a pinocchio model once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio
from numpy.typing import NDArray

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.dependent import Follows, JointTree
from joint_dynamics.robot.newton_euler import LINK, inverse_dynamics_along

Record = NDArray[np.void]


@dataclass(frozen=True)
class Chain:
    """A tree of N one-axis joints, parents first.

    `parent` (N,) index of the joint before, −1 for the base; `rotation` (N, 3, 3) and `translation` (N, 3) [m] of joint
    frame j in frame `parent[j]` at q = 0; `axis` (N, 3) unit vector in frame j; `prismatic` (N,) bool; `gravity` (3,)
    [m/s²] in the base frame; `tree` which of the joints follow others; n, the number of independent joints.
    """

    parent: tuple[int, ...]
    rotation: FloatArray
    translation: FloatArray
    axis: FloatArray
    prismatic: BoolArray
    gravity: FloatArray
    tree: JointTree

    @classmethod
    def from_pinocchio(cls, model: pinocchio.Model, dependent: Mapping[str, Follows] | None = None) -> Chain:
        """Read the tree off a model whose joints all have one coordinate; raise JointDynamicsError otherwise.

        dependent: the joints that follow others.
        """
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
            JointTree.of(list(model.names)[1:], dependent or {}),
        )

    def links(self, bodies: FloatArray | None = None) -> Record:
        """Return the constants of the links, (N,) of `newton_euler.LINK`, in the order of the tree.

        Parameters
        ----------
        bodies
            (N, 10) inertial standard parameters, in the order of the parameters; None: none.
        """
        links = np.zeros(len(self.parent), LINK)
        x, y, z = self.axis.T
        zero = np.zeros(len(self.parent))
        hat = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
        links['parent'], links['prismatic'], links['axis'] = self.parent, self.prismatic, self.axis
        links['rotation'], links['translation'] = self.rotation, self.translation
        links['by_sine'], links['by_versine'] = self.rotation @ hat, self.rotation @ hat @ hat
        links['slide'] = np.einsum('ijk,ik->ij', self.rotation, self.axis)
        links['fall'] = -self.gravity
        links['number'], links['offset'] = self.tree.link, self.tree.offset
        for link, ratios in zip(links, self.tree.matrix, strict=True):
            leaders = np.flatnonzero(ratios)
            link['leaders'], link['leader'][: len(leaders)] = len(leaders), leaders
            link['ratio'][: len(leaders)] = ratios[leaders]
        if bodies is not None:
            links['body'] = bodies[self.tree.link]
        return links

    def motion(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> tuple[FloatArray, ...]:
        """Return q, sin q, 1 − cos q, dq, ddq of the tree, (samples, N) each, of those of the joints (samples, n)."""
        q, dq, ddq = self.tree.positions(q), self.tree.rates(dq), self.tree.rates(ddq)
        # both by one function, and 1 − cos q without cancellation
        half = np.tan(0.5 * q)
        sine = 2.0 * half / (1.0 + half * half)
        return q, sine, half * sine, dq, ddq

    def torque(self, q: FloatArray, dq: FloatArray, ddq: FloatArray, bodies: FloatArray) -> FloatArray:
        """Return M q̈ + C q̇ + g of the links alone, τ_J, the load of the drives.

        Parameters
        ----------
        q, dq, ddq
            (samples, n) [rad, rad/s, rad/s²].
        bodies
            (N, 10) inertial standard parameters.

        Returns
        -------
        (samples, n) [N·m].
        """
        out = np.empty(q.shape)
        inverse_dynamics_along(self.links(bodies), *map(np.ascontiguousarray, (q, dq, ddq)), out)
        return out

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return self.tree.matrix.shape[1]
