"""Rigid-body dynamics of one state at a time, in pinocchio's compiled code, for loops at a controller's rate."""

from __future__ import annotations

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.base_parameters import BaseParameters
from joint_dynamics.robot.dependent import JointTree
from joint_dynamics.robot.standard_parameters import StandardParameters, inertia_of


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

    def coriolis_matrix(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return C(q, q̇), (n, n), such that Ṁ − 2C is skew (Christoffel symbols)."""
        return self._tree.folded(pinocchio.computeCoriolisMatrix(self.model, self._data, *self._at(q, dq)).copy())

    def last_link_regressor(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return the columns (n, 10) of the last joint's link: mass, first moments, xx xy yy xz yz zz of its frame."""
        rows = pinocchio.computeJointTorqueRegressor(self.model, self._data, *self._at(q, dq, ddq))
        last = 10 * int(self._tree.row[self.n - 1])
        return self._tree.torques(rows[:, last : last + 10].T).T
