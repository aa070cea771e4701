"""Adaptive friction without a model of it: Coulomb and viscous friction by least squares that forget."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.friction import LARGEST_TORQUE
from joint_dynamics.estimation.records import Field, filled, record
from joint_dynamics.estimation.recursive import RecursiveLeastSquares, per_joint, positive, rls_step

Array = FloatArray
CHECK = 16
"""Updates after which P is brought back between its bounds."""
COULOMB = record('omega_min forgetting seen updates', 'excited', scratch=(2, 2))
"""Settings of one joint, updates that taught, and all."""


@compiled
def coulomb_viscous_step(s, P, alpha, f, omega, allowed):  # type: ignore[no-untyped-def]
    """`CoulombViscousEstimator.update` of one joint: s of `COULOMB`, P (2, 2), [F_C, F_V] (2,); return F − F̂ before."""
    size = abs(omega)
    s.excited = size > s.omega_min and size < LARGEST_TORQUE and abs(f) < LARGEST_TORQUE and allowed
    s.updates += 1
    if not s.excited:
        return 0.0
    s.seen += 1.0
    psi = s.scratch[0]
    psi[0], psi[1] = np.sign(omega), omega
    return rls_step(P, alpha, psi, f, True, (s.forgetting, 0.0, False), s.scratch[1])[0]


class CoulombViscousEstimator:
    """The alternative without a friction model.

    F̂ = F_C sgn ω + F_V ω by recursive least squares with forgetting [patent 2, eq 14-20].

    `states` (n,) of `COULOMB`; `P`, `alpha` (n, 2, 2) and (n, 2): what `coulomb_viscous_step` takes. (n,) each: `seen`,
    updates since the reset; `excited`, whether the last one taught.

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

    seen, excited = Field(), Field()

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
        self.P, self.alpha = self._rls.P, self._rls.alpha
        self.omega_min = per_joint('omega_min', omega_min, self.joints, zero=True)
        self.states = filled(self.joints, COULOMB, omega_min=self.omega_min, forgetting=forgetting)
        self._start, self._initial = self.states.copy(), initial
        self.reset()

    def reset(self, parameters: ArrayLike | None = None) -> None:
        """Begin again at `parameters`, default the initial ones."""
        self._rls.reset(np.asarray(self._initial if parameters is None else parameters, dtype=float))
        self.states[:] = self._start

    def snapshot(self) -> tuple[Array, Array]:
        """Return what was learnt, for `restore`."""
        return self.P.copy(), self.alpha.copy()

    def restore(self, kept: tuple[Array, Array]) -> None:
        """Go back to what was learnt before."""
        self.P[:], self.alpha[:] = kept

    def set_coulomb(self, joint: int, coulomb: float) -> None:
        """Take F_C of a joint to be `coulomb` [N·m], and learn on from there."""
        self.alpha[joint, 0] = coulomb

    @property
    def parameters(self) -> Array:
        """[F_C, F_V] of every joint, (n, 2), N·m and N·m·s/rad."""
        return self.alpha.copy()

    @property
    def covariance(self) -> Array:
        """P, (n, 2, 2), per (N·m)² of noise."""
        return self.P.copy()

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
        return self.alpha[:, 0] * np.sign(omega) + self.alpha[:, 1] * omega

    def update(self, friction: ArrayLike, omega: ArrayLike, excited: ArrayLike | None = None) -> Array:
        """Take the friction residual F = τ_m − B ω̇ − τ_J (n,) N·m and ω (n,) rad/s.

        Return F − F̂ (n,), 0 where there was no update.
        """
        f, speed = np.asarray(friction, dtype=float), np.asarray(omega, dtype=float)
        allowed = np.ones(self.joints, dtype=bool) if excited is None else np.array(excited, dtype=bool)
        each = zip(self.states, self.P, self.alpha, f, speed, allowed, strict=True)
        error = np.array([coulomb_viscous_step(*joint) for joint in each])
        if self.states['updates'][0] % CHECK == 0:
            self.bound()
        return error

    def bound(self) -> None:
        """Bring P back between its bounds."""
        self._rls.bound()
