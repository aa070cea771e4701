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

"""Kinematic error, backlash and Maxwell-slip of one joint from slow reciprocating motion [M4 4.3-4.4, M6 5.2]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import JointTestResult, Series, Value
from joint_dynamics.identification.joint_tests.slip_fit import SlipData, SlipFit, fit_maxwell_slip
from joint_dynamics.identification.joint_tests.transmission_maps import (
    TransmissionMaps,
    fit_transmission_maps,
    travel_since_reversal,
)
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import zero_phase_lowpass

MIN_COVERAGE = 0.95  # share of a turn covered by both directions, below which there is a warning
MIN_BACKLASH = 0.05  # smallest backlash, relative to its median


@dataclass(frozen=True)
class HysteresisSettings(Settings):
    """Maps of backlash and kinematic error, and the fit of the Maxwell-slip operators."""

    SECTION = 'joint.hysteresis'
    GONE: ClassVar[Mapping[str, str]] = {
        'harmonics': 'the maps are tables; set points',
        'min_coverage': 'a coverage below 95 % is a warning',
        'seed': 'the search always starts alike',
        **dict.fromkeys(
            ('methods', 'r_Delta', 'r_k'), 'Maxwell-slip is fitted by non-linear regression; set operators'
        ),
    }

    points: int = setting(240, 'points of the look-up tables per turn', lower=2, upper=100_000)
    settle: float = setting(
        4e-3, 'travel past a reversal before the deformation counts; grows to 2.2 𝓑 by itself', 'rad', lower=0
    )
    operators: int = setting(4, 'of the Maxwell-slip model', lower=1, upper=100)
    estimation_fraction: float = setting(
        0.4, 'share of the samples of each recording used for the fit; the rest validates', above=0, upper=1
    )


def identify_hysteresis(
    recordings: Sequence[JointData],
    settings: HysteresisSettings | None = None,
    base: FrictionModel | None = None,
    stiffness: TorsionalStiffness | None = None,
) -> JointTestResult:
    """Identify maps of kinematic error and backlash, and Maxwell-slip, which held-out data judge.

    Without a motor torque in the recordings only the maps are identified. The rotor's inertia is fitted beside
    Maxwell-slip.

    Parameters
    ----------
    recordings
        of slow reciprocating motion of one joint, with θ and q.
    settings
        None: as declared.
    base
        friction known already: its viscous and temperature parts are taken off the torque.
    stiffness
        by which the elastic deformation under a known load is taken off.

    Raises
    ------
    NotReliableError
        Where a direction is missing, the backlash is not positive, or nothing slips fully.
    """
    settings = settings or HysteresisSettings()
    result = JointTestResult('hysteresis', recordings[0].joint)
    maps = fit_transmission_maps(recordings, settings.points, settings.settle, stiffness)
    error, backlash = maps.kinematic_error, _positive(maps, result)
    amplitude, width = np.ptp(error.tables[0][maps.covered]) / 2, backlash.tables[0][maps.covered]
    for name, value, std in (
        ('kinematic_error_amplitude', amplitude, maps.kinematic_error_std),
        ('backlash_mean', width.mean(), maps.backlash_std),
    ):
        result.parameters[name] = Value(float(value), float(np.median(std[maps.covered])), 'rad')
    coverage = float(maps.covered.mean())
    result.quality.update(
        {
            'coverage': coverage,
            'map_residual_rms': maps.residual_rms,
            'backlash_range': [float(width.min()), float(width.max())],
            'settled_samples': int(sum(rows.sum() for rows in maps.engaged)),
        }
    )
    if coverage < MIN_COVERAGE:
        result.warnings.append(
            f'both directions cover {100 * coverage:.0f} % of a turn; elsewhere the maps are extrapolated'
        )
    result.document = {
        name: table.to_dict() | {'standard_deviations': std.tolist(), 'coverage': coverage}
        for name, table, std in (
            ('kinematic_error', error, maps.kinematic_error_std),
            ('backlash', backlash, maps.backlash_std),
        )
    }
    _plot_maps(result, recordings, maps, error, backlash)
    if all(data.tau is not None for data in recordings):
        _identify_slip(recordings, settings, base, error, backlash, result)
    else:
        result.warnings.append('no motor torque recorded: maps only, no Maxwell-slip')
    return result


def _positive(maps: TransmissionMaps, result: JointTestResult) -> PeriodicMap:
    """Return the backlash kept above zero, where E-GMS divides by it."""
    table = maps.backlash.tables[0]
    typical = float(np.median(table[maps.covered])) if maps.covered.any() else 0.0
    if not typical > 0:
        raise NotReliableError(
            f'{result.joint}: expected a backlash above 0, found {typical:.3g} rad: check the signs of theta and q'
        )
    low = int(np.sum(table[maps.covered] < MIN_BACKLASH * typical))
    if low:
        result.warnings.append(
            f'{low} points of the backlash map were below {100 * MIN_BACKLASH:g} % of its median and were raised to it'
        )
    return PeriodicMap(np.maximum(table, MIN_BACKLASH * typical))


def _split(
    data: JointData, error: PeriodicMap, settle: float, base: FrictionModel | None, share: float
) -> tuple[SlipData, SlipData]:
    """Return the runs for estimation and validation, each from a sample at which all operators slip."""
    y = data.friction().astype(float)
    if base is not None:
        temperature = None if data.temperature is None else data.temperature[:, None]
        y = y - base.speed_part(0.0, data.omega[:, None], temperature)[:, 0]
    direction, travel = travel_since_reversal(data)
    slipping = np.flatnonzero((direction != 0) & (travel > settle))
    if slipping.size == 0:
        raise NotReliableError(
            f'{data.name}: {data.joint} never moves further than {settle:g} rad past a reversal: nothing slips fully'
        )
    start = int(slipping[0])
    after = slipping[slipping >= start + int(share * (y.size - start))]
    if after.size == 0:
        raise NotReliableError(
            f'{data.name}: {data.joint}: expected samples for validation, found none; record longer, or lower'
            ' estimation_fraction'
        )
    theta = zero_phase_lowpass(data.theta, data.cutoff, data.rate)
    run = SlipData(theta - error(theta), data.omega, data.alpha, y)
    return run.part(slice(start, int(after[0]))), run.part(slice(int(after[0]), None))


def _identify_slip(
    recordings: Sequence[JointData],
    settings: HysteresisSettings,
    base: FrictionModel | None,
    error: PeriodicMap,
    backlash: PeriodicMap,
    result: JointTestResult,
) -> None:
    settle = max(settings.settle, 2.5 * float(backlash.tables[0].max()))
    parts = [_split(data, error, settle, base, settings.estimation_fraction) for data in recordings]
    estimation, validation = zip(*parts, strict=True)
    fit, static = fit_maxwell_slip(estimation, validation, backlash, settings.operators)
    result.quality['maxwell_slip'] = fit.summary()
    result.quality['static_map'] = static.summary()
    result.parameters['F_C0'] = Value(fit.F_C, fit.F_C_std, 'N·m')
    result.flag_insignificant(['F_C0'], 'the noise of the torque hides it')
    if fit.validation_percent <= static.validation_percent:
        result.reasons.append(
            f'Maxwell-slip ({fit.validation_percent:.1f} %) explains the torque no better than the static map '
            f'({static.validation_percent:.1f} %)'
        )
    assert fit.limits is not None and fit.stiffness is not None
    document: dict[str, Any] = {
        'operators': int(fit.limits.size),
        'limits': fit.limits.tolist(),
        'stiffness': fit.stiffness.tolist(),
    }
    # The operators were fitted with the play for their length [M6 eq 15].
    measured = result.document['backlash']
    document['presliding'] = {key: measured[key] for key in measured.keys() - {'standard_deviations', 'coverage'}}
    # The level of a friction test is better than that of slow reversals.
    level = {'F_C0': fit.F_C} if base is None else {}
    result.document['friction'] = {
        'parameters': level,
        'standard_deviations': {'F_C0': fit.F_C_std} if level else {},
        'maxwell_slip': document,
    }
    _plot_loop(result, validation[0], fit, static, backlash)


def _plot_maps(
    result: JointTestResult,
    recordings: Sequence[JointData],
    maps: TransmissionMaps,
    error: PeriodicMap,
    backlash: PeriodicMap,
) -> None:
    data, rows = recordings[0], np.flatnonzero(maps.engaged[0])
    rows = rows[:: max(1, rows.size // 3000)]
    theta = np.mod(data.theta[rows], 2 * np.pi)
    phi, side = data.theta[rows] - data.q[rows], np.sign(data.omega[rows])
    grid = np.linspace(0, 2 * np.pi, 721)
    raw = [Series(f'φ, ω {word} 0', theta[part], phi[part]) for word, part in (('>', side > 0), ('<', side < 0))]
    fitted = Series('kinematic error', grid, error(grid), 'line')
    result.plot('transmission deformation and kinematic error', 'motor angle θ [rad]', '[rad]', *raw, fitted)
    halves = Series('half the difference', theta, side * (phi - error(theta)))
    width = Series('map', grid, backlash(grid), 'line')
    result.plot('backlash, half the width', 'motor angle θ [rad]', '[rad]', halves, width)


def _plot_loop(result: JointTestResult, run: SlipData, fit: SlipFit, static: SlipFit, backlash: PeriodicMap) -> None:
    """Plot torque over angle through the first reversals of the validation data."""
    turns = np.flatnonzero(np.diff(np.sign(run.omega)))
    run = run.part(slice(int(turns[min(3, turns.size - 1)]) + 1 if turns.size else None))
    thin = slice(None, None, max(1, run.y.size // 4000))
    result.plot(
        'hysteresis on validation data',
        'corrected motor angle [rad]',
        'friction torque [N·m]',
        Series('measured', run.theta[thin], run.y[thin]),
        Series('Maxwell-slip', run.theta[thin], fit.torque(run, backlash)[thin], 'line'),
        Series('static map', run.theta[thin], static.torque(run, backlash)[thin], 'line'),
    )
