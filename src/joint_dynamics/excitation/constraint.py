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

"""Limits of a motion as constraints.

A constraint is a slack, as a fraction of the limit, at least zero where the motion keeps the limit, with its gradient
for the search. A margin is the smallest slack of a whole motion. For position, speed and acceleration it is proved
(`proof`); every other limit is checked at 1 kHz, and its margin is reduced by a reserve for the time between samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.proof import samples
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

CHECK_RATE = 1000.0  # Hz
MAX_CHECKED = 3600.0  # s, longest motion that is checked, without repetitions
# Share of a limit. A quantity that oscillates at f Hz peaks between samples by at most (π f / CHECK_RATE)² / 2 of its
# amplitude: 0.1 % at 14 Hz.
RESERVE = 1e-3
LIMIT_TOLERANCE = 1e-6  # share of a limit beyond which a motion breaks it: proofs and files are less precise
EXAMINED = 20_000  # samples searched for the one that a refusal names
BLOCK = 1000  # of these, evaluated at once


class Constraint(ABC):
    """One kind of limit.

    Attributes
    ----------
    kind
        its name among the margins.
    scale
        margin, as a fraction of the limit, per smallest slack.
    of_joints
        whether the slack has one row per joint.
    reserve
        slack that a checked motion keeps at its samples.

    """

    kind: str
    scale: float = 1.0
    of_joints: bool = False
    reserve: float = RESERVE

    @abstractmethod
    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (limits, samples), negative where the limit is broken."""

    @abstractmethod
    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack; weight (limits, samples), called after `slack` of the same motion."""

    def smallest(self, motion: RobotMotion) -> float:
        """Return the smallest slack of the motion, inf where the limit applies to nothing."""
        return float(self.slack(motion).min(initial=np.inf))

    def margin(self, model: RobotModel, trajectory: Trajectory) -> float:
        """Return the margin of a whole motion, as a fraction of the limit; NaN where the motion is not finite."""
        least = np.min([self.smallest(motion) for motion in checked_motions(model, trajectory)])
        return self.scale * (float(least) - self.reserve)


def checked_motions(model: RobotModel, trajectory: Trajectory) -> Iterator[RobotMotion]:
    """Yield a motion in blocks of samples at 1 kHz or more, both sides of every knot included.

    Raises
    ------
    JointDynamicsError
        For a motion of more than an hour.
    """
    if not trajectory.duration <= MAX_CHECKED:
        raise JointDynamicsError(
            f'trajectory: expected at most {MAX_CHECKED:g} s without repetitions, found {trajectory.duration:.6g} s'
        )
    knots = trajectory.knots
    count = np.maximum(1, np.ceil(np.diff(knots) * CHECK_RATE)).astype(int)
    for part in samples(knots, count):
        yield RobotMotion(model, *trajectory.one_sided(part.time, part.inside))


def motion_margins(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> dict[str, float]:
    """Return per kind of limit the margin of a motion, as a fraction of the limit; negative: it may be broken."""
    once = trajectory.without_repetition()
    return {constraint.kind: constraint.margin(model, once) for constraint in constraints}


def within_limits(model: RobotModel, trajectory: Trajectory, constraints: Sequence[Constraint]) -> bool:
    """Whether a motion keeps every limit exactly; stops at the first that it does not."""
    once = trajectory.without_repetition()
    return all(constraint.margin(model, once) >= 0.0 for constraint in constraints)


def excess(model: RobotModel, trajectory: Trajectory, constraint: Constraint, margin: float) -> str:
    """Return in words by how much a limit is exceeded, and, where it is one of joints, by which of them and when."""
    words = f'{constraint.kind} exceeded by {-100 * margin:.4g} % of its limit'
    if not constraint.of_joints:
        return words
    times = np.linspace(0.0, trajectory.duration, EXAMINED)
    blocks = [times[k : k + BLOCK] for k in range(0, EXAMINED, BLOCK)]
    slack = np.concatenate([constraint.slack(RobotMotion(model, *trajectory.motion(t))) for t in blocks], axis=1)
    joint, sample = divmod(int(np.argmin(slack)), EXAMINED)
    return f'{words} by {model.joint_names[joint]} at {times[sample]:.4g} s'
