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

"""Stiffness, kinematic error and backlash of one joint together, from any motion under load, with no test made for it.

The deformation of a transmission is its elastic part, the kinematic error and the lost motion [M4 eq 29-32],

    φ = θ − q = s(τ_J) + θ̃(θ) + Σ_i b_i (1 + u cos θ + v sin θ) x/(1 + (τ/τ_i)²),    T τ̇ + τ = τ_J,
    s(τ) = c τ + d τ_w w(τ/τ_w),    w′(r) = (1 − r²)ⁿ up to |r| = 1, 0 beyond,
    θ̃(θ) = m + Σ_{h=1..H} a_h cos hθ + b_h sin hθ,
    x ← clip(x + Δθ/𝓑(θ), ±1),    𝓑(θ) = Σ_i b_i (1 + u cos θ + v sin θ)

linear in all coefficients once the width 𝓑(θ) of the play and the shares of its parts, which are solved for in turn,
the load τ_w, the power n and the lag T are known. These three are those with the smallest residual. n = 2 is the
compliance of τ ∝ φ + φ³ that stiffens by a third, n = 1 of one that stiffens by a few percent. T matters because a
joint passes its small loads within a tenth of a second: a play that follows late looks half as wide without lag.

Fitted one after the other each takes up a part of the other: gravity is periodic in θ as well, and lost motion that is
not looked for makes the joint look soft. Fitted together, they are distinguished by τ_J, which also changes with
acceleration and posture, and by the lost motion, which goes with the direction of the motion. Without a whole turn the
harmonics are not independent; each is held towards zero by what is plausible for it, 1.5e-4/h rad, so that the map
stays small where nobody went: an arc minute peak to peak, of the positioning accuracy of 0.5 to 2 arc minutes that a
maker of strain-wave gears states [Harmonic Drive, CSF and CSG series, table 40]. So is the play, by an assumption:
𝓑 = 5e-4 rad, 1.7 arc minutes either way, and over a turn it changes by half of itself; of a joint that is never
unloaded the data show nothing of it.
d ≥ 0, c ≥ d/3: a spring that hardens, by a factor of four at most, over the whole range of the load or below a part of
it (soft wind-up: data sheets state a lower stiffness for small torques). A d within four deviations of zero,
as the best of four, is left out, and the rest fitted anew: of a soft part the data show nothing then. b_i ≥ 0; the
loads τ_i are those of `joint.stiffness`. Deviations count effective samples, `regression.covariance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.regression.covariance import correlated_variance
from joint_dynamics.joint import FourierSeries
from joint_dynamics.joint.stiffness import LOAD_LAG, LOAD_SHARES, LOADS, loads_of, lost_motion_share, place_in_play
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import butterworth_sections, filtered, zero_phase_lowpass

# How often the width of the play is solved for, and the narrowest considered, in plausible amplitudes.
ROUNDS, NARROWEST = 3, 0.3
# rad: no play is as narrow.
TINY = 1e-9
# Columns of the spring, c and d, where the data show both; of the play, b_i, u and v; the kinematic error follows.
SPRING, PLAY = 2, len(LOADS) + 2
# s by which the load that takes the lost motion up may lag: none, and 25 to 400 ms in steps of √2.
LOAD_LAGS = (0.0, *(0.025 * 2.0 ** (0.5 * np.arange(9))).round(3).tolist())
# τ_w beside the largest load, as shares of the torque limit: data sheets state stiffnesses K₁, K₂ and K₃ below, between
# and above two torques [Harmonic Drive, CSF and CSG series, torsional stiffness]. By what factor a wound-up spring is
# stiffer at most. Deviations by which d differs from zero, the best of these.
WIND_UPS, STIFFER, SHOWN = (0.1, 0.2, 0.4), 4.0, 4.0


@dataclass(frozen=True)
class TransmissionSettings(Settings):
    """How stiffness, kinematic error and backlash are identified together."""

    SECTION = 'transmission'

    harmonics: int = setting(6, 'harmonics of the kinematic error', lower=1, upper=12)
    loaded: float = setting(0.15, 'load that counts as one, as a share of the largest', lower=0, below=1)
    f_dyn: float = setting(
        10.0, 'bandwidth of the motion; signals are low-passed at 2 f_dyn', 'Hz', lower=0.01, upper=10_000
    )
    amplitude: float = setting(1.5e-4, 'plausible size of the first harmonic, the others 1/h of it', 'rad', above=0)
    play: float = setting(5e-4, 'plausible size of the backlash 𝓑, half the lost motion', 'rad', above=0)
    min_speed: float = setting(0.01, 'slower samples are left out', 'rad/s', lower=0)


class WindUp(NamedTuple):
    """Shape w of the soft part of a spring."""

    share: float  # load τ_w at which it ends, in units of the largest load
    power: int  # n


class Fit(NamedTuple):
    """W with its first `spring` columns u and `wound`, of loads in units of the largest, and what was solved.

    With 𝓑(θ), b_i/Σ b_i, T, and the shape of the soft part.
    """

    spring: int
    W: FloatArray
    solution: FloatArray
    covariance: FloatArray
    residual: FloatArray
    play: FourierSeries
    shares: FloatArray
    lag: float
    wind_up: WindUp


def fit(
    recordings: Sequence[JointData], rows: Sequence[FloatArray], limit: float, settings: TransmissionSettings
) -> Fit:
    """Solve for all of φ; rows: θ, φ and τ_J of each recording."""
    theta, phi, tau = np.concatenate(rows).T
    largest = float(np.abs(tau).max())
    u, loads = tau / largest, loads_of(limit)
    wind_ups = [WindUp(share * limit / largest, 1) for share in WIND_UPS if share * limit < largest]
    wind_ups += [WindUp(1.0, power) for power in (1, 2)]
    basis = FourierSeries.basis(theta, settings.harmonics)
    part = np.repeat(np.arange(len(rows)), [len(signals) for signals in rows])
    play, shares = FourierSeries(2.0 * settings.amplitude, [0.0], [0.0]), np.array(LOAD_SHARES)

    def regressor(spring: int, lag: float, wind_up: WindUp) -> FloatArray:
        lost = _lost_motion(recordings, play, shares, loads, lag, settings)
        return np.column_stack([*[u, wound(u, wind_up)][:spring], lost, basis])

    def left(lag: float, wind_up: WindUp) -> float:
        return float(np.std(_solve(regressor(SPRING, lag, wind_up), phi, part, SPRING, play.mean, settings)[2]))

    wind_up = min(wind_ups, key=lambda shape: left(LOAD_LAG, shape))
    lag = min(LOAD_LAGS, key=lambda lag: left(lag, wind_up))
    wind_up = min(wind_ups, key=lambda shape: left(lag, shape))
    for spring in (SPRING, 1):
        parts, change = spring + np.arange(len(LOADS)), spring + np.arange(len(LOADS), PLAY)
        for _ in range(ROUNDS):
            W = regressor(spring, lag, wind_up)
            solution, covariance, residual = _solve(W, phi, part, spring, max(play.mean, TINY), settings)
            before, backlash = play.mean, float(solution[parts].sum())
            shares = solution[parts] / backlash if backlash > 0.0 else shares
            # no narrower than nothing, anywhere
            first = solution[change] * min(1.0, backlash / max(float(np.hypot(*solution[change])), TINY))
            play = FourierSeries(backlash, first[:1], first[1:])
            if abs(backlash - before) < 0.02 * before:
                break
        if solution[spring - 1] > SHOWN * np.sqrt(max(covariance[spring - 1, spring - 1], 0.0)):
            break
    return Fit(spring, W, solution, covariance, residual, play, shares, lag, wind_up)


def wound(u: FloatArray, wind_up: WindUp) -> FloatArray:
    """Return the column of d of that shape for the loads u; it has d/(STIFFER − 1) of c, u the rest."""
    r = np.clip(u / wind_up.share, -1.0, 1.0)
    w = r - r**3 / 3.0 if wind_up.power == 1 else r - 2.0 * r**3 / 3.0 + r**5 / 5.0
    return wind_up.share * w + u / (STIFFER - 1.0)


def thinned(data: JointData, signals: FloatArray, settings: TransmissionSettings) -> FloatArray:
    """Return the moving samples of signals (N, …), filtered and thinned to what the bandwidth needs."""
    cutoff = min(2.0 * settings.f_dyn, 0.4 * data.rate)
    edge = min(int(data.rate / cutoff) + 1, data.samples // 10)
    rows = np.arange(edge, data.samples - edge, max(1, int(0.2 * data.rate / cutoff)))
    return zero_phase_lowpass(signals, cutoff, data.rate)[rows[np.abs(data.omega[rows]) > settings.min_speed]]


def _lost_motion(
    recordings: Sequence[JointData],
    play: FourierSeries,
    shares: FloatArray,
    loads: FloatArray,
    lag: float,
    settings: TransmissionSettings,
) -> FloatArray:
    """Return the columns (rows, PLAY) of b_i, 𝓑 u and 𝓑 v, with the load `lag` s late; 𝓑(θ) is `play`."""
    columns = []
    for data in recordings:
        assert data.tau_J is not None
        load = data.tau_J
        if lag > 0.0:
            load = filtered(butterworth_sections(1, 0.5 / (np.pi * lag), data.rate), load[None])[0]
        left = lost_motion_share(load[:, None] / loads)
        steps = np.diff(data.theta, prepend=data.theta[0])
        place = place_in_play(np.cumsum(steps / np.maximum(play(data.theta), NARROWEST * settings.amplitude)), 1.0)
        turn = np.column_stack([np.cos(data.theta), np.sin(data.theta)]) * (left @ shares)[:, None]
        columns.append(thinned(data, place[:, None] * np.column_stack([left, turn]), settings))
    return np.concatenate(columns)


def _solve(
    W: FloatArray, phi: FloatArray, part: IntArray, spring: int, width: float, settings: TransmissionSettings
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares with play and harmonics held towards zero; (solution, covariance, residual).

    The residual is correlated over many samples, so that s² counts effective ones. The covariance s² (WᵀW + PᵀP)⁻¹ with
    that prior P = s/plausible holds what the data leave open of kinematic error and lost motion.
    """
    H = settings.harmonics
    free = W.shape[1] - 2 * H
    plausible = np.concatenate([np.full(free, np.inf), np.tile(settings.amplitude / np.arange(1, H + 1), 2)])
    parts = spring + len(LOADS)
    plausible[spring:parts] = settings.play / np.sqrt(len(LOADS))
    plausible[parts : spring + PLAY] = 0.5 * width
    lower = np.where(np.arange(W.shape[1]) < parts, 0.0, -np.inf)
    normal, variance = W.T @ W, settings.amplitude**2
    for _ in range(3):
        prior = np.diag(np.sqrt(variance) / plausible)
        solution = bounded(np.vstack([W, prior]), np.concatenate([phi, np.zeros(W.shape[1])]), lower)
        residual = phi - W @ solution
        inverse = np.linalg.inv(normal + prior**2)
        variance = correlated_variance(residual, normal, inverse, part)
    return solution, variance * inverse, residual


def bounded(W: FloatArray, y: FloatArray, lower: FloatArray | float) -> FloatArray:
    """Return the least-squares solution χ ≥ lower of W χ = y."""
    from scipy.optimize import lsq_linear  # here, as `identify` imports this module, and most joints have one encoder

    solution: FloatArray = lsq_linear(W, y, bounds=(lower, np.inf)).x
    return solution
