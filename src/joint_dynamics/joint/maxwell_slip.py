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

"""Maxwell-slip in position form for all joints at once, with the polynomial laws of the extended model [M6 eq 12-18].

    δ_i ← clip(δ_i + θ(k+1) − θ(k), ±𝓑(θ(k+1)) Δ_i);    H = 𝓑(θ)⁻¹ Σ k_i δ_i;    Σ k_i Δ_i = 1;  −1 ≤ H ≤ 1.

The state is the position of each slider, s_i = θ − δ_i (`laws.slide`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.constants import Record, Tables, blank
from joint_dynamics.joint.friction_documents import operators_of, polynomial_limits, polynomial_stiffness
from joint_dynamics.joint.laws import relative_deformations, slips
from joint_dynamics.joint.maps import PeriodicMap

NO_PRESLIDING = 1e-9
"""Presliding length [rad] in the description of friction that follows the sign of the speed."""
REVERSAL = 1e-4
"""Presliding length [rad] that replaces `NO_PRESLIDING` online: the shortest that identification tries.

A feedforward with `NO_PRESLIDING` would switch sign on encoder noise at standstill.
"""


class MaxwellSlip:
    """M Maxwell-slip operators per joint; input the motor angle, output the normalised hysteresis H in [−1, 1].

    `step(theta)` takes one sample (n,) rad and returns H (n,); `run(theta)` takes (N, n) from the present state on, and
    returns (N, n). For n = 1 a scalar and (N,) are accepted too. The operators are undeformed at the first
    sample after `reset`.

    Parameters
    ----------
    joints
        n.
    presliding
        𝓑(θ) > 0 [rad], the deformation at which the last operator slips: a number, (n,), or a PeriodicMap (stacked for
        n joints). [M6] uses half the backlash of the joint, but the two lengths may differ.
    operators
        M ≥ 1.
    r_Delta, r_k
        exponents of the polynomial laws [M6 eq 17-18]; the defaults are the paper's.
    limits
        Δ, (M,) or (n, M), 0 < Δ_1 < … < Δ_M; None: the polynomial law with `r_Delta`.
    stiffness
        k, (M,) or (n, M), k_i ≥ 0 and Σ k_i Δ_i = 1; None: the polynomial law with `r_k`.
    kinematic_error
        θ̃(θ) [rad], subtracted from the input; None: none.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit and values outside these bounds.
    """

    def __init__(
        self,
        joints: int = 1,
        presliding: float | ArrayLike | PeriodicMap = 1e-3,
        *,
        operators: int = 4,
        r_Delta: float = 4.0,
        r_k: float = 2.0,
        limits: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        kinematic_error: PeriodicMap | None = None,
    ) -> None:
        if joints < 1 or operators < 1:
            raise JointDynamicsError(
                f'MaxwellSlip: expected joints >= 1 and operators >= 1, found {joints} and {operators}'
            )
        self.joints = int(joints)
        self._exponents = {'r_Delta': float(r_Delta)} if limits is None else {}
        if stiffness is None:
            self._exponents['r_k'] = float(r_k)
        given = (
            polynomial_limits(operators, r_Delta) if limits is None else np.atleast_1d(np.array(limits, dtype=float))
        )
        self.limits = np.broadcast_to(given, (self.joints, given.shape[-1])).copy()
        if not np.all(np.isfinite(self.limits)) or np.any(np.diff(self.limits, axis=1, prepend=0.0) <= 0):
            raise JointDynamicsError(
                f'MaxwellSlip: expected limits 0 < Delta_1 < … < Delta_M, found {self.limits.tolist()}'
            )
        if stiffness is None:
            self.stiffness = np.stack([polynomial_stiffness(row, r_k) for row in self.limits])
        else:
            self.stiffness = np.broadcast_to(np.array(stiffness, dtype=float), self.limits.shape).copy()
        total = np.sum(self.stiffness * self.limits, axis=1)
        if not np.all(self.stiffness >= 0) or not np.allclose(total, 1.0, rtol=0, atol=1e-6):
            raise JointDynamicsError(
                f'MaxwellSlip: expected stiffness k >= 0 with sum k_i Delta_i = 1, found sums {total.tolist()}'
            )
        self.stiffness = self.stiffness / total[:, None]
        self.presliding = self._as_map(presliding)
        self.kinematic_error = None if kinematic_error is None else self._as_map(kinematic_error)
        if not self.presliding.minimum > 0:
            raise JointDynamicsError(
                f'MaxwellSlip: expected a presliding length > 0 everywhere, found {self.presliding.minimum}'
            )
        self._slider = np.full(self.limits.shape, np.nan)
        self._output = np.zeros(self.joints)
        self._take_constants()

    def _take_constants(self) -> None:
        tables = Tables()
        self._constants = blank(self.joints)
        self.write_constants(self._constants, tables)
        self._tables = tables.array()

    def write_constants(self, joints: Record, tables: Tables) -> None:
        """Write operators, presliding length [rad] and kinematic error [rad] into the constants of the joints.

        Parameters
        ----------
        joints
            (n,) of `constants.JOINT`, written.
        tables
            the arrays of variable length are added here.
        """
        joints['operators'] = self.operators
        share = self.stiffness * self.limits
        joints['slip'] = [tables.add([*limits, *part]) for limits, part in zip(self.limits, share, strict=True)]
        joints['presliding'] = self.presliding.records(tables)
        if self.kinematic_error is not None:
            joints['error'] = self.kinematic_error.records(tables)

    def _as_map(self, value: float | ArrayLike | PeriodicMap) -> PeriodicMap:
        if isinstance(value, PeriodicMap):
            if value.joints not in (None, self.joints):
                raise JointDynamicsError(f'MaxwellSlip: expected a map of {self.joints} joints, found {value.joints}')
            return value
        levels = np.broadcast_to(np.asarray(value, dtype=float), (self.joints,))
        return PeriodicMap.stack([PeriodicMap.constant(level) for level in levels])

    @property
    def operators(self) -> int:
        """Number of operators M per joint."""
        return int(self.limits.shape[1])

    @property
    def output(self) -> FloatArray:
        """Present H, (n,), −1 ≤ H ≤ 1, without unit; zeros before the first sample."""
        return self._output.copy()

    @property
    def state(self) -> FloatArray | None:
        """Slider positions s_i = θ − δ_i, (n, M) rad, or None before the first sample; may be set."""
        return None if np.isnan(self._slider).all() else self._slider.copy()

    @state.setter
    def state(self, slider: ArrayLike | None) -> None:
        given = np.nan if slider is None else np.asarray(slider, dtype=float)
        self._slider = np.broadcast_to(given, self.limits.shape).copy()

    def reset(self, theta: ArrayLike | None = None, direction: ArrayLike = 0.0) -> None:
        """Restart at θ (n,) rad: undeformed (`direction` 0) or in full slip in `direction` ±1 of each joint.

        θ None: restart at the first sample.
        """
        self._slider, self._output = np.full(self.limits.shape, np.nan), np.zeros(self.joints)
        if theta is not None:
            given = np.broadcast_to(np.asarray(theta, dtype=float), (self.joints,))
            side = np.broadcast_to(np.asarray(direction, dtype=float), (self.joints,))
            angle, width = self._undeformed(given), np.asarray(self.presliding(given))
            self._slider = angle[:, None] - (side * width)[:, None] * self.limits
            self._output = self._advance(given[None])[0]

    def copy(self) -> MaxwellSlip:
        """Return a copy with the same parameters and a state that advances independently."""
        twin = object.__new__(MaxwellSlip)
        twin.__dict__.update(self.__dict__)
        twin._slider, twin._output = self._slider.copy(), self._output.copy()
        return twin

    def _undeformed(self, theta: FloatArray) -> FloatArray:
        return theta if self.kinematic_error is None else theta - self.kinematic_error(theta)

    def step(self, theta: ArrayLike) -> FloatArray:
        """Take one sample of the motor angle θ (n,) rad, return H (n,)."""
        given = np.asarray(theta, dtype=float)
        return self._advance(given.reshape(1, self.joints))[0].reshape(given.shape)

    def run(self, theta: ArrayLike) -> FloatArray:
        """Take a recording θ (N, n) rad, return H (N, n).

        Starts from the present state; the state is then that of the last sample.
        """
        given = np.asarray(theta, dtype=float)
        return self._advance(self._recording(given)).reshape(given.shape)

    def relative_deformation(self, theta: ArrayLike) -> FloatArray:
        """Take a recording θ (N, n) rad like `run`, return δ_i/(𝓑 Δ_i), (N, n, M) in [−1, 1].

        H is their sum with the weights k_i Δ_i, so they are the regressor of these weights.
        """
        rows = self._recording(np.asarray(theta, dtype=float))
        out = np.empty((*rows.shape, self.operators))
        relative_deformations(self._constants, self._tables, rows, self._slider, out)
        self._output = np.clip(np.sum(out[-1] * self.stiffness * self.limits, axis=-1), -1.0, 1.0)
        return out

    def _recording(self, given: FloatArray) -> FloatArray:
        rows = given.reshape(-1, self.joints) if given.ndim <= 1 and self.joints == 1 else given
        if rows.ndim != 2 or rows.shape[1] != self.joints:
            raise JointDynamicsError(
                f'MaxwellSlip: expected a recording theta of shape (N, {self.joints}), found {given.shape}'
            )
        return np.ascontiguousarray(rows)

    def _advance(self, rows: FloatArray) -> FloatArray:
        out = np.empty(rows.shape)
        if len(rows):
            slips(self._constants, self._tables, np.ascontiguousarray(rows), self._slider, out)
            self._output = out[-1].copy()
        return out

    def to_dict(self, joint: int = 0) -> dict[str, Any]:
        """Return the document of one joint, as `from_dicts` reads it.

        It has the number of operators, the presliding length, and the exponents of the laws or limits and stiffness.
        """
        document: dict[str, Any] = {'operators': self.operators, **self._exponents}
        if 'r_Delta' not in self._exponents:
            document['limits'] = self.limits[joint].tolist()
        if 'r_k' not in self._exponents:
            document['stiffness'] = self.stiffness[joint].tolist()
        return document | {'presliding': self.presliding.to_dict(joint)}

    @classmethod
    def from_dicts(
        cls, documents: Sequence[Mapping[str, Any]], kinematic_error: Sequence[PeriodicMap] | None = None
    ) -> MaxwellSlip:
        """Build all joints from their documents, each with a presliding length or map and the same number of operators.

        Parameters
        ----------
        documents
            one per joint, fields as in docs/reference/joint_models.md.
        kinematic_error
            maps θ̃(θ) [rad] of the joints; None: none.

        Raises
        ------
        JointDynamicsError
            For an unknown or missing field, and where joints have different numbers of operators.
        """
        limits, stiffness, presliding, exponents = operators_of(documents)
        slip = cls(
            len(documents),
            presliding,
            limits=limits,
            stiffness=stiffness,
            kinematic_error=None if kinematic_error is None else PeriodicMap.stack(list(kinematic_error)),
        )
        if exponents is not None:
            slip._exponents = exponents
        return slip
