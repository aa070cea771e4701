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

`transmission_fit` has the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.result import JointTestResult, Series, Value, nrmse_percent
from joint_dynamics.identification.joint_tests.transmission_fit import (
    PLAY,
    SPRING,
    STIFFER,
    TransmissionSettings,
    WindUp,
    bounded,
    fit,
    thinned,
    wound,
)
from joint_dynamics.joint import FourierSeries, TorsionalStiffness
from joint_dynamics.joint.stiffness import LOADS
from joint_dynamics.recording import Recording

ROWS = 10  # fewest rows per coefficient
ANGLES = 72  # angles of a turn with a stated deviation of the kinematic error


def identify_transmission(
    recordings: Sequence[JointData], settings: TransmissionSettings | None = None, limit: float | None = None
) -> JointTestResult:
    """Fit s(τ_J), θ̃(θ) and the lost motion to the deformation.

    The description gets `stiffness`, `kinematic_error` with its deviation at angles of a turn, and `backlash` with its
    deviation along the motion. With a known limit `backlash` also gets b_i/Σ b_i and T. The result is not reliable
    where the stiffness lies within two deviations of zero.

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
        rows.append(thinned(data, np.stack([data.theta, data.theta - data.q, data.tau_J], axis=1), settings))
    theta, phi, tau = np.concatenate(rows).T
    largest = float(np.abs(tau).max(initial=0.0))
    loaded = int(np.sum(np.abs(tau) > settings.loaded * largest))
    columns = SPRING + PLAY + 1 + 2 * settings.harmonics
    if loaded < ROWS * columns or largest == 0.0:
        raise NotReliableError(
            f'transmission: {recordings[0].joint}: expected {ROWS * columns} samples under load, found {loaded}'
        )
    solved = fit(recordings, rows, limit or largest, settings)
    spring, solution, covariance = solved.spring, solved.solution, solved.covariance
    lost = slice(spring, spring + PLAY)
    at = np.column_stack([np.ones((theta.size, len(LOADS))), np.cos(theta), np.sin(theta)])
    # where the joint went, as a root mean square
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
    stiffness = TorsionalStiffness(alpha, reach)
    widest = float(np.array([1.0, wound(np.ones(1), solved.wind_up)[0]])[:spring] @ solution[:spring])
    cosine, sine = np.split(solution[lost.stop + 1 :], 2)
    error = FourierSeries(solution[lost.stop], cosine, sine)
    turn = FourierSeries.basis(np.arange(ANGLES) * 2.0 * np.pi / ANGLES, settings.harmonics)
    error_deviations = np.sqrt(np.sum((turn @ covariance[lost.stop :, lost.stop :]) * turn, axis=1))
    for p, unit in zip(range(spring), ('N·m/rad', 'N·m/rad^3'), strict=False):
        result.parameters[f'alpha_{p + 1}'] = Value(float(alpha[p]), deviations[p], unit)
    result.parameters['kinematic_error_rms'] = Value(float(np.std(error(theta))), None, 'rad')
    result.parameters['backlash'] = Value(solved.play.mean, backlash_deviation, 'rad')
    result.quality.update(
        {
            'rows': int(tau.size),
            'fit_percent': nrmse_percent(phi, phi - solved.residual),
            'residual_rms': float(np.std(solved.residual)),
            'torque_range': [float(tau.min()), float(tau.max())],
            'deformation_range': [-widest, widest],
            'angle_range': [float(theta.min()), float(theta.max())],
        }
    )
    method = 'from motion, with kinematic error and backlash'
    result.document = {
        'stiffness': stiffness.to_dict() | {'standard_deviations': deviations, 'method': method},
        # unrecorded angles have the plausible amplitude
        'kinematic_error': error.to_dict() | {'standard_deviations': error_deviations.tolist()},
        # Also an insignificant one: the play of a joint that was never unloaded is unknown.
        'backlash': solved.play.to_dict() | {'standard_deviations': [backlash_deviation]},
    }
    if limit is not None and solved.play.mean > 0.0:
        result.document['backlash'] |= {'load_shares': solved.shares.tolist(), 'load_lag': solved.lag}
    _plots(result, theta, phi - solved.W[:, lost] @ solution[lost], tau, error, stiffness, widest)
    return result


def _invert(compliance: FloatArray, wind_up: WindUp, largest: float) -> tuple[FloatArray, float]:
    """Return α ≥ 0 of τ_E(φ) = α₁ φ (+ α₂ φ³), nearest to the inverse of s over the loads that were there.

    And the φ beyond which τ_E goes on along its tangent: where the soft part is wound up, or the largest load ends.
    compliance: of u, and of `wound` where there is a soft part, loads in units of the largest; wind_up: its shape.
    """
    soft = compliance[1] if len(compliance) == SPRING else 0.0
    u = np.linspace(0.0, 1.0, 201)
    phi = compliance[0] * u + soft * wound(u, wind_up)
    reach = float(np.interp(wind_up.share if soft > 0.0 else 1.0, u, phi))
    inside = np.minimum(phi, reach)[:, None]
    powers = 2 * np.arange(len(compliance)) + 1
    basis = inside**powers + powers * inside ** (powers - 1) * (phi[:, None] - inside)
    scale = basis.max(axis=0)
    return bounded(basis / scale, u * largest, 0.0) / scale, reach


def _deviations(compliance: FloatArray, covariance: FloatArray, wind_up: WindUp, largest: float) -> list[float]:
    """Return those of α by the changes that one deviation of each compliance makes."""
    alpha = _invert(compliance, wind_up, largest)[0]
    steps = np.diag(np.sqrt(np.diag(covariance)))
    changes = [(_invert(compliance + step, wind_up, largest)[0] - alpha) / step.sum() for step in steps]
    J = np.column_stack(changes)
    return [float(value) for value in np.sqrt(np.diag(J @ covariance @ J.T))]


def _plots(
    result: JointTestResult,
    theta: FloatArray,
    phi: FloatArray,
    tau: FloatArray,
    error: FourierSeries,
    stiffness: TorsionalStiffness,
    widest: float,
) -> None:
    thin = max(1, tau.size // 3000)
    grid, turn = np.linspace(-widest, widest, 101), np.linspace(theta.min(), theta.max(), 200)
    elastic = phi - error(theta)
    measured = Series('measured', elastic[::thin], tau[::thin])
    fitted = Series('fit', grid, stiffness.torque(grid), 'line')
    result.plot('stiffness', 'deformation φ [rad]', 'torque [N·m]', measured, fitted)
    result.plot('kinematic error', 'motor angle θ [rad]', '[rad]', Series('fit', turn, error(turn), 'line'))


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
            result = identify_transmission(data, limit=limit if np.isfinite(limit) and limit > 0 else None)
        except NotReliableError as error:
            notes.append(str(error))
            continue
        if result.reasons:
            notes += [f'transmission: {name}: not described: {reason}' for reason in result.reasons]
            continue
        share = gain_share.get(name, 0.0) if isinstance(gain_share, Mapping) else gain_share or 0.0
        model_error = 0.0 if load_share is None else load_share[index]
        transmissions[name] = _with_load(result, float(np.hypot(share, model_error)))
    return transmissions, notes


def _with_load(result: JointTestResult, share: float) -> dict[str, Any]:
    """Return the document of one joint, the deviation of its stiffness with the relative one of the load."""
    stiffness = result.document['stiffness']
    deviations = np.hypot(stiffness['standard_deviations'], share * np.array(stiffness['coefficients'])).tolist()
    return {**result.document, 'stiffness': {**stiffness, 'standard_deviations': deviations}}
