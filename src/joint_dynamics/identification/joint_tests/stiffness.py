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

"""Torsional stiffness from static loads or from motion [M4 4.1, M3 eq 16-17]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import JointTestResult, LinearFit, Series, Value, least_squares
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import central_difference, zero_phase_lowpass

SOURCES = ('auto', 'load', 'current', 'link', 'motor')


@dataclass(frozen=True)
class StiffnessSettings(Settings):
    """Torque source and model order of the stiffness test.

    Sources for a standing joint: `load` (force gauge, column `load`) or `current` (locked rotor, friction neglected).
    Sources for a moving joint: `link` (column `load` or the robot model) or `motor` (K_τ i − B θ̈ − f; needs a friction
    description and `rotor_inertia`). `auto` selects `load` or `link` if a load torque is known, otherwise `current`.
    """

    SECTION = 'joint.stiffness'

    order: int = setting(2, 'number P of odd terms of the polynomial', lower=1, upper=9)
    source: str = setting('auto', 'where the torque comes from', choices=SOURCES)
    f_dyn: float = setting(
        10.0,
        'bandwidth of the motion: angles are low-passed at 5 f_dyn, rows at 2 f_dyn',
        'Hz',
        lower=0.01,
        upper=10_000,
    )
    rotor_inertia: float | None = setting(
        None, 'on the joint side, for the source motor', 'kg·m²', above=0, none='that of the description'
    )
    still: float = setting(0.02, 'largest motion of a standing joint', 'rad', above=0)
    offset: bool = setting(True, 'also fit the deformation at which the torque is zero')


def identify_stiffness(
    recordings: Sequence[JointData],
    settings: StiffnessSettings | None = None,
    base: FrictionModel | None = None,
    kinematic_error: PeriodicMap | None = None,
    backlash: PeriodicMap | None = None,
) -> JointTestResult:
    """Fit τ_E = Σ α_p φ^{2p−1} (+ D φ̇ when moving) to deformation and torque; φ = θ − q − θ̃(θ).

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
        known friction; the source `motor` needs it.
    kinematic_error
        θ̃(θ) [rad], subtracted from the deformation.
    backlash
        half width 𝓑(θ) [rad]; None: the presliding length of `base` replaces it.

    Raises
    ------
    JointDynamicsError
        If the torque source lacks a signal or a setting.
    """
    settings = settings or StiffnessSettings()
    for data in recordings:
        data.need('theta')
    moving = any(np.ptp(data.q) > settings.still for data in recordings)
    source = _source(recordings, settings, moving)
    rows = [_rows(data, settings, source, base, kinematic_error, backlash, moving) for data in recordings]
    phi, dphi, tau, lash = np.concatenate(rows, axis=1)
    fit, shift, reach = _fit(phi, dphi, tau, lash, settings, moving)
    result = JointTestResult('stiffness', recordings[0].joint)
    names = [f'alpha_{p + 1}' for p in range(settings.order)]
    units = {name: f'N·m/rad^{2 * p + 1}'.replace('^1', '') for p, name in enumerate(names)}
    result.take(fit, {**units, 'D': 'N·m·s/rad'})
    for name, value in shift.items():
        result.parameters[name] = Value(value, fit.deviation(name), 'rad' if name == 'phi_0' else '')
    polynomial = TorsionalStiffness([fit[name] for name in names])
    result.judge_fit(tau, fit.residual)
    result.quality.update(
        {
            'source': source,
            'moving': moving,
            'rows': int(tau.size),
            'condition': fit.condition,
            'deformation_range': [float(reach.min()), float(reach.max())],
            'torque_range': [float(tau.min()), float(tau.max())],
        }
    )
    result.flag_insignificant(
        names, f'the load reaches only {np.abs(reach).max():.2g} rad of deformation; try a lower order'
    )
    if reach.min() > -0.1 * reach.max() or reach.max() < -0.1 * reach.min():
        result.reasons.append(
            'loaded in one direction only: an offset of the encoders cannot be distinguished from stiffness'
        )
    if polynomial.stiffness(np.linspace(reach.min(), reach.max(), 200)).min() <= 0:
        result.reasons.append('the fitted stiffness is negative within the range of the data')
    if source == 'current':
        result.warnings.append('locked-rotor current: friction inside the joint counts as elastic torque')
    grid = np.linspace(reach.min(), reach.max(), 200)
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
        result.document['damping'] = {
            'value': fit['D'],
            'std': fit.deviation('D'),
            'unit': 'N·m·s/rad',
            'method': 'stiffness from motion',
        }
    result.document['stiffness'] = polynomial.to_dict() | {
        'standard_deviations': [fit.deviation(name) for name in names],
        'range': result.quality['deformation_range'],
    }
    return result


def _source(recordings: Sequence[JointData], settings: StiffnessSettings, moving: bool) -> str:
    """Return the torque source, with `auto` resolved."""
    if settings.source != 'auto':
        return settings.source
    if all(data.tau_J is not None for data in recordings):
        return 'link' if moving else 'load'
    if moving:
        raise JointDynamicsError(
            'stiffness: expected a load torque for a moving joint, found none: give --robot, a column load, or '
            'source: motor with a friction description'
        )
    return 'current'


def _rows(
    data: JointData,
    settings: StiffnessSettings,
    source: str,
    base: FrictionModel | None,
    kinematic_error: PeriodicMap | None,
    backlash: PeriodicMap | None,
    moving: bool,
) -> FloatArray:
    """Return deformation [rad], its rate [rad/s], elastic torque [N·m] and lost motion [rad] as rows, (4, samples).

    All four pass through the same filter and are decimated to its bandwidth.
    """
    rate = data.rate
    theta, q = (zero_phase_lowpass(x, 5 * settings.f_dyn, rate) for x in (data.theta, data.q))
    phi = theta - q - (0.0 if kinematic_error is None else kinematic_error(theta))
    lash = np.zeros_like(phi)
    if moving and base is not None and base.maxwell_slip is not None:
        slip = base.maxwell_slip.copy()
        slip.reset()
        length = slip.presliding if backlash is None else PeriodicMap.stack([backlash])
        lash = length(theta[:, None])[:, 0] * slip.run(theta[:, None])[:, 0]
    torque_signal = 'tau_J' if source in ('load', 'link') else 'tau'
    data.need(torque_signal)
    tau = _motor_side(data, theta, settings, base) if source == 'motor' else getattr(data, torque_signal)
    signals = np.stack([phi, central_difference(phi, rate), tau, lash], axis=1)
    step = max(1, int(0.8 * rate / (4 * settings.f_dyn)))
    edge = min(int(0.5 * rate / settings.f_dyn) + 1, data.samples // 10)
    return zero_phase_lowpass(signals, 2 * settings.f_dyn, rate)[edge : data.samples - edge : step].T


def _motor_side(
    data: JointData, theta: FloatArray, settings: StiffnessSettings, base: FrictionModel | None
) -> FloatArray:
    """Return τ_E + D φ̇ = K_τ i − B θ̈ − f from the motor side, N·m [M3 eq 16]."""
    if base is None or settings.rotor_inertia is None:
        raise JointDynamicsError(
            'stiffness: expected a friction description (--description) and rotor_inertia in kg·m² (--config), found '
            + ('no friction' if base is None else 'no rotor_inertia')
        )
    assert data.tau is not None
    omega = central_difference(theta, data.rate)
    driven = data.tau - settings.rotor_inertia * central_difference(omega, data.rate)
    temperature = None if data.temperature is None else data.temperature[:, None]
    friction = np.zeros_like(driven)
    # Friction depends on the load, and the load on friction. The dependence is weak: three iterations converge.
    for _ in range(3):
        load = (driven - friction)[:, None]
        if base.maxwell_slip is None:
            friction = base.static(omega[:, None], load, temperature, smoothing=5e-3)[:, 0]
        else:
            base.reset()
            friction = base.run(theta[:, None], omega[:, None], load, temperature)[:, 0]
    return driven - friction


def _fit(
    measured: FloatArray, dphi: FloatArray, tau: FloatArray, lash: FloatArray, settings: StiffnessSettings, moving: bool
) -> tuple[LinearFit, dict[str, float], FloatArray]:
    """Fit stiffness, damping and the shifts of the deformation (encoder offset, lost motion) by Gauss-Newton.

    A shift c x of φ changes the torque by −k(φ) c x, so its column is −k(φ) x. `measured` is the measured φ, (rows,)
    rad; `dphi`, `tau` and `lash` are the other rows of `_rows`. Returns the fit, the coefficients c of the shifts, and
    φ after their subtraction, rad.
    """
    names = [f'alpha_{p + 1}' for p in range(settings.order)]
    shifts: dict[str, FloatArray] = {'phi_0': np.ones_like(measured)} if settings.offset else {}
    if np.any(lash != 0):
        shifts['lost_motion'] = lash
    values = dict.fromkeys(shifts, 0.0)
    phi = measured
    slope = np.full(phi.size, float(phi @ tau / (phi @ phi)))
    for _ in range(30 if shifts else 1):
        columns = [
            TorsionalStiffness.basis(phi, settings.order),
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
