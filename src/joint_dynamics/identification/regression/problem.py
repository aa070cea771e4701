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

"""The linear system Y = W χ + ρ of a robot, computed block by block so that memory does not grow with the recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arm import Term, check_place
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.observations import REST_SPEED, Observation, Rest
from joint_dynamics.identification.regression.columns import (
    BaseRows,
    FrictionState,
    columns_at_full_rate,
    columns_at_kept_samples,
    slips_of,
)
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.robot import RobotModel


class Problem:
    """Y = W χ + ρ over several observations of one robot, with columns of base parameters and additional terms.

    Attributes
    ----------
    names: of the b columns; base: the robot's BaseParameters, whose columns come first; terms: the additional ones;
    state: what friction columns take from the solution before.

    Parameters
    ----------
    rest_speed
        speed [rad/s or m/s] below which joints rest; 0: rest is not looked at.
    rows
        columns of the base parameters that are there already, with their own `rest_speed`.
    """

    def __init__(
        self,
        model: RobotModel,
        observations: Sequence[Observation],
        terms: Sequence[Term] = (),
        state: FrictionState | None = None,
        rest_speed: float = 0.0,
        rows: BaseRows | None = None,
    ):
        self.model = model
        self.terms = list(terms)
        for term in self.terms:
            check_place(term, model)
        self.state = state or FrictionState()
        self.base_rows = rows or BaseRows(model, observations, rest_speed)
        self.observations = self.base_rows.observations
        self.base = self.base_rows.base
        self.names = self.base.names + [name for term in self.terms for name in term.names]
        self._extra: dict[int, FloatArray] = {}
        self._torque: dict[int, FloatArray] = {}

    @property
    def rest_speed(self) -> float:
        """Speed below which joints rest, see `rest`; 0: rest is not looked at."""
        return self.base_rows.rest_speed

    @property
    def lifts(self) -> list[str]:
        """Joints whose weight is the same in every posture: it resembles an offset, and the load is not determined."""
        return [name for j, name in enumerate(self.model.joint_names) if f'offR_{j + 1}' in self.base.names]

    @property
    def still_joints(self) -> list[str]:
        """Joints that move in no recording: below `REST_SPEED` at every sample."""
        fastest = np.max([np.abs(observation.dtheta).max(axis=0) for observation in self.observations], axis=0)
        return [name for name, speed in zip(self.model.joint_names, fastest, strict=True) if speed < REST_SPEED]

    @property
    def columns(self) -> int:
        """Number of parameters b."""
        return len(self.names)

    @property
    def samples(self) -> list[int]:
        """Kept samples of every observation."""
        return [len(observation.kept) for observation in self.observations]

    def joint_of(self, name: str) -> str:
        """Return the joint of a parameter: of a base parameter K_i the i-th, of a term its own."""
        for term in self.terms:
            if name in term.names:
                return term.joint
        number = name.rpartition('_')[2]
        links = self.model.link_names
        return links[int(number) - 1] if number.isdigit() and int(number) <= len(links) else ''

    @property
    def optional(self) -> FloatArray:
        """Ridge of each column, (b,): 0 for the base parameters, the terms' `ridge`."""
        return np.array([0.0] * self.base.count + [term.ridge for term in self.terms for _ in term.names])

    @property
    def selected(self) -> BoolArray:
        """Which columns were selected on held-out data, (b,) bool; they do not count when the excitation is judged."""
        return np.array([False] * self.base.count + [term.selected for term in self.terms for _ in term.names])

    @property
    def joints_of_extra(self) -> list[dict[int, float]]:
        """The joints that every additional column acts on, {index: factor}: 1 but where its joint follows others."""
        tree, links = self.model.chain.tree, self.model.link_names
        return [tree.followed(links.index(term.joint))[0] for term in self.terms for _ in term.names]

    def on(self, observations: Sequence[Observation]) -> Problem:
        """Return the same columns on other observations."""
        return Problem(self.model, observations, self.terms, self.state, self.rest_speed)

    def with_terms(self, terms: Sequence[Term], state: FrictionState | None = None) -> Problem:
        """Return the same observations with other terms or another state; the base columns are shared."""
        other = Problem(self.model, self.observations, terms, state or self.state, rows=self.base_rows)
        other._torque = self._torque
        return other

    def without_state(self) -> Problem:
        """Return the same with only those terms that need no state, for a first solution."""
        plain = [term for term in self.terms if 'load' not in term.needs and term.width is None]
        return self if len(plain) == len(self.terms) else self.with_terms(plain)

    def with_torque(self, torque: Sequence[FloatArray]) -> Problem:
        """Return the same problem for other torques.

        One array (samples, joints) [N·m] per observation, at the full rate.
        """
        other = self.with_terms(self.terms)
        other._extra = self._extra
        other._torque = {
            index: part.at_kept(values).T
            for index, (part, values) in enumerate(zip(self.observations, torque, strict=True))
        }
        return other

    def rest(self, index: int) -> Rest:
        """Return where the joints of one observation rest."""
        return self.base_rows.rest(index)

    def extra_columns(self, observation: Observation, part: slice, slips: dict[float, FloatArray]) -> FloatArray:
        """Additional columns of consecutive samples at the full rate, (columns, samples); slips: see `slips`."""
        return columns_at_full_rate(self.model, observation, part, self.terms, self.state, slips)

    def slips(self, observation: Observation) -> dict[float, FloatArray]:
        """Return {width: H (samples, n)} for all widths that terms or the state ask for."""
        return slips_of(observation, self.terms, self.state, self.model.joint_names)

    def extra(self, index: int) -> FloatArray:
        """Additional columns of one observation at its kept samples, (columns, kept)."""
        if index not in self._extra:
            self._extra[index] = columns_at_kept_samples(self.model, self.observations[index], self.terms, self.state)
        return self._extra[index]

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in order: base columns, then those of the terms, in the rows of their joints."""
        where = self.joints_of_extra
        for block in self.base_rows.blocks():
            if where:
                n, b, samples = block.rows.shape
                rows = np.zeros((n, b + len(where), samples))
                rows[:, :b] = block.rows
                for column, (joints, values) in enumerate(
                    zip(where, self.extra(block.observation)[:, block.kept], strict=True)
                ):
                    for j, ratio in joints.items():
                        rows[j, b + column] = ratio * values
                block = replace(block, rows=rows)
            if self._torque:
                block = replace(block, tau=self._torque[block.observation][:, block.kept])
            yield block.of_joints(self.observations[block.observation].measured)
