"""One recording: the signals of one run, aligned on one uniform time grid.

Whatever a robot published (which topics, in which joint order, at which rates) ends here as plain arrays, row = sample,
column = joint, and the rest of the package sees nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.aligned_signals import AlignedSignals
from joint_dynamics.recording.csv_file import write_csv
from joint_dynamics.recording.files import read_file
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.settings.per_joint import per_joint

Array = FloatArray


@dataclass(frozen=True, eq=False)
class Recording(AlignedSignals):
    """Aligned signals of one run of a robot with n joints, N samples on a uniform grid.

    An array is None when the quantity was not measured; an array that is there is finite and covers every joint.

    Attributes
    ----------
    joint_names
        the n joints, the order of all columns.
    time
        (N,) s, from the start of the recording (or of the window), uniform.
    q
        (N, n) link-side position, rad (m for a prismatic joint).
    dq
        (N, n) link-side speed, rad/s.
    tau
        (N, n) motor torque on the joint side of the transmission, N·m.
    current
        (N, n) torque-producing motor current, A.
    theta
        (N, n) motor-side position, reflected to the joint side (divided by the gear ratio), rad.
    dtheta
        (N, n) motor-side speed, reflected, rad/s.
    temperature
        (N, n) joint temperature, °C.
    load_torque
        (N, n) known torque through the transmission, N·m.
    name
        where it comes from, for tables and messages.
    notes : tuple of texts
        what was done to the data on the way in (resampling, gaps bridged, alignment error, joints that never move).

    Raises JointDynamicsError when a shape does not fit, a value is not finite, or time is not uniform and increasing.
    """

    @staticmethod
    def load(
        spec: str | Path,
        settings: RecordingSettings | Mapping[str, Any] | None = None,
        joint_names: Sequence[str] | None = None,
        limits: JointLimits | None = None,
    ) -> Recording:
        """Read a recording from files; `load_recording` by its short name.

        Parameters
        ----------
        spec
            a rosbag2 folder, an .mcap, .db3 or CSV file, optionally a window `PATH@t0:t1` (s; t1 is left out).
        settings
            which topic holds what: RecordingSettings, or the mapping it is made from.
        joint_names
            the joints wanted, in their order; None: all found.
        limits
            of these joints, where known, which no value exceeds by orders of magnitude.

        Raises
        ------
        JointDynamicsError
            One line, for whatever is wrong with the recording.
        """
        return read_file(Recording, spec, settings, joint_names, limits)

    def __repr__(self) -> str:
        return (
            f'<Recording {self.name}: {self.n} joints, {self.samples} samples at {self.rate:.6g} Hz'
            f' ({self.duration:.6g} s): {", ".join(self.quantities)}>'
        )

    def window(self, t0: float | None = None, t1: float | None = None) -> Recording:
        """Return the samples with t0 <= time < t1 (s), time counted from t0's sample on; an open end is None.

        The end is left out, so that windows that adjoin (0:3 and 3:4.5) share no sample. Arrays are views.

        Raises
        ------
        JointDynamicsError
            When the window is empty, reversed or starts after the end.
        """
        start = self.time[0] if t0 is None else float(t0)
        end = np.inf if t1 is None else float(t1)
        slack = 1e-6 * self.period
        first, last = np.searchsorted(self.time, [start - slack, end - slack])
        if not end > start or not last - first >= 2:
            raise JointDynamicsError(
                f'{self.name}: window {_number(t0)}:{_number(t1)} s: expected at least 2 samples of the '
                f'recording, found that it goes from {self.time[0]:.6g} to {self.time[-1]:.6g} s'
            )
        notes = self.notes
        if np.isfinite(end) and end > self.time[-1] + 1.5 * self.period:
            notes += (f'the window was to end at {end:.6g} s, the recording ends at {self.time[-1]:.6g} s',)
        rows = slice(int(first), int(last))
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in self.quantities}
        name = self.name if t0 is None and t1 is None else f'{self.name}@{_number(t0)}:{_number(t1)}'
        return replace(self, time=self.time[rows] - self.time[first], name=name, notes=notes, **arrays)

    def select(self, joint_names: Sequence[str]) -> Recording:
        """Return the recording with these joints, in this order. Raises JointDynamicsError when one is not there."""
        if tuple(joint_names) == self.joint_names:
            return self
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise JointDynamicsError(
                f'{self.name}: expected the joints {", ".join(joint_names)}; not found: {", ".join(missing)}; it has'
                f" {', '.join(self.joint_names)} (no part of the arm, as a gripper? list the arm's in robot.joints)"
            )
        columns = [self.joint_names.index(name) for name in joint_names]
        arrays: dict[str, Any] = {name: getattr(self, name)[:, columns] for name in self.quantities}
        return replace(self, joint_names=tuple(joint_names), **arrays)

    def torque(self, drive_gains: Mapping[str, float] | ArrayLike | None = None) -> Array:
        """Return the motor torque on the joint side, (N, n) N·m.

        K_τ i with drive gains [M2 eq 2.24], else tau as measured.

        `drive_gains` K_τ in N·m of joint torque per ampere, (n,) or by joint name, apply to a recording with `current`;
        without them (or without current) the measured `tau` is returned.

        Raises
        ------
        JointDynamicsError
            When there is neither a torque nor a current with its gains.
        """
        if self.current is not None and drive_gains is not None:
            return self.current * per_joint(drive_gains, self.joint_names, f'{self.name}: drive gain', others=True)
        if self.tau is not None:
            return self.tau
        if self.current is not None:
            raise JointDynamicsError(
                f'{self.name}: expected torque, found motor currents in A: give drive gains (N·m/A) for '
                f'{", ".join(self.joint_names)}'
            )
        raise JointDynamicsError(f'{self.name}: expected torque or current, found only {", ".join(self.quantities)}')

    def save_csv(self, path: str | Path) -> None:
        """Write a CSV file to `path` that `load` reads back bit for bit.

        Time, q<k>, dq<k>, tau<k>, cur<k>, theta<k>, …, k = 1…n.
        """
        write_csv(self, Path(path))


def _number(value: float | None) -> str:
    return '' if value is None else f'{value:.6g}'
