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

"""Stretches of constant speed in a recording [A §5.3, M4 4.2.1], and their block means.

The fits over load and temperature use the block means as rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import least_squares
from joint_dynamics.settings import Settings, setting

BLOCK = 0.1  # s, length of the blocks of `steady_rows`
SAME_SPEED = 0.05  # largest relative difference of speeds that count as one


@dataclass(frozen=True)
class PlateauSettings(Settings):
    """Definition of constant speed."""

    SECTION = 'plateaus'

    min_duration: float = setting(0.3, 'shortest stretch', 's', above=0)
    min_speed: float = setting(2e-3, 'slowest stretch', 'rad/s', lower=0)
    tolerance: float = setting(
        0.05, 'largest relative change of the mean speed from one half of min_duration to the next', above=0
    )
    settle: float = setting(
        4e-3,
        'travel left out at the start of a stretch, so that the presliding after a reversal is over (several times the '
        'backlash)',
        'rad',
        lower=0,
    )


@dataclass(frozen=True)
class Plateau:
    """One stretch of a recording at one speed.

    Attributes
    ----------
    speed
        mean, rad/s.
    torque, std
        mean friction torque and the deviation of that mean, N·m.
    temperature, load
        means, °C and N·m; None when not measured.
    trend
        change of the torque from end to end by a straight line, N·m.
    """

    speed: float
    torque: float
    std: float
    temperature: float | None
    load: float | None
    trend: float


def constant_stretches(data: JointData, settings: PlateauSettings) -> list[slice]:
    """Return the rows of the recording with constant speed of the motor side, at least `min_duration` long.

    A sample counts if the mean speeds over half of min_duration before and after it differ by less than `tolerance`.
    They are means of the angle itself, on which encoder steps and ripple have hardly any effect.
    """
    half = max(2, int(0.5 * settings.min_duration * data.rate))
    if data.samples <= 2 * half:
        return []
    theta = data.theta
    before = (theta[half:-half] - theta[: -2 * half]) * data.rate / half
    after = (theta[2 * half :] - theta[half:-half]) * data.rate / half
    mean = 0.5 * (before + after)
    steady = (np.abs(mean) > settings.min_speed) & (np.abs(after - before) < settings.tolerance * np.abs(mean))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], steady, [False]]).astype(int)))
    stretches = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        # The first and last windows reach into the ramps; half a window inside is constant speed.
        first, end = start + half - half // 2, stop + half + half // 2
        travelled = np.abs(theta[first:end] - theta[first])
        first += int(np.searchsorted(np.maximum.accumulate(travelled), settings.settle))
        speed = mean[start:stop]
        even = np.ptp(speed) <= 2 * settings.tolerance * np.abs(np.median(speed))
        if even and end - first >= settings.min_duration * data.rate:
            stretches.append(slice(int(first), int(end)))
    return stretches


def _stretches(recordings: Sequence[JointData], settings: PlateauSettings) -> list[tuple[JointData, slice]]:
    """Return all stretches of constant speed with their recordings; raise NotReliableError where there is none."""
    found = [(data, part) for data in recordings for part in constant_stretches(data, settings)]
    if not found:
        raise NotReliableError(
            f'{", ".join(data.name for data in recordings)}: {recordings[0].joint} has no stretch of constant speed of'
            f' at least {settings.min_duration:g} s above {settings.min_speed:g} rad/s; record constant speeds, or use'
            ' joint-dynamics identify with any motion'
        )
    return found


def find_plateaus(recordings: Sequence[JointData], settings: PlateauSettings) -> list[Plateau]:
    """Return all plateaus of the recordings with their mean friction torque (motor torque minus load where known).

    Raises
    ------
    JointDynamicsError
        Without a motor torque.
    NotReliableError
        When there is none.
    """
    plateaus = []
    for data, part in _stretches(recordings, settings):
        torque, theta, time = data.friction()[part], data.theta[part], data.time[part]
        ramp = np.linspace(-0.5, 0.5, torque.size)
        line = least_squares(np.column_stack([np.ones_like(ramp), ramp]), torque, ('mean', 'trend'))
        temperature, load = (
            None if signal is None else float(signal[part].mean()) for signal in (data.temperature, data.tau_J)
        )
        speed = float((theta[-1] - theta[0]) / (time[-1] - time[0]))
        plateaus.append(Plateau(speed, line['mean'], line.deviation('mean'), temperature, load, line['trend']))
    return plateaus


def group_speeds(speeds: FloatArray) -> FloatArray:
    """Return labels (N,), 0 for the slowest, of speeds (N,) [rad/s] of one sign.

    Speeds within `SAME_SPEED` of the slowest of their group (relative) count as the same.
    """
    order = np.argsort(speeds)
    labels = np.zeros(speeds.size, dtype=int)
    label, reference = 0, speeds[order[0]]
    for k in order[1:]:
        if speeds[k] - reference > SAME_SPEED * max(abs(speeds[k]), abs(reference)):
            label, reference = label + 1, speeds[k]
        labels[k] = label
    return labels


@dataclass(frozen=True)
class SteadyRows:
    """Block means at constant speed, in time order, each (R,).

    Attributes
    ----------
    speed
        of the motor side [rad/s].
    friction, load
        motor torque less load where known, and load torque [N·m]; load NaN where not measured.
    temperature
        °C, NaN where not measured.
    """

    speed: FloatArray
    friction: FloatArray
    load: FloatArray
    temperature: FloatArray

    @property
    def both_directions(self) -> bool:
        """Whether the joint was driven in both directions."""
        return bool(self.speed.min() < 0 < self.speed.max())

    def levels(self) -> dict[str, FloatArray]:
        """Return a column (R,) of ones and zeros for every speed, by name: the friction at that speed is unknown."""
        labels, sign = group_speeds(np.abs(self.speed)), np.sign(self.speed)
        sides = sorted(set(zip(sign, labels, strict=True)))
        return {f'level_{side:+.0f}_{k}': np.where((sign == side) & (labels == k), 1.0, 0.0) for side, k in sides}


def steady_rows(recordings: Sequence[JointData], settings: PlateauSettings) -> SteadyRows:
    """Cut every stretch of constant speed into blocks of `BLOCK` s and take their means.

    Raises
    ------
    JointDynamicsError
        Without a motor torque.
    NotReliableError
        Without a stretch of constant speed.
    """
    rows: list[list[float]] = []
    for data, part in _stretches(recordings, settings):
        signals, size = (data.omega, data.friction(), data.tau_J, data.temperature), max(1, round(BLOCK * data.rate))
        for start in range(part.start, part.stop - size + 1, size):
            cut = slice(start, start + size)
            rows.append([np.nan if signal is None else signal[cut].mean() for signal in signals])
    return SteadyRows(*np.array(rows).T)
