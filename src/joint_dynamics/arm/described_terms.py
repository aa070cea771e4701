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

"""The further terms of a description with their values.

Springs, counterbalances, and friction that the friction model does not include.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arm.sample import TermConstants, term_torques
from joint_dynamics.arm.terms import Term, records_of
from joint_dynamics.arm.validity import Validity
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.joint.constants import Record
from joint_dynamics.robot import JointTree


@compiled
def term_torques_along(
    terms: Any,
    shares: tuple[FloatArray, float],
    q: FloatArray,
    state: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """`term_torques` of a recording, (N, n) each."""
    omega, s, load, temperature = state
    for i in range(len(q)):
        term_torques(terms, shares, q[i], (omega[i], s[i], load[i], temperature[i]), out[i])


@dataclass(frozen=True)
class DescribedTerms:
    """Terms with their values; an empty object is false.

    Attributes
    ----------
    entries
        (joint index, term, values (c,)) each.
    validity
        range outside which friction terms are held constant; None: everywhere.
    deviations
        standard deviations (c,) of the values, entry by entry; empty: not known.
    tree
        of the robot, where some terms are along joints that follow others: these count after the n (`link_names`).
    """

    entries: tuple[tuple[int, Term, FloatArray], ...] = ()
    validity: Validity | None = None
    deviations: tuple[FloatArray, ...] = ()
    tree: JointTree | None = None

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def friction(self) -> DescribedTerms:
        """The friction terms."""
        return replace(self, entries=tuple(entry for entry in self.entries if entry[1].is_friction), deviations=())

    def names(self, joint_names: Sequence[str]) -> list[str]:
        """Return a readable name of each term."""
        return [f'joints.{joint_names[j]}.terms: {term.kind} {term.document[term.kind]}' for j, term, _ in self.entries]

    def torque(
        self,
        q: FloatArray,
        speed: FloatArray,
        load: FloatArray,
        H: FloatArray | None = None,
        temperature: FloatArray | None = None,
    ) -> FloatArray:
        """Return the torque of all terms, (…, n) [N·m].

        Parameters
        ----------
        q
            link angle (…, n) [rad].
        speed
            of the motor (…, n) [rad/s].
        load
            τ_J (…, n) [N·m].
        H
            hysteresis (…, n); None: the sign of the speed.
        temperature
            (…, n) [°C]; None, or NaN of a joint: T0.

        """
        total = np.zeros(q.shape)
        if not self.entries:
            return total
        H = np.sign(speed) if H is None else H
        temperature = np.full(q.shape, np.nan) if temperature is None else temperature
        q, *state = (
            np.ascontiguousarray(np.broadcast_to(values, total.shape)).reshape(-1, q.shape[-1])
            for values in (q, speed, H, load, temperature)
        )
        term_torques_along(self.records, (np.ones(q.shape[-1]), 1.0), q, tuple(state), total.reshape(q.shape))
        return total

    @cached_property
    def records(self) -> Record:
        """The terms as the compiled laws take them, (k,) of `sample.TermConstants`, bounded to their range."""
        records = [np.zeros(0, TermConstants.dtype)]
        for j, term, values in self.entries:
            own = records_of(term.columns)
            own['value'], own['friction'] = values, term.is_friction
            ratios, offset = ({j: 1.0}, 0.0) if self.tree is None else self.tree.followed(j)
            own['leaders'], own['offset'] = len(ratios), offset
            for i, (leader, ratio) in enumerate(ratios.items()):
                own['leader'][:, i], own['ratio'][:, i] = leader, ratio
            if self.validity is not None and term.is_friction:
                own['law']['speed_limit'], own['law']['load_limit'] = self.validity.speed[j], self.validity.load[j]
                own['law']['T_min'] = np.maximum(own['law']['T_min'], self.validity.low[j])
                own['law']['T_max'] = np.minimum(own['law']['T_max'], self.validity.high[j])
            records.append(own)
        return np.concatenate(records)
