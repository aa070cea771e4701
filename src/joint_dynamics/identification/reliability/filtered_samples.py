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

"""The samples by which explanations of the recordings are compared: filtered, at the kept instants, end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.regression.least_squares import PRIOR_RATIO
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.recording.conversions import Corrections

MOTION = {'q': 0, 'dq': 1, 'dtheta': 1, 'ddq': 2, 'ddtheta': 2}
"""Quantities of the motion, and the power of 1/time that each goes with."""


@dataclass(frozen=True)
class FilteredSamples:
    """Filtered samples of all recordings, end to end; arrays (joints, samples).

    q, dq, ddq: link side; dtheta, ddtheta: motor side; sign: of the motor speed, filtered; tau [N·m]; weight: of each
    row, 1 in motion, less at rest; part (samples,): index of the recording; extra: columns of further terms, each
    ({joint: factor}, (samples,)); timed: whether measured speeds of all recordings confirm their time stamps.
    """

    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    dtheta: FloatArray
    ddtheta: FloatArray
    sign: FloatArray
    tau: FloatArray
    weight: FloatArray
    part: IntArray
    extra: Sequence[tuple[Mapping[int, float], FloatArray]] = ()
    timed: bool = False

    def corrected(self, mend: Corrections, joints: Sequence[str]) -> FilteredSamples:
        """Return the samples of the recordings as corrected, without a delay: that needs whole signals.

        Rows keep their weights but where a joint's position and torque move together.
        """
        order, scale = mend.torque_columns(joints)
        tau = self.tau[order] * scale[:, None]
        if not mend.moves_positions:
            return replace(self, tau=tau)
        source, factor, offset = mend.position_columns(joints)
        rate = 1.0 / mend.time_scale
        scaled = {name: getattr(self, name)[source] * (factor[:, None] * rate**power) for name, power in MOTION.items()}
        scaled['q'] = scaled['q'] + offset[:, None]
        return replace(
            self,
            **scaled,
            sign=self.sign[source] * np.sign(factor)[:, None],
            tau=tau,
            weight=self.weight[order] if np.array_equal(order, source) else self.weight,
        )

    def own_rows(self, joint: int) -> FloatArray:
        """Return what only one joint feels, by rotor inertia, viscous and Coulomb friction and offset, (4, samples)."""
        sign = self.sign[joint]
        return np.stack([self.ddtheta[joint], self.dtheta[joint], sign, np.ones_like(sign)])

    def backwards(self) -> FilteredSamples:
        """Return the samples with time running the other way: speeds change sign, accelerations do not."""
        return replace(self, dq=-self.dq, dtheta=-self.dtheta, sign=-self.sign)

    def mirrored(self) -> FloatArray:
        """Return the torques of each recording in the opposite order of time, (joints, samples)."""
        tau = self.tau.copy()
        for index in np.unique(self.part):
            where = self.part == index
            tau[:, where] = tau[:, where][:, ::-1]
        return tau


def samples_of(problem: Problem) -> FilteredSamples:
    """Return the kept samples of a problem's observations."""
    signed = ('q', 'dq', 'ddq', 'dtheta', 'ddtheta', 'tau', 'sign')
    arrays: dict[str, list[FloatArray]] = {name: [] for name in (*signed, 'weight')}
    part = []
    for index, observation in enumerate(problem.observations):
        whole = np.concatenate(
            [*(getattr(observation, name) for name in signed[:-1]), np.sign(observation.dtheta)], axis=1
        )
        for name, values in zip(signed, np.split(observation.at_kept(whole).T, len(signed)), strict=True):
            arrays[name].append(values)
        arrays['weight'].append(row_weights(problem, index))
        part.append(np.full(len(observation.kept), index))
    joined: dict[str, Any] = {name: np.concatenate(values, axis=1) for name, values in arrays.items()}
    extra: list[tuple[dict[int, float], FloatArray]] = []
    if problem.joints_of_extra:
        columns = np.concatenate([problem.extra(index) for index in range(len(problem.observations))], axis=1)
        extra = list(zip(problem.joints_of_extra, columns, strict=True))
    return FilteredSamples(**joined, part=np.concatenate(part), extra=extra)


def row_weights(problem: Problem, index: int) -> FloatArray:
    """Return the weight of each row of one observation, (joints, kept): 0 without a measured torque."""
    observation = problem.observations[index]
    measured = np.repeat(observation.measured[:, None].astype(float), len(observation.kept), axis=1)
    if problem.rest_speed <= 0:
        return measured
    rest = problem.rest(index)
    return measured * np.where(rest.resting, rest.scale / PRIOR_RATIO, 1.0)
