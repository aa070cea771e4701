# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The tree of rigid bodies: as plain arrays read off a pinocchio model once, and in pinocchio's compiled code.

The former is for recordings, the latter for one state at a time at a controller's rate. The same arm on a wall has
other base parameters: how its base is mounted counts as the direction of gravity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio
from numpy.typing import NDArray

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.base_parameters import BaseParameters
from joint_dynamics.robot.dependent import Follows, JointTree
from joint_dynamics.robot.newton_euler import Link, inverse_dynamics_along
from joint_dynamics.robot.standard_parameters import StandardParameters, inertia_of

GRAVITY = 9.81
"""Standard acceleration used throughout [m/s²]; the value pinocchio, URDF tools and Gazebo use (9.8 there)."""


def mounting_rotation(mounting: Any) -> FloatArray:
    """Return the rotation (3, 3) from the robot's base frame to a world whose gravity is along −z.

    `mounting` is None (base z axis up), a rotation matrix (3, 3), roll-pitch-yaw [rad] as three numbers (URDF order:
    fixed axes x, y, z), a quaternion (x, y, z, w) as four numbers, or a mapping with one of the keys `rpy`,
    `quaternion`.

    Raises
    ------
    JointDynamicsError
        For anything else.
    """
    if mounting is None:
        return np.eye(3)
    if isinstance(mounting, Mapping):
        if set(mounting) not in ({'rpy'}, {'quaternion'}):
            raise JointDynamicsError(f'mounting: expected one key rpy or quaternion, found {sorted(mounting, key=str)}')
        (mounting,) = mounting.values()
    try:
        values = np.asarray(mounting, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise JointDynamicsError(f'mounting: expected numbers, found {mounting!r}') from None
    if not np.all(np.isfinite(values)):
        raise JointDynamicsError(f'mounting: expected finite numbers, found {values.tolist()}')
    if values.shape == (3,):
        return np.asarray(pinocchio.rpy.rpyToMatrix(values))
    if values.shape == (4,):
        norm = np.linalg.norm(values)
        if not abs(norm - 1) <= 1e-3:
            raise JointDynamicsError(f'mounting: expected a unit quaternion (x, y, z, w), found one of norm {norm:.4g}')
        return np.asarray(pinocchio.Quaternion(values / norm).toRotationMatrix())
    if values.shape == (3, 3):
        if not (np.abs(values @ values.T - np.eye(3)).max() <= 1e-6 and np.linalg.det(values) > 0):
            raise JointDynamicsError(
                'mounting: expected a rotation matrix, found one that is not orthonormal and right-handed'
            )
        return values
    raise JointDynamicsError(
        'mounting: expected roll-pitch-yaw (3 numbers), a quaternion x y z w (4) or a 3 by 3 rotation matrix, found'
        f' shape {values.shape}'
    )


def gravity_in_base(mounting: Any) -> FloatArray:
    """Return the acceleration of gravity in the base frame (3,) [m/s²]."""
    return mounting_rotation(mounting).T @ np.array([0.0, 0.0, -GRAVITY])


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
        """Return the constants of the links, (N,) of `newton_euler.Link`, in the order of the tree.

        Parameters
        ----------
        bodies
            (N, 10) inertial standard parameters, in the order of the parameters; None: none.
        """
        links = np.zeros(len(self.parent), Link.dtype)
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


class RigidBody:
    """Inverse dynamics, mass matrix and gravity of a tree with given standard parameters, for its independent joints.

    Pinocchio stores a link as mass, centre of mass and tensor, and so cannot represent a first moment without a mass,
    as identified base sets have. Such a set is therefore shifted along directions without effect on any torque until
    every link has a mass.

    Parameters
    ----------
    model
        pinocchio model of the tree (copied).
    tree
        which of its joints follow others.
    standard
        (14 N + …,) standard parameters; friction and rotor inertia have no effect here.
    base
        base parameters of the inertial ones, whose null space gives these directions.

    """

    def __init__(self, model: pinocchio.Model, tree: JointTree, standard: FloatArray, base: BaseParameters):
        self.model, self._tree = model.copy(), tree
        self.n = tree.matrix.shape[1]
        links = StandardParameters(standard, self.n, model.nv).links.copy()
        if np.any(links[:, 9] < 1e-3):
            prior = links.copy()
            prior[:, 9] = np.maximum(prior[:, 9], 1.0)
            links = base.lift(base.regroup(links.ravel()), prior.ravel()).reshape(prior.shape)
            links[np.abs(links[:, 9]) < 1e-6, 9] = 1e-6
        for k, body in zip(tree.row, links, strict=True):
            self.model.inertias[int(k) + 1] = inertia_of(body)
        self._data = self.model.createData()

    def _at(self, q: FloatArray, *rates: FloatArray) -> tuple[FloatArray, ...]:
        return self._tree.positions(q), *(self._tree.rates(rate) for rate in rates)

    def inverse_dynamics(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return M(q) q̈ + C(q, q̇) q̇ + g(q) [N·m], (n,), for one state, (n,) each."""
        return self._tree.torques(pinocchio.rnea(self.model, self._data, *self._at(q, dq, ddq))).copy()

    def gravity(self, q: FloatArray) -> FloatArray:
        """Return g(q) [N·m], (n,)."""
        return self._tree.torques(pinocchio.computeGeneralizedGravity(self.model, self._data, *self._at(q))).copy()

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return M(q) [kg·m²], (n, n), symmetric, without rotor inertias."""
        upper = np.triu(pinocchio.crba(self.model, self._data, *self._at(q)))
        return self._tree.folded(upper + np.triu(upper, 1).T)

    def bias(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return C(q, q̇) q̇ + g(q) [N·m], (n,)."""
        return self._tree.torques(pinocchio.nonLinearEffects(self.model, self._data, *self._at(q, dq))).copy()

    def last_link_regressor(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return the columns (n, 10) of the last joint's link: mass, first moments, xx xy yy xz yz zz of its frame."""
        rows = pinocchio.computeJointTorqueRegressor(self.model, self._data, *self._at(q, dq, ddq))
        last = 10 * int(self._tree.row[self.n - 1])
        return self._tree.torques(rows[:, last : last + 10].T).T
