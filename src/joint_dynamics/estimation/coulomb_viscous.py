"""Adaptive friction without a model of it: Coulomb and viscous friction by least squares that forget."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.estimation.friction import LARGEST_TORQUE
from joint_dynamics.estimation.recursive import RecursiveLeastSquares, per_joint, positive

Array = FloatArray


class CoulombViscousEstimator:
    """The alternative without a friction model.

    F̂ = F_C sgn ω + F_V ω by recursive least squares with forgetting [patent 2, eq 14-20].

    `update(friction, omega)`, `parameters` (n, 2), `covariance` (n, 2, 2) = P per (N·m)², `seen` (n,) updates since the
    reset.

    Parameters
    ----------
    joints
        n.
    period
        s.
    memory
        s of motion: λ = 1 − period/memory.
    initial
        [F_C, F_V], (2,) or (n, 2), N·m and N·m·s/rad.
    deviation
        of the initial values per noise of 1 N·m, (2,): P(0) is its square, and bounds P for ever.
    omega_min
        rad/s: slower samples are left out, sgn ω means nothing there.
    """

    def __init__(
        self,
        joints: int,
        period: float = 1e-3,
        *,
        memory: float = 10.0,
        initial: ArrayLike = 0.0,
        deviation: ArrayLike = (100.0, 100.0),
        omega_min: float = 0.01,
    ) -> None:
        self.joints, self.period = int(joints), positive('period', period)
        forgetting = max(1.0 - self.period / positive('memory', memory), 0.1)
        self._rls = RecursiveLeastSquares(
            joints, 2, initial_covariance=np.square(deviation), forgetting=forgetting, directional=False
        )
        self._initial = initial
        self.omega_min = per_joint('omega_min', omega_min, self.joints, zero=True)
        self._psi = np.empty((self.joints, 2))
        self.reset()

    def reset(self, parameters: ArrayLike | None = None) -> None:
        """Begin again at `parameters`, default the initial ones."""
        self._rls.reset(self._initial if parameters is None else parameters)
        self._updates = 0
        self.seen = np.zeros(self.joints)
        self.excited = np.zeros(self.joints, dtype=bool)

    def snapshot(self) -> Array:
        """Return what was learnt, for `restore`."""
        return self._rls.state.copy()

    def restore(self, kept: Array) -> None:
        """Go back to what was learnt before."""
        self._rls.state[:] = kept

    def set_coulomb(self, joint: int, coulomb: float) -> None:
        """Take F_C of a joint to be `coulomb` [N·m], and learn on from there."""
        self._rls.alpha[joint, 0] = coulomb

    @property
    def parameters(self) -> Array:
        """[F_C, F_V] of every joint, (n, 2), N·m and N·m·s/rad."""
        return self._rls.alpha.copy()

    @property
    def covariance(self) -> Array:
        """P, (n, 2, 2), per (N·m)² of noise."""
        return self._rls.P.copy()

    def against(self, F_C0: Array, F_V1: Array) -> tuple[Array, Array]:
        """Return α (n, 2) against a described friction, with F_C = α1 F_C0 and F_V = F_V1 + α2.

        Its covariance (n, 2, 2).
        """
        unit = np.stack([1.0 / np.maximum(F_C0, 1e-6), np.ones(self.joints)], axis=1)
        parameters = (self.parameters - np.stack([np.zeros(self.joints), F_V1], axis=1)) * unit
        return parameters, self.covariance * unit[:, :, None] * unit[:, None, :]

    @property
    def excitation(self) -> Array:
        """Adaptation since the reset, (n,) [s]."""
        return self.seen * self.period

    def predict(self, omega: Array) -> Array:
        """F̂ = F_C sgn ω + F_V ω, N·m, (n,)."""
        return self._rls.alpha[:, 0] * np.sign(omega) + self._rls.alpha[:, 1] * omega

    def update(self, friction: ArrayLike, omega: ArrayLike, excited: ArrayLike | None = None) -> Array:
        """Take the friction residual F = τ_m − B ω̇ − τ_J (n,) N·m and ω (n,) rad/s.

        Return F − F̂ (n,), 0 where there was no update.
        """
        f, speed = np.asarray(friction, dtype=float), np.asarray(omega, dtype=float)
        active = (np.abs(speed) > self.omega_min) & (np.abs(speed) < LARGEST_TORQUE) & (np.abs(f) < LARGEST_TORQUE)
        if excited is not None:
            active &= np.asarray(excited)
        self.excited = active
        self._psi[:, 0] = np.where(active, np.sign(speed), 0.0)
        self._psi[:, 1] = np.where(active, speed, 0.0)
        error, _ = self._rls.step(self._psi, np.where(active, f, 0.0), active)
        self.seen += active
        self._updates += 1
        if self._updates % 16 == 0:
            self._rls.bound()
        return error
