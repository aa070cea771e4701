"""Samples of one quantity from one source as they come, kept compactly until they are aligned.

Messages may name their joints in any order, and several publishers with some of the joints each may share a topic. What
names the same joints belongs together and is one table with one row of values per stamp.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError


@dataclass(frozen=True)
class Table:
    """Values (K, columns) of the joints `names` at strictly increasing `stamps` (K,) ns, from one source."""

    source: str
    quantity: str
    names: tuple[str, ...]
    stamps: IntArray
    values: FloatArray
    duplicates: int = 0


@dataclass
class _Rows:
    """The rows of one set of joints: 8 bytes per stamp and value, no object per message."""

    names: tuple[str, ...]
    stamps: array[int] = field(default_factory=lambda: array('q'))
    values: array[float] = field(default_factory=lambda: array('d'))


class Stream:
    """Appends samples of one quantity from one source; `tables` gives them back, one table per set of joints."""

    def __init__(self, source: str, quantity: str, rename: Mapping[str, str]):
        self.source = source
        self.quantity = quantity
        self._rename = rename
        self._rows: dict[frozenset[str], _Rows] = {}
        #: Names as a message lists them -> their rows, and the order that brings the values into the rows' order.
        self._orders: dict[tuple[str, ...], tuple[_Rows, list[int] | None]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Every joint seen so far (renamed), in order of appearance."""
        return tuple(dict.fromkeys(name for rows in self._rows.values() for name in rows.names))

    def append(self, stamp: int, names: Sequence[str], values: Any) -> None:
        """Append one value for each of `names` at `stamp` (ns). Raises JointDynamicsError when their numbers differ."""
        key = tuple(names)
        rows, order = self._orders.get(key) or self._new_order(key)
        if len(values) != len(key):
            raise JointDynamicsError(
                f'{self.source}: expected {len(key)} values of {self.quantity} for {", ".join(key)}, '
                f'found {len(values)}'
            )
        if order is not None:
            values = [values[index] for index in order]
        rows.stamps.append(stamp)
        if isinstance(values, np.ndarray):
            rows.values.frombytes(values.astype(np.float64, copy=False).tobytes())
        else:
            rows.values.extend(values)

    def extend(self, stamps: IntArray, names: Sequence[str], values: FloatArray) -> None:
        """Append a block of values (K, len(names)) at `stamps` (K,) ns."""
        key = tuple(names)
        rows, order = self._orders.get(key) or self._new_order(key)
        rows.stamps.frombytes(np.ascontiguousarray(stamps, dtype=np.int64).tobytes())
        rows.values.frombytes(
            np.ascontiguousarray(values if order is None else values[:, order], dtype=np.float64).tobytes()
        )

    def tables(self) -> Iterator[Table]:
        """Yield one table per set of joints, stamps that occur more than once reduced to their last sample.

        Raises
        ------
        JointDynamicsError
            When time goes backwards.
        """
        for rows in self._rows.values():
            stamps = np.array(rows.stamps, dtype=np.int64)
            steps = np.diff(stamps)
            if not (steps >= 0).all():
                at = int(np.argmax(steps < 0))
                raise JointDynamicsError(
                    f'{self.source}: expected stamps that go on, found time going back by {-steps[at] * 1e-9:.6g} s at'
                    f' {(stamps[at] - stamps[0]) * 1e-9:.6g} s (message {at + 2} of {stamps.size} with {self.quantity})'
                )
            # The view of the buffer must not outlive this loop: an array that is looked at cannot grow.
            values = np.array(rows.values, dtype=np.float64).reshape(stamps.size, len(rows.names))
            last = np.append(steps > 0, True) if stamps.size else np.zeros(0, dtype=bool)
            duplicates = int(stamps.size - last.sum())
            if duplicates:
                if last.sum() < 2 < stamps.size:
                    raise JointDynamicsError(
                        f'{self.source}: expected stamps that go on, found the same one in all {stamps.size} messages, '
                        f'{stamps[0] * 1e-9:.9g} s; recording.stamps: received takes the time of reception'
                    )
                stamps, values = stamps[last], values[last]
            yield Table(self.source, self.quantity, rows.names, stamps, values, duplicates)

    def _new_order(self, key: tuple[str, ...]) -> tuple[_Rows, list[int] | None]:
        names = tuple(self._rename.get(name, name) for name in key)
        if len(set(names)) != len(names):
            raise JointDynamicsError(f'{self.source}: expected each joint once in a message, found {", ".join(names)}')
        rows = self._rows.setdefault(frozenset(names), _Rows(names))
        order = None if rows.names == names else [names.index(name) for name in rows.names]
        self._orders[key] = rows, order
        return rows, order
