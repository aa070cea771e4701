"""Dominant inertia from an oscillation under a virtual spring, with and without friction [A eq 4.11, 5.12].

Undamped, I_d = K_p T_n²/(4π²). Its authors found it useless in practice, because no compensation of friction is ever
perfect. The other value fits the oscillation with what friction is left: I q̈ + F_C sgn q̇ + F_V q̇ + τ_0 = τ with the
measured torque τ (or −K_p (q − q_0) without one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.damping import turning_points
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.regression import least_squares
from joint_dynamics.identification.joint_tests.result import JointTestResult, Series, Value, nrmse_percent
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import central_difference, zero_phase_lowpass


@dataclass(frozen=True)
class InertiaSettings(Settings):
    """How the oscillation was made and is read."""

    SECTION = 'joint.inertia'

    spring: float | None = setting(
        None, 'stiffness K_p of the virtual spring', 'N·m/rad', above=0, none='has to be given'
    )
    bandwidth: float = setting(10.0, "low-pass, in multiples of the oscillation's frequency", above=0)
    min_speed: float = setting(
        0.02, 'slower samples are left out of the fit with friction (their sign is not known)', 'rad/s', lower=0
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
        halves = np.diff(interpolated(data.time, smooth, peaks))
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
    T_n = float(np.mean(periods))
    T_std = float(np.std(periods, ddof=1) / np.sqrt(len(periods))) if len(periods) > 1 else None
    simple = settings.spring * T_n**2 / (4 * np.pi**2)
    target = np.concatenate(y)
    fit = least_squares(np.concatenate(W), target, ('inertia', 'F_C', 'F_V1', 'offset'))
    result.take(fit, {'inertia': 'kg·m²', 'F_C': 'N·m', 'F_V1': 'N·m·s/rad'})
    deviation = None if T_std is None else 2 * simple * T_std / T_n
    result.parameters |= {'inertia_from_period': Value(simple, deviation, 'kg·m²'), 'period': Value(T_n, T_std, 's')}
    spread = 100 * float(np.std(periods)) / T_n
    result.quality |= {
        'fit_percent': nrmse_percent(target, target - fit.residual),
        'rows': int(target.size),
        'half_swings': len(periods),
        'period_spread_percent': spread,
    }
    result.flag_insignificant(['inertia'], 'the oscillation is too weak')
    off = abs(simple / fit['inertia'] - 1.0)
    if off > 0.05:
        result.warnings.append(
            f'the period alone gives {simple:.4g} kg·m², {100 * off:.0f} % off the fit with friction: '
            'the compensation is imperfect'
        )
    if spread > 5:
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


def interpolated(time: FloatArray, x: FloatArray, peaks: IntArray) -> FloatArray:
    """Return the times (E,) [s] of the extrema between samples, by the parabola through the three samples about each.

    time, x: (N,) [s], in any unit; peaks: (E,) indices of the extrema, none at an end.
    """
    left, top, right = x[peaks - 1], x[peaks], x[peaks + 1]
    return time[peaks] + 0.5 * (left - right) / (left - 2 * top + right) * (time[1] - time[0])
