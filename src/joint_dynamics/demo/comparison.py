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

"""Estimates beside the truth of the simulated robot: the figures of the demonstration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation import StiffnessEstimator
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

#: Linear friction parameters have no true value: friction is a function of speed, load and temperature.
FRICTION = ('Fv_', 'Fc_', 'off_')
#: Pairs of runs of the feedforward that are compared.
RUNS = (('plain', 'adaptive'), ('plain', 'nominal'), ('nominal', 'adaptive'))
#: Rows of the final table: key of the summary, meaning, published figure.
HEADLINES = (
    ('parameter_coverage_percent', 'base parameters within two stated deviations of the truth, %', '–'),
    ('median_error_percent', 'median error of a base parameter, %', '–'),
    ('validation_moving_percent', 'torque residual on a second motion, moving joints, % (not trained on)', '–'),
    ('validation_residual_percent', 'the same with joints at rest, where friction is undetermined', '–'),
    (
        'stiffness_map_nrmse_new',
        'stiffness map, new robot, NRMSE % (100: exact; mean of joints)',
        '95.2 after 10 s [M3]',
    ),
    ('stiffness_map_nrmse', 'stiffness map, worn robot, NRMSE %', '94.0, 25 s after a change [M3]'),
    ('friction_identified_percent', 'friction of the worn robot as identified when new, error %', '–'),
    ('friction_adapted_percent', 'the same, adapted, error %', '–'),
    ('torque_plain_to_adaptive', 'torque MSE less by, plain to adaptive, %', '–'),
    ('tracking_plain_to_adaptive', 'tracking MSE less by, plain to adaptive, %', '–'),
    ('torque_plain_to_nominal', 'torque MSE less by, hysteresis instead of sgn, %', '52 (2.1 times) [M6]'),
    ('tracking_plain_to_nominal', 'tracking MSE less by, hysteresis instead of sgn, %', '33 (1.5 times) [M6]'),
    ('torque_nominal_to_adaptive', 'torque MSE less by, adaptation alone, %', '84 [M6]'),
    ('tracking_nominal_to_adaptive', 'tracking MSE less by, adaptation alone, %', '20 [M6]'),
)


@dataclass(frozen=True)
class Comparison:
    """Identified base parameters of bodies and rotors beside the true ones.

    rows: (name, expression, identified, deviation, true) each, in the robot's order.
    """

    rows: tuple[tuple[str, str, float, float, float], ...]

    @property
    def deviations(self) -> FloatArray:
        """Identified minus true, in stated standard deviations (b,)."""
        return np.array([(value - true) / std for _, _, value, std, true in self.rows])

    @property
    def coverage_percent(self) -> float:
        """Share of the parameters whose true value lies within two stated deviations."""
        return float(100.0 * np.mean(np.abs(self.deviations) <= 2.0))

    @property
    def median_error_percent(self) -> float:
        """Median of |error| in percent of the true value, of those above a hundredth of the largest of their kind."""
        largest: dict[str, float] = {}
        for name, *_, true in self.rows:
            largest[_kind(name)] = max(abs(true), largest.get(_kind(name), 0.0))
        errors = [
            abs(value / true - 1) for name, _, value, _, true in self.rows if abs(true) > 0.01 * largest[_kind(name)]
        ]
        return float(100.0 * np.median(errors))


def _kind(name: str) -> str:
    return name.rstrip('0123456789').rstrip('_').rstrip('R')


def compare_parameters(identified: Sequence[Mapping[str, Any]], truth: Mapping[str, Any]) -> Comparison:
    """Return the base parameters of an identifier's summary.json beside those of the simulator's truth."""
    base = RobotModel.load(ur5e_urdf()).base_parameters()
    true = dict(zip(base.names, base.regroup(np.array(truth['parameters'])), strict=True))
    return Comparison(
        tuple(
            (row['name'], row['expression'], row['value'], row['std'], float(true[row['name']]))
            for row in identified
            if row['name'] in true and not row['name'].startswith(FRICTION)
        )
    )


def map_nrmse(
    estimate: TorsionalStiffness | StiffnessEstimator,
    model: RobotModel,
    motion: MotionSamples,
    truth: Mapping[str, Any],
) -> FloatArray:
    """Return NRMSE in percent (n,) of the torque of n springs on a motion [M3 eq 15].

    truth: the simulator's document. The range of each joint is the largest deformation of the true robot on the motion,
    in both directions.
    """
    links = model.standard(np.array(truth['parameters'], dtype=float)).links_only().values
    torque = np.abs(model.inverse_dynamics(motion.q, motion.dq, motion.ddq, links)).max(axis=0)
    spring = [np.array(truth['spring_curve'][name]) for name in ('deformation', 'torque')]
    largest = [np.interp(torque[j], values, angles) for j, (angles, values) in enumerate(zip(*spring, strict=True))]
    phi = np.linspace(-1.0, 1.0, 201)[:, None] * largest
    y = np.column_stack([np.interp(phi[:, j], spring[0][j], spring[1][j]) for j in range(model.n)])
    return 100.0 * (1.0 - np.linalg.norm(y - estimate.torque(phi), axis=0) / np.linalg.norm(y, axis=0))


def friction_errors(
    description: DynamicsDescription, alpha: FloatArray, truth: Mapping[str, Any]
) -> dict[str, FloatArray]:
    """Return friction (speeds, n) [N·m] over the true curve's speeds, without load.

    `friction_true`, `friction_identified`, `friction_adapted`; beside them the relative errors (n,) in percent,
    ‖f̂ − f‖/‖f‖, before and after adaptation. The truth is the simulator's curve, mean of both directions, at its
    present wear and temperature.
    """
    omega = np.tile(np.array(truth['friction_curve']['speed'])[:, None], len(truth['joint_names']))
    true = np.array(truth['friction_curve']['torque']).T
    arm, still = Arm.of_joints(description), np.zeros_like(omega)
    found = {'friction_true': true}
    for key, scale in (('identified', None), ('adapted', alpha)):
        forth, back = (
            arm.friction_torque(np.full_like(omega, sign), sign * omega, still, None, scale)
            + arm.terms.friction.torque(still, sign * omega, still, np.full_like(omega, sign))
            for sign in (1.0, -1.0)
        )
        curve = 0.5 * (forth - back)
        found[f'friction_{key}'] = curve
        error = np.linalg.norm(curve - true, axis=0) / np.linalg.norm(true, axis=0)
        found[f'friction_error_{key}_percent'] = 100.0 * error
    return found


def mean_squares(
    time: FloatArray, q: FloatArray, torque: FloatArray, motion: MotionSamples, times: FloatArray, effort: FloatArray
) -> dict[str, FloatArray]:
    """Return the errors of a recorded run over the time of its motion.

    time (N,) s from its start, q (N, n) rad, torque (N, n) N·m: measured; times (P,), effort (P, n): the feedforward,
    linear in between. `tracking_mse` and `torque_mse` (n,): mean squares of the position error and of the torque beside
    the feedforward; `time`, `position`, `position_error`, `torque_error`: their series.
    """
    rows = (time >= 0.0) & (time <= motion.time[-1])
    inside = time[rows]
    feedforward = np.column_stack([np.interp(inside, times, column) for column in effort.T])
    off = q[rows] - CubicHermiteSpline(motion.time, motion.q, motion.dq)(inside)
    missing = torque[rows] - feedforward
    errors = {'position_error': off, 'torque_error': missing}
    squares = {'tracking_mse': np.mean(off**2, axis=0), 'torque_mse': np.mean(missing**2, axis=0)}
    return {'time': inside, 'position': q[rows], **errors, **squares}


def reduction_percent(before: FloatArray, after: FloatArray) -> float:
    """Return the reduction of a mean square (n,) in percent, mean of the joints' ratios."""
    return float(100.0 * (1.0 - np.mean(after / before)))


def headlines(summary: Mapping[str, Any]) -> list[list[Any]]:
    """Return the rows of the table at the end: meaning, figure, published figure."""
    return [[words, summary[key], published] for key, words, published in HEADLINES if key in summary]
