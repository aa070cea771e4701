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

"""Friction against load torque: linear or quadratic in τ_J, at constant speed [M4 eq 26-27, M6 eq 19-20]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.plateaus import PlateauSettings, SteadyRows, group_speeds, steady_rows
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
from joint_dynamics.settings import Settings, setting

FORMS = {'quadratic': ('F_C1', 2, 'N·m/(N·m)²'), 'linear': ('F_Cl', 1, '')}


@dataclass(frozen=True)
class LoadSettings(Settings):
    """How the load term of friction is identified.

    Attributes
    ----------
    gravity_error
        with both directions, a column τ_J absorbs an error of the load torque itself (wrong mass or drive gain);
        friction changes sign with the direction, this error does not.
    """

    SECTION = 'joint.load'

    form: str = setting(
        'auto',
        "auto: linear or quadratic, by the smaller residual; quadrants: Hamon's, from any motion",
        choices=('auto', *FORMS, 'quadrants'),
    )
    dq_s: float | None = setting(None, 'speed constant of the quadrants', 'rad/s', above=0, none='searched for')
    gravity_error: bool = setting(True, 'also fit an error of the load torque')
    plateaus: PlateauSettings = setting(PlateauSettings(), 'criteria of constant speed, see below')


def identify_load(
    recordings: Sequence[JointData], settings: LoadSettings | None = None, base: FrictionModel | None = None
) -> JointTestResult:
    """Fit the load-dependent Coulomb level F(τ_J) = F_C0 + F_Cl |τ_J| or F_C0 + F_C1 τ_J² at constant speeds.

    With the form `quadrants`: `identify_quadrants`.

    The result is not reliable with one direction only, or with a coefficient within two deviations of zero (the load
    or its span is too small) [M4 eq 26-27, M6 eq 19-20].

    Parameters
    ----------
    recordings
        with motor and load torque, of one joint.
    settings
        None: as declared.
    base
        friction against speed and temperature, known already: then F_C0 is the Coulomb level itself. Without it the
        level of every speed is fitted too, and F_C0 is the friction without load at the slowest speed, viscous part
        included.

    Raises
    ------
    JointDynamicsError
        Without a load torque.
    NotReliableError
        Without a stretch of constant speed.
    """
    settings = settings or LoadSettings()
    if settings.form == 'quadrants':
        return identify_quadrants(recordings, settings.dq_s)
    for data in recordings:
        data.need('tau', 'tau_J')
    rows = steady_rows(recordings, settings.plateaus)
    speed_part = np.zeros(rows.speed.size)
    if base is not None:
        temperature = None if np.any(np.isnan(rows.temperature)) else rows.temperature[:, None]
        speed_part = base.speed_part(np.sign(rows.speed)[:, None], rows.speed[:, None], temperature)[:, 0]
    y = rows.friction - speed_part
    result = JointTestResult('load', recordings[0].joint)
    fits = {form: _fit(rows, y, form, base is not None, settings) for form in FORMS if settings.form in ('auto', form)}
    form = min(fits, key=lambda key: float(np.sum(fits[key].residual ** 2)))
    fit = fits[form]
    name, _, unit = FORMS[form]
    result.take(fit, {'F_C0': 'N·m', name: unit, 'gravity_error': '', 'offset': 'N·m'})
    result.judge_fit(np.sign(rows.speed) * y, np.sign(rows.speed) * fit.residual)
    largest, load_range = float(np.abs(rows.load).max()), [float(rows.load.min()), float(rows.load.max())]
    result.quality.update(
        {
            'form': form,
            'rows': int(y.size),
            'load_range': load_range,
            'load_source': recordings[0].load_source,
            'residual_rms_by_form': {key: float(np.sqrt(np.mean(item.residual**2))) for key, item in fits.items()},
        }
    )
    if not rows.both_directions:
        result.reasons.append(
            'one direction only: friction that grows with load cannot be distinguished from a wrong load torque'
        )
    result.flag_insignificant(
        [name], f'the load torque spans only {np.ptp(np.abs(rows.load)):.3g} N·m, or friction does not depend on it'
    )
    if 'gravity_error' in result.parameters:
        error = result.parameters['gravity_error']
        if error.std is not None and abs(error.value) > max(3 * error.std, 0.02):
            result.warnings.append(
                f'the load torque itself is {100 * error.value:+.1f} % off (mass, or drive gain); the friction is '
                'corrected for it'
            )
    _plot(result, rows, y, fit, form)
    values = {key: result.parameters[key] for key in ('F_C0', name)} | {'tau_max': Value(largest, None, 'N·m')}
    if base is None:
        del values['F_C0']  # the level at one speed is not the Coulomb level of the description
        result.warnings.append(
            'no friction description given: F_C0 is the friction without load at the slowest speed, viscous part'
            ' included, and stays out of the description'
        )
    result.document = friction_document(values, range={'load': load_range})
    return result


def _fit(rows: SteadyRows, y: FloatArray, form: str, known_speed: bool, settings: LoadSettings) -> LinearFit:
    name, power, _ = FORMS[form]
    sign = np.sign(rows.speed)
    columns = {'F_C0': sign, name: sign * np.abs(rows.load) ** power}
    if not known_speed:
        columns |= _levels(rows)
    if rows.both_directions:
        columns['offset'] = np.ones_like(sign)
        if settings.gravity_error and np.std(rows.load) > 0:
            columns['gravity_error'] = rows.load
    return least_squares(np.column_stack([*columns.values()]), y, [*columns])


def _levels(rows: SteadyRows) -> dict[str, FloatArray]:
    """Return a column of the level of each speed, relative to the slowest."""
    labels = group_speeds(np.abs(rows.speed))
    return {f'level_{label}': np.sign(rows.speed) * (labels == label) for label in range(1, int(labels.max()) + 1)}


def _plot(result: JointTestResult, rows: SteadyRows, y: FloatArray, fit: LinearFit, form: str) -> None:
    name, power, _ = FORMS[form]
    sign = np.sign(rows.speed)
    others = {'offset': np.ones_like(sign), 'gravity_error': rows.load, **_levels(rows)}
    shift = sum(fit[key] * column for key, column in others.items() if key in fit.names)
    corrected = sign * (y - shift)
    load = np.linspace(rows.load.min(), rows.load.max(), 200)
    series = [
        Series(f'ω {word} 0', rows.load[part], corrected[part])
        for word, part in (('>', sign > 0), ('<', sign < 0))
        if part.any()
    ]
    series.append(Series(f'{form} fit', load, fit['F_C0'] + fit[name] * np.abs(load) ** power, 'line'))
    result.plot('Coulomb level against load', 'load torque τ_J [N·m]', 'F(τ_J) [N·m]', *series)
