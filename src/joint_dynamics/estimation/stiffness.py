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

"""Online torsional stiffness by recursive least squares with directional forgetting and regularisation, RLS-DF*.

    τ_E(φ) = Σ_p α_p φ^{2p−1} = ψᵀα,   P as in `spring`   [M3 eq 18]

and its tangent beyond the reach of a described curve. The defaults differ from the thesis: directions scaled by φ_ref,
faster forgetting, an excitation gate, and a detector of jumps of the prediction error, which opens the covariance
again. docs/explanation/estimation.md has the reasons. A joint at rest repeats one torque error: its `unknown` is inf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.estimation_settings import per_joint, positive
from joint_dynamics.estimation.spring import DUE, JUMPED, Spring, bound, stiffness_step
from joint_dynamics.records import Field

Array = FloatArray
REOPENED = 0.05  # relative uncertainty of a map that a named change has scaled: as much as one wanders
LARGEST = 1e3  # largest plausible deformation, in φ_ref; beyond is a broken sample and would overflow


class StiffnessEstimator:
    """Coefficients α_p of the elastic torque of n joints, updated with one (φ, τ_E) per joint and sample.

    Parameters
    ----------
    joints, order
        n, and P, number of odd terms.
    period
        sample period, s; only the times below refer to it.
    scale
        φ_ref, rad, number or (n,): deformation at which the directions φ, φ³, … are of like size. 1: raw units.
    memory
        s of excited motion after which a sample has lost 1/e of its weight: μ = 1 − period/memory; inf is μ = 1.
    mu
        μ itself, instead of `memory`.
    delta
        δ ≥ 0, added to every scaled direction of P per update.
    initial_coefficients
        α(0), (P,) or (n, P), N·m/rad^{2p−1}; default 0.
    initial_covariance
        diagonal of P(0) in scaled directions, number, (P,) or (n, P); also the bound of P.
    gate
        rad: no update while |φ| is below; None: 0.2 φ_ref; 0: none.
    change_share
        threshold of a jump, relative to the root mean square of the torque; inf: no detection. A jump is detected when
        the root mean square of ε/√(1 + r) over `change_window` s of excited motion exceeds this and three times its own
        long-term level. P is then opened for a scaled curve (100 %) and, less, for one of another shape (30 %).
    noise
        N·m, number or (n,): smallest deviation that a torque is taken to have.
    keep
        bool or (n,): joints with a described map α(0), in force until a learnt map explains the torque as for
        `reliable`. Of the other joints the learnt map is in force at once.
    reach
        rad, number or (n,): beyond, the curve goes on along its tangent.

    Attributes
    ----------
    P, alpha, square
        of the map in force: (n, P, P) and (n, P), scaled: α_p φ_ref^{2p−1}, the torque of each term at φ_ref, N·m; mean
        square of the prediction error, (n,) (N·m)².
    learnt, in_force
        (P, α) of the learnt map, and (P, α, square), as `stiffness_step` takes them.
    changes
        (n,) number of changes named.
    excited, reliable
        (n,) bool: whether the last sample taught; whether the learnt map can be relied on: excited for 2 s, explaining
        80 % of the torque, and increasing with the deformation.
    states
        (n,) of `Spring`.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit and values outside these bounds.
    """

    excited, reliable = Field(), Field()

    def __init__(
        self,
        joints: int,
        order: int = 2,
        *,
        period: float = 1e-3,
        scale: ArrayLike = 1e-3,
        memory: float = 5.0,
        mu: float | None = None,
        delta: float = 0.0,
        initial_coefficients: ArrayLike = 0.0,
        initial_covariance: ArrayLike = 1e4,
        gate: ArrayLike | None = None,
        change_share: float = 0.3,
        change_window: float = 0.3,
        noise: ArrayLike = 0.1,
        keep: ArrayLike = False,
        reach: ArrayLike = np.inf,
    ) -> None:
        if joints < 1 or order < 1:
            raise JointDynamicsError(f'stiffness: expected joints >= 1 and order >= 1, found {joints} and {order}')
        self.joints, self.order, self.period = int(joints), int(order), positive('period', period)
        self.mu = max(1.0 - self.period / positive('memory', memory), 0.1) if mu is None else float(mu)
        if not 0 < self.mu <= 1 or not (np.isfinite(delta) and delta >= 0):
            raise JointDynamicsError(f'stiffness: expected 0 < mu <= 1 and delta >= 0, found {self.mu} and {delta}')
        shape = (self.joints, self.order)
        self._covariance0 = np.broadcast_to(np.asarray(initial_covariance, dtype=float), shape).copy()
        if not (np.isfinite(self._covariance0) & (self._covariance0 > 0)).all():
            raise JointDynamicsError(f'initial_covariance: expected finite numbers > 0, found {initial_covariance!r}')
        self.reach = np.broadcast_to(np.asarray(reach, dtype=float), self.joints)
        self.scale, self.delta = per_joint('scale', scale, self.joints), float(delta)
        self._powers = 2 * np.arange(self.order) + 1
        self._unit, self._per_scale = self.scale[:, None] ** self._powers, 1.0 / self.scale
        self._alpha0 = np.broadcast_to(np.asarray(initial_coefficients, dtype=float), shape) * self._unit
        self.change_share, self._floor = positive('change_share', change_share), per_joint('noise', noise, joints) ** 2
        self.states = Spring.filled(
            self.joints, top=LARGEST * self.scale, per_scale=self._per_scale, floor=self._floor, long=self._floor,
            mu=self.mu, reach=self.reach * self._per_scale,
            gate=0.2 * self.scale if gate is None else per_joint('gate', gate, self.joints, zero=True),
            delta=self.delta, period=self.period, change_share=self.change_share, keep=keep,
            window=max(int(round(positive('change_window', change_window) / self.period)), 1),
        )  # fmt: skip
        self._start = self.states.copy()
        self.P, self.alpha, self.square = np.zeros((*shape, self.order)), np.zeros(shape), np.zeros(self.joints)
        self.learnt, self.in_force = (self.P.copy(), self.alpha.copy()), (self.P, self.alpha, self.square)
        self.reset()

    @classmethod
    def thesis(cls, joints: int = 1, **options: Any) -> StiffnessEstimator:
        """Return the run of thesis chapter 3.

        Raw units, P(0) = diag(1e9, 1e18), δ = 0.1, μ = 0.99995, α(0) = 0, at 1 kHz; no gate. options: parameters of the
        class, which override these.
        """
        preset = {'period': 1e-3, 'scale': 1.0, 'mu': 0.99995, 'delta': 0.1, 'initial_covariance': [1e9, 1e18]}
        return cls(joints, 2, **{**preset, 'gate': 0.0, 'change_share': np.inf, **options})

    def reset(self, coefficients: ArrayLike | None = None) -> None:
        """Restart with P(0) and α(0), or with the given coefficients (P,) or (n, P), N·m/rad^{2p−1}."""
        self.learnt[0][:] = self._covariance0[:, :, None] * np.eye(self.order)
        self.learnt[1][:] = self._alpha0 if coefficients is None else np.asarray(coefficients, dtype=float) * self._unit
        self.P[:], self.alpha[:], self.square[:] = *self.learnt, self._floor
        self.states[:] = self._start
        self.changes = np.zeros(self.joints, dtype=int)

    def snapshot(self) -> tuple[Array, ...]:
        """Return copies of the learnt coefficients and of those in force, (n, P) N·m/rad, …, for `restore`."""
        return tuple(array.copy() for array in (*self.learnt, *self.in_force))

    def restore(self, kept: tuple[Array, ...]) -> None:
        """Go back to `kept` as `snapshot` returned it: coefficients (n, P) N·m/rad, …."""
        for array, values in zip((*self.learnt, *self.in_force), kept, strict=True):
            array[:] = values

    def reopen(self, joint: int, scaled: Array) -> None:
        """Set the map of a joint to `scaled` (P,) [N·m per (φ/φ_ref)^{2p−1}], with 5 % uncertainty."""
        P, alpha = self.learnt
        alpha[joint] = scaled
        P[joint] = (np.outer(scaled, scaled) + np.diag(scaled**2)) * (REOPENED**2 / self._floor[joint])
        bound(P, self._covariance0, np.array([joint]))
        self.P[joint], self.alpha[joint] = P[joint], alpha[joint]
        self._forget(np.array([joint]))

    def finish(self, todo: int) -> None:
        """Open or bound the covariance, as the flags `todo` of `stiffness_step` ask for."""
        P, alphas = self.learnt
        if todo & JUMPED:
            # for a curve scaled by any factor and for another shape
            joints = np.flatnonzero(self.states['jumped'])
            for joint in joints:
                alpha = alphas[joint]
                P[joint] += (np.outer(alpha, alpha) + np.diag((0.3 * alpha) ** 2)) / self._floor[joint]
            bound(P, self._covariance0, joints)
            self._forget(joints)
        if todo & DUE:
            bound(P, self._covariance0)

    def _forget(self, joints: IntArray) -> None:
        """Restart the short-term levels: with P open, any map explains the next few samples."""
        for name in ('short', 'level', 'seen'):
            self.states[name][joints] = 0.0

    @property
    def coefficients(self) -> Array:
        """α of the map in force, (n, P), N·m/rad^{2p−1}."""
        return self.alpha / self._unit

    @property
    def covariance(self) -> Array:
        """P of the map in force, (n, P, P), in the units of α per (N·m)².

        Times the variance of the torque's noise it is the covariance of α.
        """
        return self.P / (self._unit[:, :, None] * self._unit[:, None, :])

    @property
    def noise(self) -> Array:
        """Deviation of the prediction error, N·m, (n,)."""
        return np.sqrt(self.square)

    @property
    def unknown(self) -> Array:
        """Relative deviation of τ_E by lasting errors, (n,), without unit: their rms over the memory, torque-weighted.

        All errors are assumed to have one sign.
        """
        return np.sqrt(self.states['unknown'] / np.maximum(self.states['learnt'], 1e-300))

    @property
    def standard_deviation(self) -> Array:
        """Deviation of α, (n, P), N·m/rad^{2p−1}: by the prediction error, as noise, and by `unknown`."""
        of_noise = np.sqrt(np.diagonal(self.P, axis1=1, axis2=2) * self.square[:, None])
        return np.asarray(np.hypot(of_noise, self.unknown[:, None] * self.alpha) / self._unit)

    @property
    def excitation(self) -> Array:
        """Excited motion since the reset, s, (n,)."""
        return self.states['excitation'].copy()

    @property
    def known(self) -> Array:
        """`coefficients` (n, P), N·m/rad^(2p−1); NaN for a joint without a described or reliable map."""
        return np.where((self.states['keep'] | self.reliable)[:, None], self.coefficients, np.nan)

    def torque(self, deformation: ArrayLike) -> Array:
        """τ_E(φ), N·m, at φ (…, n) rad."""
        return np.asarray(np.sum(self.alpha * self._terms(deformation), axis=-1))

    def variance(self, deformation: Array) -> Array:
        """Return the variance of τ_E(φ), (N·m)², by prediction error and lasting errors, at φ (n,) rad."""
        psi = self._terms(deformation)
        of_noise = np.einsum('np,npq,nq->n', psi, self.P, psi) * self.square
        return np.asarray(of_noise + (self.unknown * self.torque(deformation)) ** 2)

    def _terms(self, deformation: ArrayLike) -> Array:
        """Return ψ(φ) (…, n, P)."""
        phi = np.asarray(deformation, dtype=float)
        inside = np.clip(phi, -self.reach, self.reach)
        at, beyond = (inside * self._per_scale)[..., None], ((phi - inside) * self._per_scale)[..., None]
        return np.asarray(at**self._powers + self._powers * at ** (self._powers - 1) * beyond)

    def update(
        self, deformation: ArrayLike, torque: ArrayLike, unknown: ArrayLike = 0.0, reference: ArrayLike | None = None
    ) -> Array:
        """Take one sample and return the prediction error ε (n,) [N·m], 0 where there was no update.

        Parameters
        ----------
        deformation, torque
            φ (n,) [rad] and the virtual measurement of τ_E (n,) [N·m]. A joint where either is not finite is not
            updated.
        unknown
            number or (n,): relative deviation of the torque by lasting errors. It enters the stated deviation; beyond
            0.3 a joint is not updated.
        reference
            (n, P), scaled as `alpha`, or None: a curve whose shape is observed beside the samples of the joints of
            `keep`. A narrow range of deformations shows the factor of a curve, not its shape.

        Raises
        ------
        JointDynamicsError
            For other shapes.
        """
        phi, y = np.asarray(deformation, dtype=float), np.asarray(torque, dtype=float)
        if phi.shape != (self.joints,) or y.shape != (self.joints,):
            raise JointDynamicsError(
                f'stiffness: expected deformation and torque of shape ({self.joints},), found {phi.shape} and {y.shape}'
            )
        shares = np.broadcast_to(np.asarray(unknown, dtype=float), self.joints)
        curve = np.zeros_like(self.alpha) if reference is None else np.array(reference, dtype=float)
        if curve.shape != self.alpha.shape:
            raise JointDynamicsError(f'stiffness: expected reference of shape {self.alpha.shape}, found {curve.shape}')
        error, scratch, todo = np.empty(self.joints), np.empty((2, self.order)), 0
        for j in range(self.joints):
            learnt = self.learnt[0][j], self.learnt[1][j]
            in_force = self.P[j], self.alpha[j], self.square[j : j + 1]
            sample = phi[j], y[j], shares[j]
            error[j], flags = stiffness_step(self.states[j], learnt, in_force, curve[j], sample, scratch)
            todo |= flags
        self.finish(todo)
        return error
