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

"""Inverse dynamics of an arm, linear in its standard parameters, and its identifiable parameters.

    tau = W(q, q̇, q̈) · parameters

Whole motions are computed in blocks; `RigidBody` computes one state after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.base_parameters import BaseParameters, find_base_parameters
from joint_dynamics.robot.chain import Chain, RigidBody
from joint_dynamics.robot.dependent import DriveCoupling, Follows
from joint_dynamics.robot.regressor import regressor_rows
from joint_dynamics.robot.standard_parameters import INERTIAL, JOINT, StandardParameters, body_of, parameter_names

BLOCK = 2048  # samples: large enough to hide the interpreter, small enough for the processor's cache


class LinearDynamics:
    """Torques of n joints; `RobotModel` adds their source.

    Parameters
    ----------
    model
        the pinocchio model, gravity as it acts on the base.
    coupling
        (n, n) motor angles [rad] from joint angles [rad], None for one motor per joint.
    has_inertials
        whether the model's inertials are known.
    dependent
        the joints of the model that follow others.

    Attributes
    ----------
    joint_names, n
        of the independent joints, in chain order.
    link_names
        the joint that moves each link, (N,): `joint_names`, followed by the dependent joints.
    prismatic
        (n,) bool, which joints slide: their torques are forces [N].
    mixed
        whether some joints slide and others turn: their torques have no unit in common.
    parameter_names
        names of the standard parameters, p in all.
    parameters : array or None
        (p,) [SI] from the model's inertials (rotor and friction 0), or None where it has none.
    pinocchio, chain
        the model, and its constants for the regressor.
    coupling
        DriveCoupling or None.

    Raises
    ------
    JointDynamicsError
        For a joint that has more than one axis, or a coupling that does not fit.
    """

    def __init__(
        self,
        model: pinocchio.Model,
        coupling: ArrayLike | None,
        *,
        has_inertials: bool,
        dependent: Mapping[str, Follows] | None = None,
    ):
        self.pinocchio = model
        self.chain = Chain.from_pinocchio(model, dependent)
        tree = self.chain.tree
        self.joint_names, self.link_names = tree.joint_names, tree.link_names
        self.n = self.chain.n
        self.prismatic = self.chain.prismatic[tree.row[: self.n]]
        self.mixed = len(set(self.prismatic.tolist())) > 1
        several = tree.several
        self.coupling = (
            None
            if coupling is None and not len(several)
            else DriveCoupling(np.eye(self.n) if coupling is None else coupling, several)
        )
        self.parameter_names = parameter_names(len(self.link_names)) + (
            self.coupling.parameter_names if self.coupling else []
        )
        self.parameters = self._urdf_parameters() if has_inertials else None

    def _urdf_parameters(self) -> FloatArray:
        parameters = self.standard()
        parameters.links[:] = [body_of(self.pinocchio.inertias[int(k) + 1]) for k in self.chain.tree.row]
        return parameters.values

    def standard(self, values: ArrayLike | None = None) -> StandardParameters:
        """Return standard parameters by meaning: links, drives, coupled motors.

        Parameters
        ----------
        values : array
            standard parameters (p,) [SI], not copied; None: zeros.

        Raises
        ------
        JointDynamicsError
            For fewer values than there are links.
        """
        values = np.zeros(len(self.parameter_names)) if values is None else values
        return StandardParameters(values, self.n, len(self.link_names))

    def columns(self, kinds: Iterable[str] = (*INERTIAL, *JOINT, 'Fs')) -> IntArray:
        """Return the indices (k,) of the standard parameters of these kinds.

        `XX` … `M`, `Ia`, `Fv`, `Fc`, `off`; `Fs` of coupled motors.
        """
        wanted = set(kinds)
        return np.array([k for k, name in enumerate(self.parameter_names) if name.partition('_')[0] in wanted])

    def _states(self, *arrays: ArrayLike) -> tuple[list[FloatArray], bool]:
        states = [np.asarray(array, dtype=float) for array in arrays]
        shape = states[0].shape
        if any(state.shape != shape for state in states) or len(shape) not in (1, 2) or shape[-1] != self.n:
            shapes = ', '.join(str(state.shape) for state in states)
            raise JointDynamicsError(
                f'robot: expected states of shape (samples, {self.n}) or ({self.n},), all alike, found {shapes}'
            )
        return [np.atleast_2d(state) for state in states], len(shape) == 1

    def regressor_blocks(
        self, q: FloatArray, dq: FloatArray, ddq: FloatArray, block: int = BLOCK
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (samples, rows) for one block after the other; rows (joints, parameters, samples), component-major.

        Parameters
        ----------
        q, dq, ddq
            motion (samples, joints) [rad, rad/s, rad/s²].
        block
            samples in each.
        """
        for start in range(0, len(q), block):
            part = slice(start, min(start + block, len(q)))
            motion = [np.ascontiguousarray(array[part].T) for array in (q, dq, ddq)]
            rows = regressor_rows(self.chain, *motion)
            if self.coupling is not None:
                rows = np.concatenate([rows, self.coupling.regressor_rows(motion[1], motion[2])], axis=1)
            yield part, rows

    def regressor(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> FloatArray:
        """Return W with tau = W · parameters, (samples, joints, p) for states (samples, joints), (joints, p) for one.

        q [rad or m], dq, ddq their derivatives.

        Raises
        ------
        JointDynamicsError
            On shapes that do not fit.
        """
        states, single = self._states(q, dq, ddq)
        W = np.empty((len(states[0]), self.n, len(self.parameter_names)))
        for part, rows in self.regressor_blocks(states[0], states[1], states[2]):
            W[part] = rows.transpose(2, 0, 1)
        return W[0] if single else W

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, parameters: ArrayLike | None = None
    ) -> FloatArray:
        """Return the torque [N·m], (samples, joints) or (joints,), of a motion under standard parameters.

        For single states at a controller's rate use `rigid_body`.

        Parameters
        ----------
        q, dq, ddq
            motion (samples, joints) or (joints,) [rad, rad/s, rad/s²].
        parameters : array
            standard parameters (p,) [SI]; None: the URDF's.

        Raises
        ------
        JointDynamicsError
            Without either, and for shapes that do not fit.
        """
        states, single = self._states(q, dq, ddq)
        values = self._parameters(parameters)
        tau = np.empty_like(states[0])
        for part, rows in self.regressor_blocks(states[0], states[1], states[2]):
            tau[part] = np.einsum('jps,p->sj', rows, values, optimize=True)
        return tau[0] if single else tau

    def _parameters(self, parameters: ArrayLike | None) -> FloatArray:
        values = self.parameters if parameters is None else np.asarray(parameters, dtype=float)
        if values is None:
            raise JointDynamicsError('robot: expected inertial parameters, found none in the model: give `parameters`')
        if values.shape != (len(self.parameter_names),):
            raise JointDynamicsError(
                f'robot: expected {len(self.parameter_names)} parameters, found shape {values.shape}'
            )
        return values

    def rigid_body(self, parameters: ArrayLike | None = None) -> RigidBody:
        """Return the rigid-body functions (inverse dynamics, mass matrix, gravity) of single states, in compiled code.

        Parameters
        ----------
        parameters : array
            standard parameters (p,) [SI]; None: the URDF's.

        Raises
        ------
        JointDynamicsError
            Without either.
        """
        return RigidBody(self.pinocchio, self.chain.tree, self._parameters(parameters), self.base_parameters(INERTIAL))

    def gravity(self, q: ArrayLike, parameters: ArrayLike | None = None) -> FloatArray:
        """Return the gravity torque g(q) [N·m], shaped as q (samples, joints) or (joints,).

        parameters: as of `inverse_dynamics`.
        """
        values = self._parameters(parameters).copy()
        values[[k for k, name in enumerate(self.parameter_names) if name.partition('_')[0] == 'off']] = 0.0
        zero = np.zeros_like(np.asarray(q, dtype=float))
        return self.inverse_dynamics(q, zero, zero, values)

    def mass_matrix(self, q: ArrayLike, parameters: ArrayLike | None = None) -> FloatArray:
        """Return M(q) (n, n) [kg·m²] of one state, without rotor inertias; parameters: as of `inverse_dynamics`."""
        return self.rigid_body(parameters).mass_matrix(np.asarray(q, dtype=float))

    def random_states(self, samples: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return random q within ±π rad (or ±0.5 m), dq and ddq, (samples, n) each, for identities and ranks.

        rng: random number generator.
        """
        reach = np.where(self.prismatic, 0.5, np.pi)
        shape = (samples, self.n)
        return rng.uniform(-1, 1, shape) * reach, rng.uniform(-3, 3, shape), rng.uniform(-10, 10, shape)

    def base_parameters(self, kinds: Iterable[str] = (*INERTIAL, *JOINT, 'Fs')) -> BaseParameters:
        """Return the base parameters of the standard parameters of these kinds, numerically (Gautier 1991).

        Cached per choice of kinds. The random states are always the same, and so is the result.
        """
        columns = self.columns(kinds)
        key = tuple(columns)
        cache = self.__dict__.setdefault('_base_parameters', {})
        if key not in cache:
            states = self.random_states(4 * len(self.parameter_names), np.random.default_rng(1991))
            W = self.regressor(*states)[:, :, columns].reshape(-1, len(columns))
            cache[key] = find_base_parameters(W, [self.parameter_names[k] for k in columns])
        return cache[key]
