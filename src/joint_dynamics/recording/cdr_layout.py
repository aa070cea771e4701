"""Where the numbers of a message stand in its CDR bytes: messages that differ in nothing else are decoded at one blow.

The messages of one topic mostly have the same strings and the same lengths of everything; then every number stands at
the same place in all of them, and the bytes of many messages are one matrix. The *pattern* of a message is its strings,
lengths and encoding; two messages of the same length and pattern have the same layout. Padding belongs to neither.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray

#: CDR type -> the character by which numpy and struct call it.
NUMBERS = {
    'bool': 'B',
    'byte': 'B',
    'char': 'B',
    'int8': 'b',
    'uint8': 'B',
    'int16': 'h',
    'uint16': 'H',
    'int32': 'i',
    'uint32': 'I',
    'int64': 'q',
    'uint64': 'Q',
    'float32': 'f',
    'float64': 'd',
}
HEADER = 4
"""Bytes before the message that say how it is encoded; places are aligned from there."""


class CdrLayout:
    """The layout of one message.

    Parameters
    ----------
    data: the message in CDR, one that a library has read without complaint.
    kind: its type. fields: {type: (constants, fields)} as the library rosbags describes types.

    Attributes
    ----------
    length
        bytes of the message.
    message
        the message by attribute, with the *index* of each number, from 1, in place of the number.

    Raises
    ------
    ValueError, KeyError, struct.error
        For types that are not known here and bytes that do not fit them.
    """

    def __init__(self, data: bytes, kind: str, fields: Any):
        self._data, self._type_fields = data, fields
        self._order = '<' if data[1] else '>'
        self._at = HEADER
        self._places: list[tuple[int, str]] = []
        self.length = len(data)
        mask = np.zeros(self.length, dtype=np.uint8)
        mask[:HEADER] = 255
        self._mask = mask
        self.message = self._named(kind)
        self._pattern = np.frombuffer(data, dtype=np.uint8) & mask

    @property
    def padding(self) -> list[int]:
        """Places of the bytes that are neither numbers nor pattern."""
        used = {place + k for place, code in self._places for k in range(struct.calcsize(code))}
        return [place for place in range(self.length) if not self._mask[place] and place not in used]

    def fits(self, block: Any) -> BoolArray:
        """Return which rows of a block (messages, length) of bytes have this layout, (messages,) bool."""
        found: BoolArray = ~((block & self._mask) != self._pattern).any(axis=1)
        return found

    def integers(self, block: Any, index: int) -> IntArray:
        """Return the whole number with this index of each row of a block of bytes, (messages,)."""
        place, code = self._places[index - 1]
        return self._columns(block, place, code, 1)[:, 0].astype(np.int64)

    def numbers(self, block: Any, indices: Sequence[int]) -> FloatArray:
        """Return the numbers (messages, indices) of a block of bytes, each bit as it was."""
        places = [self._places[index - 1] for index in indices]
        first = places[0][0]
        if places == [(first + 8 * k, 'd') for k in range(len(places))]:
            return self._columns(block, first, 'd', len(places)).astype(np.float64, copy=False)
        return np.column_stack([self._columns(block, place, code, 1).astype(np.float64) for place, code in places])

    def _columns(self, block: Any, place: int, code: str, count: int) -> Any:
        size = struct.calcsize(code)
        return np.ascontiguousarray(block[:, place : place + count * size]).view(f'{self._order}{code}')

    def _aligned(self, size: int) -> int:
        self._at += -(self._at - HEADER) % size
        return self._at

    def _fixed(self, size: int) -> bytes:
        start = self._at
        if start + size > self.length:
            raise ValueError('a message that ends too early')
        self._mask[start : start + size] = 255
        self._at += size
        return self._data[start : self._at]

    def _count(self) -> int:
        self._aligned(4)
        return int(struct.unpack(f'{self._order}I', self._fixed(4))[0])

    def _number(self, code: str) -> int:
        size = struct.calcsize(code)
        place = self._aligned(size)
        if place + size > self.length:
            raise ValueError('a message that ends too early')
        self._at += size
        self._places.append((place, code))
        return len(self._places)

    def _named(self, kind: str) -> SimpleNamespace:
        return SimpleNamespace(**{name: self._field(field) for name, field in self._type_fields[kind][1]})

    def _field(self, field: Any) -> Any:
        node, detail = field
        if node.name == 'NAME':
            return self._named(detail)
        if node.name == 'BASE':
            if detail[0] == 'string':
                return self._fixed(self._count())[:-1].decode()
            return self._number(NUMBERS[detail[0]])
        count = detail[1] if node.name == 'ARRAY' else self._count()
        if count > self.length:
            raise ValueError('more elements than bytes')
        return [self._field(detail[0]) for _ in range(count)]
