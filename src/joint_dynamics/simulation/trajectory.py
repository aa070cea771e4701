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

"""Commands, samples, and trajectories as ros2_control's joint trajectory controller plays them.

Between two points: linear where only positions are given, cubic with velocities, quintic with accelerations as well;
effort is always linear. After the last point the position is held at rest, with the last effort.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.polynomial import PiecewisePolynomial
from joint_dynamics.simulation.engine import PID, TORQUE


class Reference(NamedTuple):
    """Reference of k instants, arrays (k, n): q [rad], dq [rad/s], ddq [rad/s²], effort [N·m]."""

    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    effort: FloatArray


@dataclass(frozen=True)
class TrajectoryPoints:
    """P points of n joints: `time` (P,) s from the start, increasing; `q` (P, n).

    `dq`, `ddq`, `effort` (P, n) or None where not given. Lists are accepted as arrays.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit, values that are not finite, and time that does not increase.
    """

    time: FloatArray
    q: FloatArray
    dq: FloatArray | None = None
    ddq: FloatArray | None = None
    effort: FloatArray | None = None

    def __post_init__(self) -> None:
        time, q = np.asarray(self.time, dtype=float), np.atleast_2d(np.asarray(self.q, dtype=float))
        if time.ndim != 1 or time.size < 1 or q.shape[0] != time.size:
            raise JointDynamicsError(
                f'trajectory: expected one row of positions per point, found time {time.shape} and positions {q.shape}'
            )
        if not np.isfinite(time).all() or time[0] < 0.0 or (np.diff(time) <= 0.0).any():
            raise JointDynamicsError(
                f'trajectory: expected times >= 0 that increase from point to point, found {str(time.tolist())[:80]}'
            )
        object.__setattr__(self, 'time', time)
        for name in ('q', 'dq', 'ddq', 'effort'):
            value = getattr(self, name)
            if value is None:
                continue
            array = np.atleast_2d(np.asarray(value, dtype=float))
            if array.shape != q.shape:
                raise JointDynamicsError(
                    f'trajectory: expected {name} of shape {q.shape} as the positions, found {array.shape}'
                )
            if not np.isfinite(array).all():
                raise JointDynamicsError(f'trajectory: expected finite {name}, found {array[~np.isfinite(array)][0]}')
            object.__setattr__(self, name, array)
        if self.ddq is not None and self.dq is None:
            raise JointDynamicsError('trajectory: expected velocities where accelerations are given, found none')

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.time[-1])

    def select(self, columns: Sequence[int]) -> TrajectoryPoints:
        """Return the trajectory with these joints, by index, in this order."""
        arrays = {
            name: getattr(self, name)[:, list(columns)]
            for name in ('q', 'dq', 'ddq', 'effort')
            if getattr(self, name) is not None
        }
        return TrajectoryPoints(self.time, **arrays)

    def delayed(self, delay: float) -> TrajectoryPoints:
        """Return the trajectory with all its points later by `delay` >= 0 [s]."""
        return replace(self, time=self.time + delay) if delay > 0.0 else self

    def from_here(self, q: FloatArray, dq: FloatArray) -> TrajectoryPoints:
        """Return the trajectory with the robot's state as an additional point at time 0, with the first effort.

        A trajectory that has a point at time 0 already is returned unchanged, as in the joint trajectory controller.
        q, dq: (n,) [rad, rad/s].
        """
        if self.time[0] <= 0.0:
            return self
        start = {
            'dq': dq,
            'ddq': np.zeros_like(q),
            'effort': np.zeros_like(q) if self.effort is None else self.effort[0],
        }
        arrays = {
            name: np.vstack([start[name], getattr(self, name)]) for name in start if getattr(self, name) is not None
        }
        return TrajectoryPoints(np.concatenate([[0.0], self.time]), np.vstack([q, self.q]), **arrays)

    @cached_property
    def _pieces(self) -> PiecewisePolynomial:
        given = [values for values in (self.q, self.dq, self.ddq) if values is not None]
        return PiecewisePolynomial.hermite(self.time, given)

    def sample(self, times: ArrayLike) -> Reference:
        """Return the reference at `times` (k,) [s]; before the first point and after the last it rests there."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        effort = np.zeros((t.size, self.n))
        if self.effort is not None:
            effort = np.column_stack([np.interp(t, self.time, row) for row in self.effort.T])
        if self.time.size == 1:
            zero = np.zeros((t.size, self.n))
            return Reference(np.repeat(self.q, t.size, axis=0), zero, zero, effort)
        q, dq, ddq = self._pieces.derivatives(np.clip(t, self.time[0], self.time[-1]), 3).transpose(0, 2, 1)
        moving = ((t >= self.time[0]) & (t < self.time[-1]))[:, None]
        return Reference(q, np.where(moving, dq, 0.0), np.where(moving, ddq, 0.0), effort)


@dataclass(frozen=True)
class Command:
    """Commands of k ticks; build with `track` (joint PID about a reference, with feedforward) or `torque` (that alone).

    `q` [rad], `dq` [rad/s], `effort` [N·m of motor torque on the joint side], each (k, n); `mode` of `engine`.
    """

    mode: int
    q: FloatArray
    dq: FloatArray
    effort: FloatArray

    @classmethod
    def track(cls, q: ArrayLike, dq: ArrayLike | None = None, effort: ArrayLike | None = None) -> Command:
        """Return the command to follow `q` (n,) or (k, n) [rad] at speeds `dq` [rad/s] with feedforward `effort` [N·m].

        `dq` and `effort` default to 0.
        """
        position = np.atleast_2d(np.asarray(q, dtype=float))
        zero = np.zeros_like(position)
        return cls(
            PID,
            position,
            zero if dq is None else np.atleast_2d(np.asarray(dq, dtype=float)),
            zero if effort is None else np.atleast_2d(np.asarray(effort, dtype=float)),
        )

    @classmethod
    def torque(cls, effort: ArrayLike) -> Command:
        """Return the command of motor torques `effort` (n,) or (k, n), N·m.

        Then only friction holds the arm.
        """
        value = np.atleast_2d(np.asarray(effort, dtype=float))
        zero = np.zeros_like(value)
        return cls(TORQUE, zero, zero, value)

    def checked(self, n: int) -> Command:
        """Return the command with contiguous arrays.

        Raises JointDynamicsError unless it is finite and for `n` joints.
        """
        arrays = [np.ascontiguousarray(array, dtype=float) for array in (self.q, self.dq, self.effort)]
        if any(array.ndim != 2 or array.shape != arrays[0].shape or array.shape[1] != n for array in arrays):
            raise JointDynamicsError(
                f'command: expected arrays (ticks, {n}), all alike, found'
                f' {", ".join(str(array.shape) for array in arrays)}'
            )
        if not all(np.isfinite(array).all() for array in arrays):
            raise JointDynamicsError('command: expected finite numbers, found others')
        return Command(self.mode, *arrays)


class Samples:
    """Measurements and truth of k ticks, each (k, n) in the robot's joint order, at the start of the tick.

    Measured: `q`, `dq` (link side), `theta`, `dtheta` (motor side, reflected) [rad, rad/s], `current` [A], `effort`
    [N·m]: current times the nominal drive gain, `temperature` [°C]. Truth: `true_q`, `true_dq`, `true_theta`,
    `true_dtheta`, `transmission_torque` τ_J, `friction` f [N·m], `hysteresis` H, `gear_temperature` [°C]. `command`:
    torque commanded at that tick [N·m]. `time` (k,) [s].
    """

    q: FloatArray
    dq: FloatArray
    theta: FloatArray
    dtheta: FloatArray
    current: FloatArray
    temperature: FloatArray
    true_q: FloatArray
    true_dq: FloatArray
    true_theta: FloatArray
    true_dtheta: FloatArray
    transmission_torque: FloatArray
    friction: FloatArray
    hysteresis: FloatArray
    gear_temperature: FloatArray
    command: FloatArray
    external_torque: FloatArray

    def __init__(self, joint_names: tuple[str, ...], time: FloatArray, nominal_gain: FloatArray, rows: FloatArray):
        self.joint_names, self.time, self._gain = joint_names, time, nominal_gain
        self._rows = rows
        for index, name in enumerate(ROWS):
            setattr(self, name, rows[:, index])

    @property
    def effort(self) -> FloatArray:
        """Motor torque as the drive reports it (k, n), N·m: measured current times the nominal gain."""
        return self.current * self._gain

    @classmethod
    def joined(cls, blocks: Sequence[Samples]) -> Samples:
        """Return `blocks` of one robot, one after the other, as one."""
        first = blocks[0]
        time, rows = (np.concatenate([getattr(block, name) for block in blocks]) for name in ('time', '_rows'))
        return cls(first.joint_names, time, first._gain, rows)

    def every(self, count: int) -> Samples:
        """Return every `count`-th sample, from the first on."""
        return Samples(self.joint_names, self.time[::count], self._gain, self._rows[::count])

    def __len__(self) -> int:
        return len(self.time)


#: Rows of the output of a tick: readings of the sensors (noise is added later), then the truth.
ROWS = tuple(Samples.__annotations__)
