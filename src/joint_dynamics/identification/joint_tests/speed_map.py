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

"""Fit of friction against speed to plateau means.

Nested models, BFGS from several starts, bounds, covariance [M3 eq 14, M4 4.2.1].

The model is linear in F_C, F_S − F_C, F_V1…3 and an offset, nonlinear in V_S and μ only: BFGS searches those two inside
their bounds, from several starts, and the rest is solved exactly at each step (bounded linear least squares), so that
no start can miss a linear parameter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear, minimize

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.result import Value, least_squares, nrmse_percent
from joint_dynamics.joint import FrictionModel

# From the plainest to the seven parameters of the sheet; each with the terms it takes.
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
MU_BOUNDS = (0.3, 3.0)
POWERS = {'F_V1': 1, 'F_V2': 2, 'F_V3': 3}


@dataclass(frozen=True)
class SpeedMap:
    """One fitted model.

    Attributes
    ----------
    model, values
        one of `MODELS`, and its parameters by name.
    friction
        that they make.
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
    """Return the columns (N,) of the parameters that the torque is linear in, by name.

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


@dataclass(frozen=True)
class _Plateaus:
    """Speeds, torques and weights of plateaus (N,), with the terms of the model and whether it has an offset."""

    omega: FloatArray
    torque: FloatArray
    weights: FloatArray
    terms: tuple[str, ...]
    offset: bool

    def columns(self, V_S: float, mu: float) -> dict[str, FloatArray]:
        return linear_columns(self.omega, self.terms, V_S, mu, self.offset)

    def solve(self, V_S: float, mu: float) -> tuple[dict[str, float], FloatArray]:
        """Return the linear parameters and the residual (N,)."""
        named = self.columns(V_S, mu)
        names, columns = [*named], np.column_stack([*named.values()])
        A = columns * self.weights[:, None]
        norms = np.linalg.norm(A, axis=0)
        low = np.where(np.isin(names, ['F_C', 'rise']), 0.0, -np.inf)
        if np.any(norms == 0):
            raise NotReliableError(f'no plateau determines {names[int(np.argmin(norms))]}')
        values = lsq_linear(A / norms, self.torque * self.weights, bounds=(low, np.inf), method='bvls').x / norms
        return dict(zip(names, values, strict=True)), self.torque - columns @ values

    def search_shape(self) -> tuple[float, float, list[str]]:
        """V_S and μ by bounded BFGS (L-BFGS-B on log V_S and μ) from twelve starts; the best end wins."""
        speed = np.abs(self.omega)
        # With V_S below the slowest plateau, next to nothing of F_S − F_C would be left to see there, and any F_S
        # would fit.
        bounds = [(np.log(speed.min()), np.log(speed.max())), MU_BOUNDS]

        def cost(x: FloatArray) -> float:
            return float(np.sum((self.solve(float(np.exp(x[0])), float(x[1]))[1] * self.weights) ** 2))

        ends = [
            minimize(cost, np.array([start_V, start_mu]), method='L-BFGS-B', bounds=bounds)
            for start_V in np.linspace(*bounds[0], 6)[1:5]
            for start_mu in (0.6, 1.0, 2.0)
        ]
        best = min(ends, key=lambda end: float(end.fun)).x
        stuck = [
            name
            for name, value, (low, high) in zip(('V_S', 'mu'), best, bounds, strict=True)
            if min(value - low, high - value) < 1e-3 * (high - low)
        ]
        return float(np.exp(best[0])), float(best[1]), stuck

    def deviations(
        self, V_S: float, mu: float, rise: float, residual: FloatArray, stuck: list[str]
    ) -> dict[str, float]:
        """Return standard deviations by the Jacobian of the model at the solution; none of parameters at a bound."""
        jacobian = self.columns(V_S, mu)
        if 'rise' in jacobian:
            # s = sgn(F_C + (F_S − F_C) e): the F_S column is e, the F_C column its complement.
            fade = jacobian.pop('rise')
            ratio = np.abs(self.omega) / V_S
            jacobian['F_C'], jacobian['F_S'] = jacobian['F_C'] - fade, fade
            jacobian['V_S'] = rise * fade * mu * ratio**mu / V_S
            jacobian['mu'] = -rise * fade * ratio**mu * np.log(ratio)
            if 'F_S' in stuck:
                jacobian['F_C'] = jacobian['F_C'] + fade
        free = {name: column for name, column in jacobian.items() if name not in stuck}
        try:
            fit = least_squares(
                np.column_stack([*free.values()]), residual, [*free], weights=self.weights, in_time=False
            )
        except NotReliableError:
            return {}
        return dict(zip(free, map(float, fit.std), strict=True))


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
    NotReliableError
        Where no plateau determines a parameter.
    """
    terms = MODELS[model]
    free = len(terms) + offset
    if omega.size <= free or np.unique(np.round(np.abs(omega), 6)).size < len(terms):
        raise JointDynamicsError(
            f'friction: model {model} has {free} parameters: expected more plateaus than that, found {omega.size}'
        )
    weights = 1.0 / np.maximum(std, np.median(std))
    plateaus = _Plateaus(omega, torque, weights, terms, offset)
    V_S, mu, stuck = plateaus.search_shape() if 'V_S' in terms else (0.1, 1.0, [])
    linear, residual = plateaus.solve(V_S, mu)
    rise = linear.pop('rise', 0.0)
    parameters = {'F_S': linear['F_C'] + rise, 'V_S': V_S, 'mu': mu, **linear}
    if 'F_S' in terms and rise <= 1e-9 * max(linear['F_C'], 1e-12):
        stuck = ['F_S', 'V_S', 'mu']
    deviations = plateaus.deviations(V_S, mu, rise, residual, stuck)
    order = [*terms, *(['offset'] if offset else [])]
    values = {name: Value(float(parameters[name]), deviations.get(name), UNITS[name]) for name in order}
    size, squares = omega.size, float(np.sum((residual * weights) ** 2)) / float(np.mean(weights**2))
    bic = size * np.log(max(squares / size, 1e-300)) + free * np.log(size)
    friction = FrictionModel({'F_C0': parameters.pop('F_C'), **parameters})
    return SpeedMap(
        model, values, friction, nrmse_percent(torque, torque - residual), float(bic), residual, tuple(stuck)
    )
