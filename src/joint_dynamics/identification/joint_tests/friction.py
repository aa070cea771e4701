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

"""Friction against speed from constant-speed plateaus [M4 4.2.1, A §5.3]."""

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
    LinearFit,
    Series,
    Value,
    friction_document,
    least_squares,
)
from joint_dynamics.identification.joint_tests.speed_map import MODELS, UNITS, SpeedMap, fit_speed_map, linear_columns
from joint_dynamics.joint import FrictionModel
from joint_dynamics.settings import Settings, setting


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

    The result is not reliable when only one direction or only one speed was driven, or when gravity was evidently left
    in.

    Parameters
    ----------
    recordings
        with a motor torque, of one joint.
    settings
        None: as declared.
    base
        friction known already: its load and temperature parts are taken off where load and temperature were recorded.

    Raises
    ------
    JointDynamicsError
        Without a motor torque.
    NotReliableError
        For plateaus at fewer speeds than the model has terms.
    """
    settings = settings or FrictionSettings()
    plateaus = find_plateaus(recordings, settings.plateaus)
    omega = np.array([item.speed for item in plateaus])
    torque = np.array([item.torque for item in plateaus]) - _known_parts(plateaus, base)
    std = np.array([item.std for item in plateaus])
    result = JointTestResult('friction', recordings[0].joint)
    both = omega.min() < 0 < omega.max()
    speeds = int(np.unique(group_speeds(np.abs(omega))).size)
    models = _allowed(settings.model, speeds, omega.size, both, recordings[0].joint)
    maps = [fit_speed_map(omega, torque, std, model, both) for model in models] or [_single_level(omega, torque, std)]
    best = min(maps, key=lambda item: item.bic)
    result.parameters.update(best.values)
    result.quality.update(
        {
            'plateaus': len(plateaus),
            'speeds': speeds,
            'directions': 2 if both else 1,
            'model': best.model,
            'fit_percent': best.nrmse_percent,
            'residual_rms': float(np.sqrt(np.mean(best.residual**2))),
            'speed_range': [float(np.abs(omega).min()), float(np.abs(omega).max())],
            'load_source': recordings[0].load_source,
            'models': [{'model': item.model, 'bic': item.bic, 'fit_percent': item.nrmse_percent} for item in maps],
            'points': [vars(item) | {'torque': float(t)} for item, t in zip(plateaus, torque, strict=True)],
        }
    )
    _add_reasons(result, plateaus, best, both, speeds, recordings[0].load_source)
    directions = _asymmetric(omega, torque, std, best, result) if both else {}
    _plot(result, omega, torque, std, best, directions)
    _document(result, best, plateaus, directions)
    return result


def _known_parts(plateaus: Sequence[Plateau], base: FrictionModel | None) -> FloatArray:
    """Load and temperature parts of the friction that are known already, N·m (P,)."""
    known = np.zeros(len(plateaus))
    if base is None:
        return known
    for k, item in enumerate(plateaus):
        sign = np.sign(item.speed)
        if item.load is not None:
            known[k] += sign * float((base.level(item.load) - base.level(0.0))[0])
        if item.temperature is not None:
            known[k] += float((base.static(item.speed, 0.0, item.temperature) - base.static(item.speed))[0])
    return known


def _allowed(model: str, speeds: int, plateaus: int, both: bool, joint: str) -> list[str]:
    """Return the models with as many speeds as terms and more plateaus than parameters; none for one or two plateaus.

    Raises NotReliableError where the plateaus do not allow the model asked for.
    """
    asked = [*MODELS] if model == 'auto' else [model]
    allowed = [name for name in asked if speeds >= len(MODELS[name]) and plateaus > len(MODELS[name]) + both]
    if not allowed and not (model == 'auto' and plateaus <= 2):
        terms = len(MODELS[asked[0]])
        raise NotReliableError(
            f'friction: {joint}: expected {terms + both + 1} plateaus or more, at {terms} speeds or more, for the model'
            f' {asked[0]}, found {plateaus} at {speeds}: record more constant speeds'
        )
    return allowed


def _single_level(omega: FloatArray, torque: FloatArray, std: FloatArray) -> SpeedMap:
    """Return the mean friction of one or two plateaus."""
    level = float(np.mean(np.sign(omega) * torque))
    values = {'F_C': Value(level, float(np.sqrt(np.mean(std**2) / omega.size)), 'N·m')}
    residual = torque - np.sign(omega) * level
    return SpeedMap('coulomb', values, FrictionModel({'F_C0': level}), float('nan'), 0.0, residual, ())


def _add_reasons(
    result: JointTestResult, plateaus: Sequence[Plateau], best: SpeedMap, both: bool, speeds: int, source: str
) -> None:
    if not both:
        result.reasons.append(
            'one direction only: Coulomb friction cannot be distinguished from a torque offset or an error in gravity'
        )
    if speeds == 1:
        result.reasons.append(
            f'one speed only ({abs(plateaus[0].speed):.3g} rad/s): F_C is the whole friction at that speed, viscous'
            ' friction included'
        )
    steepest = max(plateaus, key=lambda item: abs(item.trend) / max(abs(item.torque), 1e-12))
    if abs(steepest.trend) > 0.5 * abs(steepest.torque):
        left_in = (
            'no load torque was subtracted (give --robot, or a column load)'
            if source == 'none'
            else f'load torque from {source}'
        )
        result.reasons.append(
            f'the torque changes by {abs(steepest.trend):.2g} N·m along a plateau whose mean is {steepest.torque:.2g}'
            f' N·m: gravity remains in the torque; {left_in}'
        )
    if best.at_bound:
        result.warnings.append(
            f'{", ".join(best.at_bound)} at a bound of the fit: too few slow plateaus for the Stribeck part'
        )
    temperatures = [item.temperature for item in plateaus if item.temperature is not None]
    if temperatures and np.ptp(temperatures) > 5.0:
        result.warnings.append(
            f'the joint temperature spans {np.ptp(temperatures):.1f} °C over the plateaus, and its effect is part '
            'of the speed map'
        )
    values = best.values
    if 'F_V1' in values and values['F_V1'].value < 0 and 'F_V2' not in values:
        result.warnings.append(
            f'F_V1 = {values["F_V1"].value:.3g} N·m·s/rad is negative: friction falls with speed over the whole range'
        )
    if speeds > 1:
        result.flag_insignificant(['F_C'], 'friction is lost in the noise of the torque')


def _asymmetric(
    omega: FloatArray, torque: FloatArray, std: FloatArray, best: SpeedMap, result: JointTestResult
) -> dict[str, dict[str, Any]]:
    """F_C and F_V1 of each direction [A §5.3], the rest of the map shared.

    Half their differences are a constant and a column |ω| beside the symmetric model; for F_C and F_V1 alone this is
    one straight line per direction, torque = sgn(ω) F_C + F_V1 ω.
    """
    for name, rows in (('positive', omega > 0), ('negative', omega < 0)):
        if rows.sum() < 3 or np.unique(group_speeds(np.abs(omega[rows]))).size < 2:
            result.warnings.append(f'direction {name}: {rows.sum()} plateaus are too few for a fit of its own')
            return {}
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
    rise = fit.get('rise')
    directions: dict[str, dict[str, Any]] = {}
    for name, side in (('positive', 1.0), ('negative', -1.0)):
        F_C, F_C_std = _combine(fit, 'F_C', 'offset', side)
        F_V1, F_V1_std = _combine(fit, 'F_V1', 'half', side)
        directions[name] = {'F_C': F_C, 'F_S': F_C + rise, 'F_V1': F_V1, 'F_C_std': F_C_std, 'F_V1_std': F_V1_std}
        result.parameters[f'F_C_{name}'] = Value(F_C, F_C_std, UNITS['F_C'])
        result.parameters[f'F_V1_{name}'] = Value(F_V1, F_V1_std, UNITS['F_V1'])
    result.quality['asymmetry_deviations'] = abs(fit['offset']) / max(fit.deviation('offset'), 1e-300)
    return directions


def _combine(fit: LinearFit, name: str, half: str, side: float) -> tuple[float, float]:
    """Value and deviation of name + side·half."""
    weights = np.array([1.0 if item == name else side if item == half else 0.0 for item in fit.names])
    return float(weights @ fit.values), float(np.sqrt(weights @ fit.covariance @ weights))


def _document(
    result: JointTestResult, best: SpeedMap, plateaus: Sequence[Plateau], directions: dict[str, dict[str, Any]]
) -> None:
    values = {{'F_C': 'F_C0'}.get(name, name): item for name, item in best.values.items()}
    speeds = [abs(item.speed) for item in plateaus]
    more: dict[str, Any] = {'range': {'speed': [float(min(speeds)), float(max(speeds))]}}
    temperatures = [item.temperature for item in plateaus if item.temperature is not None]
    if temperatures:
        T_0 = float(np.clip(np.mean(temperatures), 5.0, 80.0))
        values['T_0'] = Value(T_0, None, '°C')
        more['range']['temperature'] = [float(min(temperatures)), float(max(temperatures))]
    if directions:
        more['directions'] = directions
    result.document = friction_document(values, **more)


def _plot(
    result: JointTestResult,
    omega: FloatArray,
    torque: FloatArray,
    std: FloatArray,
    best: SpeedMap,
    directions: dict[str, dict[str, Any]],
) -> None:
    series, own = [Series('plateaus', omega, torque, std=std)], []
    top = 1.05 * np.abs(omega).max()
    for k, side in enumerate(np.unique(np.sign(omega))):
        speed = side * np.linspace(1e-4 * top, top, 200)
        series.append(Series('' if k else f'fit: {best.model}', speed, best.friction.static(speed), 'line'))
        name = 'positive' if side > 0 else 'negative'
        if name in directions:
            values = {key: directions[name][key] for key in ('F_S', 'F_V1')}
            alone = {**best.friction.parameters, 'F_C0': directions[name]['F_C'], **values, 'offset': 0.0}
            own.append(Series(f'{name} direction alone', speed, FrictionModel(alone).static(speed), 'line'))
    result.plot('friction against speed', 'speed ω [rad/s]', 'friction torque [N·m]', *series, *own)
