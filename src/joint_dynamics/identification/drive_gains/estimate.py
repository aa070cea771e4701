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

"""Drive gains of all joints from unloaded and loaded recordings: the system of currents and its solution [G III]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.payload_runs import (
    COUNT,
    PayloadParameters,
    known_payload,
    payload_problem,
    split,
)
from joint_dynamics.identification.drive_gains.total_least_squares import (
    GainSolution,
    mixed,
    total_least_squares,
    weighted_least_squares,
)
from joint_dynamics.identification.observations import FilterPlan, Observation, find_rest, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings.base import per_joint

MAX_DEVIATION_PERCENT = 10.0  # %, largest useful deviation of a gain: data sheets are off by up to 10 % [G III.A]


@dataclass(frozen=True)
class DriveGains:
    """Identified drive gains, robot and payload.

    Attributes
    ----------
    joint_names : tuple of str
        n joints.
    gains, deviation : (n,) array
        drive gain of each motor and its standard deviation, on the joint side [N·m/A].
    prior : (n,) array or None
        the gains given [N·m/A].
    chi, covariance : (b,) and (b, b) array
        the robot's parameters and their covariance.
    payload : PayloadParameters
        in the last joint's frame.
    solution : GainSolution
        all unknowns x = [g; χ; χ_uL].
    by_solver : dict of (n,) array
        the gains by `mixed`, `tls` and `wls` [N·m/A], see `total_least_squares`; `gains` are those by `mixed`.
    """

    joint_names: tuple[str, ...]
    gains: FloatArray
    deviation: FloatArray
    prior: FloatArray | None
    chi: FloatArray
    covariance: FloatArray
    payload: PayloadParameters
    solution: GainSolution
    by_solver: Mapping[str, FloatArray]

    @property
    def by_joint(self) -> dict[str, float]:
        """{joint: gain [N·m/A]}."""
        return dict(zip(self.joint_names, map(float, self.gains), strict=True))

    @property
    def relative_covariance(self) -> FloatArray:
        """Covariance (n, n) of the gains' relative errors; 1 for a gain that no sample shows."""
        n = len(self.gains)
        covariance = self.solution.covariance[:n, :n] / np.outer(self.gains, self.gains)
        unseen = ~np.isfinite(self.deviation) | ~np.isfinite(np.diag(covariance))
        covariance[unseen, :] = covariance[:, unseen] = 0.0
        return covariance + np.diag(unseen.astype(float))

    def summary(self) -> dict[str, Any]:
        """Return {joint: {value, std, prior, change_percent, and the gain by each solver}} for summary.json."""
        entries = {}
        for j, name in enumerate(self.joint_names):
            prior = None if self.prior is None else float(self.prior[j])
            value = float(self.gains[j])
            entries[name] = {
                'value': value,
                'std': finite(self.deviation[j]),
                'prior': prior,
                'change_percent': 100 * (value / prior - 1) if prior else None,
                **{solver: float(gains[j]) for solver, gains in self.by_solver.items()},
            }
        return entries


def coupling_matrix(model: RobotModel) -> FloatArray:
    """Return C (n, n): motor angles = C · joint angles, hence joint torques = Cᵀ · motor torques.

    The identity without coupled drives.
    """
    return np.eye(model.n) if model.coupling is None else model.coupling.matrix


def with_torque(model: RobotModel, recording: Recording, gains: Mapping[str, float]) -> Recording:
    """Return a recording with joint torques Cᵀ diag(g) i [N·m] in place of its currents i [A] [G eq 4, 24]."""
    motor = motor_currents(model, recording, None) * per_joint(
        gains, model.joint_names, f'{recording.name}: drive gain', others=True
    )
    return replace(recording, tau=motor @ coupling_matrix(model), current=None)


def motor_currents(model: RobotModel, recording: Recording, prior: FloatArray | None) -> FloatArray:
    """Return the motor currents (N, n) [A].

    For a recording with torques only: the motor torques divided by the prior gains, or by 1 where there are none.

    Raises
    ------
    JointDynamicsError
        For a recording without torque and current.
    """
    if recording.current is not None:
        return recording.current
    if recording.tau is None:
        raise JointDynamicsError(
            f'{recording.name}: expected torque or current, found only {", ".join(recording.quantities)}'
        )
    motor = np.linalg.solve(coupling_matrix(model).T, recording.tau.T).T
    return motor if prior is None else motor / prior


def poorly_determined_gains(summary: Mapping[str, Mapping[str, Any]]) -> list[Reason]:
    """Return a reason for each gain that is not reliable, from `DriveGains.summary`."""
    return [
        Reason(
            'drive_gain_deviation',
            f'the loaded recordings do not determine the drive gain of {name}: deviation '
            + ('infinite' if gain['std'] is None else f'{100 * gain["std"] / abs(gain["value"]):.3g} %')
            + f', expected at most {MAX_DEVIATION_PERCENT:g} %',
        )
        for name, gain in summary.items()
        if gain['std'] is None or 100 * gain['std'] > MAX_DEVIATION_PERCENT * abs(gain['value'])
    ]


class CurrentSystem:
    """Rows [i_m, −W, −W_uL | W_kL χ_kL], one per motor and kept sample [G eq 12, 15].

    Parameters
    ----------
    robot, loaded
        of the unloaded and of the loaded observations, whose `tau` are motor currents [A].
    known
        the payload's known parameters, {'M': kg, …}.
    rest_speed
        rad/s, below which a motor rests; 0: never.

    Raises
    ------
    JointDynamicsError
        Without a known parameter of the payload that is not zero.
    """

    def __init__(self, robot: Problem, loaded: Problem, known: Mapping[str, float], rest_speed: float):
        self.robot, self.loaded = robot, loaded
        self.values, self.known = known_payload(known)
        if not self.known.any() or not self.values[self.known].any():
            raise JointDynamicsError(
                "drive gains: expected the payload's weighed mass or further known parameters, found only zeros"
            )
        self.matrix = coupling_matrix(robot.model)
        self.decouple = np.linalg.inv(self.matrix).T
        self.coupled = robot.model.coupling is not None
        self._rests = [
            find_rest(replace(part, dtheta=part.dtheta @ self.matrix.T), rest_speed)
            for part in (*robot.observations, *loaded.observations)
            if rest_speed > 0
        ]

    @property
    def optional(self) -> FloatArray:
        """Ridge on each unknown (n + b + u,), as of `solve`."""
        return np.concatenate([np.zeros(len(self.matrix)), self.robot.optional, np.zeros(int((~self.known).sum()))])

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks."""
        unloaded = (
            (block, block.rows, np.zeros((len(self.matrix), COUNT, len(block.tau.T)))) for block in self.robot.blocks()
        )
        for start, parts in ((0, unloaded), (len(self.robot.observations), split(self.loaded))):
            for block, W, W_L in parts:
                W, known = np.concatenate([W, W_L[:, ~self.known]], axis=1), np.einsum('jps,p->js', W_L, self.values)
                if self.coupled:
                    W, known = np.einsum('mj,jbs->mbs', self.decouple, W), self.decouple @ known
                index, resting, scale = start + block.observation, None, None
                if self._rests:
                    rest = self._rests[index]
                    resting, scale = rest.resting[:, block.kept], rest.scale[:, block.kept]
                rows = np.concatenate([block.tau[:, None], -W], axis=1)
                yield replace(block, rows=rows, tau=known, observation=index, resting=resting, scale=scale)


def current_observations(
    model: RobotModel, recordings: Sequence[Recording], plan: FilterPlan, prior: FloatArray | None
) -> list[Observation]:
    """Return the filtered recordings, with motor currents in place of torques."""
    return [
        observe(replace(recording, tau=motor_currents(model, recording, prior), current=None), plan)
        for recording in recordings
    ]


def identify_drive_gains(
    model: RobotModel,
    recordings: Sequence[Recording],
    loaded: Sequence[Recording],
    known: Mapping[str, float],
    plan: FilterPlan,
    *,
    prior: Mapping[str, float] | None = None,
    terms: Sequence[Any] = (),
    rest_speed: float = 0.01,
) -> DriveGains:
    """Identify drive gains, robot and payload from currents of the unloaded and the loaded robot.

    Parameters
    ----------
    recordings, loaded
        of the unloaded and the loaded robot, joints in the model's order, with `current` [A] (of motors, where drives
        are coupled), or with `tau` [N·m]: the gains then replace those of `prior` (without prior: factors on the
        torque).
    known
        the payload's known parameters in the last joint's frame, such as {'M': 4.59}.
    plan
        filter of the recordings.
    prior
        {joint: gain [N·m/A]}.
    terms
        further terms; those of a solution (load, hysteresis) are ignored here.
    rest_speed
        rad/s, below which a motor rests.

    Raises
    ------
    JointDynamicsError
        Without loaded recordings or a known parameter, for recordings partly with currents and partly with torques, and
        where the motion does not separate gains and payload.
    """
    if not loaded:
        raise JointDynamicsError('drive gains: expected at least one recording of the loaded robot, found none')
    if len({recording.current is not None for recording in (*recordings, *loaded)}) > 1:
        raise JointDynamicsError('drive gains: expected currents in all recordings or in none, found both')
    before = None if prior is None else per_joint(prior, model.joint_names, 'drive_gains', others=True)
    # Terms of a load torque or of a share of Coulomb friction need torques, hence gains: they follow later.
    unloaded, carrying = (current_observations(model, group, plan, before) for group in (recordings, loaded))
    robot = Problem(model, unloaded, terms).without_state()
    system = CurrentSystem(robot, payload_problem(robot, carrying), known, rest_speed)
    triangles = triangulate(system.blocks())
    start = weighted_least_squares(triangles, system.optional)
    best = mixed(triangles, system.blocks, system.optional, start)
    n, b = model.n, robot.columns
    by_solver = {'mixed': best.x, 'tls': total_least_squares(triangles, start), 'wls': start.chi}
    std = np.where(np.isfinite(best.inflation), np.sqrt(np.maximum(np.diag(best.covariance), 0.0)), np.inf)
    values, payload_std = system.values.copy(), np.zeros(COUNT)
    values[~system.known], payload_std[~system.known] = best.x[n + b :], std[n + b :]
    spread = np.zeros((COUNT, COUNT))
    spread[np.ix_(~system.known, ~system.known)] = best.covariance[n + b :, n + b :]
    return DriveGains(
        model.joint_names,
        best.x[:n],
        std[:n],
        before,
        best.x[n : n + b],
        best.covariance[n : n + b, n : n + b],
        PayloadParameters(values, payload_std, system.known, spread),
        best,
        {name: x[:n] for name, x in by_solver.items()},
    )
