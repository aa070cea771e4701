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

"""Torsional stiffness from static loads or from motion [M4 4.1, M3 eq 17]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import JointTestResult, LinearFit, Series, Value, least_squares
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import central_difference, zero_phase_lowpass

ITERATIONS = 30  # most solutions for the shifts of the deformation
ONE_SIDED = 0.1  # smallest deformation in one direction, as a share of that in the other


@dataclass(frozen=True)
class StiffnessSettings(Settings):
    """Model order and bandwidth of the stiffness test.

    The elastic torque is the load torque (column `load`, or the robot model). For a standing joint without one it is
    the motor torque: a locked rotor, its friction neglected.
    """

    SECTION = 'joint.stiffness'
    GONE: ClassVar[Mapping[str, str]] = {
        'source': 'the torque is the load torque if there is one, otherwise that of a locked rotor',
        'rotor_inertia': 'the load torque takes the place of the motor side; give --robot or a column load',
        'offset': 'the deformation at zero torque is always fitted',
    }

    order: int = setting(2, 'number P of odd terms of the polynomial', lower=1, upper=9)
    f_dyn: float = setting(
        10.0,
        'bandwidth of the motion: angles are low-passed at 5 f_dyn, rows at 2 f_dyn',
        'Hz',
        lower=0.01,
        upper=10_000,
    )
    still: float = setting(0.02, 'largest motion of a standing joint', 'rad', above=0)


def identify_stiffness(
    recordings: Sequence[JointData],
    settings: StiffnessSettings | None = None,
    base: FrictionModel | None = None,
    kinematic_error: PeriodicMap | None = None,
    backlash: PeriodicMap | None = None,
) -> JointTestResult:
    """Fit τ_E = Σ α_p φ^{2p−1} (+ D φ̇ when moving) to deformation and torque; φ = θ − q − θ̃(θ) − φ_0.

    If the joint moves and `base` has a Maxwell-slip part, the lost motion c 𝓑(θ) H is subtracted from the deformation.
    H is the hysteresis of `base`, −1 … 1. The share c (1: all of it, 0: none) is fitted. Without this term, backlash
    would appear as an offset whose sign follows the direction of motion.

    The result is marked unreliable if a coefficient lies within two standard deviations of zero, if the stiffness is
    negative within the range, or if the load has one direction only.

    Parameters
    ----------
    recordings
        with θ and a torque, of one joint.
    settings
        None: the defaults.
    base
        known friction.
    kinematic_error
        θ̃(θ) [rad], subtracted from the deformation.
    backlash
        half width 𝓑(θ) [rad]; None: the presliding length of `base` replaces it.

    Raises
    ------
    JointDynamicsError
        Without θ, and for a moving joint without a load torque.
    """
    settings = settings or StiffnessSettings()
    for data in recordings:
        data.need('theta')
    moving = any(np.ptp(data.q) > settings.still for data in recordings)
    loaded = all(data.tau_J is not None for data in recordings)
    if moving and not loaded:
        raise JointDynamicsError(
            'stiffness: expected a load torque for a moving joint, found none: give --robot, or a column load'
        )
    source = 'load' if loaded else 'current'
    rows = [_rows(data, settings, source, base if moving else None, kinematic_error, backlash) for data in recordings]
    phi, dphi, tau, lash = np.concatenate(rows, axis=1)
    fit, shift, reach = _fit(phi, dphi, tau, lash, settings.order, moving)
    result = JointTestResult('stiffness', recordings[0].joint)
    names = [f'alpha_{p + 1}' for p in range(settings.order)]
    units = {name: f'N·m/rad^{2 * p + 1}'.replace('^1', '') for p, name in enumerate(names)}
    result.take(fit, {**units, 'D': 'N·m·s/rad'})
    for name, value in shift.items():
        result.parameters[name] = Value(value, fit.deviation(name), 'rad' if name == 'phi_0' else '')
    polynomial = TorsionalStiffness([fit[name] for name in names])
    result.judge_fit(tau, fit.residual)
    low, high = float(reach.min()), float(reach.max())
    result.quality |= {
        'source': source,
        'moving': moving,
        'rows': int(tau.size),
        'condition': fit.condition,
        'deformation_range': [low, high],
        'torque_range': [float(tau.min()), float(tau.max())],
    }
    result.flag_insignificant(
        names, f'the load reaches only {max(-low, high):.2g} rad of deformation; try a lower order'
    )
    if low > -ONE_SIDED * high or high < -ONE_SIDED * low:
        result.reasons.append(
            'loaded in one direction only: an offset of the encoders cannot be distinguished from stiffness'
        )
    grid = np.linspace(low, high, 200)
    if polynomial.stiffness(grid).min() <= 0:
        result.reasons.append('the fitted stiffness is negative within the range of the data')
    if source == 'current':
        result.warnings.append('locked-rotor current: friction inside the joint counts as elastic torque')
    thin = max(1, tau.size // 4000)
    elastic = tau - fit.get('D') * dphi
    result.plot(
        'torsional stiffness',
        'deformation φ [rad]',
        'torque [N·m]',
        Series(f'measured ({source})', reach[::thin], elastic[::thin]),
        Series('fit', grid, polynomial.torque(grid), 'line'),
    )
    if 'D' in fit.names and 'lost_motion' not in fit.names:
        # If lost motion is fitted, D absorbs errors of the hysteresis model: left to the damping test.
        damping = {'value': fit['D'], 'std': fit.deviation('D'), 'unit': 'N·m·s/rad'}
        result.document['damping'] = damping | {'method': 'stiffness from motion'}
    deviations = {'standard_deviations': [fit.deviation(name) for name in names]}
    result.document['stiffness'] = polynomial.to_dict() | deviations | {'range': [low, high]}
    return result


def _rows(
    data: JointData,
    settings: StiffnessSettings,
    source: str,
    base: FrictionModel | None,
    kinematic_error: PeriodicMap | None,
    backlash: PeriodicMap | None,
) -> FloatArray:
    """Return deformation [rad], its rate [rad/s], elastic torque [N·m] and lost motion [rad] as rows, (4, samples).

    All four pass through the same filter and are decimated to its bandwidth.
    """
    rate = data.rate
    theta, q = (zero_phase_lowpass(x, 5 * settings.f_dyn, rate) for x in (data.theta, data.q))
    phi = theta - q - (0.0 if kinematic_error is None else kinematic_error(theta))
    lash = np.zeros_like(phi)
    if base is not None and base.maxwell_slip is not None:
        slip = base.maxwell_slip.copy()
        slip.reset()
        length = slip.presliding if backlash is None else PeriodicMap.stack([backlash])
        lash = length(theta[:, None])[:, 0] * slip.run(theta[:, None])[:, 0]
    torque_signal = 'tau_J' if source == 'load' else 'tau'
    data.need(torque_signal)
    signals = np.stack([phi, central_difference(phi, rate), getattr(data, torque_signal), lash], axis=1)
    step = max(1, int(0.8 * rate / (4 * settings.f_dyn)))
    edge = min(int(0.5 * rate / settings.f_dyn) + 1, data.samples // 10)
    return zero_phase_lowpass(signals, 2 * settings.f_dyn, rate)[edge : data.samples - edge : step].T


def _fit(
    measured: FloatArray, dphi: FloatArray, tau: FloatArray, lash: FloatArray, order: int, moving: bool
) -> tuple[LinearFit, dict[str, float], FloatArray]:
    """Fit stiffness, damping and the shifts of the deformation (encoder offset, lost motion) by Gauss-Newton.

    A shift c x of φ changes the torque by −k(φ) c x, so its column is −k(φ) x. `measured` is the measured φ, (rows,)
    rad; `dphi`, `tau` and `lash` are the other rows of `_rows`. Returns the fit, the coefficients c of the shifts, and
    φ after their subtraction, rad.
    """
    names = [f'alpha_{p + 1}' for p in range(order)]
    shifts = {'phi_0': np.ones_like(measured)} | ({'lost_motion': lash} if np.any(lash != 0) else {})
    values = dict.fromkeys(shifts, 0.0)
    phi, slope = measured, np.full(measured.size, float(measured @ tau / (measured @ measured)))
    for _ in range(ITERATIONS):
        columns = [
            TorsionalStiffness.basis(phi, order),
            *([dphi[:, None]] if moving else []),
            *(-(slope * x)[:, None] for x in shifts.values()),
        ]
        fit = least_squares(np.concatenate(columns, axis=1), tau, [*names, *(['D'] if moving else []), *shifts])
        for name in shifts:
            values[name] += fit[name]
        phi = measured - sum(values[name] * x for name, x in shifts.items())
        slope = TorsionalStiffness([fit[name] for name in names]).stiffness(phi)
        if all(abs(fit[name]) < 1e-4 * fit.deviation(name) + 1e-15 for name in shifts):
            break
    return fit, values, phi
