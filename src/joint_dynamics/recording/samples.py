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

"""Samples of a file or of live topics, stored compactly until they are aligned.

Messages may name their joints in any order, and several publishers with some of the joints each may share a topic.
Messages with the same joints form one table, with one row of values per stamp.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import MOTOR_SIDE, POSITIONS, QUANTITIES, Input, absolute, topic_regex
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot.limits import JointLimits


@dataclass(frozen=True)
class Table:
    """Values (K, columns) of the joints `names` at increasing `stamps` (K,) ns, from one source.

    As read, stamps may occur more than once; `sources.last_of_each_stamp` leaves the last sample of each.
    """

    source: str
    quantity: str
    names: tuple[str, ...]
    stamps: IntArray
    values: FloatArray


@dataclass
class _Rows:
    """The rows of one set of joints: 8 bytes per stamp and value, no object per message."""

    names: tuple[str, ...]
    stamps: array[int] = field(default_factory=lambda: array('q'))
    values: array[float] = field(default_factory=lambda: array('d'))


class Stream:
    """Samples of one quantity from one source; `tables` returns them, one table per set of joints."""

    def __init__(self, source: str, quantity: str, rename: Mapping[str, str]):
        self.source = source
        self.quantity = quantity
        self._rename = rename
        self._rows: dict[frozenset[str], _Rows] = {}
        #: Names as a message lists them -> their rows, and the order that brings the values into the rows' order.
        self._orders: dict[tuple[str, ...], tuple[_Rows, list[int] | None]] = {}

    def append(self, stamp: int, names: Sequence[str], values: Any) -> None:
        """Append one value for each of `names` at `stamp` (ns). Raises JointDynamicsError when their numbers differ."""
        if len(values) != len(names):
            raise JointDynamicsError(
                f'{self.source}: expected {len(names)} values of {self.quantity} for {", ".join(names)}, '
                f'found {len(values)}'
            )
        rows, order = self._rows_of(tuple(names))
        rows.stamps.append(stamp)
        array = np.asarray(values, dtype=np.float64)
        rows.values.frombytes((array if order is None else array[order]).tobytes())

    def extend(self, stamps: IntArray, names: Sequence[str], values: FloatArray) -> None:
        """Append a block of values (K, len(names)) at `stamps` (K,) ns."""
        rows, order = self._rows_of(tuple(names))
        rows.stamps.frombytes(np.asarray(stamps, dtype=np.int64).tobytes())
        rows.values.frombytes(np.asarray(values if order is None else values[:, order], dtype=np.float64).tobytes())

    def tables(self) -> Iterator[Table]:
        """Yield one table per set of joints, as it was received.

        Raises
        ------
        JointDynamicsError
            When time goes backwards, or never changes.
        """
        for rows in self._rows.values():
            stamps = np.array(rows.stamps, dtype=np.int64)
            steps = np.diff(stamps)
            if not (steps >= 0).all():
                at = int(np.argmax(steps < 0))
                raise JointDynamicsError(
                    f'{self.source}: expected increasing stamps, found time going back by {-steps[at] * 1e-9:.6g} s at'
                    f' {(stamps[at] - stamps[0]) * 1e-9:.6g} s (message {at + 2} of {stamps.size} with {self.quantity})'
                    ': several publishers, or a clock that was set back?'
                )
            if stamps.size > 2 and not steps.any():
                raise JointDynamicsError(
                    f'{self.source}: expected increasing stamps, found the same one in all {stamps.size} messages, '
                    f'{stamps[0] * 1e-9:.9g} s; recording.stamps: received takes the time of reception'
                )
            # A copy: a buffer that is looked at cannot grow.
            values = np.array(rows.values, dtype=np.float64).reshape(stamps.size, len(rows.names))
            yield Table(self.source, self.quantity, rows.names, stamps, values)

    def _rows_of(self, key: tuple[str, ...]) -> tuple[_Rows, list[int] | None]:
        if key not in self._orders:
            names = tuple(self._rename.get(name, name) for name in key)
            if len(set(names)) != len(names):
                raise JointDynamicsError(
                    f'{self.source}: expected each joint once in a message, found {", ".join(names)}'
                )
            rows = self._rows.setdefault(frozenset(names), _Rows(names))
            order = None if rows.names == names else [names.index(name) for name in rows.names]
            self._orders[key] = rows, order
        return self._orders[key]


class Samples:
    """Samples of a file or of live topics, by quantity and source.

    Parameters
    ----------
    joint_names
        the requested joints, in their order; None: those of the link-side positions, in order of appearance.
    settings
        RecordingSettings or the mapping it is made from.
    limits
        of these joints, where the robot is known: values that exceed them by orders of magnitude are refused.

    Attributes
    ----------
    counts
        messages read so far, by topic.
    replacing
        sources that replace the others for their joints.
    notes : list of str
        of the reader of a file.
    """

    def __init__(
        self,
        joint_names: Sequence[str] | None = None,
        settings: RecordingSettings | Mapping[str, Any] | None = None,
        limits: JointLimits | None = None,
    ):
        self.limits = limits
        self.notes: list[str] = []
        self.joint_names = None if joint_names is None else tuple(joint_names)
        self.settings = RecordingSettings.from_mapping(settings)
        self.inputs = self.settings.inputs(self.joint_names or ())
        self.counts: dict[str, int] = {}
        self._streams: dict[tuple[str, str], Stream] = {}
        self.replacing: set[str] = set()
        self._readers: dict[str, list[Input]] = {}

    def topics(self) -> dict[str, str]:
        """Return topic -> message type of everything to subscribe to.

        `{joint}` stands for each joint name, here or in messages. Raises JointDynamicsError where these names are
        unknown.
        """
        kinds: dict[str, str] = {}
        for item in self.inputs:
            for topic, kind in item.topics.items():
                if '{joint}' not in topic:
                    kinds[topic] = kind
                elif self.joint_names is None:
                    raise JointDynamicsError(
                        f'{topic}: expected the names of the joints, which the topic stands for, found none'
                    )
                else:
                    theirs = [name for name, ours in self.settings.names.items() if ours in self.joint_names]
                    kinds.update({topic.replace('{joint}', name): kind for name in (*self.joint_names, *theirs)})
        return kinds

    def add_message(self, topic: str, message: Any, received: int) -> None:
        """Add one message of `topic`, received at time `received` (ns).

        Raises
        ------
        JointDynamicsError
            When it is inconsistent.
        """
        if topic not in self._readers:
            self.counts[topic] = 0
            self._readers[topic] = [
                item
                for item in self.inputs
                if any(topic_regex(name).fullmatch(absolute(topic)) for name in item.topics)
            ]
        self.counts[topic] += 1
        for item in self._readers[topic]:
            for quantity, stamp, names, values in item.read(topic, message, received):
                self.add(quantity, stamp, names, values, topic, item.replaces)

    def add(
        self,
        quantity: str,
        stamp: int,
        names: Sequence[str],
        values: Any,
        source: str = 'input',
        replaces: bool = False,
    ) -> None:
        """Add one sample of a quantity.

        Parameters
        ----------
        quantity
            an array of Recording, or motor_position, motor_velocity, motor_torque.
        stamp
            ns of any clock, the same for all samples.
        names
            of the joints, in the order of the values.
        values
            one per joint, in the unit of the quantity: rad, rad/s, N·m, A, °C.
        source
            its samples belong together; for messages.
        replaces
            whether the source, such as a second encoder, replaces the others for its joints.

        """
        if replaces:
            self.replacing.add(source)
        self._stream(quantity, source).append(stamp, names, values)

    def add_block(
        self, quantity: str, stamps: IntArray, names: Sequence[str], values: FloatArray, source: str = 'input'
    ) -> None:
        """Add a block of samples of one source.

        Parameters
        ----------
        quantity
            as in `add`.
        stamps
            (K,) ns.
        names
            of the joints.
        values
            (K, len(names)) in the unit of the quantity: rad, rad/s, N·m, A, °C.
        source
            where they come from, for messages.
        """
        self._stream(quantity, source).extend(stamps, names, values)

    def tables(self, name: str) -> list[Table]:
        """Return all samples of the recording `name`, a table per quantity, source and set of joints.

        Raises
        ------
        JointDynamicsError
            Where time goes backwards, or no joint has a position.
        """
        try:
            tables = [table for stream in self._streams.values() for table in stream.tables() if table.stamps.size]
        except JointDynamicsError as error:
            raise JointDynamicsError(f'{name}: {error}') from None
        first = min((int(table.stamps[0]) for table in tables), default=0)
        tables = [replace(table, stamps=self.settings.correct_stamps(table.stamps, first)) for table in tables]
        if not any(table.quantity in POSITIONS for table in tables):
            read = ', '.join(f'{count} messages on {topic}' for topic, count in self.counts.items()) or 'no message'
            givers = [item for item in self.inputs if set(POSITIONS) & set(item.quantities)]
            wanted = ', '.join(topic for item in givers for topic in item.topics) or 'some input'
            raise JointDynamicsError(f'{name}: no position of any joint: expected on {wanted}, found {read}')
        return tables

    def _stream(self, quantity: str, source: str) -> Stream:
        stream = self._streams.get((quantity, source))
        if stream is None:
            if quantity not in QUANTITIES and quantity not in MOTOR_SIDE:
                raise JointDynamicsError(
                    f'{source}: quantity: expected one of {", ".join((*QUANTITIES, *MOTOR_SIDE))}, found {quantity!r}'
                )
            stream = self._streams[quantity, source] = Stream(source, quantity, self.settings.names)
        return stream
