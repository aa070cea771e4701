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

"""Recursive least squares with directional forgetting and a bounded covariance, one joint at a time [M3 eq 18].

    y = ψᵀα;   ε = y − ψᵀα;   r = ψᵀPψ;   α ← α + Pψ ε/(1 + r);
    P ← P − c Pψψᵀ P + δ I;   c = (μ(1 + r) − 1)/(μ r (1 + r)) = 1/(1/β + r).

The printed form has a pole at r = 1/μ − 1, where P stays well defined; c is that factor without the pole. μ = 1, δ = 0
is ordinary recursive least squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.errors import JointDynamicsError

Array = FloatArray
Numbers = tuple[float, float]
"""Forgetting μ, and δ."""

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
    forgetting, delta = numbers
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
    growth = 1.0 + r
    # μ(1 + r) − 1 in a form that gives exactly r for μ = 1.
    c = (forgetting * r - (1.0 - forgetting)) / (max(r, SMALL_R) * growth * forgetting)
    share = error / growth
    for p in range(order):
        for k in range(order):
            P[p, k] -= direction[p] * direction[k] * c
        if active:
            P[p, p] += delta
        alpha[p] += direction[p] * share
    return error, share


def bound(covariance: Array, initial: Array, joints: IntArray | slice = slice(None)) -> None:
    """Clip the eigenvalues of P (n, p, p), relative to the diagonal `initial` (n, p) of P(0), to their bounds.

    P of `joints` is then positive definite and bounded after any input.
    """
    root, P = np.sqrt(initial[joints]), covariance[joints]
    unit = root[:, :, None] * root[:, None, :]
    values, vectors = np.linalg.eigh(0.5 * (P + P.transpose(0, 2, 1)) / unit)
    top = np.clip(values[:, -1], LOWEST, HIGHEST)
    bottom = np.maximum(top / CONDITION, LOWEST)
    wrong = (values[:, 0] < bottom) | (values[:, -1] > top)
    if wrong.any():
        values = np.clip(values[wrong], bottom[wrong, None], top[wrong, None])
        bounded = (vectors[wrong] * values[:, None, :]) @ vectors[wrong].transpose(0, 2, 1)
        P[wrong] = 0.5 * (bounded + bounded.transpose(0, 2, 1)) * unit[wrong]
        covariance[joints] = P


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
