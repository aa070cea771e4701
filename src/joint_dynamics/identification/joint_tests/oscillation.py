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

"""Damping of a transmission and dominant inertia, from oscillations of a joint.

A free oscillation decays as x = A e^{−λt} cos(2πft + ψ) + c, with D = 2 B λ [patent 2, par. 23]. A straight line
through the logarithms of all extrema starts the fit.

Under a virtual spring the inertia follows from the period, I_d = K_p T_n²/(4π²) [A eq 4.11], if friction is compensated
perfectly. The fit I q̈ + F_C sgn q̇ + F_V q̇ + τ_0 = τ needs no compensation [A eq 5.12]; without a measured torque,
τ = −K_p (q − q_0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares as solve
from scipy.signal import find_peaks

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import JointTestResult, Series, Value, least_squares
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import central_difference, zero_phase_lowpass


@dataclass(frozen=True)
class DampingSettings(Settings):
    """The swinging inertia, and the noise of the oscillation."""

    SECTION = 'joint.damping'

    inertia: float | None = setting(
        None,
        'swinging inertia, joint side: rotor B against a held link, B M/(B + M) when the link swings too',
        'kg·m²',
        above=0,
        none='the rotor inertia of the description',
    )
    noise: float = setting(0.05, 'extrema below this share of the first one are left out', lower=0, below=1)


def oscillation_peaks(time: FloatArray, x: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
    """Return times (E,) [s] and sizes (E,) of the extrema of a decaying oscillation, from the largest on.

    Parameters
    ----------
    time, x
        (N,) s, and in any unit; sizes are about the rest, the mean of the last tenth of `x`.
    noise
        extrema below this share of the largest are left out.
    """
    centred = x - np.mean(x[-max(10, x.size // 10) :])
    largest = float(np.abs(centred).max())
    extrema = turning_points(centred, prominence=noise * largest, height=noise * largest)
    if extrema.size == 0:
        return np.zeros(0), np.zeros(0)
    extrema = extrema[np.argmax(np.abs(centred[extrema])) :]
    size = np.abs(centred[extrema])
    # A decay falls; a rise is another event or noise.
    rises = np.flatnonzero(size[1:] > 1.2 * size[:-1])
    keep = slice(int(rises[0]) + 1 if rises.size else None)
    return time[extrema[keep]], size[keep]


def turning_points(x: FloatArray, **bounds: float) -> IntArray:
    """Return the indices of the extrema of x (N,) in their order; `bounds`: of `scipy.signal.find_peaks`."""
    return np.sort(np.concatenate([find_peaks(side * x, **bounds)[0] for side in (1, -1)]))


def identify_damping(recordings: Sequence[JointData], settings: DampingSettings | None = None) -> JointTestResult:
    """Fit the decay of each free oscillation, of θ − q where both sides were measured, else of q.

    The result is not reliable when the envelope falls along a straight line rather than an exponential: dry friction,
    not damping.

    Parameters
    ----------
    recordings
        of free oscillations of one joint.
    settings
        with the swinging inertia [kg·m²].

    Raises
    ------
    JointDynamicsError
        Without the swinging inertia.
    NotReliableError
        For fewer than four extrema.
    """
    settings = settings or DampingSettings()
    if settings.inertia is None:
        raise JointDynamicsError(
            'damping: expected the swinging inertia in kg·m² (inertia in --config, or rotor_inertia in --description), '
            'found none'
        )
    result = JointTestResult('damping', recordings[0].joint)
    found, series = [], []
    for data in recordings:
        x = data.theta - data.q if data.two_sided else data.q
        time, size = oscillation_peaks(data.time, x, settings.noise)
        if size.size < 4:
            raise NotReliableError(
                f'{data.name}: {data.joint}: found {size.size} extrema of a decaying oscillation, expected at least 4'
            )
        rate, std, frequency, envelope = _fit_decay(data.time, x, time, size)
        found.append((rate, 1.0 / max(std, 1e-12) ** 2, frequency))
        straight = float(np.sum((size - np.polyval(np.polyfit(time, size, 1), time)) ** 2))
        misfit = float(np.sum((size - envelope) ** 2))
        if straight < 0.5 * misfit and misfit > (0.01 * size[0]) ** 2 * size.size:
            result.reasons.append(
                f'{data.name}: the envelope falls along a straight line: dry friction stops the oscillation, not'
                ' damping'
            )
        series.append(Series(f'extrema of {data.name}', time, size))
        series.append(Series('exponential fit', time, envelope, 'line'))
    rates, weights, frequencies = np.array(found).T
    rate, frequency = float(np.average(rates, weights=weights)), float(np.mean(frequencies))
    scatter = float(np.std(rates, ddof=1) / np.sqrt(len(rates))) if len(rates) > 1 else 0.0
    spread = max(float(np.sqrt(1.0 / np.sum(weights))), scatter)
    D = Value(2 * settings.inertia * rate, 2 * settings.inertia * spread, 'N·m·s/rad')
    result.parameters |= {'D': D, 'decay_rate': Value(rate, spread, '1/s'), 'frequency': Value(frequency, None, 'Hz')}
    result.quality |= {
        'inertia': settings.inertia,
        'recordings': len(recordings),
        'damping_ratio': rate / (2 * np.pi * frequency),
    }
    if D.value <= 0:
        result.reasons.append('the oscillation does not decay')
    result.flag_insignificant(['D'], 'too few extrema, or none decays')
    result.document = {'damping': {'value': D.value, 'std': D.std, 'unit': D.unit, 'method': 'free oscillation'}}
    result.plot('decay of the free oscillation', 'time [s]', 'amplitude [rad]', *series)
    return result


def _fit_decay(
    time: FloatArray, x: FloatArray, peaks: FloatArray, size: FloatArray
) -> tuple[float, float, float, FloatArray]:
    """Return decay rate λ with its deviation, frequency, and the envelope at the extrema.

    From the samples between the first and the last of them.
    """
    rows = (time >= peaks[0]) & (time <= peaks[-1])
    t, y = time[rows] - peaks[0], x[rows]
    rest = float(np.mean(x[-max(10, x.size // 10) :]))
    decrement = -float(np.polyfit(peaks, np.log(size), 1, w=size)[0])
    start = np.array([y[0] - rest, decrement, np.pi / float(np.mean(np.diff(peaks))), 0.0, rest])
    scale = np.array([size[0], max(abs(decrement), 1e-3), start[2], 1.0, size[0]])

    def model(p: FloatArray) -> FloatArray:
        return p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t + p[3]) + p[4]

    answer = solve(lambda p: model(p) - y, start, method='lm', x_scale=scale)
    fit = least_squares(answer.jac, -answer.fun, ('A', 'rate', 'omega', 'phase', 'rest'))
    A, rate, omega, _, _ = answer.x
    return float(rate), fit.deviation('rate'), float(omega / (2 * np.pi)), abs(A) * np.exp(-rate * (peaks - peaks[0]))


@dataclass(frozen=True)
class InertiaSettings(Settings):
    """The virtual spring, and the filters of the oscillation."""

    SECTION = 'joint.inertia'

    spring: float | None = setting(None, 'stiffness K_p of the virtual spring', 'N·m/rad', above=0, none='required')
    bandwidth: float = setting(10.0, "low-pass, in multiples of the oscillation's frequency", above=0)
    min_speed: float = setting(
        0.02, 'slower samples are ignored in the fit with friction: their direction is not known', 'rad/s', lower=0
    )


def identify_inertia(recordings: Sequence[JointData], settings: InertiaSettings | None = None) -> JointTestResult:
    """Dominant inertia by the period alone and by the fit with Coulomb and viscous friction; both are reported.

    The result is not reliable with an inertia within two deviations of zero.

    Parameters
    ----------
    recordings
        of oscillations of one joint; without a motor torque it is −K_p (q − q_0).
    settings
        with the stiffness of the virtual spring [N·m/rad].

    Raises
    ------
    JointDynamicsError
        Without that stiffness.
    NotReliableError
        Without half a period.
    """
    settings = settings or InertiaSettings()
    if settings.spring is None:
        raise JointDynamicsError(
            'inertia: expected the stiffness of the virtual spring in N·m/rad (spring in --config), found none'
        )
    result = JointTestResult('inertia', recordings[0].joint)
    periods: list[float] = []
    W, y, times = [], [], []
    for data in recordings:
        smooth = zero_phase_lowpass(data.q - np.mean(data.q), data.cutoff, data.rate)
        peaks = turning_points(smooth, prominence=0.02 * np.ptp(smooth))
        if peaks.size < 2:
            raise NotReliableError(
                f'{data.name}: {data.joint}: found {peaks.size} turning points of an oscillation, expected at least 2'
            )
        # Between samples: the extremum of the parabola through the three samples about each.
        left, top, right = smooth[peaks - 1], smooth[peaks], smooth[peaks + 1]
        halves = np.diff(peaks + 0.5 * (left - right) / (left - 2 * top + right)) / data.rate
        periods.extend((2 * halves).tolist())
        cutoff = settings.bandwidth / (2 * float(np.mean(halves)))
        q = zero_phase_lowpass(data.q, cutoff, data.rate)
        dq = central_difference(q, data.rate)
        ddq = central_difference(dq, data.rate)
        torque = -settings.spring * data.q if data.tau is None else data.tau
        step = max(1, int(data.rate / (4 * cutoff)))
        edge = min(int(2 * data.rate / cutoff), data.samples // 10)
        rows = np.arange(edge, data.samples - edge, step)
        rows = rows[np.abs(dq[rows]) > settings.min_speed]
        columns = np.column_stack([ddq, np.sign(dq), dq, np.ones_like(dq)])
        # The torque and the smooth columns go through one filter; the sign is filtered with them, so that the jump is
        # the same on both sides.
        W.append(zero_phase_lowpass(columns, cutoff, data.rate)[rows])
        y.append(zero_phase_lowpass(torque, cutoff, data.rate)[rows])
        times.append(data.time[rows])
    T_n, spread = float(np.mean(periods)), float(np.std(periods))
    T_std = spread / np.sqrt(len(periods) - 1) if len(periods) > 1 else None
    simple = settings.spring * T_n**2 / (4 * np.pi**2)
    target = np.concatenate(y)
    fit = least_squares(np.concatenate(W), target, ('inertia', 'F_C', 'F_V1', 'offset'))
    result.take(fit, {'inertia': 'kg·m²', 'F_C': 'N·m', 'F_V1': 'N·m·s/rad'})
    deviation = None if T_std is None else 2 * simple * T_std / T_n
    result.parameters |= {'inertia_from_period': Value(simple, deviation, 'kg·m²'), 'period': Value(T_n, T_std, 's')}
    result.judge_fit(target, fit.residual)
    result.quality |= {
        'rows': int(target.size),
        'half_swings': len(periods),
        'period_spread_percent': 100 * spread / T_n,
    }
    result.flag_insignificant(['inertia'], 'the oscillation is too weak')
    off = abs(simple / fit['inertia'] - 1.0)
    if off > 0.05:
        result.warnings.append(
            f'the period alone gives {simple:.4g} kg·m², {100 * off:.0f} % off the fit with friction: '
            'the compensation is imperfect'
        )
    if spread > 0.05 * T_n:
        result.warnings.append('the period changes along the recording: friction, not the spring alone, sets it')
    first, count = times[0], times[0].size
    result.plot(
        'oscillation under a virtual spring',
        'time [s]',
        'torque [N·m]',
        Series('measured', first, target[:count]),
        Series('fit with friction', first, (target - fit.residual)[:count], 'line'),
    )
    return result
