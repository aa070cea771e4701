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

"""The bytes of `sensor_msgs/JointState`, which come a thousand times a second, read as views of one array.

rosbags and rclpy make one Python object per field, rclpy one per number, which takes two to three times as long. The
layout is looked up, not parsed: a publisher sends the same names again and again. Other and broken layouts are left to
the library's own reader.

The format is plain CDR (OMG DDS-XTypes 1.3, 7.4.3, encoding version 1).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray

_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
LAYOUTS = 16  # of one topic that are remembered: publishers, or orders of names
_START = 12  # place of the frame, after the encoding and the stamp


class Stamp(NamedTuple):
    """`builtin_interfaces/Time`."""

    sec: int
    nanosec: int


class Header(NamedTuple):
    """`std_msgs/Header`."""

    stamp: Stamp
    frame_id: str


class JointStateView(NamedTuple):
    """A `sensor_msgs/JointState` with the fields of rclpy's: names as a tuple, values (n,) as views of the bytes."""

    header: Header
    name: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class _Layout(NamedTuple):
    """The common layout of messages of one length.

    parts unpacks the stamp, and then the head and the count of each field, equal to `marks` in every message of this
    layout. fields: (count, place) of each.
    """

    frame_id: str
    names: tuple[str, ...]
    parts: struct.Struct
    marks: tuple[bytes | int, ...]
    kind: np.dtype[np.float64]
    fields: tuple[tuple[int, int], ...]


class JointStateReader:
    """Reads the messages of one topic. Not thread-safe."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[int, str], _Layout] = {}

    def read(self, data: bytes) -> JointStateView | None:
        """Return the message in these bytes, None where it is not a whole one in plain CDR."""
        order = _ORDERS.get(data[:2])
        if order is None or len(data) < _START:
            return None
        # A message of the same length and encoding is laid out as the last one was, unless its head is another.
        key = (len(data), order)
        layout = self._layouts.get(key)
        parts = () if layout is None else layout.parts.unpack_from(data)
        if layout is None or parts[2:] != layout.marks:
            layout = _layout_of(data, order)
            if layout is None:
                return None
            if len(self._layouts) >= LAYOUTS:
                self._layouts.clear()
            self._layouts[key] = layout
            parts = layout.parts.unpack_from(data)
        position, velocity, effort = [
            np.frombuffer(data, layout.kind, count, at) if count else _NOTHING for count, at in layout.fields
        ]
        header = Header(Stamp(parts[0], parts[1]), layout.frame_id)
        return JointStateView(header, layout.names, position, velocity, effort)


_NOTHING = np.zeros(0)


def _layout_of(data: bytes, order: str) -> _Layout | None:
    """Return the layout of a message, None where it ends before its fields do, or a name is none."""
    number = struct.Struct(f'{order}I')
    try:
        frame_id, at = _text(data, number, _START)
        (size,) = number.unpack_from(data, at := aligned(at, 4))
        at += 4
        if size > len(data):
            return None
        names = []
        for _ in range(size):
            name, at = _text(data, number, at)
            names.append(name)
        at = aligned(at, 4)
        # skipping names and numbers
        form, end, fields = f'{order}4xiI{at - _START}s', at, []
        for _ in range(3):
            (size,) = number.unpack_from(data, at)
            form, end = f'{form}{at - end}xI', at + 4
            at += 4
            if size:
                at = aligned(at, 8)
            fields.append((size, at))
            at += 8 * size
            if at > len(data):
                return None
    except (struct.error, UnicodeDecodeError):
        return None
    parts = struct.Struct(form)
    marks = parts.unpack_from(data)[2:]
    return _Layout(frame_id, tuple(names), parts, marks, np.dtype(f'{order}f8'), tuple(fields))


def _text(data: bytes, number: struct.Struct, at: int) -> tuple[str, int]:
    at = aligned(at, 4)
    (length,) = number.unpack_from(data, at)
    at += 4
    text = data[at : at + length]
    # It ends with a zero, which counts.
    if len(text) != length or not length or text[-1] or 0 in text[:-1]:
        raise struct.error
    return text[:-1].decode(), at + length


def aligned(at: int, size: int) -> int:
    """Return the place of a number of `size` bytes, at `at` or behind it."""
    return 4 + (at - 4 + size - 1) // size * size
