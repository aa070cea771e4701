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

"""Hamon's friction in the motor and generator quadrants beside the usual model, for one joint [H eq 27-43].

The usual model has the rigid columns X, the torque per base parameter, known payload torques included:

    τ = X χ + F_C sgn q̇ + F_V q̇ + τ_off.

The new one has the products P⁺X, P⁺E X, P⁻X, −P⁻E X and four dry terms, with the quadrants P⁺, P⁻ and
E = exp(−|q̇|/q̇_s). It is linear for a fixed q̇_s, which a line search on ‖ρ‖ finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import JointTestResult, LinearFit, Series, Value, least_squares
from joint_dynamics.signals.filtering import zero_phase_lowpass

DRY_PARAMETERS = ('c_m', 'd_m', 'c_g', 'd_g', 'F_V', 'tau_off')
UNITS = {
    **dict.fromkeys(('a_m', 'b_m', 'a_g', 'b_g'), ''),
    **dict.fromkeys(('c_m', 'd_m', 'c_g', 'd_g', 'tau_off'), 'N·m'),
    'F_V': 'N·m·s/rad',
    'dq_s': 'rad/s',
}
OVERSAMPLING = 5  # rows per cut-off period
GUARD = 8  # rows over which the zero-phase filter of 4th order smears a jump
MIN_SPEED = 5e-3  # rad/s; slower samples are in the stiction area
SPEED_BOUNDS = (5e-3, 0.5)  # rad/s, of the line search of q̇_s

SMALLEST_GAIN = 2.0  # %, smallest reduction of the held-out residual that is significant


@dataclass(frozen=True)
class QuadrantFit:
    """Both fits on the same samples.

    Attributes
    ----------
    usual, new
        the two linear fits; dq_s rad/s; used (N,) bool: samples outside the stiction area.
    relative_residual
        ‖ρ‖/‖Y‖ of each.
    """

    usual: LinearFit
    new: LinearFit
    dq_s: float
    used: FloatArray
    relative_residual: dict[str, float]

    @property
    def gain_percent(self) -> float:
        """How much smaller the new model's ‖ρ‖/‖Y‖ is, in percent of the usual one's."""
        return 100.0 * (1.0 - self.relative_residual['new'] / self.relative_residual['usual'])

    def judge(self, rigid: FloatArray, dq: FloatArray, tau: FloatArray) -> dict[str, float]:
        """Return ‖ρ‖/‖Y‖ of both models on samples not used for the fit, arguments as of `fit_quadrants`."""
        used = outside_stiction(rigid, dq, tau)
        X, v, y = rigid[used], dq[used], tau[used]
        predicted = {
            'usual': usual_columns(X, v) @ self.usual.values,
            'new': quadrant_columns(X, v, y, self.dq_s) @ self.new.values,
        }
        return {name: float(np.linalg.norm(y - own) / np.linalg.norm(y)) for name, own in predicted.items()}


def usual_columns(rigid: FloatArray, dq: FloatArray) -> FloatArray:
    """Return the columns [X, sgn q̇, q̇, 1], (N, m + 3), of rigid X (N, m) and q̇ (N,) [rad/s] [H eq 38]."""
    return np.column_stack([rigid, np.sign(dq), dq, np.ones_like(dq)])


def quadrant_columns(rigid: FloatArray, dq: FloatArray, tau: FloatArray, dq_s: float) -> FloatArray:
    """Return the columns of the new model, (N, 4 m + 6): four per rigid column, then `DRY_PARAMETERS` [H eq 42].

    rigid: (N, m); dq, tau: (N,) [rad/s, N·m]; dq_s: rad/s. The quadrant is the sign of the measured torque times the
    speed, which outside the stiction area is that of τ_out q̇ [H eq 26]; a joint at rest counts as a motor.
    """
    fade, sign = np.exp(-np.abs(dq) / dq_s), np.sign(dq)
    motor = np.where(tau * dq >= 0, 1.0, 0.0)
    generator = 1.0 - motor
    shares = np.stack([motor, motor * fade, generator, -generator * fade], axis=-1)
    dry = np.abs(shares) * sign[:, None]
    products = rigid[:, :, None] * shares[:, None]
    return np.column_stack([products.reshape(len(dq), -1), dry, dq, np.ones_like(dq)])


def outside_stiction(
    rigid: FloatArray, dq: FloatArray, tau: FloatArray, min_speed: float = MIN_SPEED, guard: int = GUARD
) -> FloatArray:
    """Return which samples are of a known quadrant, (N,) bool.

    |q̇| above `min_speed` [rad/s], |τ| above all the friction the usual model finds at that speed, and no change of
    direction or quadrant within `guard` samples: the low-pass that both sides of the fit went through smears the jumps
    of the friction over that far.

    Raises
    ------
    NotReliableError
        Where too few samples move faster.
    """
    moving = np.abs(dq) > min_speed
    if moving.sum() <= rigid.shape[1] + 3:
        raise NotReliableError(
            f'only {int(moving.sum())} samples move faster than {min_speed:g} rad/s: too few for the load-dependent'
            ' model'
        )
    names = [*(f'X{k}' for k in range(rigid.shape[1])), 'F_C', 'F_V', 'tau_off']
    usual = least_squares(usual_columns(rigid, dq)[moving], tau[moving], names, in_time=False)
    dissipated = abs(usual['F_C']) + abs(usual['F_V']) * np.abs(dq) + abs(usual['tau_off'])
    known = moving & (np.abs(tau) > dissipated)
    quadrant = 2 * np.sign(dq) + np.sign(tau)
    changes = np.flatnonzero(np.diff(quadrant))
    close = np.zeros(dq.size + 1)
    np.add.at(close, np.maximum(changes - guard + 1, 0), 1)
    np.add.at(close, np.minimum(changes + guard + 1, dq.size), -1)
    return known & (np.cumsum(close)[:-1] == 0)


def fit_quadrants(rigid: FloatArray, dq: FloatArray, tau: FloatArray, names: Sequence[str]) -> QuadrantFit:
    """Fit the usual and the load-dependent model to filtered, decimated samples [H eq 38, 42].

    Parameters
    ----------
    rigid
        (N, m) rigid columns, torque [N·m] per parameter.
    dq, tau
        (N,) speed [rad/s] and motor torque [N·m].
    names
        of the m rigid columns.

    Raises
    ------
    NotReliableError
        For a motion that does not pass the vertical: c_m, c_g and τ_off are then collinear. And for samples that do not
        determine the parameters.
    """
    used = outside_stiction(rigid, dq, tau)
    X, v, y = rigid[used], dq[used], tau[used]
    for quadrant, word in ((y * v > 0, 'motor'), (y * v <= 0, 'generator')):
        if np.unique(np.sign(v[quadrant])).size < 2:
            raise NotReliableError(
                f'the {word} quadrants are driven in one direction only (the motion does not pass the vertical): '
                'c_m, c_g and tau_off cannot be distinguished'
            )

    def cost(log_scale: float) -> float:
        # ‖ρ‖² is the square of the last diagonal entry of the triangular factor of [W, y], here by its scaled Gram
        # matrix.
        augmented = np.column_stack([quadrant_columns(X, v, y, float(np.exp(log_scale))), y])
        norms = np.maximum(np.linalg.norm(augmented, axis=0), 1e-30)
        factor = np.linalg.cholesky(augmented.T @ augmented / np.outer(norms, norms) + 1e-12 * np.eye(len(norms)))
        return float((factor[-1, -1] * norms[-1]) ** 2)

    # Below half the slowest speeds E is zero for nearly all samples, and would fit the noise of the others.
    low = np.log(max(SPEED_BOUNDS[0], 0.5 * float(np.quantile(np.abs(v), 0.05))))
    coarse = np.linspace(low, np.log(max(SPEED_BOUNDS[1], 2 * np.exp(low))), 12)
    k = int(np.argmin([cost(s) for s in coarse]))
    bounds = coarse[max(k - 1, 0)], coarse[min(k + 1, len(coarse) - 1)]
    dq_s = float(np.exp(minimize_scalar(cost, method='bounded', bounds=bounds, options={'xatol': 1e-3}).x))
    factors = [f'{factor}*{name}' for name in names for factor in ('a_m', 'b_m', 'a_g', 'b_g')]
    usual = least_squares(usual_columns(X, v), y, [*names, 'F_C', 'F_V', 'tau_off'])
    new = least_squares(quadrant_columns(X, v, y, dq_s), y, [*factors, *DRY_PARAMETERS])
    residuals = {'usual': usual.residual, 'new': new.residual}
    relative = {name: float(np.linalg.norm(rho) / np.linalg.norm(y)) for name, rho in residuals.items()}
    return QuadrantFit(usual, new, dq_s, used, relative)


def identify_quadrants(recordings: Sequence[JointData]) -> JointTestResult:
    """Fit a_m … tau_off of the load-dependent model with the known load torque as the rigid part, and the usual model.

    The last third of every recording is kept out of the fit and judges both models. The result is not reliable where
    the new model is not better there by at least 2 % [H eq 25-30].

    Parameters
    ----------
    recordings
        with motor and load torque.

    Raises
    ------
    JointDynamicsError
        Without a motor or load torque.
    NotReliableError
        As `fit_quadrants` does.
    """
    fitted, held_out = [], []
    for data in recordings:
        data.need('tau', 'tau_J')
        assert data.tau is not None and data.tau_J is not None
        step = max(1, int(data.rate / (OVERSAMPLING * data.cutoff)))
        signals = np.stack([data.tau_J, data.omega, data.tau])
        columns = zero_phase_lowpass(signals.T, data.cutoff, data.rate)[::step].T
        cut = 2 * columns.shape[1] // 3
        fitted.append(columns[:, :cut])
        held_out.append(columns[:, cut:])
    load, dq, tau = np.concatenate(fitted, axis=1)
    fit = fit_quadrants(load[:, None], dq, tau, ('load',))
    load_new, dq_new, tau_new = np.concatenate(held_out, axis=1)
    outside = fit.judge(load_new[:, None], dq_new, tau_new)
    result = JointTestResult('load', recordings[0].joint)
    names = ('a_m', 'b_m', 'a_g', 'b_g', *DRY_PARAMETERS)
    for name, value, std in zip(names, fit.new.values, fit.new.std, strict=True):
        result.parameters[name] = Value(float(value), float(std), UNITS[name])
    result.parameters['dq_s'] = Value(fit.dq_s, None, UNITS['dq_s'])
    gain = 100 * (1 - outside['new'] / outside['usual'])
    result.quality |= {
        'form': 'quadrants',
        'rows': int(fit.used.sum()),
        'relative_residual_percent': {k: 100 * v for k, v in fit.relative_residual.items()},
        'held_out_residual_percent': {k: 100 * v for k, v in outside.items()},
        'held_out_gain_percent': gain,
        'load_source': recordings[0].load_source,
    }
    if gain < SMALLEST_GAIN:
        result.reasons.append(
            f'on held-out data the residual falls by {gain:.1f} % only: no significant load dependence'
        )
    order = np.argsort(load[fit.used])
    thin = order[:: max(1, order.size // 3000)]
    x, y = load[fit.used][thin], (tau - load)[fit.used][thin]
    result.plot(
        'friction in the four quadrants',
        'load torque [N·m]',
        'motor torque minus load [N·m]',
        Series('measured', x, y),
        Series('usual model', x, y - fit.usual.residual[thin]),
        Series('load-dependent model', x, y - fit.new.residual[thin]),
    )
    result.document = {'friction': {'quadrants': {name: float(item.value) for name, item in result.parameters.items()}}}
    return result
