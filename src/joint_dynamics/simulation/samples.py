"""What goes into a tick and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation.engine import PID, ROWS, TORQUE


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
        """Return the command to follow `q` (n,) or (k, n) at speeds `dq` (default 0) with feedforward `effort`.

        Default 0.
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

        Nothing but friction and springs holds the arm then.
        """
        value = np.atleast_2d(np.asarray(effort, dtype=float))
        zero = np.zeros_like(value)
        return cls(TORQUE, zero, zero, value)

    def checked(self, n: int) -> Command:
        """Return the command with contiguous arrays.

        Raise JointDynamicsError unless it is finite and for `n` joints.
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
    """What k ticks showed, each quantity (k, n) in the robot's joint order, at the start of the tick.

    Measured: `q`, `dq` (link side), `theta`, `dtheta` (motor side, reflected) [rad, rad/s], `current` [A], `effort`
    [N·m]: current times the nominal drive gain, `temperature` [°C]. Truth: `true_q`, `true_dq`, `true_theta`,
    `true_dtheta`, `transmission_torque` τ_J, `friction` f [N·m], `hysteresis` H, `gear_temperature` [°C]. `command`:
    torque asked for at that tick [N·m]. `time` (k,) [s].
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
