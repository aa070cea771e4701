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

"""Friction against speed: fit of nested models to plateau means [M3 eq 14, M4 4.2.1].

    τ = sgn ω (F_C + (F_S − F_C) exp(−(|ω|/V_S)^μ)) + F_V1 ω + F_V2 ω|ω| + F_V3 ω³ + τ_off.

Bounded least squares from several V_S and μ, at which the other parameters solve their linear problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.result import LinearFit, Value, least_squares, nrmse_percent
from joint_dynamics.joint import FrictionModel

# Terms of each model, from the plainest to the seven parameters.
MODELS: dict[str, tuple[str, ...]] = {
    'coulomb': ('F_C',),
    'viscous': ('F_C', 'F_V1'),
    'cubic': ('F_C', 'F_V1', 'F_V2', 'F_V3'),
    'stribeck_viscous': ('F_C', 'F_S', 'V_S', 'mu', 'F_V1'),
    'stribeck': ('F_C', 'F_S', 'V_S', 'mu', 'F_V1', 'F_V2', 'F_V3'),
}
UNITS = {
    'F_C': 'N·m',
    'F_S': 'N·m',
    'V_S': 'rad/s',
    'mu': '',
    'F_V1': 'N·m·s/rad',
    'F_V2': 'N·m·s²/rad²',
    'F_V3': 'N·m·s³/rad³',
    'offset': 'N·m',
}
POWERS = {'F_V1': 1, 'F_V2': 2, 'F_V3': 3}
MU_BOUNDS = (0.3, 3.0)  # range of the exponent μ
MU_STARTS = (0.6, 1.0, 2.0)  # exponents from which the search starts
SMALLEST_RISE = 1e-6  # smallest F_S − F_C over F_C; a smaller one leaves V_S and μ undetermined
BOUND_SHARE = 1e-3  # distance from a bound, as a share of the range, that counts as at the bound


@dataclass(frozen=True)
class SpeedMap:
    """One fitted model.

    Attributes
    ----------
    model, values
        one of `MODELS`, and its parameters by name.
    friction
        model with these parameters.
    nrmse_percent, bic
        fit [%], and Bayesian information criterion (the less the better).
    residual
        (N,) N·m, of each plateau.
    at_bound
        names of the parameters at a bound of the fit.
    """

    model: str
    values: dict[str, Value]
    friction: FrictionModel
    nrmse_percent: float
    bic: float
    residual: FloatArray
    at_bound: tuple[str, ...]


def linear_columns(
    omega: FloatArray, terms: tuple[str, ...], V_S: float, mu: float, offset: bool
) -> dict[str, FloatArray]:
    """Return the columns (N,) of the linear parameters by name.

    Parameters
    ----------
    omega
        ω (N,) rad/s.
    terms
        of `MODELS`; the Stribeck column, `rise`, multiplies F_S − F_C.
    V_S, mu
        Stribeck speed [rad/s] and its exponent.
    offset
        whether there is a constant, too.
    """
    sign, speed = np.sign(omega), np.abs(omega)
    columns = {'F_C': sign}
    if 'F_S' in terms:
        columns['rise'] = sign * np.exp(-((speed / V_S) ** mu))
    columns |= {name: sign * speed**power for name, power in POWERS.items() if name in terms}
    if offset:
        columns['offset'] = np.ones_like(omega)
    return columns


def fit_speed_map(omega: FloatArray, torque: FloatArray, std: FloatArray, model: str, offset: bool) -> SpeedMap:
    """Fit one of `MODELS` to plateaus.

    Deviations are those of the linearised fit, scaled by its own residual; a parameter at a bound has none.

    Parameters
    ----------
    omega
        ω (N,) rad/s, signed.
    torque, std
        friction (N,) N·m, positive against positive ω, and the deviations of these means (N,) N·m.
    model
        its name.
    offset
        also a constant torque, which needs both directions.

    Raises
    ------
    JointDynamicsError
        For fewer plateaus or speeds than it has parameters.
    """
    terms = MODELS[model]
    count = len(terms) + offset
    if omega.size <= count or np.unique(np.round(np.abs(omega), 6)).size < len(terms):
        raise JointDynamicsError(
            f'friction: model {model} has {count} parameters: expected more plateaus than that, found {omega.size}'
        )
    weights = 1.0 / np.maximum(std, np.median(std))
    # With V_S below the slowest plateau, hardly any of F_S − F_C would remain there, and any F_S would fit.
    slowest, fastest = float(np.abs(omega).min()), float(np.abs(omega).max())
    shapes = [(V_S, mu) for V_S in np.geomspace(slowest, fastest, 6)[1:5] for mu in MU_STARTS]
    linear = [*linear_columns(omega, terms, 1.0, 1.0, offset)]
    names = [*linear, 'V_S', 'mu'] if 'V_S' in terms else linear
    bounds = {'F_C': (0.0, np.inf), 'rise': (0.0, np.inf), 'V_S': (slowest, fastest), 'mu': MU_BOUNDS}
    low, high = np.transpose([bounds.get(name, (-np.inf, np.inf)) for name in names])

    def rows(V_S: float, mu: float) -> FloatArray:
        return np.column_stack([*linear_columns(omega, terms, V_S, mu, offset).values()]) * weights[:, None]

    def residual(x: FloatArray) -> FloatArray:
        # Without a Stribeck term its shape has no effect.
        return rows(*(x[-2:] if 'V_S' in terms else shapes[0])) @ x[: len(linear)] - torque * weights

    ends = []
    for shape in shapes if 'V_S' in terms else shapes[:1]:
        start = np.linalg.lstsq(rows(*shape), torque * weights, rcond=None)[0]
        start = np.clip([*start, *shape][: len(names)], low, high)
        ends.append(optimize.least_squares(residual, start, '3-point', (low, high), x_scale='jac', xtol=1e-12))
    best = min(ends, key=lambda end: float(end.cost))
    found = dict(zip(names, map(float, best.x), strict=True))
    stuck = []
    for name in ('V_S', 'mu')[: len(names) - len(linear)]:
        bottom, top = bounds[name]
        if min(found[name] - bottom, top - found[name]) < BOUND_SHARE * (top - bottom):
            stuck.append(name)
    rise = found.pop('rise', 0.0)
    if 'F_S' in terms and rise <= SMALLEST_RISE * max(found['F_C'], 1e-12):
        stuck = ['F_S', 'V_S', 'mu']
    deviations = _deviations(best.jac, -best.fun, names, stuck)
    found = {'F_S': found['F_C'] + rise, 'V_S': 0.1, 'mu': 1.0, **found}
    order = [*terms, *(['offset'] if offset else [])]
    values = {name: Value(found[name], deviations.get(name), UNITS[name]) for name in order}
    size, squares = omega.size, float(best.fun @ best.fun) / float(np.mean(weights**2))
    bic = size * np.log(max(squares / size, 1e-300)) + count * np.log(size)
    friction = FrictionModel({'F_C0': found.pop('F_C'), **found})
    left = -best.fun / weights
    return SpeedMap(model, values, friction, nrmse_percent(torque, torque - left), float(bic), left, tuple(stuck))


def _deviations(jacobian: FloatArray, residual: FloatArray, names: list[str], stuck: list[str]) -> dict[str, float]:
    """Return standard deviations by the Jacobian at the solution; none of parameters at a bound."""
    free = [k for k, name in enumerate(names) if {'rise': 'F_S'}.get(name, name) not in stuck]
    try:
        fit = least_squares(jacobian[:, free], residual, [names[k] for k in free], in_time=False)
    except NotReliableError:
        return {}
    deviations = {name: fit.deviation(name) for name in fit.names}
    return deviations | ({'F_S': combined(fit, 'F_C', 'rise', 1.0)[1]} if 'rise' in fit.names else {})


def combined(fit: LinearFit, name: str, other: str, side: float) -> tuple[float, float]:
    """Return value and deviation of name + side·other."""
    weights = np.array([1.0 if item == name else side if item == other else 0.0 for item in fit.names])
    return float(weights @ fit.values), float(np.sqrt(weights @ fit.covariance @ weights))
