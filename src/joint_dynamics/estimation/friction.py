"""Adaptive friction: the gradient law on the regressor of the extended Maxwell-slip model [M6 eq 23-28].

    f = K_τ i − B ω̇ − τ_J − F_v(ω, T),   Y = [F(τ_J) H, ω],   f̂ = Yᵀα,   nominal α = [1, 0]
    α ← clip(α + T_s Γ Y (f − f̂)/(1 + T_s YᵀΓY)),   γ_i = rate_i/mean(Y_i²)

α₁ follows wear (Coulomb friction), α₂ the error of the temperature model (viscous friction, N·m·s/rad). The law is
discretised with a normalised step: the correction never overshoots f = f̂, whatever the gain (the plain step is
unstable beyond T_s YᵀΓY = 2). The paper's excitation condition considers speed only and accepts constant speed, which
cannot distinguish α₁ from α₂; here the information matrix of Y decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.learning_kernels import friction_step
from joint_dynamics.estimation.recursive import positive

Array = FloatArray
LARGEST_TORQUE = 1e9
# The gains follow the means every so many updates.
EVERY = 10


class FrictionEstimator:
    """α (n, 2) of n joints by the projected gradient law.

    `parameters` (n, 2); `covariance` (n, 2, 2); `moving`, `informative`, `excited` (n,) bool; `saturated` (n, 2) bool,
    at a bound; `excitation` (n,) s of adaptation since the reset; `noise` (n,) N·m, deviation of f − f̂.

    Parameters
    ----------
    joints
        n.
    period
        sample period, s.
    rate
        rates of the two parameters, 1/s: number or (2,); 0.1 to 1 is sensible, no value is unstable.
    initial
        α(0), (2,) or (n, 2).
    lower, upper
        bounds of α, (2,) or (n, 2); the paper's [0.4, −0.05] and [1.5, 0.05] by default.
    omega_min, hold
        rad/s and s: no adaptation once |ω| has stayed below `omega_min` for `hold` s [M6 eq 28].
    information
        smallest eigenvalue of the correlation matrix of Y, 1 − |corr(Y₁, Y₂)|, required for adaptation; 0: the paper's
        condition only.
    memory
        s of motion over which mean(Y Yᵀ) and the noise are taken.
    floor
        smallest mean(Y_i²) in the gains, (N·m)² and (rad/s)², (2,) or (n, 2), which applies until enough of the motion
        is known.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit and values outside these bounds.
    """

    def __init__(
        self,
        joints: int,
        period: float = 1e-3,
        *,
        rate: ArrayLike = 1.0,
        initial: ArrayLike = (1.0, 0.0),
        lower: ArrayLike = (0.4, -0.05),
        upper: ArrayLike = (1.5, 0.05),
        omega_min: float = 0.01,
        hold: float = 0.05,
        information: float = 0.02,
        memory: float = 10.0,
        floor: ArrayLike = (1e-4, 0.04),
    ) -> None:
        if joints < 1:
            raise JointDynamicsError(f'friction: expected joints >= 1, found {joints}')
        self.joints, self.period = int(joints), positive('period', period)
        shape = (self.joints, 2)
        self.rate = np.broadcast_to(np.asarray(rate, dtype=float), shape).copy()
        self.lower, self.upper = (
            np.broadcast_to(np.asarray(bound, dtype=float), shape).copy() for bound in (lower, upper)
        )
        if np.any(self.rate < 0) or not np.all(np.isfinite(self.rate)) or not np.all(self.lower <= self.upper):
            raise JointDynamicsError(
                'friction: expected finite rates >= 0 and lower <= upper bounds, '
                f'found {rate!r}, {lower!r} and {upper!r}'
            )
        self._initial = np.broadcast_to(np.asarray(initial, dtype=float), shape).copy()
        self.omega_min, self.information = float(omega_min), float(information)
        self._hold = max(int(round(hold / self.period)), 1)
        self._length = max(positive('memory', memory) / self.period, 1.0)
        # The law waits for so many samples of motion before it trusts mean(Y Yᵀ).
        self._enough = min(0.3 / self.period, self._length)
        self._floor = np.broadcast_to(np.asarray(floor, dtype=float), shape).T.copy()
        # As the kernel takes them.
        times = float(self._hold), float(self._length), float(self._enough)
        self._numbers = self.omega_min, *times, self.information, LARGEST_TORQUE
        self._fixed = np.stack([self.lower.T, self.upper.T, self.period * self.rate.T, self._floor])
        self.reset()

    def reset(self, parameters: ArrayLike | None = None) -> None:
        """Restart at `parameters` α (2,) or (n, 2) [–, N·m·s/rad], default α(0), clipped to the bounds.

        The information is discarded.
        """
        start = self._initial if parameters is None else np.asarray(parameters, dtype=float)
        self._alpha = np.clip(np.broadcast_to(start, (self.joints, 2)), self.lower, self.upper)
        # Means of Y₁², Y₂², Y₁Y₂ and of the squared prediction error over the motion.
        self._means = np.zeros((4, self.joints))
        self._seen = np.zeros(self.joints)
        self._still = np.full(self.joints, self._hold + 1)
        self._step = np.zeros((2, self.joints))
        self.moving, self.informative, self.excited = np.zeros((3, self.joints), dtype=bool)
        self._adapted = np.zeros(self.joints)
        self._updates = 0

    def snapshot(self) -> Array:
        """Return a copy of α (joints, 2), without unit and in N·m·s/rad, for `restore`."""
        return self._alpha.copy()

    def restore(self, kept: Array) -> None:
        """Go back to α as `snapshot` returned it: `kept` (joints, 2), without unit and in N·m·s/rad."""
        self._alpha[:] = kept

    def set_coulomb(self, joint: int, factor: float) -> None:
        """Take α₁ of a joint to be `factor`, within its bounds, and learn on from there; at a rate of 0 it is held."""
        if self.rate[joint, 0] > 0.0:
            self._alpha[joint, 0] = np.clip(factor, self.lower[joint, 0], self.upper[joint, 0])

    @property
    def parameters(self) -> Array:
        """α, (n, 2): factor of Coulomb friction, and excess viscous friction N·m·s/rad."""
        return self._alpha.copy()

    @property
    def saturated(self) -> BoolArray:
        """Whether α is at a bound, (n, 2) bool."""
        return (self._alpha <= self.lower) | (self._alpha >= self.upper)

    @property
    def excitation(self) -> Array:
        """Adaptation since the reset, (n,) [s]."""
        return self._adapted * self.period

    @property
    def noise(self) -> Array:
        """Deviation of the prediction error f − f̂, N·m, (n,)."""
        return np.sqrt(self._means[3])

    @property
    def covariance(self) -> Array:
        """Covariance of α, (n, 2, 2): that of a least-squares fit over the memory, with the prediction error for noise.

        Prediction errors of neighbouring samples are not independent; one per 0.1 s counts. Without information it is
        that of a uniform distribution between the bounds.
        """
        prior = np.zeros((self.joints, 2, 2))
        prior[:, [0, 1], [0, 1]] = np.maximum((self.upper - self.lower) ** 2, 1e-12) / 12.0
        independent = np.minimum(self._seen, self._length) * self.period / 0.1
        weight = independent / np.maximum(self._means[3], 1e-12)
        information = np.empty_like(prior)
        information[:, 0, 0], information[:, 1, 1] = self._means[0], self._means[1]
        information[:, 0, 1] = information[:, 1, 0] = self._means[2]
        return np.linalg.inv(np.linalg.inv(prior) + weight[:, None, None] * information)

    def predict(self, coulomb: Array, omega: Array) -> Array:
        """f̂ = α₁ F(τ_J) H + α₂ ω (n,) [N·m]; coulomb: F(τ_J) H (n,) [N·m], omega: ω (n,) [rad/s]."""
        return self._alpha[:, 0] * coulomb + self._alpha[:, 1] * omega

    def update(
        self, friction: ArrayLike, coulomb: ArrayLike, omega: ArrayLike, excited: ArrayLike | None = None
    ) -> Array:
        """Take one sample and return the prediction error f − f̂ (n,) [N·m] from before the correction.

        Parameters
        ----------
        friction
            measure f = K_τ i − B ω̇ − τ_J − F_v (n,) [N·m].
        coulomb
            F(τ_J) H of the nominal model (n,) [N·m].
        omega
            ω (n,) [rad/s]; all equally delayed.
        excited
            (n,) bool: joints that may adapt (default all). A joint with values that are not finite does not adapt.

        Raises
        ------
        JointDynamicsError
            For other shapes.
        """
        f, Y1, Y2 = np.asarray(friction, dtype=float), np.asarray(coulomb, dtype=float), np.asarray(omega, dtype=float)
        if not f.shape == Y1.shape == Y2.shape == (self.joints,):
            raise JointDynamicsError(
                f'friction: expected three arrays of shape ({self.joints},), found {f.shape}, {Y1.shape} and {Y2.shape}'
            )
        allowed = np.ones(self.joints, dtype=bool) if excited is None else np.array(excited, dtype=bool)
        error, flags = np.empty(self.joints), np.empty((2, self.joints), dtype=bool)
        self._updates += 1
        friction_step(
            f, Y1, Y2, allowed, self._updates % EVERY == 1, self._numbers, self._fixed, self._alpha, self._means,
            self._seen, self._still, self._step, self.informative, self._adapted, flags, error,
        )  # fmt: skip
        self.moving, self.excited = flags
        return error
