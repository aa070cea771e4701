"""Rigid-body dynamics of one state at a time, in pinocchio's compiled code, for loops at a controller's rate."""

from __future__ import annotations

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.base_parameters import BaseParameters
from joint_dynamics.robot.standard_parameters import INERTIAL, StandardParameters, inertia_of


class RigidBody:
    """Inverse dynamics, mass matrix and gravity of a tree under given standard parameters.

    Pinocchio stores a link as mass, centre of mass and tensor, and so cannot hold a first moment without a mass, which
    identified base sets have. Each such set is therefore moved along the directions that no torque shows until every
    link has a mass.

    Parameters
    ----------
    model: pinocchio model (copied). standard: (14 n + …,) standard parameters, friction and rotor inertia without
    effect here.
    base: base parameters of the inertial ones, whose null space is what may be moved along.

    """

    def __init__(self, model: pinocchio.Model, standard: FloatArray, base: BaseParameters):
        self.model = model.copy()
        self.n = model.nv
        inertial = StandardParameters(standard, self.n).links.copy()
        if np.any(inertial[:, 9] < 1e-3):
            prior = inertial.copy()
            prior[:, 9] = np.maximum(prior[:, 9], 1.0)
            inertial = base.lift(base.regroup(inertial.ravel()), prior.ravel()).reshape(self.n, len(INERTIAL))
            inertial[np.abs(inertial[:, 9]) < 1e-6, 9] = 1e-6
        for k, body in enumerate(inertial):
            self.model.inertias[k + 1] = inertia_of(body)
        self._data = self.model.createData()

    def inverse_dynamics(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return M(q) q̈ + C(q, q̇) q̇ + g(q) [N·m], (n,), for one state, (n,) each."""
        return pinocchio.rnea(self.model, self._data, q, dq, ddq).copy()

    def gravity(self, q: FloatArray) -> FloatArray:
        """Return g(q) [N·m], (n,)."""
        return pinocchio.computeGeneralizedGravity(self.model, self._data, q).copy()

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return M(q) [kg·m²], (n, n), symmetric, without rotor inertias."""
        upper = np.triu(pinocchio.crba(self.model, self._data, q))
        return upper + np.triu(upper, 1).T

    def bias(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return C(q, q̇) q̇ + g(q) [N·m], (n,)."""
        return pinocchio.nonLinearEffects(self.model, self._data, q, dq).copy()

    def coriolis_matrix(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return C(q, q̇), (n, n), such that Ṁ − 2C is skew (Christoffel symbols)."""
        return pinocchio.computeCoriolisMatrix(self.model, self._data, q, dq).copy()
