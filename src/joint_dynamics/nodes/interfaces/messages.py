"""Messages from arrays: stamps, durations and joint states, and those of a thousand times a second as their bytes.

rclpy makes one Python object per number and copies each field by its name, in and out: three times what the bytes cost
themselves. Here a `sensor_msgs/JointState` is read as views of one array, and its layout is looked up, not parsed, for
a publisher sends the same names again and again. What is laid out in another way than plain CDR says, or is broken, is
left to the middleware's own reader, which refuses it or knows better.

The format is plain CDR (OMG DDS-XTypes 1.3, 7.4.3, encoding version 1), as in `trajectory_bytes`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import Header as HeaderMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.arrays import FloatArray

_LITTLE = b'\x00\x01\x00\x00'
_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
LAYOUTS = 16
"""Layouts of one topic that are remembered: of so many publishers, or orders of names."""
_START = 12
"""Where the frame stands, behind the encoding and the stamp."""


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
    """What messages of one length and one head have in common: names, and where the three fields stand."""

    frame_id: str
    names: tuple[str, ...]
    head: bytes
    counts: tuple[tuple[int, bytes], ...]
    fields: tuple[tuple[int, int], ...]


class JointStateReader:
    """Reads the messages of one topic. Not thread-safe."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[int, bytes], _Layout] = {}

    def read(self, data: bytes) -> JointStateView | None:
        """Return the message in these bytes, None where it is not a whole one in plain CDR."""
        order = _ORDERS.get(data[:2])
        if order is None or len(data) < _START:
            return None
        # A message of the same length and encoding is laid out as the last one was, unless its head is another.
        key = (len(data), data[:2])
        layout = self._layouts.get(key)
        if layout is None or not _fits(layout, data):
            layout = _layout_of(data, order)
            if layout is None:
                return None
            if len(self._layouts) >= LAYOUTS:
                self._layouts.clear()
            self._layouts[key] = layout
        sec, nanosec = (_LITTLE_STAMP if order == '<' else _BIG_STAMP).unpack_from(data, 4)
        kind = _LITTLE_FLOAT if order == '<' else _BIG_FLOAT
        position, velocity, effort = (
            np.frombuffer(data, kind, count, offset) if count else _NOTHING for count, offset in layout.fields
        )
        return JointStateView(Header(Stamp(sec, nanosec), layout.frame_id), layout.names, position, velocity, effort)


_LITTLE_STAMP, _BIG_STAMP = struct.Struct('<iI'), struct.Struct('>iI')
_LITTLE_FLOAT, _BIG_FLOAT = np.dtype('<f8'), np.dtype('>f8')
_NOTHING = np.zeros(0)


def _fits(layout: _Layout, data: bytes) -> bool:
    head = layout.head
    return data[_START : _START + len(head)] == head and all(data[at : at + 4] == count for at, count in layout.counts)


def _layout_of(data: bytes, order: str) -> _Layout | None:
    """Return the layout of a message, None where it ends before its fields do, or a name is none."""
    number = struct.Struct(f'{order}I')
    try:
        frame_id, at = _text(data, number, _START)
        (size,) = number.unpack_from(data, at := _aligned(at, 4))
        at += 4
        if size > len(data):
            return None
        names = []
        for _ in range(size):
            name, at = _text(data, number, at)
            names.append(name)
        at = _aligned(at, 4)
        head, counts, fields = data[_START:at], [], []
        for _ in range(3):
            (size,) = number.unpack_from(data, at)
            counts.append((at, data[at : at + 4]))
            at += 4
            if size:
                at = _aligned(at, 8)
            fields.append((size, at))
            at += 8 * size
            if at > len(data):
                return None
    except (struct.error, UnicodeDecodeError):
        return None
    return _Layout(frame_id, tuple(names), head, tuple(counts), tuple(fields))


def _text(data: bytes, number: struct.Struct, at: int) -> tuple[str, int]:
    at = _aligned(at, 4)
    (length,) = number.unpack_from(data, at)
    at += 4
    text = data[at : at + length]
    # It ends with a zero, which counts.
    if len(text) != length or not length or text[-1] or 0 in text[:-1]:
        raise struct.error
    return text[:-1].decode(), at + length


def _aligned(at: int, size: int) -> int:
    return 4 + (at - 4 + size - 1) // size * size


class JointStateWriter:
    """Writes messages of the same joints, without a frame. joint_names: (n,)."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        body = bytearray(_string(''))
        body += bytes(-len(body) % 4) + struct.pack('<I', len(joint_names))
        for name in joint_names:
            body += bytes(-len(body) % 4) + _string(name)
        # Counted from the stamp on, which is eight bytes long.
        self._head = bytes(body + bytes(-len(body) % 4))
        self._gaps: dict[tuple[int, ...], tuple[bytes, ...]] = {}

    def write(
        self,
        nanoseconds: int,
        position: FloatArray | None = None,
        velocity: FloatArray | None = None,
        effort: FloatArray | None = None,
    ) -> bytes:
        """Return the message of these arrays (n,) rad, rad/s, N·m or A, stamped in ns; None: left empty."""
        values = [b'' if field is None else _bytes(field) for field in (position, velocity, effort)]
        sizes = (len(values[0]), len(values[1]), len(values[2]))
        gaps = self._gaps.get(sizes)
        if gaps is None:
            gaps = self._gaps[sizes] = self._counts(sizes)
        sec, nanosec = divmod(nanoseconds, 1_000_000_000)
        stamp = _LITTLE_STAMP.pack(sec, nanosec)
        return b''.join((_LITTLE, stamp, self._head, gaps[0], values[0], gaps[1], values[1], gaps[2], values[2]))

    def _counts(self, sizes: Sequence[int]) -> tuple[bytes, ...]:
        at, gaps = len(self._head), []
        for size in sizes:
            gap = struct.pack('<I', size // 8)
            if size:
                gap += bytes(-(at + 4) % 8)
            gaps.append(gap)
            at += len(gap) + size
        return tuple(gaps)


def array_message(values: FloatArray) -> bytes:
    """Return a `std_msgs/Float64MultiArray` of these values (n,), without a layout."""
    data = _bytes(values)
    return _LITTLE + _ARRAY_HEAD.pack(0, 0, len(data) // 8) + (b'\x00\x00\x00\x00' + data if data else b'')


_ARRAY_HEAD = struct.Struct('<III')


def _bytes(values: FloatArray) -> bytes:
    return np.asarray(values, _LITTLE_FLOAT).tobytes()


def _string(text: str) -> bytes:
    encoded = text.encode() + b'\x00'
    return struct.pack('<I', len(encoded)) + encoded


def stamp(nanoseconds: int) -> Time:
    """Return a time [ns] as a stamp."""
    sec, nanosec = divmod(nanoseconds, 10**9)
    return Time(sec=sec, nanosec=nanosec)


def duration(seconds: float) -> Duration:
    """Return s >= 0 as a duration, rounded to the nanosecond."""
    sec, nanosec = divmod(round(float(seconds) * 1e9), 10**9)
    return Duration(sec=sec, nanosec=nanosec)


def seconds(time: Any) -> float:
    """Return a stamp or a duration in s."""
    return time.sec + 1e-9 * time.nanosec


def temperature(when: Time, joint: str, value: float) -> Temperature:
    """Return the temperature message of one joint, °C."""
    return Temperature(header=HeaderMessage(stamp=when, frame_id=joint), temperature=float(value))


def joint_trajectory(
    names: Sequence[str],
    times: Sequence[float] | FloatArray,
    q: FloatArray,
    dq: FloatArray | None = None,
    ddq: FloatArray | None = None,
    effort: FloatArray | None = None,
    header: HeaderMessage | None = None,
) -> JointTrajectory:
    """Return the trajectory of arrays (points, n) at times (points,) s from its start, those not given left empty."""
    fields = {'positions': q, 'velocities': dq, 'accelerations': ddq, 'effort': effort}
    rows = {name: array.tolist() for name, array in fields.items() if array is not None}
    message = JointTrajectory(header=header or HeaderMessage(), joint_names=list(names))
    for k, time in enumerate(times):
        point = {name: values[k] for name, values in rows.items()}
        message.points.append(JointTrajectoryPoint(**point, time_from_start=duration(time)))
    return message


def joint_state(
    when: Time,
    names: Sequence[str],
    effort: FloatArray | None = None,
    position: FloatArray | None = None,
    velocity: FloatArray | None = None,
) -> JointState:
    """Return a JointState of these arrays (n,), those not given left empty."""
    message = JointState(name=list(names))
    message.header.stamp = when
    for field, values in (('effort', effort), ('position', position), ('velocity', velocity)):
        if values is not None:
            setattr(message, field, values.tolist())
    return message
