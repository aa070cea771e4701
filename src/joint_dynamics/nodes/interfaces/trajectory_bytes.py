"""A `trajectory_msgs/JointTrajectory` read from the bytes of its transport into arrays, without an object per point.

rclpy makes four Python lists per point and holds the interpreter meanwhile: 0.15 s for 20,000 points, in which a node
that streams commands sends none. Here the points that are laid out alike, which all points of a trajectory are unless
it is refused anyway, are read in one go, block by block, so that other threads get the interpreter in between.

The format is plain CDR (OMG DDS-XTypes 1.3, 7.4.3, encoding version 1): four bytes that say so and in which byte order,
then the fields one after the other, each aligned to its own size, counted from behind these four bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control import Points
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.joint_state_bytes import aligned

MAX_POINTS = 50_000
"""Points of the longest trajectory that is taken: what a spline through them takes stays below the `timeout` of the
joint states."""
FIELDS = ('positions', 'velocities', 'accelerations', 'effort')
BLOCK = 1000
"""Points that are read in one go."""
_PLAIN_CDR = {b'\x00\x00': '>', b'\x00\x01': '<'}


@dataclass(frozen=True)
class TrajectoryBytes:
    """The head of a trajectory message; its points are read when they are asked for.

    Attributes
    ----------
    sec, nanosec, frame_id: of the header. joint_names: (n,). count: number of points.

    """

    sec: int
    nanosec: int
    frame_id: str
    joint_names: tuple[str, ...]
    count: int
    _data: bytes
    _order: str
    _first: int

    @property
    def stamp(self) -> float:
        """Time of the header, s."""
        return self.sec + self.nanosec * 1e-9

    @property
    def is_set_point(self) -> bool:
        """Whether the message is one point at time 0: what is desired now."""
        if self.count != 1:
            return False
        _, _, after = _sizes_at(self._data, self._order, self._first)
        return self._data[after - 8 : after] == bytes(8)

    def points(self) -> Points:
        """Return the points, in the order of `joint_names`.

        Raises
        ------
        JointDynamicsError
            When there are none or too many, when some have velocities or accelerations and others have not, and when
            the message ends before they do.
        """
        if self.count == 0:
            raise JointDynamicsError('trajectory: expected points with positions, found none')
        if self.count > MAX_POINTS:
            raise JointDynamicsError(
                f'trajectory: expected at most {MAX_POINTS} points, found {self.count}; leave points out, it is '
                'interpolated smoothly between them'
            )
        table = self._alike()
        if table is None:
            raise JointDynamicsError(self._difference())
        times, columns = table
        q, dq, ddq, _ = columns
        if q is None:
            raise JointDynamicsError('trajectory: expected points with positions, found none')
        return Points(self.joint_names, times, q, dq, ddq)

    def _alike(self) -> tuple[FloatArray, list[FloatArray | None]] | None:
        """Return times (P,) and the fields (P, size) of points of the same layout; None where they differ."""
        sizes, _, _ = _sizes_at(self._data, self._order, self._first)
        if self._first + self.count * (4 * len(FIELDS) + 8 * sum(sizes) + 8) > len(self._data):
            return None  # before memory is asked for
        times = np.empty(self.count)
        columns = [np.empty((self.count, size)) if size else None for size in sizes]
        for index, begin, stride in self._runs():
            there, places, after = _sizes_at(self._data, self._order, begin)
            if there != sizes or begin + (len(index) - 1) * stride + after - begin > len(self._data):
                return None
            kind = np.dtype({
                'names': [*(f'{name} count' for name in FIELDS), *FIELDS, 'sec', 'nanosec'],
                'formats': [*[f'{self._order}u4'] * 4, *[(f'{self._order}f8', (size,)) for size in sizes],
                            f'{self._order}i4', f'{self._order}u4'],
                'offsets': [place - begin for place in (*places, after - 8, after - 4)],
                'itemsize': after - begin,
            })  # fmt: skip
            rows = np.ndarray((len(index),), kind, self._data, begin, (stride,))
            for first in range(0, len(index), BLOCK):
                part = index[first : first + BLOCK]
                block, target = rows[first : first + BLOCK], slice(part.start, part.stop, part.step)
                if any((block[f'{name} count'] != size).any() for name, size in zip(FIELDS, sizes, strict=True)):
                    return None
                times[target] = block['sec'] + block['nanosec'] * 1e-9
                for name, column in zip(FIELDS, columns, strict=True):
                    if column is not None:
                        column[target] = block[name]
        return times, columns

    def _runs(self) -> list[tuple[range, int, int]]:
        """Return which points are equally far apart, the place of the first of them, the bytes from one to the next.

        Only where all have the fields of the first. Numbers are aligned to eight bytes, a point to four: the first may
        begin elsewhere than all others do, or every second one.
        """
        places = [self._first]
        while len(places) < min(self.count, 4):
            places.append(_sizes_at(self._data, self._order, places[-1])[2])
        if len(places) < 4:
            return [(range(k, k + 1), place, 0) for k, place in enumerate(places)]
        if places[2] - places[1] == places[3] - places[2]:
            return [(range(1), places[0], 0), (range(1, self.count), places[1], places[2] - places[1])]
        return [(range(k, self.count, 2), places[k], places[2] - places[0]) for k in (0, 1)]

    def _difference(self) -> str:
        """Return in which field the points differ, or that the message is cut off."""
        lengths_by_field: list[set[int]] = [set() for _ in FIELDS]
        at = self._first
        for _ in range(self.count):
            sizes, _, at = _sizes_at(self._data, self._order, at)
            for lengths, size in zip(lengths_by_field, sizes, strict=True):
                lengths.add(size)
            for name, lengths in zip(FIELDS, lengths_by_field, strict=True):
                if len(lengths) > 1:
                    return f'trajectory: expected as many {name} at every point, found {sorted(lengths)}'
        raise AssertionError('points alike in every field, of another layout')


def read_trajectory(data: bytes) -> TrajectoryBytes:
    """Return the message in these bytes, its points not read yet.

    Raises
    ------
    JointDynamicsError
        When it is not plain CDR, or ends too early.
    """
    order = _PLAIN_CDR.get(data[:2])
    if order is None:
        raise JointDynamicsError(
            f'trajectory: expected a message in plain CDR (00 00 or 00 01), found {data[:2].hex(" ")}'
        )
    try:
        sec, nanosec = struct.unpack_from(f'{order}iI', data, 4)
        frame_id, at = _text(data, order, 12)
        names = []
        at = aligned(at, 4)
        (number,) = struct.unpack_from(f'{order}I', data, at)
        at += 4
        if number > len(data):
            raise _cut_off(data)
        for _ in range(number):
            name, at = _text(data, order, at)
            names.append(name)
        at = aligned(at, 4)
        (count,) = struct.unpack_from(f'{order}I', data, at)
    except struct.error:
        raise _cut_off(data) from None
    except UnicodeDecodeError:
        raise JointDynamicsError('trajectory: expected names in UTF-8, found other bytes') from None
    return TrajectoryBytes(sec, nanosec, frame_id, tuple(names), count, data, order, at + 4)


def _text(data: bytes, order: str, at: int) -> tuple[str, int]:
    at = aligned(at, 4)
    (length,) = struct.unpack_from(f'{order}I', data, at)
    at += 4
    if at + length > len(data):
        raise _cut_off(data)
    # It ends with a zero, which counts.
    return bytes(data[at : at + max(length - 1, 0)]).decode(), at + length


def _sizes_at(data: bytes, order: str, at: int) -> tuple[list[int], list[int], int]:
    """Return the sizes of the four fields of the point at `at`, the places of their counts and values, and its end."""
    sizes, counts, values = [], [], []
    try:
        for _ in FIELDS:
            at = aligned(at, 4)
            (size,) = struct.unpack_from(f'{order}I', data, at)
            sizes.append(size)
            counts.append(at)
            at += 4
            if size:
                at = aligned(at, 8)
            values.append(at)
            at += 8 * size
        at = aligned(at, 4) + 8
    except struct.error:
        raise _cut_off(data) from None
    if at > len(data):
        raise _cut_off(data)
    return sizes, [*counts, *values], at


def _cut_off(data: bytes) -> JointDynamicsError:
    return JointDynamicsError(f'trajectory: expected a whole message, found one that ends after {len(data)} bytes')
