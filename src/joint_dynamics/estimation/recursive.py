"""Recursive least squares for many joints at once, with directional or exponential forgetting and bounded covariance.

    y = ψᵀα,   ε = y − ψᵀα,   r = ψᵀPψ,   α ← α + Pψ ε/(1 + r)                                             [M3 eq 18]
    directional   P ← P − c Pψψᵀ P + δ I,   c = (μ(1 + r) − 1)/(μ r (1 + r)) = 1/(1/β + r)
    exponential   α ← α + Pψ ε/(λ + r),   P ← (P − Pψψᵀ P/(λ + r))/λ
        [patent 2, eq 16-20]

1/β + r of the printed directional form passes through a pole at r = 1/μ − 1 while P stays well defined; c is that
factor without the pole. μ = 1, δ = 0 (λ = 1) is ordinary recursive least squares.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError

Array = FloatArray
# r below this carries no information that could be weighed: the down-date is skipped.
SMALL_R = 1e-12
# The eigenvalues of P, relative to P(0), stay below one, above LOWEST, and within CONDITION of each other.
LOWEST, HIGHEST, CONDITION = 1e-24, 1.0, 1e14


class RecursiveLeastSquares:
    """α (n, p) and P (n, p, p) of n independent regressions of p parameters each.

    Parameters
    ----------
    initial_covariance
        diagonal of P(0): number, (p,) or (n, p), > 0; also the bound of P.
    forgetting
        μ (directional) or λ (exponential), 0 < μ ≤ 1.
    delta
        δ ≥ 0, added to the diagonal of P of every active joint per step.
    """

    #: Attributes that hold something only during an update, and views of them: no part of the state.
    SCRATCH = ('_psi', '_product', '_P_psi', '_direction', '_prediction', '_outer')

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
        # P above, α below: one product with ψ gives Pψ and the prediction.
        self._state = np.zeros((self.joints, self.order + 1, self.order))
        self._product = np.empty((self.joints, self.order + 1, 1))
        self._bind()
        self._outer = np.empty((self.joints, self.order, self.order))
        self._eye = self.delta * np.eye(self.order)
        self.reset()

    def _bind(self) -> None:
        """Make the views into the two arrays; a copy needs its own."""
        self.P, self.alpha = self._state[:, :-1], self._state[:, -1]
        self._P_psi, self._direction, self._prediction = (
            self._product[:, :-1],
            self._product[:, :-1, 0],
            self._product[:, -1, 0],
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    @property
    def state(self) -> Array:
        """P above, α below, (n, p + 1, p): a view, for kernels that change it."""
        return self._state

    def reset(self, alpha: ArrayLike = 0.0) -> None:
        """Restart with P(0) and `alpha`, number, (p,) or (n, p)."""
        self.P[:] = self.initial_covariance[:, :, None] * np.eye(self.order)
        self.alpha[:] = alpha

    def step(self, psi: Array, y: Array, active: BoolArray) -> tuple[Array, Array]:
        """Take ψ (n, p) and y (n,), both finite, and zero for joints that are not `active`.

        Return ε and ε²/(1 + r), (n,) each.

        With ψ = 0 only δ and exponential forgetting would change a joint, which `active` prevents.
        """
        np.matmul(self._state, psi[:, :, None], out=self._product)
        # Not below zero, even where rounding has spoilt P until the next `bound`: then the step is harmless.
        r = np.maximum(np.einsum('np,np->n', psi, self._direction), 0.0)
        error = y - self._prediction
        np.multiply(self._P_psi, self._direction[:, None, :], out=self._outer)
        if self.directional:
            growth = 1.0 + r
            # μ(1 + r) − 1 written so that μ = 1 gives r exactly.
            c = (self.forgetting * r - (1.0 - self.forgetting)) / (np.maximum(r, SMALL_R) * growth * self.forgetting)
        else:
            growth = self.forgetting + r
            c = 1.0 / growth
        share = error / growth
        self.alpha += self._direction * share[:, None]
        self._outer *= c[:, None, None]
        self.P -= self._outer
        if not self.directional and self.forgetting < 1.0:
            self.P[active] /= self.forgetting
        if self.delta:
            self.P += active[:, None, None] * self._eye
        return error, error * share

    def bound(self, joints: IntArray | slice = slice(None)) -> None:
        """Clip the eigenvalues of P, relative to P(0), to their bounds; for all joints, or only for `joints`.

        P is then positive definite and bounded after any input. Rounding may move eigenvalues at a bound when they are
        clipped again.
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
    """Return a number > 0 (inf included); raises JointDynamicsError, naming it, where it is not."""
    if not value > 0:
        raise JointDynamicsError(f'{name}: expected a number > 0, found {value!r}')
    return float(value)


def per_joint(name: str, value: ArrayLike, joints: int, *, zero: bool = False) -> Array:
    """Return (n,) finite numbers > 0 (≥ 0 with `zero`) from a number or (n,), or say which one is not."""
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
