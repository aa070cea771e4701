"""Stiffness, kinematic error and backlash of one joint together, from any motion under load, with no test made for it.

The deformation of a transmission is its elastic part, the kinematic error and the lost motion [M4 eq 29-32],

    φ = θ − q = s(τ_J) + θ̃(θ) + Σ_i b_i (1 + u cos θ + v sin θ) x/(1 + (τ/τ_i)²),    T τ̇ + τ = τ_J,
    s(τ) = c₁ τ − c₃ τ³,    θ̃(θ) = m + Σ_{h=1..H} a_h cos hθ + b_h sin hθ,
    x ← clip(x + Δθ/𝓑(θ), ±1),    𝓑(θ) = Σ_i b_i (1 + u cos θ + v sin θ)

linear in all coefficients once the width 𝓑(θ) of the play and the shares of its parts, which are solved for in turn,
and the lag T are known. Of T that is taken which leaves least: a joint passes its small loads within a tenth of a
second, and a play that follows them late looks half as wide where it is taken to follow at once.

Fitted one after the other each takes up a part of the other: gravity is periodic in θ as well, and lost motion that is
not looked for makes the joint look soft. Fitted together, they are distinguished by τ_J, which also changes with
acceleration and posture, and by the lost motion, which goes with the direction of the motion. Without a whole turn the
harmonics are not independent; each is held towards zero by what is plausible for it, 1.5e-4/h rad, so that the map
stays small where nobody went: an arc minute peak to peak, of the positioning accuracy of 0.5 to 2 arc minutes that a
maker of strain-wave gears states [Harmonic Drive, CSF and CSG series, table 40]. So is the play, by an assumption:
𝓑 = 5e-4 rad, 1.7 arc minutes either way, and over a turn it changes by half of itself; of a joint that is never
unloaded the data show nothing of it.
c₁, c₃ ≥ 0: a spring that hardens; its polynomial τ_E(φ) of the description is the least-squares inverse of s over the
range of the data. A c₃ within two deviations of zero is left out, and the rest fitted anew: of a cubic part the data
show nothing then. b_i ≥ 0; the loads τ_i are those of `joint.stiffness`. Deviations are by the scatter between blocks
of time, `regression.covariance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.result import JointTestResult, Series, Value, nrmse_percent
from joint_dynamics.identification.regression.covariance import blocks_of_time, correlated_variance, scatter
from joint_dynamics.joint import FourierSeries, TorsionalStiffness
from joint_dynamics.joint.stiffness import LOAD_SHARES, LOADS, loads_of, lost_motion_share, place_in_play
from joint_dynamics.recording import Recording
from joint_dynamics.settings import Settings, setting
from joint_dynamics.signals.filtering import butterworth_sections, filtered, zero_phase_lowpass

# Fewest rows per coefficient.
ROWS = 10
# How often the width of the play is solved for, and the narrowest considered, in plausible amplitudes.
ROUNDS, NARROWEST = 3, 0.3
# rad: no play is as narrow.
TINY = 1e-9
# Columns of the spring, c₁ and c₃, where the data show both; of the play, b_i, u and v; the kinematic error follows.
SPRING, PLAY = 2, len(LOADS) + 2
# s by which the load that takes the lost motion up may lag: none, and 25 to 400 ms in steps of √2.
LOAD_LAGS = (0.0, *(0.025 * 2.0 ** (0.5 * np.arange(9))).round(3).tolist())
# Angles of a turn at which the deviation of the kinematic error is stated.
ANGLES = 72


@dataclass(frozen=True)
class TransmissionSettings(Settings):
    """How stiffness, kinematic error and backlash are identified together."""

    SECTION = 'transmission'

    harmonics: int = setting(6, 'harmonics of the kinematic error', lower=1, upper=12)
    loaded: float = setting(0.15, 'load that counts as one, as a share of the largest', lower=0, below=1)
    f_dyn: float = setting(10.0, 'bandwidth of the motion; signals are low-passed at 2 f_dyn', 'Hz', above=0)
    amplitude: float = setting(1.5e-4, 'plausible size of the first harmonic, the others 1/h of it', 'rad', above=0)
    play: float = setting(5e-4, 'plausible size of the backlash 𝓑, half the lost motion', 'rad', above=0)
    min_speed: float = setting(0.01, 'slower samples are left out', 'rad/s', lower=0)


def identify_transmission(
    recordings: Sequence[JointData], settings: TransmissionSettings | None = None, limit: float | None = None
) -> JointTestResult:
    """Fit s(τ_J), θ̃(θ) and the lost motion to the deformation.

    The description gets `stiffness`, `kinematic_error` with its deviation at angles of a turn, and `backlash` with its
    deviation where the joint went and, where a limit is known, how a load takes it up (b_i/Σ b_i and T). The result is
    not reliable where the stiffness lies within two deviations of zero.

    Parameters
    ----------
    recordings
        with θ and a load torque, of one joint.
    settings
        None: as declared.
    limit
        torque limit of the joint [N·m], None: the largest load in the recordings.

    Raises
    ------
    NotReliableError
        Where the joint is hardly ever loaded.
    JointDynamicsError
        Without θ or a load torque.
    """
    settings = settings or TransmissionSettings()
    rows = []
    for data in recordings:
        data.need('theta', 'tau_J')
        assert data.tau_J is not None
        rows.append(_thinned(data, np.stack([data.theta, data.theta - data.q, data.tau_J], axis=1), settings))
    theta, phi, tau = np.concatenate(rows).T
    largest = float(np.abs(tau).max(initial=0.0))
    loaded = int(np.sum(np.abs(tau) > settings.loaded * largest))
    columns = SPRING + PLAY + 1 + 2 * settings.harmonics
    if loaded < ROWS * columns or largest == 0.0:
        raise NotReliableError(
            f'transmission: {recordings[0].joint}: expected {ROWS * columns} samples under load, found {loaded}'
        )
    u = tau / largest
    loads = loads_of(limit or largest)
    basis = FourierSeries.basis(theta, settings.harmonics)
    play, shares = FourierSeries(2.0 * settings.amplitude, [0.0], [0.0]), np.array(LOAD_SHARES)
    label = np.concatenate(blocks_of_time([len(part) for part in rows]))

    def regressor(spring: int, lag: float) -> FloatArray:
        lost = _lost_motion(recordings, play, shares, loads, lag, settings)
        return np.column_stack([*[u, -(u**3)][:spring], lost, basis])

    lag = min(LOAD_LAGS, key=lambda lag: np.std(_solve(regressor(SPRING, lag), phi, SPRING, play.mean, settings)[2]))
    for spring in (SPRING, 1):
        parts, change = spring + np.arange(len(LOADS)), spring + np.arange(len(LOADS), PLAY)
        for _ in range(ROUNDS):
            W = regressor(spring, lag)
            solution, inverse, residual = _solve(W, phi, spring, max(play.mean, TINY), settings)
            before, backlash = play.mean, float(solution[parts].sum())
            shares = solution[parts] / backlash if backlash > 0.0 else shares
            # no narrower than nothing, anywhere
            first = solution[change] * min(1.0, backlash / max(float(np.hypot(*solution[change])), 1e-12))
            play = FourierSeries(backlash, first[:1], first[1:])
            if abs(backlash - before) < 0.02 * before:
                break
        covariance = scatter(W, residual, label, inverse)
        if solution[spring - 1] > 2.0 * np.sqrt(covariance[spring - 1, spring - 1]):
            break
    at = np.column_stack([np.ones((theta.size, len(LOADS))), np.cos(theta), np.sin(theta)])
    lost = slice(spring, spring + PLAY)
    # where the joint went, as a root mean square
    backlash_deviation = float(np.sqrt(np.mean(np.sum((at @ covariance[lost, lost]) * at, axis=1))))
    c1 = solution[0]
    result = JointTestResult('transmission', recordings[0].joint)
    if c1 <= 2.0 * np.sqrt(covariance[0, 0]):
        result.reasons.append(
            f'the deformation does not follow the load ({c1 / largest:.2g} rad/(N·m)): is the sign of theta or q right?'
        )
        return result
    alpha, reach = _invert(solution[:spring], largest)
    deviations = _deviations(solution[:spring], covariance[:spring, :spring], largest)
    stiffness = TorsionalStiffness(alpha, reach)
    cosine, sine = np.split(solution[lost.stop + 1 :], 2)
    error = FourierSeries(solution[lost.stop], cosine, sine)
    turn = FourierSeries.basis(np.arange(ANGLES) * 2.0 * np.pi / ANGLES, settings.harmonics)
    error_deviations = np.sqrt(np.sum((turn @ covariance[lost.stop :, lost.stop :]) * turn, axis=1))
    for p, unit in zip(range(spring), ('N·m/rad', 'N·m/rad^3'), strict=False):
        result.parameters[f'alpha_{p + 1}'] = Value(float(alpha[p]), deviations[p], unit)
    result.parameters['kinematic_error_rms'] = Value(float(np.std(error(theta))), None, 'rad')
    result.parameters['backlash'] = Value(backlash, backlash_deviation, 'rad')
    result.quality.update(
        {
            'rows': int(tau.size),
            'fit_percent': nrmse_percent(phi, phi - residual),
            'residual_rms': float(np.std(residual)),
            'torque_range': [float(tau.min()), float(tau.max())],
            'deformation_range': [-reach, reach],
            'angle_range': [float(theta.min()), float(theta.max())],
        }
    )
    method = 'from motion, with kinematic error and backlash'
    result.document = {
        'stiffness': stiffness.to_dict() | {'standard_deviations': deviations, 'method': method},
        # at angles that were not recorded, what is plausible
        'kinematic_error': error.to_dict() | {'standard_deviations': error_deviations.tolist()},
        # Also where it is lost in its deviation: a joint that was never unloaded may have as much play as any.
        'backlash': play.to_dict() | {'standard_deviations': [backlash_deviation]},
    }
    if limit is not None and backlash > 0.0:
        result.document['backlash'] |= {'load_shares': shares.tolist(), 'load_lag': lag}
    _plots(result, theta, phi - W[:, lost] @ solution[lost], tau, error, stiffness, reach)
    return result


def _thinned(data: JointData, signals: FloatArray, settings: TransmissionSettings) -> FloatArray:
    """Return the moving samples of signals (N, …), filtered and thinned to what the bandwidth needs."""
    cutoff = min(2.0 * settings.f_dyn, 0.4 * data.rate)
    edge = min(int(data.rate / cutoff) + 1, data.samples // 10)
    rows = np.arange(edge, data.samples - edge, max(1, int(0.2 * data.rate / cutoff)))
    return zero_phase_lowpass(signals, cutoff, data.rate)[rows[np.abs(data.omega[rows]) > settings.min_speed]]


def _lost_motion(
    recordings: Sequence[JointData],
    play: FourierSeries,
    shares: FloatArray,
    loads: FloatArray,
    lag: float,
    settings: TransmissionSettings,
) -> FloatArray:
    """Return the columns (rows, PLAY) of b_i, 𝓑 u and 𝓑 v, with the load `lag` s late; 𝓑(θ) is `play`."""
    columns = []
    for data in recordings:
        assert data.tau_J is not None
        load = data.tau_J
        if lag > 0.0:
            load = filtered(butterworth_sections(1, 0.5 / (np.pi * lag), data.rate), load[None])[0]
        left = lost_motion_share(load[:, None] / loads)
        steps = np.diff(data.theta, prepend=data.theta[0])
        place = place_in_play(np.cumsum(steps / np.maximum(play(data.theta), NARROWEST * settings.amplitude)), 1.0)
        turn = np.column_stack([np.cos(data.theta), np.sin(data.theta)]) * (left @ shares)[:, None]
        columns.append(_thinned(data, place[:, None] * np.column_stack([left, turn]), settings))
    return np.concatenate(columns)


def _solve(
    W: FloatArray, phi: FloatArray, spring: int, width: float, settings: TransmissionSettings
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares with play and harmonics held towards zero; (solution, (WᵀW + PᵀP)⁻¹ with that prior P, residual).

    The residual is correlated over many samples: the weight of the prior counts independent samples only.
    """
    H = settings.harmonics
    free = W.shape[1] - 2 * H
    plausible = np.concatenate([np.full(free, np.inf), np.tile(settings.amplitude / np.arange(1, H + 1), 2)])
    parts = spring + len(LOADS)
    plausible[spring:parts] = settings.play / np.sqrt(len(LOADS))
    plausible[parts : spring + PLAY] = 0.5 * width
    lower = np.where(np.arange(W.shape[1]) < parts, 0.0, -np.inf)
    normal, variance = W.T @ W, settings.amplitude**2
    for _ in range(3):
        prior = np.diag(np.sqrt(variance) / plausible)
        solution = _bounded(np.vstack([W, prior]), np.concatenate([phi, np.zeros(W.shape[1])]), lower)
        residual = phi - W @ solution
        inverse = np.linalg.inv(normal + prior**2)
        variance = correlated_variance(residual, normal, inverse)
    return solution, inverse, residual


def _bounded(W: FloatArray, y: FloatArray, lower: FloatArray | float) -> FloatArray:
    """Return the least-squares solution χ ≥ lower of W χ = y."""
    from scipy.optimize import lsq_linear  # here, as `identify` imports this module, and most joints have one encoder

    solution: FloatArray = lsq_linear(W, y, bounds=(lower, np.inf)).x
    return solution


def _invert(compliance: FloatArray, largest: float) -> tuple[FloatArray, float]:
    """Return α ≥ 0 of τ_E(φ) = α₁ φ (+ α₂ φ³), nearest to the inverse of s over the loads that were there.

    And the range of φ. compliance: c₁ and, where there is one, c₃.
    """
    c1, c3 = compliance[0], compliance[-1] if len(compliance) == SPRING else 0.0
    # s rises up to u = √(c₁ / 3 c₃); beyond it the cubic is no spring.
    top = 1.0 if c3 <= 0.0 else min(1.0, np.sqrt(c1 / (3.0 * c3)))
    u = np.linspace(0.0, top, 101)
    phi = c1 * u - c3 * u**3
    basis = TorsionalStiffness.basis(phi, len(compliance))
    scale = basis.max(axis=0)
    return _bounded(basis / scale, u * largest, 0.0) / scale, float(phi[-1])


def _deviations(compliance: FloatArray, covariance: FloatArray, largest: float) -> list[float]:
    """Return those of α by the changes that one deviation of each compliance makes."""
    alpha = _invert(compliance, largest)[0]
    steps = np.diag(np.sqrt(np.diag(covariance)))
    changes = [(_invert(compliance - step, largest)[0] - alpha) / step.sum() for step in steps]
    J = np.column_stack(changes)
    return [float(value) for value in np.sqrt(np.diag(J @ covariance @ J.T))]


def _plots(
    result: JointTestResult,
    theta: FloatArray,
    phi: FloatArray,
    tau: FloatArray,
    error: FourierSeries,
    stiffness: TorsionalStiffness,
    reach: float,
) -> None:
    thin = max(1, tau.size // 3000)
    grid, turn = np.linspace(-reach, reach, 101), np.linspace(theta.min(), theta.max(), 200)
    elastic = phi - error(theta)
    measured = Series('measured', elastic[::thin], tau[::thin])
    fitted = Series('fit', grid, stiffness.torque(grid), 'line')
    result.plot('stiffness', 'deformation φ [rad]', 'torque [N·m]', measured, fitted)
    result.plot('kinematic error', 'motor angle θ [rad]', '[rad]', Series('fit', turn, error(turn), 'line'))


def identify_transmissions(
    arm: Arm, recordings: Sequence[Recording], gain_share: float | Mapping[str, float] | None = None
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
            result = identify_transmission(data, limit=limit if np.isfinite(limit) and limit > 0 else None)
        except NotReliableError as error:
            notes.append(str(error))
            continue
        if result.reasons:
            notes += [f'transmission: {name}: not described: {reason}' for reason in result.reasons]
            continue
        share = gain_share.get(name, 0.0) if isinstance(gain_share, Mapping) else gain_share or 0.0
        transmissions[name] = _with_gain(result, float(share))
    return transmissions, notes


def _with_gain(result: JointTestResult, share: float) -> dict[str, Any]:
    """Return the document of one joint, the deviation of its stiffness with that of the drive gain."""
    stiffness = result.document['stiffness']
    deviations = np.hypot(stiffness['standard_deviations'], share * np.array(stiffness['coefficients'])).tolist()
    return {**result.document, 'stiffness': {**stiffness, 'standard_deviations': deviations}}
