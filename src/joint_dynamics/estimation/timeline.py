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

"""Samples of several topics, in any order of joints and arrival, as whole samples on one grid, one after the other.

A filter needs equally spaced samples of all signals of one instant; topics give stamped values of some joints, late,
twice, out of order or not at all. A source is one quantity of one set of joints, in any order of names; it keeps a
short history. A grid point is returned as soon as every needed source has reached it, interpolated linearly between
neighbours where no sample lies within a twentieth of a period. A gap longer than `max_gap` is not bridged, and time
that goes back is a restart. `restarts` counts both; the caller then resets its filters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.estimation_settings import positive
from joint_dynamics.estimation.input_values import Plausible
from joint_dynamics.signals.alignment import sample_period

Array = FloatArray
NS = 1e-9
HISTORY = 4096  # samples that a source keeps while it waits for another one
SOURCES = 64  # largest number of sources
CONVINCED = 5  # successive samples of the past that prove a jump back; fewer come from a publisher that lags
GIVEN_UP = 0.5  # s of silence of a source after which all sources are found anew, if another has its joints
COINCIDENT = 0.05  # distance from the grid within which a sample counts as on it, in periods


class _Source:
    """One quantity of one set of joints: its history, oldest first.

    `columns`: of its joints in messages with the names `names`. `plausible`: limits of these joints. `rivals`: earlier
    sources of some of its joints, which are used instead.
    """

    def __init__(
        self, row: int, joints: list[int], columns: list[int], names: tuple[str, ...], plausible: Plausible
    ) -> None:
        self.plausible = plausible.of(joints)
        self.row, self.joints, self.columns, self.names = row, np.array(joints), np.array(columns), names
        self.rivals: list[_Source] = []
        self.stamps: deque[int] = deque(maxlen=HISTORY)
        self.values: deque[Array] = deque(maxlen=HISTORY)
        self.past, self.past_stamp = 0, 0

    def clear(self) -> None:
        self.stamps.clear()
        self.values.clear()
        self.past = 0

    def trim(self, time: float) -> None:
        """Forget all samples before the last one at or before `time` (ns)."""
        stamps = self.stamps
        while len(stamps) > 1 and stamps[1] <= time:
            stamps.popleft()
            self.values.popleft()


class Timeline:
    """From stamped samples to whole samples on a uniform grid.

    A sample with the preceding stamp (of a clock that stands still) is dropped and counted in `repeated`.

    `add` takes a sample, `samples()` yields complete samples. `restarts`: number of gaps and jumps; when it has
    changed, the next sample does not follow the last one. Counters: `given` samples; `bridged`, those interpolated over
    a lost one; `late` (out of order, dropped), `broken` (not finite, or beyond what a joint can do: dropped, the last
    of them in `beyond`), `gaps`, `jumps` (time back). `error` s: largest distance of a given sample from a measured
    one. `beyond` and `error` may be set to '' and 0.

    Parameters
    ----------
    joint_names
        the n joints, order of all arrays given out.
    quantities
        the quantities of a whole sample, e.g. ('q', 'current', 'theta'); others are ignored.
    period
        s; None: from the stamps of the first `learn` samples.
    max_gap
        s: longest gap that is bridged. Positions that a joint cannot have reached are dropped for this time, and
        accepted as a restart if they persist.
    plausible
        Plausible of the joints by quantity; quantities without it need only be finite.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        quantities: Sequence[str],
        period: float | None = None,
        *,
        max_gap: float = 0.1,
        learn: int = 100,
        plausible: Mapping[str, Plausible] | None = None,
    ) -> None:
        self.joint_names, self.quantities = tuple(joint_names), tuple(quantities)
        if not self.joint_names or not self.quantities or len(set(self.joint_names)) != len(self.joint_names):
            raise JointDynamicsError(
                f'timeline: expected joints, each once, and quantities, found {self.joint_names} and {self.quantities}'
            )
        self.period = None if period is None else positive('period', period)
        self.max_gap = positive('max_gap', max_gap)
        self._gap_ns = self.max_gap / NS
        self._learn = max(int(learn), 2)
        self._index = {name: k for k, name in enumerate(self.joint_names)}
        self._rows = {name: k for k, name in enumerate(self.quantities)}
        self.repeated = 0
        self.given = self.bridged = self.late = self.broken = self.gaps = self.jumps = 0
        self.error, self.beyond = 0.0, ''
        anything = Plausible.finite(len(self.joint_names))
        self._plausible = {name: (plausible or {}).get(name, anything) for name in self.quantities}
        self.reset()

    @property
    def restarts(self) -> int:
        """Number of gaps and jumps so far."""
        return self.gaps + self.jumps

    def reset(self) -> None:
        """Discard all samples and sources; the period and the counters stay."""
        self._sources: dict[tuple[str, tuple[str, ...]], _Source | None] = {}
        # The source of every joint, per quantity; and those that any joint needs.
        self._of: list[list[_Source | None]] = [[None] * len(self.joint_names) for _ in self.quantities]
        self._needed: list[_Source] = []
        self._whole = False
        self._next: float | None = None

    @property
    def held(self) -> dict[tuple[str, tuple[str, ...]], int]:
        """Number of samples held of every source, by its quantity and joints; both numbers are bounded."""
        return {key: 0 if source is None else len(source.stamps) for key, source in self._sources.items()}

    def missing(self) -> dict[str, list[str]]:
        """Return the joints without any source so far, by quantity; empty once every quantity has arrived."""
        without_source = {
            name: [self.joint_names[k] for k, source in enumerate(self._of[row]) if source is None]
            for name, row in self._rows.items()
        }
        return {name: joints for name, joints in without_source.items() if joints}

    def silent(self) -> dict[str, float]:
        """Return the sources that lag by more than the longest gap: quantity and joints, with their lag, s."""
        newest = max((source.stamps[-1] for source in self._needed if source.stamps), default=0)
        lag_by_source = {}
        for source in self._needed:
            behind = (newest - source.stamps[-1]) * NS if source.stamps else np.inf
            if behind > self.max_gap:
                wanted = [self.joint_names[k] for k in source.joints if self._of[source.row][k] is source]
                lag_by_source[f'{self.quantities[source.row]} of {", ".join(wanted)}'] = float(behind)
        return lag_by_source

    def duplicates(self) -> list[str]:
        """Return the joints with several active sources, of which the first is used as long as it is active."""
        living = [source for source in self._sources.values() if source is not None and source.stamps]
        newest = max((source.stamps[-1] for source in living), default=0)
        living = [source for source in living if (newest - source.stamps[-1]) * NS < GIVEN_UP]
        return sorted({self.joint_names[k] for one in living for k in one.joints if self._of[one.row][k] is not one})

    def add(self, quantity: str, stamp: int, names: Sequence[str], values: ArrayLike) -> None:
        """Take one sample of the joints `names`, stamp in ns.

        Other joints and quantities than those of the constructor are ignored.
        """
        order = tuple(names)
        # A publisher may change the order of its joints from message to message and is still one source.
        key = (quantity, tuple(sorted(order)))
        source = self._sources[key] if key in self._sources else self._open(key, order)
        if source is None:
            return
        if order != source.names:
            source.columns, source.names = np.array([order.index(self.joint_names[k]) for k in source.joints]), order
        given = np.asarray(values, dtype=float)[source.columns]
        if not source.plausible.values(given):
            self._drop(source, given)
            return
        if source.stamps:
            step = stamp - source.stamps[-1]
            if step <= 0:
                if not self._is_new_time(source, stamp):
                    self.late += step < 0
                    self.repeated += step == 0
                    return
                self.jumps += 1
                for each in filter(None, self._sources.values()):
                    each.clear()
                self._next = None
            elif step > self._gap_ns:
                # The next grid discards the samples of other sources within the gap.
                self.gaps += 1
                source.clear()
                self._next = None
            elif not source.plausible.step(given, source.values[-1], step * NS):
                self._drop(source, given)
                return
        source.past = 0
        source.stamps.append(stamp)
        source.values.append(given)
        if any(not other.stamps or (stamp - other.stamps[-1]) * NS > GIVEN_UP for other in source.rivals):
            self.gaps += 1
            self.reset()
            return
        if self.period is None and source is self._needed[0] and len(source.stamps) >= self._learn:
            self.period = sample_period((np.array(source.stamps) - source.stamps[0]) * NS)

    def _drop(self, source: _Source, given: Array) -> None:
        self.broken += 1
        last = source.values[-1] if source.values else None
        column = source.plausible.worst(given, last)
        joint, quantity = self.joint_names[source.joints[column]], self.quantities[source.row]
        self.beyond = f'{quantity} of {joint} {given[column]:.6g}'

    def samples(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """Yield (stamp in ns, {quantity: (n,)}) of every grid point that is complete, oldest first."""
        if self.period is None or not self._whole:
            return
        period = self.period / NS
        tolerance = COINCIDENT * period
        needed = self._needed
        while True:
            for source in needed:
                if not source.stamps or (self._next is not None and source.stamps[-1] < self._next - tolerance):
                    return
            if self._next is None:
                self._next = float(max(source.stamps[0] for source in needed))
                continue
            time = self._next
            arrays = {name: np.empty(len(self.joint_names)) for name in self.quantities}
            following = time + period
            for source in needed:
                source.trim(time + tolerance)
                value = self._at(source, time, tolerance)
                arrays[self.quantities[source.row]][source.joints] = value
                if source is needed[0] and abs(source.stamps[0] - time) <= tolerance:
                    # In step with the first source: the grid does not drift against it.
                    following = source.stamps[0] + period
            self._next = following
            self.given += 1
            yield round(time), arrays

    def _at(self, source: _Source, time: float, tolerance: float) -> Array:
        before, value = source.stamps[0], source.values[0]
        if before >= time - tolerance:
            return value
        after = source.stamps[1]
        self.error = max(self.error, min(time - before, after - time) * NS)
        if after - before > 1.5 * (self.period or 0.0) / NS and source is self._needed[0]:
            self.bridged += 1
        share = (time - before) / (after - before)
        result: Array = value + share * (source.values[1] - value)
        return result

    def _is_new_time(self, source: _Source, stamp: int) -> bool:
        """Whether samples of the past are a new time.

        Several in a row, themselves in order, and none of the old time between them.
        """
        source.past = source.past + 1 if source.past and stamp > source.past_stamp else 1
        source.past_stamp = stamp
        return source.past >= CONVINCED

    def _open(self, key: tuple[str, tuple[str, ...]], names: tuple[str, ...]) -> _Source | None:
        if len(self._sources) >= SOURCES:
            self.gaps += 1
            self.reset()
        row = self._rows.get(key[0])
        pairs = [(self._index[name], column) for column, name in enumerate(names) if name in self._index]
        self._sources[key] = None
        if row is None or not pairs:
            return None
        joints, columns = map(list, zip(*pairs, strict=True))
        source = self._sources[key] = _Source(row, joints, columns, names, self._plausible[self.quantities[row]])
        for joint in joints:
            other = self._of[row][joint] = self._of[row][joint] or source
            if other is not source:
                source.rivals.append(other)
        needed = list(dict.fromkeys(one for own in self._of for one in own if one is not None))
        if needed != self._needed:
            self._needed, self._next = needed, None
        self._whole = all(one is not None for own in self._of for one in own)
        return source
