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

"""Fourier series with ramps [L eq 20]: q, dq and ddq are linear in the coefficients, on the ramps too.

q(t) = (1 − s(t)) q_rest + s(t) [q_0 + Σ_k a_k sin k ω(t − t_r) + b_k cos k ω(t − t_r)].

s rises from 0 to 1 over the ramp t_r as 10 x³ − 15 x⁴ + 6 x⁵, stays 1 during the periods, and falls again, so speed and
acceleration begin and end at zero. Without a given posture the motion rests at the series' own mean, q_rest = q_0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.signals.polynomial import STEP_PEAKS, smooth_step


@dataclass(frozen=True)
class FourierBasis:
    """The time functions of a series: `period` [s], `harmonics`, `repeats` of the period, `ramp` [s] at each end.

    Attributes
    ----------
    free_posture
        whether the motion begins and ends at the series' mean, the first coefficient, instead of a given posture.
    """

    period: float
    harmonics: int
    repeats: int
    ramp: float
    free_posture: bool

    @property
    def duration(self) -> float:
        """Length of the whole motion [s]."""
        return self.repeats * self.period + 2 * self.ramp

    @property
    def count(self) -> int:
        """Number of coefficients per joint: the mean, then a_1 … a_K, b_1 … b_K."""
        return 1 + 2 * self.harmonics

    def functions(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the time functions and their two derivatives, (count, samples) each, and the weight of q_rest.

        The weight, 1 − s with its two derivatives, is (3, samples); 0 for a free posture. t: (samples,) [s].
        """
        w = 2 * np.pi / self.period * np.arange(1, self.harmonics + 1)[:, None]
        phase = w * (t - self.ramp)
        sine, cosine = np.sin(phase), np.cos(phase)
        wave = np.concatenate([sine, cosine])
        dwave = np.concatenate([w * cosine, -w * sine])
        ddwave = np.concatenate([-w * w * sine, -w * w * cosine])
        s, ds, dds = self._envelope(t)
        one = np.ones((1, len(t)))
        mean = (one, 0 * one, 0 * one) if self.free_posture else (s[None], ds[None], dds[None])
        rest = np.zeros((3, len(t))) if self.free_posture else np.array([1 - s, -ds, -dds])
        return (
            np.concatenate([mean[0], s * wave]),
            np.concatenate([mean[1], ds * wave + s * dwave]),
            np.concatenate([mean[2], dds * wave + 2 * ds * dwave + s * ddwave]),
            rest,
        )

    def _envelope(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        rising = t < self.duration / 2
        x = np.clip(np.where(rising, t, self.duration - t) / self.ramp, 0.0, 1.0)
        s, ds, dds = smooth_step(x)
        return s, np.where(rising, ds, -ds) / self.ramp, dds / self.ramp**2


class FourierTrajectory(Trajectory):
    """A series with given coefficients.

    Parameters
    ----------
    joint_names
        (n,).
    basis
        its time functions.
    coefficients
        (n, basis.count) [rad]: mean, a_1 … a_K, b_1 … b_K.
    posture
        (n,) [rad], at which the motion begins and ends; None: the mean of the series.

    """

    def __init__(
        self,
        joint_names: Sequence[str],
        basis: FourierBasis,
        coefficients: FloatArray,
        posture: FloatArray | None = None,
    ):
        self.joint_names = tuple(joint_names)
        self.basis = basis
        self.coefficients = np.array(coefficients, dtype=float)
        self.given_posture = None if posture is None else np.array(posture, dtype=float)
        self.duration = basis.duration

    @property
    def posture(self) -> FloatArray:
        """Posture at rest (n,) [rad]."""
        return self.coefficients[:, 0].copy() if self.given_posture is None else self.given_posture.copy()

    def one_sided(self, t: FloatArray, inside: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, dq and ddq at t, (joints, samples) each; `inside` is ignored, as all are continuous."""
        *functions, rest = self.basis.functions(t)
        q, dq, ddq = (self.coefficients @ function for function in functions)
        if self.given_posture is None:
            return q, dq, ddq
        q, dq, ddq = (
            state + self.given_posture[:, None] * weight for state, weight in zip((q, dq, ddq), rest, strict=True)
        )
        return q, dq, ddq

    @property
    def knots(self) -> FloatArray:
        """Times [s] at which the ramps begin and end."""
        return np.array([0.0, self.basis.ramp, self.duration - self.basis.ramp, self.duration])

    def derivative_bounds(self, inside: FloatArray) -> FloatArray:
        """Return bounds of |q̇| … |q⁽⁴⁾| over pieces, see `Trajectory`.

        |w⁽ⁱ⁾| ≤ Σ_k √(a_k² + b_k²) (kω)ⁱ for the series w without its mean; on a ramp (s w)⁽ᵐ⁾ = Σ C(m, i) s⁽ᵐ⁻ⁱ⁾ w⁽ⁱ⁾.
        """
        basis = self.basis
        frequencies = 2 * np.pi / basis.period * np.arange(1, basis.harmonics + 1)
        amplitude = np.hypot(self.coefficients[:, 1 : 1 + basis.harmonics], self.coefficients[:, 1 + basis.harmonics :])
        wave = np.array([amplitude @ frequencies**i for i in range(5)])
        distance = wave.copy()  # from the posture at rest
        distance[0] += np.abs(self.coefficients[:, 0] - self.posture)
        step = [peak / basis.ramp**i for i, peak in enumerate(STEP_PEAKS)]
        ramped = np.array([sum(comb(m, i) * step[m - i] * distance[i] for i in range(m + 1)) for m in range(1, 5)])
        on_ramp = (inside < basis.ramp) | (inside > self.duration - basis.ramp)
        return np.where(on_ramp, ramped[:, :, None], wave[1:, :, None])

    def without_repetition(self) -> FourierTrajectory:
        """Return the motion with one period between its ramps."""
        return self.repeated(1)

    def scaled(self, factor: float) -> FourierTrajectory:
        """Return the motion with its distance from the posture at rest multiplied by `factor`, at all times."""
        coefficients = factor * self.coefficients
        coefficients[:, 0] += (1 - factor) * self.posture
        return FourierTrajectory(self.joint_names, self.basis, coefficients, self.given_posture)

    def repeated(self, repeats: int) -> FourierTrajectory:
        """Return the motion with its period played `repeats` times; the visited states stay the same."""
        basis = FourierBasis(self.basis.period, self.basis.harmonics, repeats, self.basis.ramp, self.basis.free_posture)
        return FourierTrajectory(self.joint_names, basis, self.coefficients, self.given_posture)
