"""Messages of a bag handed to a builder in blocks: those of the same layout together, the others one by one.

What a block means is asked of the same adapters that read single messages (`inputs`): they are given a message whose
numbers are the indices of numbers, and what they make of it says which number goes where. The first message of each
layout is read in both ways, and only where they agree in every bit are the others read in blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.recording.cdr_layout import HEADER, CdrLayout
from joint_dynamics.recording.signal_builder import SignalBuilder

BLOCK = 4096
"""Messages of a topic that are kept until they are read together."""
FEW = 8
"""Messages in a row below which it costs less to read each by itself."""
LAYOUTS = 16
"""Layouts of one topic that are kept; a topic with more is read message by message."""
SECOND = 1_000_000_000


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
    """The messages of one topic on their way from a bag to a builder.

    Parameters
    ----------
    builder: takes the samples. topic, kind: of the messages. store: the type store of the library rosbags.

    Attributes
    ----------
    messages
        how many were taken.
    """

    def __init__(self, builder: SignalBuilder, topic: str, kind: str, store: Any):
        self._builder, self._topic, self._kind, self._store = builder, topic, kind, store
        self._readers = builder.readers(topic)
        self._layouts: list[_Layout] = []
        self._received: list[int] = []
        self._data: list[bytes] = []
        self._blocks = all(item.stateless for item in self._readers)
        self.messages = 0

    def add(self, received: int, data: bytes) -> None:
        """Take one message in CDR, received at this time (ns).

        Raises
        ------
        JointDynamicsError
            When it, or one before it, contradicts itself. What rosbags raises on damaged bytes passes through.
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
        """Hand on what was kept; raises as `add`."""
        received, data = np.array(self._received, dtype=np.int64), self._data
        self._received, self._data = [], []
        for begin, end in _runs(np.fromiter(map(len, data), dtype=np.int64, count=len(data))):
            self._same_length(received[begin:end], data[begin:end])

    def _same_length(self, received: IntArray, data: Sequence[bytes]) -> None:
        """Hand on messages of one length."""
        if not self._blocks or len(data) < FEW or len(data[0]) < HEADER:
            self._each(received, data)
            return
        block = np.frombuffer(b''.join(data), dtype=np.uint8).reshape(len(data), -1)
        which = self._which(received, data, block)
        for begin, end in _runs(which):
            if which[begin] < 0 or end - begin < FEW:
                self._each(received[begin:end], data[begin:end])
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
            found = self._understood(int(received[first]), data[first])
            if found is not None:
                which[(which < 0) & found.layout.fits(block)] = len(self._layouts)
                self._layouts.append(found)
            # a message that is not understood is no reason to try it with every one after it
            self._blocks = found is not None and len(self._layouts) < LAYOUTS
        return which

    def _understood(self, received: int, data: bytes) -> _Layout | None:
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
        self._builder.count(self._topic, len(block))
        for column in known.columns:
            stamps = column.stamps(known.layout, block, received)
            values: FloatArray = known.layout.numbers(block, column.values)
            self._builder.add_block(column.quantity, stamps, column.names, values, self._topic, column.replaces)

    def _each(self, received: IntArray, data: Sequence[bytes]) -> None:
        for stamp, item in zip(received.tolist(), data, strict=True):
            self._one(stamp, item)

    def _one(self, received: int, data: bytes) -> None:
        self._builder.add_message(self._topic, self._store.deserialize_cdr(data, self._kind), received)


def _stamp(stamp: int) -> tuple[int, int] | None:
    """Return the indices of seconds and nanoseconds that a stamp was made from, None for the time of reception, 0."""
    return divmod(stamp, SECOND) if stamp else None


def _runs(values: IntArray) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each stretch of equal values."""
    edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    yield from pairwise(edges) if len(values) else ()
