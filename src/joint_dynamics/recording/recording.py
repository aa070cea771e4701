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

"""One recording: the signals of one run, aligned on one uniform time grid.

All signals of a robot (of any topics, joint orders and rates) become plain arrays, row = sample, column = joint; the
rest of the package uses nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.aligned import align
from joint_dynamics.recording.common_grid import Window
from joint_dynamics.recording.conversions import NEUTRAL, Corrections
from joint_dynamics.recording.csv_file import COLUMNS, EXACT
from joint_dynamics.recording.inputs import NOT_OF_THE_ARM, QUANTITIES, TORQUES
from joint_dynamics.recording.load import read_samples
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.samples import Samples
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.settings.base import per_joint

Array = FloatArray
#: A spacing may differ from the mean by this share of it: stamps and numbers are rounded.
UNIFORM = 1e-3


@dataclass(frozen=True, eq=False)
class Recording:
    """Aligned signals of one run of a robot with n joints, N samples on a uniform grid.

    An array is None when the quantity was not measured; otherwise it is finite and covers every joint.

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
        of its source, for tables and messages.
    notes : tuple of str
        on the processing of the data (resampling, gaps bridged, alignment error, joints that never move).
    corrections
        applied to the data as requested by the settings.
    without_torque
        joints whose torque is not known; their columns of `tau` and `current` are 0.
    others
        {joint: (lowest, highest)} position of the recorded joints that are not among `joint_names`, rad (m).

    Raises
    ------
    JointDynamicsError
        When a shape does not fit, a value is not finite, or time is not uniform and increasing.
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
    corrections: Corrections = NEUTRAL
    without_torque: tuple[str, ...] = ()
    others: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        object.__setattr__(self, 'joint_names', names)
        object.__setattr__(self, 'notes', tuple(self.notes))
        if not names or len(set(names)) != len(names):
            raise JointDynamicsError(
                f'{self.name}: expected joint names that differ from each other, found {list(names)}'
            )
        time = np.asarray(self.time, dtype=np.float64)
        check_uniform(time, self.name)
        object.__setattr__(self, 'time', time)
        for quantity in QUANTITIES:
            if getattr(self, quantity) is None and quantity != 'q':
                continue
            array = np.asarray(getattr(self, quantity), dtype=np.float64)
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

    @staticmethod
    def load(
        spec: str | Path,
        settings: RecordingSettings | Mapping[str, Any] | None = None,
        joint_names: Sequence[str] | None = None,
        limits: JointLimits | None = None,
    ) -> Recording:
        """Read a recording from files.

        Parameters
        ----------
        spec
            a rosbag2 folder, an .mcap, .db3 or CSV file, optionally with a window, `PATH@t0:t1`, in s from the start;
            either end may be omitted, and t1 is excluded.
        settings
            RecordingSettings, or the mapping it is made from: the contents of topics; None: the defaults.
        joint_names
            the requested joints, in their order; None: all.
        limits
            of these joints, where known; values that exceed them by orders of magnitude are refused.

        Raises
        ------
        JointDynamicsError
            For any defect of the recording, in one line.
        """
        builder = RecordingBuilder(joint_names, settings, limits)
        return builder.build(str(spec), read_samples(spec, builder))

    @staticmethod
    def load_pieces(
        spec: str | Path,
        settings: RecordingSettings | Mapping[str, Any] | None = None,
        joint_names: Sequence[str] | None = None,
        limits: JointLimits | None = None,
    ) -> list[Recording]:
        """Read a recording in pieces between gaps that are too long to be bridged; in one piece without such a gap.

        A piece is named `PATH@t0:t1`, and the notes of the first list the omissions.

        Parameters
        ----------
        spec, settings, joint_names, limits
            as in `load`.

        Raises
        ------
        JointDynamicsError
            As `load` does, and where more than `max_left_out` of the recording would be left out.
        """
        builder = RecordingBuilder(joint_names, settings, limits)
        return builder.build_pieces(str(spec), read_samples(spec, builder))

    def __repr__(self) -> str:
        return (
            f'<Recording {self.name}: {self.n} joints, {self.samples} samples at {self.rate:.6g} Hz'
            f' ({self.duration:.6g} s): {", ".join(self.quantities)}>'
        )

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
        """Names of the arrays that are not None, `q` included."""
        return tuple(name for name in QUANTITIES if getattr(self, name) is not None)

    @property
    def without_gravity(self) -> bool:
        """Whether the torques leave gravity out, because the robot compensates its own weight."""
        return self.corrections.torque_without_gravity

    def window(self, t0: float | None = None, t1: float | None = None) -> Recording:
        """Return the samples with t0 <= time < t1 (s), time counted from t0's sample on; an open end is None.

        The end is excluded, so that adjacent windows (0:3 and 3:4.5) share no sample. Arrays are views.

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
        rows = slice(int(first), int(last))
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in self.quantities}
        name = self.name if t0 is None and t1 is None else f'{self.name}@{_number(t0)}:{_number(t1)}'
        return replace(self, time=self.time[rows] - self.time[first], name=name, **arrays)

    def select(self, joint_names: Sequence[str]) -> Recording:
        """Return the recording with these joints, in this order. Raises JointDynamicsError when one is missing."""
        if tuple(joint_names) == self.joint_names:
            return self
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise JointDynamicsError(
                f'{self.name}: expected the joints {", ".join(joint_names)}; not found: {", ".join(missing)}; it has'
                f' {", ".join(self.joint_names)} ({NOT_OF_THE_ARM})'
            )
        columns = [self.joint_names.index(name) for name in joint_names]
        arrays: dict[str, Any] = {name: getattr(self, name)[:, columns] for name in self.quantities}
        others = dict(self.others)
        for j in set(range(self.n)) - set(columns):
            others[self.joint_names[j]] = (float(self.q[:, j].min()), float(self.q[:, j].max()))
        silent = tuple(name for name in joint_names if name in self.without_torque)
        return replace(self, joint_names=tuple(joint_names), others=others, without_torque=silent, **arrays)

    def torque(self, drive_gains: Mapping[str, float] | ArrayLike | None = None) -> Array:
        """Return the motor torque on the joint side, (N, n) N·m: K_τ i with drive gains [M2 eq 2.24], else as measured.

        Parameters
        ----------
        drive_gains
            K_τ in N·m of joint torque per ampere, (n,) or by joint name, for a recording with `current`; without gains
            or current, the measured `tau` is returned.

        Raises
        ------
        JointDynamicsError
            Without a torque, and without a current with gains.
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
        raise JointDynamicsError(
            f'{self.name}: expected torque or current, found only {", ".join(self.quantities)}: '
            'state in the section recording which topic has it; in a CSV file it is tau<k> or cur<k>'
        )

    def save_csv(self, path: str | Path) -> None:
        """Write a CSV file that `load` reads back, all arrays bit for bit, times to 1 ns.

        Its columns are time, q<k>, dq<k>, tau<k>, cur<k>, theta<k>, …, k = 1…n.

        Parameters
        ----------
        path
            of the file.

        Raises
        ------
        JointDynamicsError
            When it cannot be written.
        """
        measured = np.flatnonzero(~np.isin(self.joint_names, self.without_torque))
        columns = {name: measured if name in TORQUES else np.arange(self.n) for name in self.quantities}
        names = [f'{COLUMNS[name]}{k + 1}' for name, joints in columns.items() for k in joints]
        data = np.hstack([self.time[:, None], *(getattr(self, name)[:, joints] for name, joints in columns.items())])
        try:
            np.savetxt(path, data, fmt=EXACT, delimiter=',', header=','.join(['time', *names]), comments='')
        except OSError as error:
            raise JointDynamicsError(f'{path}: expected a file that can be written, found: {error}') from None


class RecordingBuilder(Samples):
    """Collects samples and aligns them when asked; used by the readers of files and by nodes alike.

        builder = RecordingBuilder(joint_names, settings)
        for topic, message_type in builder.topics().items():      # subscribe, and in the callback:
            builder.add_message(topic, message, received_ns)
        recording = builder.build('live')

    Parameters and attributes are those of `Samples`. It is not thread-safe: a node continues with a new one.
    """

    def build(self, name: str = 'recording', window: Window = (None, None)) -> Recording:
        """Return everything added so far, aligned; defects outside the window (gaps, NaN) are ignored.

        Parameters
        ----------
        name
            of the recording, in messages and reports.
        window
            (t0, t1) [s from the start], t1 left out, None for an open end.

        Raises
        ------
        JointDynamicsError
            One line, for what cannot be used.
        """
        return Recording(**align(self, name, window)[0])

    def build_pieces(self, name: str = 'recording', window: Window = (None, None)) -> list[Recording]:
        """Return it in pieces between gaps that are too long to be bridged; one piece where there is no such gap.

        name: of the recording, of a piece `name@t0:t1`; window: as of `build`.

        Raises
        ------
        JointDynamicsError
            One line, for what cannot be used, and where more than `max_left_out` of the settings would be left out.
        """
        return [Recording(**fields) for fields in align(self, name, window, in_pieces=True)]


def check_uniform(time: Array, name: str) -> None:
    """Raise JointDynamicsError unless `time` (N,) s has two samples or more, and is finite, increasing and uniform."""
    if time.ndim != 1 or time.size < 2 or not np.isfinite(time).all():
        raise JointDynamicsError(
            f'{name}: time: expected one row of at least 2 finite numbers, found shape {time.shape}, '
            f'{np.count_nonzero(~np.isfinite(time))} of them not finite'
        )
    steps = np.diff(time)
    mean = (time[-1] - time[0]) / steps.size
    worst = int(np.argmax(np.abs(steps - mean)))
    if not mean > 0 or not abs(steps[worst] - mean) <= UNIFORM * mean + 4 * np.spacing(np.abs(time).max()):
        raise JointDynamicsError(
            f'{name}: time: expected it uniform and increasing (mean step {mean:.6g} s), found a step of '
            f'{steps[worst]:.6g} s at {time[worst]:.6g} s'
        )


def _number(value: float | None) -> str:
    return '' if value is None else f'{value:.6g}'
