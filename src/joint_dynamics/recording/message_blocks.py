"""Messages of a bag read in blocks: those of the same layout together, the others one by one.

The messages of one topic usually have the same strings and array lengths; then every number has the same position in
all of them, and the CDR bytes of many messages form a matrix. The *pattern* of a message is its strings, lengths and
encoding; two messages of the same length and pattern have the same layout. Padding belongs to neither.

The adapters that read single messages (`inputs`) also define the meaning of a block: they are given a message whose
numbers are replaced by their indices, and the samples that they return show where each number goes. The first message
of each layout is read in both ways, and only where they agree bit by bit are the others read in blocks.

rosbags deserializes one message after the other, in three times the processor time: 17 instead of 6 µs a message on
the recordings of three robots.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.recording.samples import Samples

BLOCK = 4096
"""Messages of a topic that are kept until they are read together."""
MIN_RUN = 8
"""Messages in a row below which it costs less to read each by itself."""
LAYOUTS = 16
"""Layouts of one topic that are kept; a topic with more is read message by message."""
SECOND = 1_000_000_000
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
    data
        the message in CDR, already read successfully by a library.
    kind
        its type.
    fields
        {type: (constants, fields)} as the library rosbags describes types.

    Attributes
    ----------
    length
        bytes of the message.
    message
        the message by attribute, with the *index* of each number, from 1, in place of the number.

    Raises
    ------
    ValueError, KeyError, struct.error
        For types that are unknown here and bytes that do not fit them.
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
        same: BoolArray = ~((block & self._mask) != self._pattern).any(axis=1)
        return same

    def integers(self, block: Any, index: int) -> IntArray:
        """Return the integer with this index of each row of a block of bytes, (messages,)."""
        place, code = self._places[index - 1]
        return self._columns(block, place, code, 1)[:, 0].astype(np.int64)

    def numbers(self, block: Any, indices: Sequence[int]) -> FloatArray:
        """Return the numbers (messages, indices) of a block of bytes, bit by bit."""
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


class _Column(NamedTuple):
    """One quantity of a block.

    Names of joints, indices of their values, indices of seconds and nanoseconds of its stamp (None: time of reception),
    whether it replaces others.
    """

    quantity: str
    names: tuple[str, ...]
    values: list[int]
    stamp: tuple[int, int] | None
    replaces: bool

    def stamps(self, layout: CdrLayout, block: Any, received: IntArray) -> IntArray:
        """Return the stamps (messages,) ns; a header without a time, 0, has that of reception."""
        if self.stamp is None:
            return received
        seconds, nanoseconds = (layout.integers(block, index) for index in self.stamp)
        stamps = seconds * SECOND + nanoseconds
        return np.where(stamps != 0, stamps, received)


class _Layout(NamedTuple):
    layout: CdrLayout
    columns: list[_Column]


class TopicBlocks:
    """The messages of one topic on their way from a bag to the samples.

    Parameters
    ----------
    samples
        receives their contents.
    topic, kind
        of the messages.
    store
        the type store of the library rosbags.

    Attributes
    ----------
    messages
        number of messages added.
    """

    def __init__(self, samples: Samples, topic: str, kind: str, store: Any):
        self._samples, self._topic, self._kind, self._store = samples, topic, kind, store
        self._readers = samples.readers(topic)
        self._layouts: list[_Layout] = []
        self._received: list[int] = []
        self._data: list[bytes] = []
        self._blocks = all(item.stateless for item in self._readers)
        self.messages = 0

    def add(self, received: int, data: bytes) -> None:
        """Add one message in CDR, received at time `received` (ns).

        Raises
        ------
        JointDynamicsError
            When it, or an earlier one, is inconsistent. Exceptions of rosbags on damaged bytes pass through.
        """
        self.messages += 1
        if not self._blocks:
            if self._data:
                self.flush()
            self._one(received, data)
            return
        self._received.append(received)
        self._data.append(data)
        if len(self._data) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Pass on the messages of the present block; raises as `add` does."""
        received, data = np.array(self._received, dtype=np.int64), self._data
        self._received, self._data = [], []
        for begin, end in _runs(np.fromiter(map(len, data), dtype=np.int64, count=len(data))):
            self._same_length(received[begin:end], data[begin:end])

    def _same_length(self, received: IntArray, data: Sequence[bytes]) -> None:
        """Hand on messages of one length."""
        if not self._blocks or len(data) < MIN_RUN or len(data[0]) < HEADER:
            self._one_by_one(received, data)
            return
        block = np.frombuffer(b''.join(data), dtype=np.uint8).reshape(len(data), -1)
        which = self._which(received, data, block)
        for begin, end in _runs(which):
            if which[begin] < 0 or end - begin < MIN_RUN:
                self._one_by_one(received[begin:end], data[begin:end])
            else:
                self._block(self._layouts[which[begin]], received[begin:end], block[begin:end])

    def _which(self, received: IntArray, data: Sequence[bytes], block: Any) -> IntArray:
        """Return the layout of each message of a block, an index or −1 for none."""
        which = np.full(len(block), -1)
        for index, known in enumerate(self._layouts):
            if known.layout.length == block.shape[1]:
                which[known.layout.fits(block)] = index
        while self._blocks and (which < 0).any():
            first = int(np.argmax(which < 0))
            layout = self._layout_of(int(received[first]), data[first])
            if layout is not None:
                which[(which < 0) & layout.layout.fits(block)] = len(self._layouts)
                self._layouts.append(layout)
            # a message that is not understood is no reason to try it with every one after it
            self._blocks = layout is not None and len(self._layouts) < LAYOUTS
        return which

    def _layout_of(self, received: int, data: bytes) -> _Layout | None:
        """Return how messages like this one are read in blocks, None where that is not what their adapters make."""
        message = self._store.deserialize_cdr(data, self._kind)
        samples = [(item, sample) for item in self._readers for sample in item.read(self._topic, message, received)]
        try:
            layout = CdrLayout(data, self._kind, self._store.fielddefs)
        except (ValueError, KeyError, struct.error):
            return None
        columns = [
            _Column(quantity, tuple(names), [int(value) for value in values], _stamp(stamp), item.replaces)
            for item in self._readers
            for quantity, stamp, names, values in item.read(self._topic, layout.message, 0)
        ]
        block = np.frombuffer(data, dtype=np.uint8)[None]
        for (item, (quantity, stamp, names, values)), column in zip(samples, columns, strict=True):
            same = (quantity, tuple(names), stamp) == (
                column.quantity,
                column.names,
                int(column.stamps(layout, block, np.array([received]))[0]),
            )
            bits = np.asarray(values, dtype=np.float64).tobytes()
            if not same or bits != layout.numbers(block, column.values).tobytes() or item.replaces != column.replaces:
                return None
        return _Layout(layout, columns)

    def _block(self, known: _Layout, received: IntArray, block: Any) -> None:
        self._samples.count(self._topic, len(block))
        for column in known.columns:
            stamps = column.stamps(known.layout, block, received)
            values: FloatArray = known.layout.numbers(block, column.values)
            self._samples.add_block(column.quantity, stamps, column.names, values, self._topic, column.replaces)

    def _one_by_one(self, received: IntArray, data: Sequence[bytes]) -> None:
        for stamp, item in zip(received.tolist(), data, strict=True):
            self._one(stamp, item)

    def _one(self, received: int, data: bytes) -> None:
        self._samples.add_message(self._topic, self._store.deserialize_cdr(data, self._kind), received)


def _stamp(stamp: int) -> tuple[int, int] | None:
    """Return the indices of seconds and nanoseconds that a stamp was made from, None for the time of reception, 0."""
    return divmod(stamp, SECOND) if stamp else None


def _runs(values: IntArray) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each stretch of equal values."""
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    yield from pairwise(edges) if len(values) else ()
