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

"""Adaptive friction: the gradient law on the regressor of the extended Maxwell-slip model [M6 eq 23-28].

    f = K_τ i − B ω̇ − τ_J − F_v(ω, T);   Y = [F(τ_J) H, ω],   f̂ = Yᵀα,   nominal α = [1, 0];
    α ← clip(α + T_s Γ Y (f − f̂)/(1 + T_s YᵀΓY));   γ_i = rate_i/mean(Y_i²).

α₁ follows wear (Coulomb friction), α₂ the error of the temperature model (viscous friction, N·m·s/rad). The normalised
step never overshoots f = f̂; the plain one is unstable beyond T_s YᵀΓY = 2. The paper's excitation condition accepts
constant speed, which cannot separate α₁ from α₂; here the correlation of Y decides.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.estimation_settings import positive
from joint_dynamics.estimation.spring import LARGEST_TORQUE
from joint_dynamics.records import Field, KernelRecord

Array = FloatArray
INDEPENDENT = 0.1  # s between independent prediction errors
TRUSTED_TIME = 0.3  # s of motion before the gains use the measured mean(Y Yᵀ)


class Adaptive(KernelRecord):
    """Adaptive friction of one joint: settings, then the learnt state beside α."""

    omega_min: float  # rad/s, speed of motion
    hold: float  # samples without motion after which adaptation ends
    length: float  # samples of the memory
    enough: float  # samples of motion before the law adapts
    information: float  # smallest 1 − |corr(Y₁, Y₂)|
    lower: Annotated[FloatArray, 2]  # bounds of α
    upper: Annotated[FloatArray, 2]
    rate: Annotated[FloatArray, 2]  # rates per sample
    floor: Annotated[FloatArray, 2]  # smallest mean(Y_i²) in the gains
    seen: float  # samples of motion
    still: float  # samples since the last motion
    adapted: float  # samples of adaptation
    means: Annotated[FloatArray, 4]  # means of Y₁², Y₂², Y₁Y₂ and of the squared prediction error
    informative: bool  # whether the motion separates α₁ from α₂
    excited: bool  # whether the last sample taught


@compiled
def friction_step(s: Adaptive, alpha: Array, f: float, Y1: float, Y2: float, allowed: bool) -> float:
    """Take one sample of one joint: update α (2,) in place; return f − f̂ before the correction, N·m."""
    error = f - alpha[0] * Y1
    error -= alpha[1] * Y2
    plausible = abs(error) < LARGEST_TORQUE and np.isfinite(Y1 + Y2)
    if not plausible:
        Y1, Y2, error = 0.0, 0.0, 0.0
    s.still = 0.0 if abs(Y2) >= s.omega_min else s.still + 1.0
    moving = plausible and allowed and s.still <= s.hold
    if moving:
        s.seen += 1.0
        share = 1.0 / min(s.seen, s.length)
        s.means[0] += (Y1 * Y1 - s.means[0]) * share
        s.means[1] += (Y2 * Y2 - s.means[1]) * share
        s.means[2] += (Y1 * Y2 - s.means[2]) * share
        s.means[3] += (error * error - s.means[3]) * share
    first, second = s.means[0], s.means[1]
    correlation = abs(s.means[2]) / np.sqrt(max(first * second, 1e-300))
    s.informative = s.seen >= s.enough and 1.0 - correlation >= s.information and first > 0.0 and second > 0.0
    s.excited = moving and s.informative
    g1, g2 = s.rate[0] / max(first, s.floor[0]) * Y1, s.rate[1] / max(second, s.floor[1]) * Y2
    push = (error if s.excited else 0.0) / (1.0 + g1 * Y1 + g2 * Y2)
    alpha[0] = min(max(alpha[0] + g1 * push, s.lower[0]), s.upper[0])
    alpha[1] = min(max(alpha[1] + g2 * push, s.lower[1]), s.upper[1])
    if s.excited:
        s.adapted += 1.0
    return error


class FrictionEstimator:
    """α (n, 2) of n joints by the projected gradient law.

    `states` (n,) of `Adaptive` and `alpha` (n, 2) are the arguments of `friction_step`; `informative` and
    `excited` (n,) bool are fields of `states`.

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

    informative, excited = Field(), Field()

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
        self._length = max(positive('memory', memory) / self.period, 1.0)
        wait = max(int(round(hold / self.period)), 1)
        self.states = Adaptive.filled(
            self.joints, lower=self.lower, upper=self.upper, rate=self.period * self.rate, floor=floor,
            omega_min=omega_min, information=information, length=self._length, hold=wait, still=wait + 1,
            enough=min(TRUSTED_TIME / self.period, self._length),
        )  # fmt: skip
        self._start, self.alpha = self.states.copy(), np.empty(shape)
        self.reset()

    def reset(self, parameters: ArrayLike | None = None) -> None:
        """Restart at `parameters` α (2,) or (n, 2) [–, N·m·s/rad], default α(0), clipped to the bounds.

        The information is discarded.
        """
        start = self._initial if parameters is None else np.asarray(parameters, dtype=float)
        self.alpha[:] = np.clip(np.broadcast_to(start, (self.joints, 2)), self.lower, self.upper)
        self.states[:] = self._start

    def snapshot(self) -> Array:
        """Return a copy of α (joints, 2), without unit and in N·m·s/rad, for `restore`."""
        return self.alpha.copy()

    def restore(self, kept: Array) -> None:
        """Go back to α as `snapshot` returned it: `kept` (joints, 2), without unit and in N·m·s/rad."""
        self.alpha[:] = kept

    def set_coulomb(self, joint: int, factor: float) -> None:
        """Set α₁ of a joint to `factor`, within its bounds; without effect at a rate of 0."""
        if self.rate[joint, 0] > 0.0:
            self.alpha[joint, 0] = np.clip(factor, self.lower[joint, 0], self.upper[joint, 0])

    @property
    def parameters(self) -> Array:
        """α, (n, 2): factor of Coulomb friction, and excess viscous friction N·m·s/rad."""
        return self.alpha.copy()

    @property
    def saturated(self) -> BoolArray:
        """Whether α is at a bound, (n, 2) bool."""
        return (self.alpha <= self.lower) | (self.alpha >= self.upper)

    @property
    def excitation(self) -> Array:
        """Adaptation since the reset, (n,) [s]."""
        return self.states['adapted'] * self.period

    @property
    def noise(self) -> Array:
        """Deviation of the prediction error f − f̂, N·m, (n,)."""
        return np.sqrt(self.states['means'][:, 3])

    @property
    def covariance(self) -> Array:
        """Covariance of α, (n, 2, 2): that of a least-squares fit over the memory, with the prediction error for noise.

        Neighbouring prediction errors are correlated; one per 0.1 s counts. Without information it is that of a uniform
        distribution between the bounds.
        """
        prior = np.zeros((self.joints, 2, 2))
        prior[:, [0, 1], [0, 1]] = np.maximum((self.upper - self.lower) ** 2, 1e-12) / 12.0
        means = self.states['means'].T
        independent = np.minimum(self.states['seen'], self._length) * self.period / INDEPENDENT
        weight = independent / np.maximum(means[3], 1e-12)
        information = np.empty_like(prior)
        information[:, 0, 0], information[:, 1, 1] = means[0], means[1]
        information[:, 0, 1] = information[:, 1, 0] = means[2]
        return np.linalg.inv(np.linalg.inv(prior) + weight[:, None, None] * information)

    def predict(self, coulomb: Array, omega: Array) -> Array:
        """f̂ = α₁ F(τ_J) H + α₂ ω (n,) [N·m]; coulomb: F(τ_J) H (n,) [N·m], omega: ω (n,) [rad/s]."""
        return self.alpha[:, 0] * coulomb + self.alpha[:, 1] * omega

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
        each = zip(self.states, self.alpha, f, Y1, Y2, allowed, strict=True)
        return np.array([friction_step(*joint) for joint in each])
