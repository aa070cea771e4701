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

"""Limits of the joints, as stated by the URDF or the MDH table; and units, which depend on whether a joint slides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

MAX_JOINTS = 24
"""Most joints of one arm.

The base parameters of a chain are found from a matrix that grows with the cube of this number, in time with its fourth
power: 5 s and 0.5 GB at 24.
"""


def check_count(count: int, where: str) -> None:
    """Raise JointDynamicsError for more joints than MAX_JOINTS."""
    if count > MAX_JOINTS:
        raise JointDynamicsError(
            f'{where}: expected at most {MAX_JOINTS} joints that move (time grows with their fourth power, memory with '
            f'the third), found {count}: name those of one arm in robot.joints (of a URDF; the others are locked)'
        )


@dataclass(frozen=True)
class JointLimits:
    """Limits of n joints, each an array (n,), infinite where unknown.

    `lower`, `upper` [rad or m], `velocity` [rad/s or m/s] and `effort` [N·m or N], both as magnitudes.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    def of(self, joints: Sequence[bool]) -> JointLimits:
        """Return the limits of some of the joints, selected by (n,) bool."""
        chosen = np.array(joints, dtype=bool)
        return JointLimits(self.lower[chosen], self.upper[chosen], self.velocity[chosen], self.effort[chosen])

    def write_to(self, model: pinocchio.Model, moving: Sequence[bool]) -> None:
        """Write the limits into a pinocchio model of N joints, `moving` (N,) which of its joints they are of."""
        for name, values, none in (
            ('lowerPositionLimit', self.lower, -np.inf),
            ('upperPositionLimit', self.upper, np.inf),
            ('velocityLimit', self.velocity, np.inf),
            ('effortLimit', self.effort, np.inf),
        ):
            every = np.full(len(moving), none)
            every[np.array(moving, dtype=bool)] = values
            setattr(model, name, every)

    @classmethod
    def unlimited(cls, n: int) -> JointLimits:
        """Return limits that allow everything, for `n` joints."""
        inf = np.full(n, np.inf)
        return cls(-inf, inf.copy(), inf.copy(), inf.copy())


#: Unit of a quantity of a sliding joint, by that of a turning one.
SLIDING = {
    'mrad': 'mm',
    'rad': 'm',
    'rad/s': 'm/s',
    'rad/s²': 'm/s²',
    'N·m': 'N',
    'N·m/rad': 'N/m',
    'N·m·s/rad': 'N·s/m',
    'kg·m²': 'kg',
}


def joint_unit(turning: str, slides: bool) -> str:
    """Return the unit of a joint's quantity; turning: its unit where the joint turns, a key of `SLIDING`."""
    return SLIDING[turning] if slides else turning


def column_unit(turning: str, sliding: Iterable[bool]) -> str:
    """Return the unit that heads a column with a row per joint: both units where some joints slide and others turn."""
    units = {joint_unit(turning, bool(slides)) for slides in sliding}
    return ' or '.join(sorted(units, key=lambda unit: unit != turning))
