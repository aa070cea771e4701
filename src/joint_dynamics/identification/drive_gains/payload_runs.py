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

"""A payload at a link, the last one by default: ten more columns, some of them known [G II.B, II.D].

Its ten parameters are taken in the frame of the joint that moves the link, about that frame's origin, so that their
columns are those of the link's own inertial parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, finite
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.columns import BaseRows
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.robot.base_parameters import BaseParameters
from joint_dynamics.robot.standard_parameters import link_columns

COUNT = len(INERTIAL)


@dataclass(frozen=True)
class PayloadParameters:
    """Parameters of a payload in the frame of the joint that moves its link, inertia about its origin.

    values (10,) in the order XX XY XZ YY YZ ZZ MX MY MZ M [kg·m², kg·m, kg]; deviation (10,): standard deviations, 0
    for a known one, infinite for one that no sample shows; known (10,) bool; covariance (10, 10), zero where known;
    body: moved to the nearest one that is a body; mass_by_joint: {joint: (mass, deviation) [kg]} by its torque alone,
    where the place is known.
    """

    values: FloatArray
    deviation: FloatArray
    known: BoolArray
    covariance: FloatArray
    body: bool = False
    mass_by_joint: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def mass(self) -> float:
        """Mass M [kg]."""
        return float(self.values[-1])

    @property
    def first_moments(self) -> FloatArray:
        """MX, MY, MZ (3,) [kg·m]."""
        return self.values[6:9]

    def summary(self) -> dict[str, Any]:
        """Return {name: {value, std, known}}, the centre of mass [m] where there is a mass, `M by …` of each joint."""
        entries: dict[str, Any] = {
            name: {'value': float(value), 'std': finite(std), 'known': bool(known)}
            for name, value, std, known in zip(INERTIAL, self.values, self.deviation, self.known, strict=True)
        }
        if self.mass > 0:
            entries['center_of_mass'] = (self.first_moments / self.mass).tolist()
            entries['moved_to_a_body'] = self.body
        for name, (mass, std) in self.mass_by_joint.items():
            entries[f'M by {name}'] = {'value': mass, 'std': std, 'known': False}
        return entries


def known_payload(known: Mapping[str, float] | None) -> tuple[FloatArray, BoolArray]:
    """Return (values (10,), known (10,) bool) of {parameter name: value}, zero where unknown.

    Raises JointDynamicsError for an invalid entry.
    """
    values, mask = np.zeros(COUNT), np.zeros(COUNT, dtype=bool)
    for name, value in (known or {}).items():
        if name not in INERTIAL:
            raise JointDynamicsError(f'payload: expected one of {", ".join(INERTIAL)}, found {name!r}')
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)
        if not number or (name == 'M' and not value > 0):
            raise JointDynamicsError(
                f'payload.{name}: expected {"a mass above 0 kg" if name == "M" else "a finite number"}, found {value!r}'
            )
        values[INERTIAL.index(name)], mask[INERTIAL.index(name)] = value, True
    return values, mask


class LoadedRows(BaseRows):
    """The columns of the base parameters and, behind them, the ten of a payload at a link."""

    def __init__(self, model: RobotModel, observations: Sequence[Observation], link: int, rest_speed: float = 0.0):
        super().__init__(model, observations, rest_speed)
        own = self.base
        columns = np.arange(len(own.standard_names))[link_columns(link)]
        payload = np.eye(len(own.standard_names))[columns]
        self.base = BaseParameters(
            own.standard_names, np.concatenate([own.independent, columns]), np.concatenate([own.matrix, payload])
        )


def payload_problem(problem: Problem, observations: Sequence[Observation], joint: str | None = None) -> Problem:
    """Return a robot's problem on observations with a payload at the link that `joint` moves (None: the last one).

    Its columns: base parameters, ten of the payload, terms. Raise JointDynamicsError for an unknown joint.
    """
    names = problem.model.link_names
    if joint is not None and joint not in names:
        raise JointDynamicsError(f'payload.joint: expected one of {", ".join(names)}, found {joint!r}')
    link = problem.model.n - 1 if joint is None else names.index(joint)
    return Problem(
        problem.model,
        observations,
        problem.terms,
        problem.state,
        rows=LoadedRows(problem.model, observations, link, problem.rest_speed),
    )


def split(problem: Problem) -> Iterator[tuple[Block, FloatArray, FloatArray]]:
    """Yield (block, W, W_L) of a `payload_problem`.

    Rows of the robot's own columns (joints, b, samples), of the payload's (joints, 10, samples).
    """
    where = slice(problem.base.count - COUNT, problem.base.count)
    for block in problem.blocks():
        yield (
            block,
            np.concatenate([block.rows[:, : where.start], block.rows[:, where.stop :]], axis=1),
            block.rows[:, where],
        )
