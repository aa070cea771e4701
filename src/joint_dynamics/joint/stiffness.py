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

"""Torsional stiffness of a transmission, an odd polynomial of its deformation [M3 eq 4-10, M4 eq 12-22].

    τ_E(φ) = Σ_{p=1..P} α_p φ^{2p−1},   k(φ) = dτ_E/dφ = Σ (2p−1) α_p φ^{2p−2}

φ = θ − q − θ̃(θ) is the deformation [rad]: motor minus link, after the kinematic error. With α_p ≥ 0 the polynomial has
an inverse everywhere; with α_2 < 0 below τ_max = τ_E(φ_max), k(φ_max) = 0. Beyond `reach` the stiffness is constant.

Lost motion is deformation within the backlash without torque. A load reduces it [without load: M4 eq 30-32]:

    φ = θ − q = s(τ_J) + θ̃(θ) + b(τ) x;   x ← clip(x + Δθ/𝓑, ±1);   b(τ) = Σ_i b_i/(1 + (τ/τ_i)²);   T τ̇ + τ = τ_J.

No published law describes b; it is fitted with b_i ≥ 0, Σ b_i = 𝓑, for fixed loads τ_i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import laws
from joint_dynamics.joint.constants import Record, Tables, blank
from joint_dynamics.joint.maxwell_slip import MaxwellSlip

#: Least stiffness within the working range, as a share of that without load.
SOFTEST = 0.05


class TorsionalStiffness:
    """Stiffness polynomials of one joint, or of all joints at once; evaluated on arrays of any shape, or (…, n).

    Parameters
    ----------
    coefficients
        (P,) for one joint, or (n, P); α_p in N·m/rad^{2p−1}.
    reach
        |φ| [rad] up to which the polynomial holds, () or (n,); infinite if it holds everywhere.

    Raises
    ------
    JointDynamicsError
        For other shapes, coefficients that are not finite, and a reach that is not above 0.
    """

    def __init__(self, coefficients: ArrayLike, reach: ArrayLike = np.inf) -> None:
        self.coefficients: FloatArray = np.atleast_1d(np.array(coefficients, dtype=float))
        if self.coefficients.ndim > 2 or self.coefficients.size == 0 or not np.all(np.isfinite(self.coefficients)):
            raise JointDynamicsError(
                'TorsionalStiffness: expected finite coefficients of shape (P,) or (n, P), found shape '
                f'{self.coefficients.shape}'
            )
        self._joints = len(self.coefficients) if self.coefficients.ndim == 2 else None
        self.reach: FloatArray = np.broadcast_to(np.array(reach, dtype=float), self.coefficients.shape[:-1]).copy()
        if not (self.reach > 0.0).all():
            raise JointDynamicsError(f'TorsionalStiffness: expected a reach > 0 rad, found {self.reach.tolist()}')
        self._records, tables = blank(self._joints or 1), Tables()
        self.write_constants(self._records, tables)
        self._tables = tables.array()

    def write_constants(self, joints: Record, tables: Tables) -> None:
        """Write the polynomials [N·m/rad^{2p−1}] into constants.

        Parameters
        ----------
        joints
            (n,) of `constants.JOINT`, written.
        tables
            the arrays of variable length are added here.
        """
        rows = np.atleast_2d(self.coefficients)
        joints['order'] = self.order
        joints['elastic'] = [tables.add(row) for row in rows]
        joints['phi_max'] = [_largest_deformation(row) for row in rows]
        # One that bends over within its reach has no tangent to go on with.
        joints['elastic_range'] = np.where(joints['phi_max'] > self.reach, self.reach, np.inf)

    @property
    def order(self) -> int:
        """Number of polynomial terms P."""
        return int(self.coefficients.shape[-1])

    @property
    def largest(self) -> tuple[FloatArray, FloatArray]:
        """φ_max (n,) rad and τ_max (n,) N·m, infinite where the stiffness never vanishes."""
        phi = np.where(np.isfinite(self._records['elastic_range']), np.inf, self._records['phi_max'])
        bent = np.isfinite(phi)
        torque = laws.evaluate(laws.ELASTIC_TORQUE, len(phi), self._records, self._tables, np.where(bent, phi, 0.0))
        return phi, np.where(bent, torque, np.inf)

    def _of(self, law: int, x: ArrayLike) -> FloatArray:
        array = np.asarray(x, dtype=float)
        if self._joints is not None and (array.ndim == 0 or array.shape[-1] != self._joints):
            raise JointDynamicsError(f'TorsionalStiffness: expected shape (…, {self._joints}), found {array.shape}')
        return laws.evaluate(law, self._joints, self._records, self._tables, array)

    @staticmethod
    def basis(phi: ArrayLike, order: int) -> FloatArray:
        """Regressor ψ = [φ, φ³, …, φ^{2P−1}], phi [rad] (…,), P = `order`; shape (…, P) [rad^{2p−1}]."""
        return np.asarray(phi, dtype=float)[..., None] ** (2 * np.arange(order) + 1)

    def torque(self, phi: ArrayLike) -> FloatArray:
        """Elastic torque τ_E(φ) [N·m] of the deformation phi [rad], (…,) of one joint or (…, n); same shape."""
        return self._of(laws.ELASTIC_TORQUE, phi)

    def stiffness(self, phi: ArrayLike) -> FloatArray:
        """Stiffness k(φ) = dτ_E/dφ [N·m/rad] at the deformation phi [rad], (…,) or (…, n); same shape."""
        return self._of(laws.STIFFNESS, phi)

    def curvature(self, phi: ArrayLike) -> FloatArray:
        """Return dk/dφ = Σ (2p−1)(2p−2) α_p φ^{2p−3} [N·m/rad²] at phi [rad], (…,) or (…, n); same shape."""
        return self._of(laws.STIFFNESS_SLOPE, phi)

    def deformation(self, torque: ArrayLike) -> FloatArray:
        """Deformation φ [rad] with τ_E(φ) = torque [N·m]: the one real root, same shape as the torque.

        Needs α_p ≥ 0 with one above zero, so that τ_E is monotone; raises JointDynamicsError otherwise.
        """
        alpha = self.coefficients
        if not np.all(alpha >= 0) or not np.all(np.any(alpha > 0, axis=-1)):
            raise JointDynamicsError(
                'TorsionalStiffness.deformation: expected coefficients >= 0, one of them > 0 per joint (monotone), '
                f'found {alpha.tolist()}'
            )
        return self.bounded_deformation(torque)

    def bounded_deformation(self, torque: ArrayLike) -> FloatArray:
        """Return the deformation [rad] of joints that may soften; beyond τ_max, the largest torque possible, ±φ_max.

        torque: [N·m] (…,) or (…, n).
        """
        return self._of(laws.DEFORMATION, torque)

    def to_dict(self, joint: int = 0) -> dict[str, Any]:
        """Plain document of one joint: `{coefficients: [α_1, …]}`, N·m/rad^{2p−1}, and `range`, rad, where finite."""
        reach = float(np.atleast_1d(self.reach)[joint])
        return {'coefficients': np.atleast_2d(self.coefficients)[joint].tolist()} | (
            {'range': [-reach, reach]} if np.isfinite(reach) else {}
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TorsionalStiffness:
        """Build one joint's stiffness from its document (fields as in docs/reference/joint_models.md).

        The larger end of `range` applies to both sides. Raises JointDynamicsError where coefficients are missing.
        """
        if 'coefficients' not in document:
            raise JointDynamicsError(
                f'stiffness: expected the field coefficients, found {", ".join(map(str, document)) or "none"}'
            )
        return cls(document['coefficients'], np.max(np.abs(document.get('range', np.inf))))

    @classmethod
    def stack(cls, stiffnesses: Sequence[TorsionalStiffness]) -> TorsionalStiffness:
        """Join one-joint polynomials, of possibly different order, into one of n joints.

        stiffnesses: one per joint.
        """
        order = max(stiffness.order for stiffness in stiffnesses)
        return cls(
            [np.pad(stiffness.coefficients.ravel(), (0, order - stiffness.order)) for stiffness in stiffnesses],
            np.ravel([stiffness.reach for stiffness in stiffnesses]),
        )


def _largest_deformation(coefficients: FloatArray) -> float:
    """Return φ_max [rad]: the smallest positive root of the stiffness, a polynomial in φ²; infinite without."""
    factors = coefficients * (2 * np.arange(1, len(coefficients) + 1) - 1)
    if np.all(factors >= 0):
        return np.inf
    roots = np.roots(np.trim_zeros(factors[::-1], 'f'))
    squares = roots.real[(np.abs(roots.imag) <= 1e-9 * np.abs(roots)) & (roots.real > 0)]
    return float(np.sqrt(squares.min(initial=np.inf)))


def check_range(stiffness: TorsionalStiffness, joint_names: Sequence[str], working: FloatArray) -> None:
    """Raise JointDynamicsError for the first joint without positive stiffness over its torques ±`working` (n,) N·m.

    With infinite working torques (no limit known), only a joint whose stiffness never vanishes passes.
    """
    _, tau_max = stiffness.largest
    for joint, name in enumerate(joint_names):
        single = TorsionalStiffness(stiffness.coefficients[joint], stiffness.reach[joint])
        row = single.coefficients
        if np.all(row >= 0) and np.any(row > 0):
            continue
        soft = float(single.stiffness(0.0))
        if soft > 0 and tau_max[joint] > working[joint]:
            # The polynomial may dip in between, so all of the way counts.
            slopes = np.array([np.inf])
            if np.isfinite(working[joint]):
                slopes = single.stiffness(np.linspace(0.0, float(single.bounded_deformation(working[joint])), 101))
            if slopes.min() >= SOFTEST * soft:
                continue
        raise JointDynamicsError(
            f'arm: expected a stiffness of {name} that stays positive up to its torque limit of {working[joint]:g} N·m,'
            f' found coefficients {row.tolist()}, positive up to {tau_max[joint]:.4g} N·m'
        )


#: Loads τ_i that halve the parts of the lost motion, as shares of the joint's torque limit.
LOADS = (0.01, 0.04)
#: Shares b_i/𝓑 of the lost motion, where they are not described.
LOAD_SHARES = (0.5, 0.5)
#: Time constant [s] of the load that takes the lost motion up, where it is not described.
LOAD_LAG = 0.1


def loads_of(limit: Any) -> FloatArray:
    """Return τ_i (…, 2) N·m for torque limits (…) N·m."""
    return np.asarray(limit, dtype=float)[..., None] * np.array(LOADS)


def lost_motion_share(ratio: FloatArray) -> FloatArray:
    """Return the share of b_i that remains at the load `ratio` · τ_i: 1 at 0, ½ at ±1; same shape."""
    return 1.0 / (1.0 + ratio * ratio)


def place_in_play(theta: FloatArray, width: float) -> FloatArray:
    """Return x (N,) in [−1, 1] along motor angles `theta` (N,) rad of one joint; starts at 0. `width`: 𝓑 > 0, rad."""
    return MaxwellSlip(1, width, operators=1).run(theta)
