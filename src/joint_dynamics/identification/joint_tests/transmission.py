"""Stiffness and kinematic error of one joint together, from any motion under load, with no test made for it.

The deformation of a transmission that carries a torque is its elastic part and the kinematic error [M4 eq 29-30],

    φ = θ − q = s(τ_J) + θ̃(θ),    s(τ) = c₁ τ − c₃ τ³,    θ̃(θ) = m + Σ_{h=1..H} a_h cos hθ + b_h sin hθ

linear in all coefficients. Fitted one after the other each takes up a part of the other: gravity is periodic in θ as well. Fitted together, what
tells them apart is that τ_J also changes with acceleration and posture. Only samples count whose load presses the teeth together, away from
τ_J = 0 where backlash lets the link float. Without a whole turn the harmonics are not independent; each is held towards zero by what is
plausible for it, 1.5e-4/h rad (a strain-wave gear's error of an arc minute peak to peak), so that the map stays small where nobody went.
c₁, c₃ ≥ 0: a spring that hardens; its polynomial τ_E(φ) of the description is the least-squares inverse of s over the range of the data.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import Plot, Series, TestResult, Value, nrmse_percent
from joint_dynamics.identification.regression.covariance import correlation_length
from joint_dynamics.joint import FourierSeries, TorsionalStiffness
from joint_dynamics.signals.filtering import zero_phase_lowpass

# Rows below which the coefficients cannot be told apart, per coefficient.
ROWS = 10


@dataclass(frozen=True)
class TransmissionSettings:
    """harmonics H of the kinematic error; loaded: smallest |τ_J| that counts, as a share of the largest; f_dyn Hz: signals are low-passed at 2 f_dyn.

    amplitude rad: plausible size of the first harmonic, the others 1/h of it; min_speed rad/s: slower samples are left out.
    """

    harmonics: int = 6
    loaded: float = 0.15
    f_dyn: float = 10.0
    amplitude: float = 1.5e-4
    min_speed: float = 0.01


def identify_transmission(recordings: Sequence[JointData], settings: TransmissionSettings | None = None) -> TestResult:
    """Fit s(τ_J) and θ̃(θ) to the deformation; the description gets `stiffness` and `kinematic_error`.

    Flagged, not believed: a stiffness within two deviations of zero. Raises NotReliableError where the joint is hardly ever loaded, and
    JointDynamicsError without θ or a load torque.
    """
    settings = settings or TransmissionSettings()
    if not (1 <= settings.harmonics <= 12 and 0 <= settings.loaded < 1 and settings.amplitude > 0):
        raise JointDynamicsError(f'transmission: expected 1 to 12 harmonics, loaded within [0, 1) and amplitude > 0, found {settings}')
    parts = [_rows(data, settings) for data in recordings]
    theta, phi, tau = (np.concatenate([part[k] for part in parts]) for k in range(3))
    largest = float(np.abs(tau).max())
    loaded = np.abs(tau) > settings.loaded * largest
    theta, phi, tau = theta[loaded], phi[loaded], tau[loaded]
    columns = 3 + 2 * settings.harmonics
    if tau.size < ROWS * columns or largest == 0.0:
        raise NotReliableError(f'transmission: {recordings[0].joint}: expected {ROWS * columns} samples under load, found {tau.size}')
    u = tau / largest
    W = np.column_stack([u, -u**3, FourierSeries.basis(theta, settings.harmonics)])
    solution, covariance, residual = _solve(W, phi, settings)
    c1, c3 = solution[:2]
    result = TestResult('transmission', recordings[0].joint)
    if c1 <= 2.0 * np.sqrt(covariance[0, 0]):
        result.reasons.append(f'the deformation does not follow the load ({c1 / largest:.2g} rad/(N·m)): is the sign of theta or q right?')
        return result
    stiffness, deviation, reach = _invert(c1, c3, np.sqrt(covariance[0, 0]), largest)
    H = settings.harmonics
    error = FourierSeries(solution[2], solution[3:3 + H], solution[3 + H:])
    result.parameters['alpha_1'] = Value(stiffness.coefficients[0], deviation, 'N·m/rad')
    result.parameters['alpha_2'] = Value(stiffness.coefficients[1], None, 'N·m/rad^3')
    result.parameters['kinematic_error_rms'] = Value(float(np.std(error(theta))), None, 'rad')
    result.quality.update({'rows': int(tau.size), 'fit_percent': nrmse_percent(phi, phi - residual), 'residual_rms': float(np.std(residual)),
                           'torque_range': [float(tau.min()), float(tau.max())], 'deformation_range': [-reach, reach],
                           'angle_range': [float(theta.min()), float(theta.max())]})
    result.document = {'stiffness': stiffness.to_dict() | {'range': [-reach, reach], 'method': 'from motion, with the kinematic error'},
                       'kinematic_error': error.to_dict()}
    _plots(result, theta, phi, tau, error, stiffness, reach)
    return result


def _rows(data: JointData, settings: TransmissionSettings) -> tuple[NDArray, NDArray, NDArray]:
    """θ, φ and τ_J of the moving samples, filtered alike and thinned to what the bandwidth needs."""
    data.need('theta', 'tau_J')
    assert data.tau_J is not None
    cutoff = min(2.0 * settings.f_dyn, 0.4 * data.rate)
    theta, phi, tau = (zero_phase_lowpass(x, cutoff, data.rate) for x in (data.theta, data.theta - data.q, data.tau_J))
    edge = min(int(data.rate / cutoff) + 1, data.samples // 10)
    rows = np.arange(edge, data.samples - edge, max(1, int(0.2 * data.rate / cutoff)))
    rows = rows[np.abs(data.omega[rows]) > settings.min_speed]
    return theta[rows], phi[rows], tau[rows]


def _solve(W: NDArray, phi: NDArray, settings: TransmissionSettings) -> tuple[NDArray, NDArray, NDArray]:
    """Least squares with the harmonics held towards zero; (solution, its covariance, residual).

    The residual is correlated over many samples: the weight of the prior counts independent samples only, of which there are N/(2 L + 1).
    """
    H = settings.harmonics
    plausible = np.concatenate([[np.inf, np.inf, np.inf], np.tile(settings.amplitude / np.arange(1, H + 1), 2)])
    lower = np.concatenate([[0.0, 0.0], np.full(W.shape[1] - 2, -np.inf)])
    noise, repeated = settings.amplitude, 1.0
    for _ in range(3):
        prior = np.diag(noise * np.sqrt(repeated) / plausible)
        solution = lsq_linear(np.vstack([W, prior]), np.concatenate([phi, np.zeros(W.shape[1])]), bounds=(lower, np.inf)).x
        residual = phi - W @ solution
        noise, repeated = float(np.std(residual)), 1.0 + 2.0 * correlation_length(residual)
    covariance = noise**2 * repeated * np.linalg.inv(W.T @ W + prior.T @ prior)
    return solution, covariance, residual


def _invert(c1: float, c3: float, deviation: float, largest: float) -> tuple[TorsionalStiffness, float, float]:
    """τ_E(φ) = α₁ φ + α₂ φ³, α ≥ 0, nearest to the inverse of s over the loads that were there; deviation of α₁ and the range of φ."""
    # s rises up to u = √(c₁ / 3 c₃); beyond it the cubic is no spring.
    top = 1.0 if c3 == 0.0 else min(1.0, np.sqrt(c1 / (3.0 * c3)))
    u = np.linspace(0.0, top, 101)
    phi = c1 * u - c3 * u**3
    basis = TorsionalStiffness.basis(phi, 2)
    scale = basis.max(axis=0)
    alpha = lsq_linear(basis / scale, u * largest, bounds=(0.0, np.inf)).x / scale
    return TorsionalStiffness(alpha), float(alpha[0] * deviation / c1), float(phi[-1])


def _plots(result: TestResult, theta: NDArray, phi: NDArray, tau: NDArray, error: FourierSeries, stiffness: TorsionalStiffness, reach: float) -> None:
    thin = max(1, tau.size // 3000)
    grid, turn = np.linspace(-reach, reach, 101), np.linspace(theta.min(), theta.max(), 200)
    elastic = phi - error(theta)
    result.plots.append(Plot(f'{result.joint}: stiffness', 'deformation φ [rad]', 'torque [N·m]',
                             (Series('measured', elastic[::thin], tau[::thin]), Series('fit', grid, stiffness.torque(grid), 'line'))))
    result.plots.append(Plot(f'{result.joint}: kinematic error', 'motor angle θ [rad]', '[rad]', (Series('fit', turn, error(turn), 'line'),)))
