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

"""Recursive least squares of many joints, with directional or exponential forgetting and bounded covariance.

    y = ψᵀα,   ε = y − ψᵀα,   r = ψᵀPψ,   α ← α + Pψ ε/(1 + r)                                             [M3 eq 18]
    directional   P ← P − c Pψψᵀ P + δ I,   c = (μ(1 + r) − 1)/(μ r (1 + r)) = 1/(1/β + r)
    exponential   α ← α + Pψ ε/(λ + r),   P ← (P − Pψψᵀ P/(λ + r))/λ
        [patent 2, eq 16-20]

The printed directional form has a pole at r = 1/μ − 1, where P stays well defined; c is that factor without the pole.
μ = 1, δ = 0 (λ = 1) is ordinary recursive least squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.errors import JointDynamicsError

Array = FloatArray
Numbers = tuple[float, float, bool]
"""Forgetting μ or λ, δ, and whether forgetting is directional."""

LOWEST = 1e-24  # lower bound of the eigenvalues of P, relative to P(0)
HIGHEST = 1.0  # upper bound of the same
CONDITION = 1e14  # largest ratio of two eigenvalues, near the resolution of a float
SMALL_R = 1e-12  # r of a sample without information; below, the down-date would divide by rounding errors


@compiled
def rls_step(
    P: Array, alpha: Array, psi: Array, y: float, active: bool, numbers: Numbers, direction: Array
) -> tuple[float, float]:
    """Take one sample of one joint: update P (p, p) and α (p,) in place; return ε and ε/(1 + r).

    psi: ψ (p,). `psi` and y are 0 where the joint is not `active`. direction: (p,), written.
    """
    forgetting, delta, directional = numbers
    order, r, error = len(psi), 0.0, y
    for p in range(order):
        total = 0.0
        for k in range(order):
            total += P[p, k] * psi[k]
        direction[p] = total
        r += psi[p] * total
        error -= alpha[p] * psi[p]
    # Rounding may spoil P until the next `bound`; r ≥ 0 keeps the step harmless.
    r = max(r, 0.0)
    growth = (1.0 if directional else forgetting) + r
    # μ(1 + r) − 1 in a form that gives exactly r for μ = 1.
    c = (forgetting * r - (1.0 - forgetting)) / (max(r, SMALL_R) * growth * forgetting) if directional else 1.0 / growth
    share = error / growth
    for p in range(order):
        for k in range(order):
            P[p, k] -= direction[p] * direction[k] * c
            if active and not directional:
                P[p, k] /= forgetting
        if active:
            P[p, p] += delta
        alpha[p] += direction[p] * share
    return error, share


class RecursiveLeastSquares:
    """α (n, p) and P (n, p, p) of n independent regressions of p parameters each.

    Parameters
    ----------
    initial_covariance
        diagonal of P(0): number, (p,) or (n, p), > 0; also the upper bound of P.
    forgetting
        μ (directional) or λ (exponential), 0 < μ ≤ 1.
    delta
        δ ≥ 0, added to the diagonal of P of every active joint per step.

    Attributes
    ----------
    P, alpha
        (n, p, p) and (n, p), changed in place.
    numbers
        settings in the form of `rls_step`.
    """

    def __init__(
        self,
        joints: int,
        order: int,
        *,
        initial_covariance: ArrayLike,
        forgetting: float = 1.0,
        delta: float = 0.0,
        directional: bool = True,
    ) -> None:
        if joints < 1 or order < 1:
            raise JointDynamicsError(
                f'recursive least squares: expected joints >= 1 and order >= 1, found {joints} and {order}'
            )
        if not 0 < forgetting <= 1 or not (np.isfinite(delta) and delta >= 0):
            raise JointDynamicsError(
                f'recursive least squares: expected 0 < forgetting <= 1 and delta >= 0, found {forgetting} and {delta}'
            )
        self.joints, self.order = int(joints), int(order)
        self.forgetting, self.delta, self.directional = float(forgetting), float(delta), bool(directional)
        self.initial_covariance = np.broadcast_to(
            np.asarray(initial_covariance, dtype=float), (self.joints, self.order)
        ).copy()
        if not np.all(np.isfinite(self.initial_covariance)) or np.any(self.initial_covariance <= 0):
            raise JointDynamicsError(f'initial_covariance: expected finite numbers > 0, found {initial_covariance!r}')
        self.P, self.alpha = np.zeros((self.joints, self.order, self.order)), np.zeros((self.joints, self.order))
        self.numbers: Numbers = self.forgetting, self.delta, self.directional
        self.reset()

    def reset(self, alpha: ArrayLike = 0.0) -> None:
        """Restart with P(0) and `alpha`, number, (p,) or (n, p)."""
        self.P[:] = self.initial_covariance[:, :, None] * np.eye(self.order)
        self.alpha[:] = alpha

    def step(self, psi: Array, y: Array, active: BoolArray) -> tuple[Array, Array]:
        """Take ψ (n, p) and y (n,), both finite, and zero for joints that are not `active`.

        Return ε and ε²/(1 + r), (n,) each.
        """
        each, direction = zip(self.P, self.alpha, psi, y, active, strict=True), np.empty(self.order)
        error, share = np.array([rls_step(*joint, self.numbers, direction) for joint in each]).T
        return error, error * share

    def bound(self, joints: IntArray | slice = slice(None)) -> None:
        """Clip the eigenvalues of P, relative to P(0), to their bounds; for all joints, or only for `joints`.

        P is then positive definite and bounded after any input.
        """
        root = np.sqrt(self.initial_covariance[joints])
        unit = root[:, :, None] * root[:, None, :]
        P = self.P[joints]
        values, vectors = np.linalg.eigh(0.5 * (P + P.transpose(0, 2, 1)) / unit)
        top = np.clip(values[:, -1], LOWEST, HIGHEST)
        bottom = np.maximum(top / CONDITION, LOWEST)
        wrong = (values[:, 0] < bottom) | (values[:, -1] > top)
        if wrong.any():
            values = np.clip(values[wrong], bottom[wrong, None], top[wrong, None])
            bounded = (vectors[wrong] * values[:, None, :]) @ vectors[wrong].transpose(0, 2, 1)
            P[wrong] = 0.5 * (bounded + bounded.transpose(0, 2, 1)) * unit[wrong]
            self.P[joints] = P


def positive(name: str, value: float) -> float:
    """Return a number > 0 (inf included), or raise JointDynamicsError with its name."""
    if not value > 0:
        raise JointDynamicsError(f'{name}: expected a number > 0, found {value!r}')
    return float(value)


def per_joint(name: str, value: ArrayLike, joints: int, *, zero: bool = False) -> Array:
    """Return (n,) finite numbers > 0 (≥ 0 with `zero`) from a number or (n,), or raise JointDynamicsError."""
    array = np.asarray(value, dtype=float)
    if (
        array.shape not in ((), (1,), (joints,))
        or not np.all(np.isfinite(array))
        or np.any(array < 0)
        or (not zero and np.any(array == 0))
    ):
        raise JointDynamicsError(
            f'{name}: expected one number {">=" if zero else ">"} 0 or {joints} of them, found {value!r}'
        )
    return np.broadcast_to(array, (joints,)).copy()
