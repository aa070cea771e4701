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

"""Stiffness, kinematic error and backlash of joints with two encoders, from any motion under load.

The deformation of a transmission is elastic, kinematic error and lost motion [M4 eq 29-32]:

    φ = θ − q = s(τ_J) + θ̃(θ) + Σ_i b_i (1 + u cos θ + v sin θ) x/(1 + (τ/τ_i)²),    T τ̇ + τ = τ_J.

It is linear in all coefficients for a known width 𝓑(θ) of the play, shares b_i/Σ b_i, wind-up load τ_w and lag T. τ_w
and T are those of the smallest residual. Width and shares follow from the solution, in `ROUNDS`
rounds. docs/reference/commands/identify-joint.md has the other equations and the priors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.result import JointTestResult, Value
from joint_dynamics.identification.regression.covariance import correlated_variance
from joint_dynamics.joint import FourierSeries, TorsionalStiffness
from joint_dynamics.joint.stiffness import LOAD_LAG, LOAD_SHARES, LOADS, loads_of, lost_motion_share, place_in_play
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import butterworth_sections, filtered, zero_phase_lowpass

HARMONICS = 6  # harmonics of the kinematic error
AMPLITUDE = 1.5e-4  # rad, plausible size of the first harmonic, the others 1/h of it
BACKLASH = 5e-4  # rad, plausible backlash 𝓑, half the lost motion
NARROWEST = 0.3 * AMPLITUDE  # rad, narrowest play considered
TINY = 1e-9  # rad; no play is as narrow
CUTOFF = 20.0  # Hz, low-pass of the signals, twice the bandwidth of the motion
MIN_SPEED = 0.01  # rad/s; slower samples are left out
LOADED = 0.15  # load that counts as one, as a share of the largest
MIN_ROWS = 10  # fewest loaded rows per coefficient
ANGLES = 72  # angles of a turn with a stated deviation of the kinematic error
ROUNDS = 3  # solutions for the width of the play
SPRING = 2  # columns of the spring, c and d
PLAY = len(LOADS) + 2  # columns of the play, b_i, u and v; the kinematic error follows
# s, lag of the load in taking up the lost motion: none, and 25 to 400 ms in steps of √2
LOAD_LAGS = (0.0, *(0.025 * 2.0 ** (0.5 * np.arange(9))).round(3).tolist())
# τ_w beside the largest load, as shares of the torque limit: data sheets state stiffnesses K₁, K₂ and K₃ below, between
# and above two torques [Harmonic Drive, CSF and CSG series, torsional stiffness].
WIND_UPS = (0.1, 0.2, 0.4)
STIFFER = 4.0  # largest stiffness of a wound-up spring over that at rest
SHOWN = 4.0  # smallest significant d, in standard deviations: the best of four loads is taken


def wound(u: FloatArray, wind_up: float) -> FloatArray:
    """Return the column of d for the loads u; it has d/(STIFFER − 1) of c, u the rest. wind_up: load τ_w."""
    r = np.clip(u / wind_up, -1.0, 1.0)
    return wind_up * (r - r**3 / 3.0) + u / (STIFFER - 1.0)


class Fit(NamedTuple):
    """Solution of the deformation; loads in units of the largest."""

    spring: int  # number of columns of the spring: u, and that of the wind-up where it is significant
    solution: FloatArray  # (columns,) rad
    covariance: FloatArray  # (columns, columns) rad²
    residual: FloatArray  # (rows,) rad
    play: FourierSeries  # 𝓑(θ), rad
    shares: FloatArray  # b_i/Σ b_i
    lag: float  # T, s
    wind_up: float  # load τ_w at which the soft part of the spring ends


def fit(recordings: Sequence[JointData], rows: Sequence[FloatArray], limit: float) -> Fit:
    """Solve for all of φ; rows: θ, φ and τ_J of each recording."""
    theta, phi, tau = np.concatenate(rows).T
    largest = float(np.abs(tau).max())
    u, loads = tau / largest, loads_of(limit)
    wind_ups = [*(share * limit / largest for share in WIND_UPS if share * limit < largest), 1.0]
    basis = FourierSeries.basis(theta, HARMONICS)
    part = np.repeat(np.arange(len(rows)), [len(signals) for signals in rows])
    play, shares = FourierSeries(2.0 * AMPLITUDE, [0.0], [0.0]), np.array(LOAD_SHARES)

    def regressor(spring: int, lag: float, wind_up: float) -> FloatArray:
        lost = _lost_motion(recordings, play, shares, loads, lag)
        return np.column_stack([*[u, wound(u, wind_up)][:spring], lost, basis])

    def misfit(lag: float, wind_up: float) -> float:
        return float(np.std(_solve(regressor(SPRING, lag, wind_up), phi, part, SPRING, play.mean)[2]))

    wind_up = min(wind_ups, key=lambda shape: misfit(LOAD_LAG, shape))
    lag = min(LOAD_LAGS, key=lambda lag: misfit(lag, wind_up))
    wind_up = min(wind_ups, key=lambda shape: misfit(lag, shape))
    for spring in (SPRING, 1):
        parts, change = spring + np.arange(len(LOADS)), spring + np.arange(len(LOADS), PLAY)
        for _ in range(ROUNDS):
            W = regressor(spring, lag, wind_up)
            solution, covariance, residual = _solve(W, phi, part, spring, max(play.mean, TINY))
            before, backlash = play.mean, float(solution[parts].sum())
            shares = solution[parts] / backlash if backlash > 0.0 else shares
            # no narrower than nothing, anywhere
            first = solution[change] * min(1.0, backlash / max(float(np.hypot(*solution[change])), TINY))
            play = FourierSeries(backlash, first[:1], first[1:])
            if abs(backlash - before) < 0.02 * before:
                break
        if solution[spring - 1] > SHOWN * np.sqrt(max(covariance[spring - 1, spring - 1], 0.0)):
            break
    return Fit(spring, solution, covariance, residual, play, shares, lag, wind_up)


def thinned(data: JointData, signals: FloatArray) -> FloatArray:
    """Return the moving samples of signals (N, …), filtered and thinned according to the bandwidth."""
    cutoff = min(CUTOFF, 0.4 * data.rate)
    edge = min(int(data.rate / cutoff) + 1, data.samples // 10)
    rows = np.arange(edge, data.samples - edge, max(1, int(0.2 * data.rate / cutoff)))
    return zero_phase_lowpass(signals, cutoff, data.rate)[rows[np.abs(data.omega[rows]) > MIN_SPEED]]


def _lost_motion(
    recordings: Sequence[JointData], play: FourierSeries, shares: FloatArray, loads: FloatArray, lag: float
) -> FloatArray:
    """Return the columns (rows, PLAY) of b_i, 𝓑 u and 𝓑 v, with the load `lag` s late; 𝓑(θ) is `play`."""
    columns = []
    for data in recordings:
        assert data.tau_J is not None
        load = data.tau_J
        if lag > 0.0:
            load = filtered(butterworth_sections(1, 0.5 / (np.pi * lag), data.rate), load[None])[0]
        share = lost_motion_share(load[:, None] / loads)
        steps = np.diff(data.theta, prepend=data.theta[0])
        place = place_in_play(np.cumsum(steps / np.maximum(play(data.theta), NARROWEST)), 1.0)
        turn = np.column_stack([np.cos(data.theta), np.sin(data.theta)]) * (share @ shares)[:, None]
        columns.append(thinned(data, place[:, None] * np.column_stack([share, turn])))
    return np.concatenate(columns)


def _solve(
    W: FloatArray, phi: FloatArray, part: IntArray, spring: int, width: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the least squares with play and harmonics held towards zero; (solution, covariance, residual).

    The residual is correlated over many samples, so that s² counts effective ones. The covariance s² (WᵀW + PᵀP)⁻¹ with
    the prior P = s/plausible includes undetermined kinematic error and lost motion.
    """
    free, parts = W.shape[1] - 2 * HARMONICS, spring + len(LOADS)
    plausible = np.concatenate([np.full(free, np.inf), np.tile(AMPLITUDE / np.arange(1, HARMONICS + 1), 2)])
    plausible[spring:parts] = BACKLASH / np.sqrt(len(LOADS))
    plausible[parts : spring + PLAY] = 0.5 * width
    lower = np.where(np.arange(W.shape[1]) < parts, 0.0, -np.inf)
    normal, variance = W.T @ W, AMPLITUDE**2
    for _ in range(3):
        prior = np.diag(np.sqrt(variance) / plausible)
        solution = bounded(np.vstack([W, prior]), np.concatenate([phi, np.zeros(W.shape[1])]), lower)
        residual = phi - W @ solution
        inverse = np.linalg.inv(normal + prior**2)
        variance = correlated_variance(residual, normal, inverse, part)
    return solution, variance * inverse, residual


def bounded(W: FloatArray, y: FloatArray, lower: FloatArray | float) -> FloatArray:
    """Return the least-squares solution χ ≥ lower of W χ = y."""
    from scipy.optimize import lsq_linear  # here, as `identify` imports this module, and most joints have one encoder

    solution: FloatArray = lsq_linear(W, y, bounds=(lower, np.inf)).x
    return solution


def identify_transmission(recordings: Sequence[JointData], limit: float | None = None) -> JointTestResult:
    """Fit s(τ_J), θ̃(θ) and the lost motion to the deformation.

    The description gets `stiffness`, `kinematic_error` with its deviation at angles of a turn, and `backlash` with its
    deviation along the motion. With a known limit `backlash` also gets b_i/Σ b_i and T. The result is not reliable
    where the stiffness lies within two deviations of zero.

    Parameters
    ----------
    recordings
        with θ and a load torque, of one joint.
    limit
        torque limit of the joint [N·m], None: the largest load in the recordings.

    Raises
    ------
    NotReliableError
        For a joint that is hardly ever loaded.
    JointDynamicsError
        Without θ or a load torque.
    """
    rows = []
    for data in recordings:
        data.need('theta', 'tau_J')
        assert data.tau_J is not None
        rows.append(thinned(data, np.stack([data.theta, data.theta - data.q, data.tau_J], axis=1)))
    theta, phi, tau = np.concatenate(rows).T
    largest = float(np.abs(tau).max(initial=0.0))
    loaded = int(np.sum(np.abs(tau) > LOADED * largest))
    needed = MIN_ROWS * (SPRING + PLAY + 1 + 2 * HARMONICS)
    if loaded < needed or largest == 0.0:
        raise NotReliableError(
            f'transmission: {recordings[0].joint}: expected {needed} samples under load, found {loaded}'
        )
    solved = fit(recordings, rows, limit or largest)
    spring, solution, covariance = solved.spring, solved.solution, solved.covariance
    lost = slice(spring, spring + PLAY)
    at = np.column_stack([np.ones((theta.size, len(LOADS))), np.cos(theta), np.sin(theta)])
    # along the motion, as a root mean square
    backlash_deviation = float(np.sqrt(np.mean(np.sum((at @ covariance[lost, lost]) * at, axis=1))))
    slope = np.array([1.0, STIFFER / (STIFFER - 1.0)])[:spring]
    c1 = float(slope @ solution[:spring])
    result = JointTestResult('transmission', recordings[0].joint)
    if not c1 > 2.0 * np.sqrt(slope @ covariance[:spring, :spring] @ slope):
        result.reasons.append(
            f'the deformation does not follow the load ({c1 / largest:.2g} rad/(N·m)): check the signs of theta and q'
        )
        return result
    alpha, reach = _invert(solution[:spring], solved.wind_up, largest)
    deviations = _deviations(solution[:spring], covariance[:spring, :spring], solved.wind_up, largest)
    cosine, sine = np.split(solution[lost.stop + 1 :], 2)
    error = FourierSeries(solution[lost.stop], cosine, sine)
    turn = FourierSeries.basis(np.arange(ANGLES) * 2.0 * np.pi / ANGLES, HARMONICS)
    error_deviations = np.sqrt(np.sum((turn @ covariance[lost.stop :, lost.stop :]) * turn, axis=1))
    for p, unit in zip(range(spring), ('N·m/rad', 'N·m/rad^3'), strict=False):
        result.parameters[f'alpha_{p + 1}'] = Value(float(alpha[p]), deviations[p], unit)
    result.parameters['kinematic_error_rms'] = Value(float(np.std(error(theta))), None, 'rad')
    result.parameters['backlash'] = Value(solved.play.mean, backlash_deviation, 'rad')
    result.judge_fit(phi, solved.residual)
    result.quality['rows'] = int(tau.size)
    method = 'from motion, with kinematic error and backlash'
    stiffness = TorsionalStiffness(alpha, reach).to_dict()
    result.document = {
        'stiffness': stiffness | {'standard_deviations': deviations, 'method': method},
        # unrecorded angles have the plausible amplitude
        'kinematic_error': error.to_dict() | {'standard_deviations': error_deviations.tolist()},
        # Also an insignificant one: the play of a joint that was never unloaded is unknown.
        'backlash': solved.play.to_dict() | {'standard_deviations': [backlash_deviation]},
    }
    if limit is not None and solved.play.mean > 0.0:
        result.document['backlash'] |= {'load_shares': solved.shares.tolist(), 'load_lag': solved.lag}
    return result


def _invert(compliance: FloatArray, wind_up: float, largest: float) -> tuple[FloatArray, float]:
    """Return α ≥ 0 of τ_E(φ) = α₁ φ (+ α₂ φ³), nearest to the inverse of s over the loads of the recordings.

    And the φ beyond which τ_E goes on along its tangent: where the soft part is wound up, or the largest load ends.
    compliance: of u, and of the wind-up where there is one, loads in units of the largest.
    """
    soft = compliance[1] if len(compliance) == SPRING else 0.0
    u = np.linspace(0.0, 1.0, 201)
    phi = compliance[0] * u + soft * wound(u, wind_up)
    reach = float(np.interp(wind_up if soft > 0.0 else 1.0, u, phi))
    inside = np.minimum(phi, reach)[:, None]
    powers = 2 * np.arange(len(compliance)) + 1
    basis = inside**powers + powers * inside ** (powers - 1) * (phi[:, None] - inside)
    scale = basis.max(axis=0)
    return bounded(basis / scale, u * largest, 0.0) / scale, reach


def _deviations(compliance: FloatArray, covariance: FloatArray, wind_up: float, largest: float) -> list[float]:
    """Return those of α by the changes that one deviation of each compliance makes."""
    alpha = _invert(compliance, wind_up, largest)[0]
    steps = np.diag(np.sqrt(np.diag(covariance)))
    changes = [(_invert(compliance + step, wind_up, largest)[0] - alpha) / step.sum() for step in steps]
    J = np.column_stack(changes)
    return [float(value) for value in np.sqrt(np.diag(J @ covariance @ J.T))]


def identify_transmissions(
    arm: Arm,
    recordings: Sequence[Recording],
    gain_share: float | Mapping[str, float] | None = None,
    load_share: FloatArray | None = None,
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return {joint: {stiffness, kinematic_error, backlash}} as in a description, and remarks.

    Every recording must have θ; coupled drives are excluded, because their motors do not belong to one joint.
    Quantities that the data of a joint do not determine are left out, with a remark.

    Parameters
    ----------
    arm
        whose bodies, payload included, give the torque through the transmissions.
    recordings
        with the joints in the arm's order.
    gain_share
        relative deviation of the drive gains, one number or by joint; that torque, and with it the stiffness, has the
        same relative deviation. None: exact.
    load_share
        (n,) relative deviation of the arm's torque through each transmission, which the stiffness has too. None: exact.
    """
    model = arm.robot
    if model.coupling is not None or any(recording.theta is None for recording in recordings):
        return {}, []
    transmissions: dict[str, dict[str, Any]] = {}
    notes = []
    for index, name in enumerate(model.joint_names):
        limit = float(model.limits.effort[index])
        data = [joint_data(recording, name, arm=arm) for recording in recordings]
        try:
            result = identify_transmission(data, limit if np.isfinite(limit) and limit > 0 else None)
        except NotReliableError as error:
            notes.append(str(error))
            continue
        if result.reasons:
            notes += [f'transmission: {name}: not described: {reason}' for reason in result.reasons]
            continue
        share = gain_share.get(name, 0.0) if isinstance(gain_share, Mapping) else gain_share or 0.0
        share = float(np.hypot(share, 0.0 if load_share is None else load_share[index]))
        stiffness = result.document['stiffness']
        deviations = np.hypot(stiffness['standard_deviations'], share * np.array(stiffness['coefficients'])).tolist()
        transmissions[name] = {**result.document, 'stiffness': {**stiffness, 'standard_deviations': deviations}}
    return transmissions, notes
