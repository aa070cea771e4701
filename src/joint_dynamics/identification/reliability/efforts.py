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

"""Efforts that are stuck or cut off, and signals of any kind with samples far off their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.observations import rest_intervals
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording import Recording
from joint_dynamics.recording.plausibility import ROUNDING, constant_efforts
from joint_dynamics.signals.filtering import running_median


def effort_reasons(recording: Recording) -> list[Reason]:
    """Return the faults of the torques and currents of one recording."""
    return [
        replace(reason, joints=(name,))
        for name, what, values, moving in _efforts(recording)
        for reason in _effort(recording, what, values, moving)
    ]


def _efforts(recording: Recording) -> Iterator[tuple[str, str, FloatArray, BoolArray]]:
    """Yield (joint, what, values (N,), where the joint moves (N,)) of each torque and current of a joint that does."""
    speed = np.abs(np.gradient(recording.q, recording.period, axis=0))
    moving = speed > np.maximum(0.1 * np.sqrt(np.mean(speed**2, axis=0)), thresholds.SLOWEST)
    for quantity in ('tau', 'current'):
        values = getattr(recording, quantity)
        if values is None:
            continue
        constant = constant_efforts(values)
        for j, name in enumerate(recording.joint_names):
            if moving[:, j].sum() >= 20 and not constant[j]:
                yield name, f'{quantity} of {name}', values[:, j], moving[:, j]


def _effort(recording: Recording, what: str, x: FloatArray, moving: BoolArray) -> Iterator[Reason]:
    level = np.rint((x - x.min()) / (ROUNDING * np.ptp(x)))
    value, number = np.unique(level[moving], return_counts=True)
    share = number.max() / moving.sum()
    if share > thresholds.MOSTLY_ONE_VALUE:
        kept = x[moving][level[moving] == value[number.argmax()]][0]
        yield Reason(
            'dead_band',
            f'{recording.name}: {what} is {kept:.4g} in {100 * share:.3g} % of the samples in which the joint moves: '
            'it was not measured, or is within a dead band; check whether the driver reports it',
        )
        return
    least = max(20, 5 * thresholds.FAULTY_SHARE * len(x))
    runs = rest_intervals(np.diff(level) == 0)
    middle, extreme = np.median(x), (x.max(), x.min())
    ends = (level.max(), level.min())
    stuck = [
        (run.stop - run.start, run.start, run.stop)
        for run in runs
        if run.stop - run.start > least and moving[run].mean() > 0.5 and level[run.start] not in ends
    ]
    if stuck:
        _, start, end = max(stuck)
        yield Reason(
            'stuck',
            f'{recording.name}: {what} keeps {x[start]:.4g} from {recording.time[start]:.3g} to '
            f'{recording.time[end]:.3g} s although the joint moves: leave that stretch out',
        )
    piles = {bound: _pile(x, moving, bound, middle) for bound in extreme}
    saturated = {bound: share for bound, share in piles.items() if share > thresholds.FAULTY_SHARE}
    if saturated:
        bounds = ' and '.join(f'{bound:.4g}' for bound in saturated)
        yield Reason(
            'saturated',
            f'{recording.name}: {what} stays at {bounds} for {100 * sum(saturated.values()):.2g} % of the '
            'moving samples: it is cut off there; record a gentler motion',
        )


def spikes(recording: Recording) -> Iterator[Reason]:
    """Yield a reason for each torque, current and position with single samples far off."""
    signals = [(what, x, False) for _, what, x, _ in _efforts(recording)]
    signals += [(f'the position of {name}', recording.q[:, j], True) for j, name in enumerate(recording.joint_names)]
    for what, x, place in signals:
        deviation = np.abs(x - running_median(x, 5))
        step = 3 * float(np.quantile(np.abs(np.diff(x)), 0.95)) if place else 0.0
        far = deviation > thresholds.SPIKE_FACTOR * max(float(np.quantile(deviation, 0.99)), step, 1e-12)
        # positions are differentiated, so that a few samples make much; torques are filtered
        power = (deviation[far] ** 2).sum()
        matters = (
            deviation[far].max(initial=0.0) > 1e-3
            if place
            else power > thresholds.SPIKE_POWER * ((x - np.median(x)) ** 2).sum()
        )
        if np.mean(far) < thresholds.FAULTY_SHARE and matters:
            yield Reason(
                'spikes',
                f'{recording.name}: {what} has {int(far.sum())} outliers (up to '
                f'{deviation.max():.3g}): {"" if place else "use method irls, which replaces them, or "}'
                'clean the recording',
            )


def _pile(x: FloatArray, moving: BoolArray, bound: float, middle: float) -> float:
    """Return the share of the moving samples that lie at a bound, 0 where no more do than just below it."""
    depth = np.abs(x - bound)[moving]
    span = abs(bound - middle)
    at = depth <= ROUNDING * span
    levels = np.unique(depth)
    quantum = float(np.median(np.diff(levels[:50]))) if len(levels) > 2 else span
    below = ~at & (depth <= max(0.03 * span, 3.5 * quantum))
    return float(at.mean()) if at.sum() > 3 * below.sum() else 0.0
