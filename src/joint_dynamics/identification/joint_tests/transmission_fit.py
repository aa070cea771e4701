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

"""Stiffness, kinematic error and backlash of one joint together, from any motion under load.

The deformation of a transmission is elastic, kinematic error and lost motion [M4 eq 29-32]:

    φ = θ − q = s(τ_J) + θ̃(θ) + Σ_i b_i (1 + u cos θ + v sin θ) x/(1 + (τ/τ_i)²),    T τ̇ + τ = τ_J.

It is linear in all coefficients for a known width 𝓑(θ) of the play, shares b_i/Σ b_i, wind-up load τ_w, its power n,
and lag T. τ_w, n and T are those of the smallest residual. Width and shares follow from the solution, in `ROUNDS`
rounds.
docs/reference/commands/identify-joint.md has the other equations and the priors.
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

ROUNDS = 3  # solutions for the width of the play
NARROWEST = 0.3  # narrowest play considered, in plausible amplitudes
TINY = 1e-9  # rad; no play is as narrow
SPRING = 2  # columns of the spring, c and d
PLAY = len(LOADS) + 2  # columns of the play, b_i, u and v; the kinematic error follows
# s, lag of the load in taking up the lost motion: none, and 25 to 400 ms in steps of √2
LOAD_LAGS = (0.0, *(0.025 * 2.0 ** (0.5 * np.arange(9))).round(3).tolist())
# τ_w beside the largest load, as shares of the torque limit: data sheets state stiffnesses K₁, K₂ and K₃ below, between
# and above two torques [Harmonic Drive, CSF and CSG series, torsional stiffness].
WIND_UPS = (0.1, 0.2, 0.4)
STIFFER = 4.0  # largest stiffness of a wound-up spring over that at rest
SHOWN = 4.0  # smallest significant d, in standard deviations: the best of five shapes is taken


@dataclass(frozen=True)
class TransmissionSettings(Settings):
    """How stiffness, kinematic error and backlash are identified together."""

    SECTION = 'transmission'

    harmonics: int = setting(6, 'harmonics of the kinematic error', lower=1, upper=12)
    loaded: float = setting(0.15, 'smallest load counted as loaded, as a share of the largest', lower=0, below=1)
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
    """Solution of the deformation; loads in units of the largest."""

    spring: int  # number of columns of the spring: u, and `wound` where it is significant
    W: FloatArray  # (rows, columns) regressor: spring, play, kinematic error
    solution: FloatArray  # (columns,) rad
    covariance: FloatArray  # (columns, columns) rad²
    residual: FloatArray  # (rows,) rad
    play: FourierSeries  # 𝓑(θ), rad
    shares: FloatArray  # b_i/Σ b_i
    lag: float  # T, s
    wind_up: WindUp  # shape of the soft part


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
    """Return the moving samples of signals (N, …), filtered and thinned according to the bandwidth."""
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
    the prior P = s/plausible includes undetermined kinematic error and lost motion.
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
