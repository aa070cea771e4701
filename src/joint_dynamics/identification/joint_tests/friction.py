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

"""Friction against speed from constant-speed plateaus [M4 4.2.1, A §5.3].

Of the nested models of `speed_map` the Bayesian information criterion selects one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.plateaus import Plateau, PlateauSettings, find_plateaus, group_speeds
from joint_dynamics.identification.joint_tests.result import (
    JointTestResult,
    Series,
    Value,
    friction_document,
    least_squares,
)
from joint_dynamics.identification.joint_tests.speed_map import (
    MODELS,
    UNITS,
    SpeedMap,
    combined,
    fit_speed_map,
    linear_columns,
)
from joint_dynamics.joint import FrictionModel
from joint_dynamics.joint.friction_documents import T_MAX, T_MIN
from joint_dynamics.settings import Settings, setting

WARMING = 5.0  # °C; a larger span of temperature is a warning
GRAVITY_SHARE = 0.5  # largest change of torque along a plateau, as a share of its mean; more is gravity


@dataclass(frozen=True)
class FrictionSettings(Settings):
    """The map of friction over speed.

    The model `auto` is the best by the Bayesian information criterion, among those with enough speeds.
    """

    SECTION = 'joint.friction'
    GONE: ClassVar[Mapping[str, str]] = {
        'method': 'friction is read from plateaus of speed; for any motion use joint-dynamics identify'
    }

    model: str = setting('auto', 'friction over speed; auto: selected by BIC', choices=('auto', *MODELS))
    plateaus: PlateauSettings = setting(PlateauSettings(), 'criteria of constant speed, see below')


def identify_friction(
    recordings: Sequence[JointData], settings: FrictionSettings | None = None, base: FrictionModel | None = None
) -> JointTestResult:
    """Fit the speed map of one joint to its plateaus, symmetric (with an offset) and per direction.

    The result is not reliable if only one direction or only one speed was driven, or if the torque contains gravity.

    Parameters
    ----------
    recordings
        with a motor torque, of one joint.
    settings
        None: as declared.
    base
        known friction: its load and temperature parts are subtracted where load and temperature were recorded.

    Raises
    ------
    JointDynamicsError
        Without a motor torque.
    NotReliableError
        For plateaus at fewer speeds than the model has terms.
    """
    settings = settings or FrictionSettings()
    plateaus = find_plateaus(recordings, settings.plateaus)
    omega, torque, std = np.array([(item.speed, item.torque, item.std) for item in plateaus]).T
    torque = torque - _known_parts(plateaus, base)
    result = JointTestResult('friction', recordings[0].joint)
    both = bool(omega.min() < 0 < omega.max())
    speeds = int(np.unique(group_speeds(np.abs(omega))).size)
    models = _allowed(settings.model, speeds, omega.size, both, recordings[0].joint)
    maps = [fit_speed_map(omega, torque, std, model, both) for model in models]
    best = min(maps, key=lambda item: item.bic)
    result.parameters.update(best.values)
    result.judge_fit(torque, best.residual)
    result.quality |= {
        'plateaus': len(plateaus),
        'speeds': speeds,
        'directions': 2 if both else 1,
        'model': best.model,
        'speed_range': [float(np.abs(omega).min()), float(np.abs(omega).max())],
        'load_source': recordings[0].load_source,
        'models': [{'model': item.model, 'bic': item.bic, 'fit_percent': item.nrmse_percent} for item in maps],
    }
    _add_remarks(result, plateaus, best, recordings[0].load_source)
    directions = _asymmetric(omega, torque, std, best, result) if both else {}
    top = 1.05 * result.quality['speed_range'][1]
    series = [Series('plateaus', omega, torque, std=std)]
    for k, side in enumerate(np.unique(np.sign(omega))):
        speed = side * np.linspace(1e-4 * top, top, 200)
        series.append(Series('' if k else f'fit: {best.model}', speed, best.friction.static(speed), 'line'))
    result.plot('friction against speed', 'speed ω [rad/s]', 'friction torque [N·m]', *series)
    _document(result, best, plateaus, directions)
    return result


def _known_parts(plateaus: Sequence[Plateau], base: FrictionModel | None) -> FloatArray:
    """Return the known load and temperature parts of the friction, N·m (P,)."""
    if base is None:
        return np.zeros(len(plateaus))
    T_0 = float(base.parameters['T_0'][0])
    speed, load, warm = np.array(
        [(item.speed, item.load or 0.0, T_0 if item.temperature is None else item.temperature) for item in plateaus]
    ).T[:, :, None]
    known: FloatArray = (base.static(speed, load, warm) - base.static(speed))[:, 0]
    return known


def _allowed(model: str, speeds: int, plateaus: int, both: bool, joint: str) -> list[str]:
    """Return the models with as many speeds as terms and more plateaus than parameters.

    Raises NotReliableError where there is none.
    """
    asked = [*MODELS] if model == 'auto' else [model]
    allowed = [name for name in asked if speeds >= len(MODELS[name]) and plateaus > len(MODELS[name]) + both]
    if not allowed:
        terms = len(MODELS[asked[0]])
        raise NotReliableError(
            f'friction: {joint}: expected {terms + both + 1} plateaus or more, at {terms} speeds or more, for the model'
            f' {asked[0]}, found {plateaus} at {speeds}: record more constant speeds'
        )
    return allowed


def _add_remarks(result: JointTestResult, plateaus: Sequence[Plateau], best: SpeedMap, source: str) -> None:
    if result.quality['directions'] == 1:
        result.reasons.append(
            'one direction only: Coulomb friction cannot be distinguished from a torque offset or an error in gravity'
        )
    if result.quality['speeds'] == 1:
        result.reasons.append(
            f'one speed only ({abs(plateaus[0].speed):.3g} rad/s): F_C is the whole friction at that speed, viscous'
            ' friction included'
        )
    steepest = max(plateaus, key=lambda item: abs(item.trend) / max(abs(item.torque), 1e-12))
    if abs(steepest.trend) > GRAVITY_SHARE * abs(steepest.torque):
        remedy = 'give --robot, or a column load' if source == 'none' else f'load torque from {source}'
        result.reasons.append(
            f'the torque changes by {abs(steepest.trend):.2g} N·m along a plateau with a mean of {steepest.torque:.2g}'
            f' N·m: gravity remains in the torque; {remedy}'
        )
    if best.at_bound:
        result.warnings.append(
            f'{", ".join(best.at_bound)} at a bound of the fit: too few slow plateaus for the Stribeck term'
        )
    temperatures = [item.temperature for item in plateaus if item.temperature is not None]
    if temperatures and np.ptp(temperatures) > WARMING:
        result.warnings.append(
            f'the joint temperature spans {np.ptp(temperatures):.1f} °C over the plateaus: the speed map contains'
            ' some of its effect'
        )
    slope = best.values.get('F_V1')
    if slope is not None and slope.value < 0 and 'F_V2' not in best.values:
        result.warnings.append(
            f'F_V1 = {slope.value:.3g} N·m·s/rad is negative: friction falls with speed over the whole range'
        )
    if result.quality['speeds'] > 1:
        result.flag_insignificant(['F_C'], 'the noise of the torque hides it')


def _asymmetric(
    omega: FloatArray, torque: FloatArray, std: FloatArray, best: SpeedMap, result: JointTestResult
) -> dict[str, dict[str, Any]]:
    """Return F_C and F_V1 of each direction [A §5.3]; both directions share the rest of the map.

    Half their differences are a constant and a column |ω| beside the symmetric model; for F_C and F_V1 alone this is
    one straight line per direction, torque = sgn(ω) F_C + F_V1 ω.
    """
    V_S, mu = (float(best.friction.parameters[name][0]) for name in ('V_S', 'mu'))
    columns = linear_columns(omega, MODELS[best.model], V_S, mu, True)
    columns.setdefault('F_V1', omega)
    columns['half'] = np.abs(omega)
    weights = 1 / np.maximum(std, np.median(std))
    try:
        fit = least_squares(np.column_stack([*columns.values()]), torque, [*columns], weights=weights, in_time=False)
    except JointDynamicsError as error:
        result.warnings.append(f'no fit per direction: {error}')
        return {}
    directions: dict[str, dict[str, Any]] = {}
    for name, side in (('positive', 1.0), ('negative', -1.0)):
        F_C, F_C_std = combined(fit, 'F_C', 'offset', side)
        F_V1, F_V1_std = combined(fit, 'F_V1', 'half', side)
        F_S = F_C + fit.get('rise')
        directions[name] = {'F_C': F_C, 'F_S': F_S, 'F_V1': F_V1, 'F_C_std': F_C_std, 'F_V1_std': F_V1_std}
        result.parameters[f'F_C_{name}'] = Value(F_C, F_C_std, UNITS['F_C'])
        result.parameters[f'F_V1_{name}'] = Value(F_V1, F_V1_std, UNITS['F_V1'])
    return directions


def _document(
    result: JointTestResult, best: SpeedMap, plateaus: Sequence[Plateau], directions: dict[str, dict[str, Any]]
) -> None:
    values = {{'F_C': 'F_C0'}.get(name, name): item for name, item in best.values.items()}
    more: dict[str, Any] = {'range': {'speed': result.quality['speed_range']}}
    temperatures = [item.temperature for item in plateaus if item.temperature is not None]
    if temperatures:
        values['T_0'] = Value(float(np.clip(np.mean(temperatures), T_MIN, T_MAX)), None, '°C')
        more['range']['temperature'] = [float(min(temperatures)), float(max(temperatures))]
    if directions:
        more['directions'] = directions
    result.document = friction_document(values, **more)
