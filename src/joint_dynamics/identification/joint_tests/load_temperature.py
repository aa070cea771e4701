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

"""Friction against load and against temperature, at constant speeds.

The load term is F_Cl |τ_J| or F_C1 τ_J² times sgn ω [M4 eq 26-27, M6 eq 19-20]. The temperature term is
sgn(ω) √|ω| (F_T1 (T − T_0) + F_T2 (T⁻³ − T_0⁻³)) [M4 eq 28, M6 eq 11 corrected].
Without a friction description the friction of every speed in both directions is fitted, too. An error in a speed map
then has no effect on the terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.plateaus import PlateauSettings, SteadyRows, steady_rows
from joint_dynamics.identification.joint_tests.quadrants import identify_quadrants
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
from joint_dynamics.settings import Settings, setting

# Name, power and unit of the load term.
FORMS = {'quadratic': ('F_C1', 2, 'N·m/(N·m)²'), 'linear': ('F_Cl', 1, '')}
TEMPERATURE_UNITS = {'F_T1': 'N·m·√(s/rad)/°C', 'F_T2': 'N·m·√(s/rad)·°C³'}
LOAD_ERROR = 0.02  # smallest relative error of the load torque that is a warning


@dataclass(frozen=True)
class LoadSettings(Settings):
    """Form of the load term of friction."""

    SECTION = 'joint.load'
    GONE: ClassVar[Mapping[str, str]] = {
        'dq_s': 'it is searched for',
        'gravity_error': 'an error of the load torque is always fitted beside the friction',
    }

    form: str = setting(
        'auto',
        "auto: linear or quadratic, by the smaller residual; quadrants: Hamon's, from any motion",
        choices=('auto', *FORMS, 'quadrants'),
    )
    plateaus: PlateauSettings = setting(PlateauSettings(), 'criteria of constant speed, see below')


@dataclass(frozen=True)
class TemperatureSettings(Settings):
    """How the temperature term of friction is identified."""

    SECTION = 'joint.temperature'
    GONE: ClassVar[Mapping[str, str]] = {
        'T_0': 'it is that of the friction description, or the mean',
        'cubic': 'the term T⁻³ is fitted where it is significant',
        **dict.fromkeys(('T_min', 'T_max'), f'T is bounded to {T_MIN:g} … {T_MAX:g} °C'),
    }

    plateaus: PlateauSettings = setting(PlateauSettings(), 'criteria of constant speed, see below')


def identify_load(
    recordings: Sequence[JointData], settings: LoadSettings | None = None, base: FrictionModel | None = None
) -> JointTestResult:
    """Fit the load-dependent Coulomb level F(τ_J) = F_C0 + F_Cl |τ_J| or F_C0 + F_C1 τ_J² at constant speeds.

    With both directions an offset and an error of the load torque itself are fitted, too: friction changes sign with
    the direction, these do not. With the form `quadrants`: `identify_quadrants`. The result is not reliable with one
    direction only, or with a coefficient within two deviations of zero (the load or its span is too small).

    Parameters
    ----------
    recordings
        with motor and load torque, of one joint.
    settings
        None: as declared.
    base
        known friction against speed and temperature. Without it F_C0 is unknown.

    Raises
    ------
    JointDynamicsError
        Without a load torque.
    NotReliableError
        Without a stretch of constant speed.
    """
    settings = settings or LoadSettings()
    if settings.form == 'quadrants':
        return identify_quadrants(recordings)
    for data in recordings:
        data.need('tau', 'tau_J')
    rows = steady_rows(recordings, settings.plateaus)
    y, sign = rows.friction, np.sign(rows.speed)
    if base is not None:
        temperature = None if np.any(np.isnan(rows.temperature)) else rows.temperature[:, None]
        y = y - base.speed_part(sign[:, None], rows.speed[:, None], temperature)[:, 0]
    result = JointTestResult('load', recordings[0].joint)
    forms = FORMS if settings.form == 'auto' else (settings.form,)
    fits = {form: _fit_load(rows, y, form, base is not None) for form in forms}
    form = min(fits, key=lambda key: float(np.sum(fits[key].residual ** 2)))
    fit, (name, power, unit) = fits[form], FORMS[form]
    result.take(fit, {'F_C0': 'N·m', name: unit, 'gravity_error': '', 'offset': 'N·m'})
    result.judge_fit(sign * y, sign * fit.residual)
    load_range = [float(rows.load.min()), float(rows.load.max())]
    result.quality |= {
        'form': form,
        'rows': int(y.size),
        'load_range': load_range,
        'load_source': recordings[0].load_source,
        'residual_rms_by_form': {key: float(np.sqrt(np.mean(item.residual**2))) for key, item in fits.items()},
    }
    if not rows.both_directions:
        result.reasons.append(
            'one direction only: friction that grows with load cannot be distinguished from a wrong load torque'
        )
    result.flag_insignificant(
        [name], f'the load torque spans only {np.ptp(np.abs(rows.load)):.3g} N·m, or friction does not depend on it'
    )
    error = result.parameters.get('gravity_error')
    if error is not None and error.std is not None and abs(error.value) > max(3 * error.std, LOAD_ERROR):
        result.warnings.append(
            f'the load torque itself is {100 * error.value:+.1f} % off (mass, or drive gain); the friction does not'
            ' contain this error'
        )
    grid = np.linspace(rows.load.min(), rows.load.max(), 200)
    corrected = fit.get('F_C0') + fit[name] * np.abs(rows.load) ** power + sign * fit.residual
    series = [
        Series(f'ω {word} 0', rows.load[part], corrected[part])
        for word, part in (('>', sign > 0), ('<', sign < 0))
        if part.any()
    ]
    series.append(Series(f'{form} fit', grid, fit.get('F_C0') + fit[name] * np.abs(grid) ** power, 'line'))
    result.plot('Coulomb level against load', 'load torque τ_J [N·m]', 'F(τ_J) [N·m]', *series)
    values = {key: result.parameters[key] for key in ('F_C0', name) if key in result.parameters}
    values['tau_max'] = Value(float(np.abs(rows.load).max()), None, 'N·m')
    result.document = friction_document(values, range={'load': load_range})
    return result


def _fit_load(rows: SteadyRows, y: FloatArray, form: str, known_speed: bool) -> LinearFit:
    name, power, _ = FORMS[form]
    sign = np.sign(rows.speed)
    columns = {name: sign * np.abs(rows.load) ** power}
    columns |= {'F_C0': sign} if known_speed else rows.levels()
    if rows.both_directions:
        columns |= {'offset': np.ones_like(sign)} if known_speed else {}
        columns |= {'gravity_error': rows.load} if np.std(rows.load) > 0 else {}
    return least_squares(np.column_stack([*columns.values()]), y, [*columns])


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
        Without it T_0 is the mean.

    Raises
    ------
    JointDynamicsError
        Without a temperature.
    NotReliableError
        Without a stretch of constant speed.
    """
    settings = settings or TemperatureSettings()
    for data in recordings:
        data.need('tau', 'temperature')
    rows = steady_rows(recordings, settings.plateaus)
    T, y = np.clip(rows.temperature, T_MIN, T_MAX), rows.friction
    T_0 = float(np.mean(T)) if base is None else float(base.parameters['T_0'][0])
    root = np.sign(rows.speed) * np.sqrt(np.abs(rows.speed))
    columns = {'F_T1': root * (T - T_0), 'F_T2': root * (T**-3.0 - T_0**-3.0)}
    if base is None:
        columns |= rows.levels()
    else:
        y = y - base.static(rows.speed[:, None], np.nan_to_num(rows.load)[:, None])[:, 0]
        columns['F_T0'] = root
    result = JointTestResult('temperature', recordings[0].joint)
    try:
        fit = least_squares(np.column_stack([*columns.values()]), y, [*columns])
        cubic = abs(fit['F_T2']) >= 2 * fit.deviation('F_T2')
    except NotReliableError:  # such as two temperatures alone
        cubic = False
    if not cubic:
        result.warnings.append(f'the T⁻³ term is not significant over {T.min():.1f} to {T.max():.1f} °C; it is dropped')
        del columns['F_T2']
        fit = least_squares(np.column_stack([*columns.values()]), y, [*columns])
    result.take(fit, {**TEMPERATURE_UNITS, 'F_T0': 'N·m·√(s/rad)'})
    result.judge_fit(rows.friction, fit.residual)
    low, high = float(rows.temperature.min()), float(rows.temperature.max())
    result.quality |= {'rows': int(y.size), 'temperature_range': [low, high]}
    result.flag_insignificant(
        [name for name in TEMPERATURE_UNITS if name in fit.names],
        f'the temperature spans only {high - low:.2g} °C, or friction does not depend on it',
    )
    if fit['F_T1'] - 3 * fit.get('F_T2') * T_0**-4 > 0:
        result.warnings.append(
            'friction grows with temperature, although lubricants thin out: look for a drift of torque or load'
        )
    if low < T_MIN or high > T_MAX:
        result.warnings.append(f'temperatures outside {T_MIN:g} … {T_MAX:g} °C were bounded')

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
    result.parameters['T_0'] = Value(T_0, None, '°C')
    bounds = {'T_min': Value(T_MIN, None, '°C'), 'T_max': Value(T_MAX, None, '°C')}
    result.document = friction_document(result.parameters | bounds, range={'temperature': [low, high]})
    return result
