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

"""Friction against temperature, at constant speeds while the joint warms up [M4 eq 28, M6 eq 11 corrected]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.plateaus import PlateauSettings, SteadyRows, group_speeds, steady_rows
from joint_dynamics.identification.joint_tests.result import (
    JointTestResult,
    LinearFit,
    Series,
    Value,
    friction_document,
    least_squares,
)
from joint_dynamics.joint import FrictionModel
from joint_dynamics.joint.friction_documents import T_MAX, T_MIN
from joint_dynamics.settings import Settings, refusal, setting

UNITS = {'F_T1': 'N·m·√(s/rad)/°C', 'F_T2': 'N·m·√(s/rad)·°C³'}


@dataclass(frozen=True)
class TemperatureSettings(Settings):
    """How the temperature term of friction is identified."""

    SECTION = 'joint.temperature'

    T_0: float | None = setting(
        None, 'temperature at which the term vanishes', '°C', none='that of the description, or the mean'
    )
    T_min: float = setting(T_MIN, 'lower bound of T in the term', '°C', above=0)
    T_max: float = setting(T_MAX, 'upper bound of T in the term', '°C', above=0)
    cubic: bool = setting(True, 'fit the term T⁻³ too; an insignificant one is dropped, with a warning')
    plateaus: PlateauSettings = setting(PlateauSettings(), 'criteria of constant speed, see below')

    def check(self) -> None:
        """Check that the bounds leave room."""
        if not self.T_min < self.T_max:
            raise refusal(f'{self.SECTION}.T_min', f'less than T_max, {self.T_max:g} °C', self.T_min)


def identify_temperature(
    recordings: Sequence[JointData], settings: TemperatureSettings | None = None, base: FrictionModel | None = None
) -> JointTestResult:
    """Fit sgn(ω)√|ω| (F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³)) to plateaus at different temperatures.

    The result is not reliable with a coefficient of the temperature within two deviations of zero (its span is too
    small).

    Parameters
    ----------
    recordings
        with motor torque and temperature, of one joint.
    settings
        None: as declared.
    base
        friction against speed at its T_0: only the temperature coefficients are fitted, and a root-speed term F_T0.
        Without it the friction of every speed at T0 is fitted beside them, so that no error in a speed map can pass for
        temperature.

    Raises
    ------
    JointDynamicsError
        Without a temperature, or where the reference temperatures conflict.
    NotReliableError
        Without a stretch of constant speed.
    """
    settings = settings or TemperatureSettings()
    for data in recordings:
        data.need('tau', 'temperature')
    rows = steady_rows(recordings, settings.plateaus)
    T = np.clip(rows.temperature, settings.T_min, settings.T_max)
    known = float(np.mean(T)) if base is None else float(base.parameters['T_0'][0])
    T_0 = float(np.clip(known if settings.T_0 is None else settings.T_0, settings.T_min, settings.T_max))
    if base is not None and not abs(T_0 - known) <= 1e-9:
        raise JointDynamicsError(
            f'temperature: expected the T_0 of the friction description, {known:g} °C, found {T_0:g}'
        )
    y = rows.friction.copy()
    if base is not None:
        load = np.where(np.isnan(rows.load), 0.0, rows.load)[:, None]
        y -= base.static(rows.speed[:, None], load)[:, 0]
    result = JointTestResult('temperature', recordings[0].joint)
    fit = _fit(rows, T, y, T_0, settings.cubic, base is not None)
    if 'F_T2' in fit.names and abs(fit['F_T2']) < 2 * fit.deviation('F_T2'):
        result.warnings.append(
            f'the T⁻³ term, {fit["F_T2"]:.3g} ± {fit.deviation("F_T2"):.2g}, is not significant over '
            f'{T.min():.1f} to {T.max():.1f} °C; dropped'
        )
        fit = _fit(rows, T, y, T_0, False, base is not None)
    names = [name for name in UNITS if name in fit.names]
    result.take(fit, UNITS)
    result.judge_fit(rows.friction, fit.residual)
    result.parameters['T_0'] = Value(T_0, None, '°C')
    result.quality.update(
        {'rows': int(y.size), 'temperature_range': [float(rows.temperature.min()), float(rows.temperature.max())]}
    )
    span = float(np.ptp(rows.temperature))
    result.flag_insignificant(names, f'the temperature spans only {span:.2g} °C, or friction does not depend on it')
    if fit['F_T1'] - 3 * fit.get('F_T2') * T_0**-4 > 0:
        result.warnings.append(
            'friction grows with temperature, although lubricants thin out: look for a drift of torque or load'
        )
    if rows.temperature.min() < settings.T_min or rows.temperature.max() > settings.T_max:
        result.warnings.append(f'temperatures outside [{settings.T_min:g}, {settings.T_max:g}] °C were bounded')
    _plot(result, rows, T, fit, T_0)
    values = {name: result.parameters[name] for name in (*names, 'T_0')}
    values |= {'T_min': Value(settings.T_min, None, '°C'), 'T_max': Value(settings.T_max, None, '°C')}
    if 'F_T0' in fit.names:
        result.parameters['F_T0'] = values['F_T0'] = Value(fit['F_T0'], fit.deviation('F_T0'), 'N·m·√(s/rad)')
    result.document = friction_document(values, range={'temperature': result.quality['temperature_range']})
    return result


def _root(speed: FloatArray) -> FloatArray:
    """sgn(ω)√|ω|."""
    return np.sign(speed) * np.sqrt(np.abs(speed))


def _fit(rows: SteadyRows, T: FloatArray, y: FloatArray, T_0: float, cubic: bool, known_speed: bool) -> LinearFit:
    root = _root(rows.speed)
    columns = {'F_T1': root * (T - T_0)}
    if cubic:
        columns['F_T2'] = root * (T**-3.0 - T_0**-3.0)
    if known_speed:
        columns['F_T0'] = root
    else:
        labels, sign = group_speeds(np.abs(rows.speed)), np.sign(rows.speed)
        levels = {(side, label) for side, label in zip(sign, labels, strict=True)}
        for side, label in sorted(levels):
            columns[f'level_{side:+.0f}_{label}'] = np.where((sign == side) & (labels == label), 1.0, 0.0)
    return least_squares(np.column_stack([*columns.values()]), y, [*columns])


def _plot(result: JointTestResult, rows: SteadyRows, T: FloatArray, fit: LinearFit, T_0: float) -> None:
    """Plot friction per √|ω| against temperature, without the level of each speed."""
    root = _root(rows.speed)

    def factor(t: FloatArray) -> FloatArray:
        return fit['F_T1'] * (t - T_0) + fit.get('F_T2') * (t**-3.0 - T_0**-3.0)

    grid = np.linspace(T.min(), T.max(), 200)
    result.plot(
        'friction against temperature',
        'temperature T [°C]',
        'f_T / (sgn(ω)√|ω|) [N·m·√(s/rad)]',
        Series('constant speeds', T, factor(T) + fit.residual / root),
        Series('fit', grid, factor(grid), 'line'),
    )
