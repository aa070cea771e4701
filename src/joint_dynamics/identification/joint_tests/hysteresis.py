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

from joint_dynamics.arrays import IntArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import JointTestResult, Series, Value
from joint_dynamics.identification.joint_tests.slip_fit import SlipData, SlipFit, fit_maxwell_slip
from joint_dynamics.identification.joint_tests.transmission_maps import (
    TransmissionMaps,
    fit_transmission_maps,
    travel_since_reversal,
)
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import zero_phase_lowpass


@dataclass(frozen=True)
class HysteresisSettings(Settings):
    """Maps of backlash and kinematic error, and the fit of the Maxwell-slip operators."""

    SECTION = 'joint.hysteresis'
    GONE: ClassVar[Mapping[str, str]] = {
        'harmonics': 'the maps are tables; set points',
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
        0.4,
        'share of one recording used for the fit, the rest validates; of several recordings the last validates',
        above=0,
        upper=1,
    )
    min_coverage: float = setting(
        0.95, 'share of the turn covered by both directions; a smaller one is a warning', lower=0, upper=1
    )
    seed: int = setting(0, 'of the global search', lower=0)


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
    if coverage < settings.min_coverage:
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
    low = table[maps.covered] < 0.05 * typical
    if np.any(low):
        result.warnings.append(
            f'{int(low.sum())} points of the backlash map were below 5 % of its median and were raised to it'
        )
    return PeriodicMap(np.maximum(table, 0.05 * typical))


def _slip_data(data: JointData, error: PeriodicMap, settle: float, base: FrictionModel | None) -> SlipData:
    y = data.friction().astype(float)
    if base is not None:
        temperature = None if data.temperature is None else data.temperature[:, None]
        y = y - base.speed_part(0.0, data.omega[:, None], temperature)[:, 0]
    theta = zero_phase_lowpass(data.theta, data.cutoff, data.rate)
    slipping = _slipping(data, settle)
    if slipping.size == 0:
        raise NotReliableError(
            f'{data.name}: {data.joint} never moves further than {settle:g} rad past a reversal: nothing slips fully'
        )
    start = int(slipping[0])
    return SlipData(theta - error(theta), data.omega, data.alpha, y, start, float(np.sign(data.omega[start])))


def _slipping(data: JointData, settle: float) -> IntArray:
    """Return the samples far enough past a reversal for every operator to slip."""
    direction, travel = travel_since_reversal(data)
    return np.flatnonzero((direction != 0) & (travel > settle))


def _split(runs: list[SlipData], share: float, slipping: IntArray) -> tuple[list[SlipData], list[SlipData]]:
    """Estimation and validation runs: the last recording validates.

    A single one is cut at the first of `slipping`, its samples where every operator slips, past `share` of it.
    """
    if len(runs) > 1:
        return runs[:-1], runs[-1:]
    run = runs[0]
    after = slipping[slipping >= run.start + int(share * (run.y.size - run.start))]
    if after.size == 0:
        raise NotReliableError(
            'hysteresis: expected samples for validation, found none; record longer, or lower estimation_fraction'
        )
    cut = int(after[0])
    return [run.part(slice(cut), run.start)], [run.part(slice(cut, None), direction=float(np.sign(run.omega[cut])))]


def _identify_slip(
    recordings: Sequence[JointData],
    settings: HysteresisSettings,
    base: FrictionModel | None,
    error: PeriodicMap,
    backlash: PeriodicMap,
    result: JointTestResult,
) -> None:
    settle = max(settings.settle, 2.5 * float(backlash.tables[0].max()))
    runs = [_slip_data(data, error, settle, base) for data in recordings]
    estimation, validation = _split(runs, settings.estimation_fraction, _slipping(recordings[0], settle))
    fit, static = fit_maxwell_slip(estimation, validation, backlash, operators=settings.operators, seed=settings.seed)
    result.quality['maxwell_slip'] = fit.summary()
    result.quality['static_map'] = static.summary()
    result.parameters['F_C0'] = Value(fit.F_C, fit.F_C_std, 'N·m')
    result.flag_insignificant(['F_C0'], 'friction is lost in the noise of the torque')
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
    """Torque over angle through the first reversals of the validation data."""
    model = MaxwellSlip(1, backlash, limits=fit.limits, stiffness=fit.stiffness)
    model.reset(run.theta[0], run.direction)
    turns = np.flatnonzero(np.diff(np.sign(run.omega)))
    end = int(turns[min(3, turns.size - 1)]) + 1 if turns.size else run.y.size
    rows = slice(0, end, max(1, end // 4000))
    slip = fit.F_C * model.run(run.theta[:end]) + fit.smooth(run)[:end]
    flat = static.F_C * np.sign(run.omega) + static.smooth(run)
    result.plot(
        'hysteresis on validation data',
        'corrected motor angle [rad]',
        'friction torque [N·m]',
        Series('measured', run.theta[rows], run.y[rows]),
        Series('Maxwell-slip', run.theta[rows], slip[rows], 'line'),
        Series('static map', run.theta[rows], flat[rows], 'line'),
    )
