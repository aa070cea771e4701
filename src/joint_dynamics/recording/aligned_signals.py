"""Signals aligned on one uniform time grid: the arrays of a `Recording`, checked, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.quantities import QUANTITIES

Array = FloatArray
#: A spacing may differ from the mean by this share of it (rounding of stamps to nanoseconds, of CSV numbers to
#: decimals).
UNIFORM = 1e-3


@dataclass(frozen=True, eq=False)
class AlignedSignals:
    """The fields of a `Recording`, where they are explained.

    Raises JointDynamicsError when a shape does not fit, a value is not finite, or time is not uniform and increasing.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    dq: Array | None = None
    tau: Array | None = None
    current: Array | None = None
    theta: Array | None = None
    dtheta: Array | None = None
    temperature: Array | None = None
    load_torque: Array | None = None
    name: str = 'recording'
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        object.__setattr__(self, 'joint_names', names)
        object.__setattr__(self, 'notes', tuple(self.notes))
        if not names or len(set(names)) != len(names):
            raise JointDynamicsError(
                f'{self.name}: expected joint names that differ from each other, found {list(names)}'
            )
        time = np.asarray(self.time, dtype=np.float64)
        if time.ndim != 1 or time.size < 2:
            raise JointDynamicsError(
                f'{self.name}: time: expected one row of at least 2 samples, found shape {time.shape}'
            )
        check_uniform(time, self.name)
        object.__setattr__(self, 'time', time)
        for quantity in QUANTITIES:
            value = getattr(self, quantity)
            if value is None:
                if quantity == 'q':
                    raise JointDynamicsError(f'{self.name}: q: expected positions, found none')
                continue
            array = np.asarray(value, dtype=np.float64)
            if array.shape != (time.size, len(names)):
                raise JointDynamicsError(
                    f'{self.name}: {quantity}: expected (samples, joints) = ({time.size}, {len(names)}), '
                    f'found {array.shape}'
                )
            if not np.isfinite(array).all():
                row, column = np.argwhere(~np.isfinite(array))[0]
                raise JointDynamicsError(
                    f'{self.name}: {quantity} of {names[column]}: expected finite numbers, found {array[row, column]} '
                    f'at {time[row]:.6g} s'
                )
            object.__setattr__(self, quantity, array)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return int(self.time.size)

    @property
    def period(self) -> float:
        """Time between two samples, s."""
        return float((self.time[-1] - self.time[0]) / (self.time.size - 1))

    @property
    def rate(self) -> float:
        """Samples per second, Hz."""
        return 1.0 / self.period

    @property
    def duration(self) -> float:
        """Time from the first to the last sample, s."""
        return float(self.time[-1] - self.time[0])

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the arrays that are there, `q` among them."""
        return tuple(name for name in QUANTITIES if getattr(self, name) is not None)


def check_uniform(time: Array, name: str) -> None:
    """Raise JointDynamicsError unless `time` (N,) s is finite, increasing and evenly spaced."""
    if not np.isfinite(time).all():
        raise JointDynamicsError(f'{name}: time: expected finite numbers, found {time[~np.isfinite(time)][0]}')
    steps = np.diff(time)
    mean = (time[-1] - time[0]) / steps.size
    worst = int(np.argmax(np.abs(steps - mean)))
    if not mean > 0 or not abs(steps[worst] - mean) <= UNIFORM * mean + 4 * np.spacing(np.abs(time).max()):
        raise JointDynamicsError(
            f'{name}: time: expected it uniform and increasing (mean step {mean:.6g} s), found a step of '
            f'{steps[worst]:.6g} s at {time[worst]:.6g} s'
        )
