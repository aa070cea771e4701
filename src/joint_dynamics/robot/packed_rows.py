"""The wanted columns of the regressor without the zeros: of each joint only the links that it moves.

Two ways to the same bits: numpy's (`inertial_columns`, the reference) and the compiled one. The compiled one is many
times faster, but numba and the kernel take a third of a second to load (several to compile, once per installation). So
a process begins with numpy's and changes over when it has seen so many samples that loading would have paid: it never
takes more than about twice what the better choice, known beforehand, would have taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.regressor import inertial_columns
from joint_dynamics.robot.standard_parameters import column, drive_columns, link_columns, parameter_names

Motion = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""q, dq, ddq, dtheta, ddtheta."""
LINKS_UNTIL_COMPILED = 600_000
"""Samples times joints after which the compiled way has paid for its loading."""


class PackedRows:
    """Rows of a regressor by joint, without the columns that are zero for it.

    Attributes
    ----------
    values
        (rows, samples): those of joint j at `parts[j]`, and below them one row to spare, for a right-hand side.
    columns
        per joint the columns that its rows stand for.
    shape
        (joints, columns, samples) of the same with all zeros.
    """

    def __init__(self, values: FloatArray, columns: Sequence[IntArray], count: int):
        self.values, self.columns = values, columns
        self.parts: list[slice] = []
        start = 0
        for own in columns:
            self.parts.append(slice(start, start + len(own)))
            start += len(own) + 1
        self.shape = (len(columns), count, values.shape[1])

    def dense(self) -> FloatArray:
        """Return the rows with all zeros, (joints, columns, samples)."""
        found = np.zeros(self.shape)
        for rows, own, part in zip(found, self.columns, self.parts, strict=True):
            rows[own] = self.values[part]
        return found

    def with_right_side(self, j: int, y: FloatArray) -> FloatArray:
        """Return the rows of joint j with y (samples,) below them, (own columns + 1, samples); y is written here."""
        part = self.parts[j]
        self.values[part.stop] = y
        return self.values[part.start : part.stop + 1]

    def between(self, first: int, end: int) -> PackedRows:
        """Return the rows of the samples first … end − 1, which stay where they are."""
        return PackedRows(self.values[:, first:end], self.columns, self.shape[1])

    def __matmul__(self, weights: FloatArray) -> PackedRows:
        """Return the rows of weighted sums of samples; weights (samples, sums)."""
        return PackedRows(self.values @ weights, self.columns, self.shape[1])

    def __add__(self, other: PackedRows) -> PackedRows:
        """Return the sum, of the same columns."""
        return PackedRows(self.values + other.values, self.columns, self.shape[1])


class RowPacker:
    """Computes `PackedRows` of one chain.

    Parameters
    ----------
    wanted: (b,) indices of the standard parameters that become columns 0 … b − 1; those beyond the chain's own are left
    to the caller, see `further`. further: (n, b) bool, which columns of those the caller fills for which joint.

    Attributes
    ----------
    own: (n, b) bool, which columns may differ from zero for which joint.
    """

    def __init__(self, chain: Chain, wanted: IntArray, further: BoolArray | None = None):
        self._chain, self._wanted = chain, wanted
        n, links = chain.n, len(parameter_names(chain.n))
        own = np.zeros((n, links), dtype=bool)
        for i in range(n):
            own[i, drive_columns(i)] = True
            j = i
            while j >= 0:
                own[j, link_columns(i)] = True
                j = chain.parent[j]
        inside = wanted < links
        self.own = np.zeros((n, len(wanted)), dtype=bool)
        self.own[:, inside] = own[:, wanted[inside]]
        if further is not None:
            self.own |= further
        self.columns = [np.flatnonzero(row) for row in self.own]
        self._rows = sum(len(columns) + 1 for columns in self.columns)
        self._seen = np.full((n, links), -1)
        self._again: list[tuple[int, int]] = []  # rows of a parameter that is wanted twice, as of a payload
        parts = PackedRows(np.zeros((self._rows, 0)), self.columns, len(wanted)).parts
        for j, (columns, part) in enumerate(zip(self.columns, parts, strict=True)):
            for row, k in zip(range(part.start, part.stop), wanted[columns], strict=True):
                if k >= links:
                    continue
                if self._seen[j, k] < 0:
                    self._seen[j, k] = row
                else:
                    self._again.append((row, int(self._seen[j, k])))
        self._asked = np.asarray((self._seen >= 0).any(axis=0))
        self._compiled = _arguments(chain, self._seen)
        self._unwritten = self._left_out(chain, parts)
        self._drives = np.array([self._seen[j, drive_columns(j)] for j in range(n)])

    def _left_out(self, chain: Chain, parts: Sequence[slice]) -> IntArray:
        """Return the rows that nothing is written into: spare ones, the caller's, and what is zero by itself.

        A joint's own link: the mass does not act on its axis, nor anything but first moments and mass along its slide.
        """
        written = set(self._seen[self._seen >= 0].tolist())
        for j, sliding in enumerate(chain.prismatic):
            zero = ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ') if sliding else ('M',)
            written -= {self.row(j, column(kind, j)) for kind in zero}
        return np.array([row for row in range(self._rows) if row not in written], dtype=int)

    def row(self, j: int, parameter: int) -> int:
        """Return the row in which joint j has a standard parameter of the chain, −1 where it has none."""
        return int(self._seen[j, parameter])

    def rows(
        self, q: FloatArray, dq: FloatArray, ddq: FloatArray, dtheta: FloatArray, ddtheta: FloatArray
    ) -> PackedRows:
        """Return the rows of some samples, all (samples, joints) [rad, rad/s, rad/s²].

        dtheta, ddtheta: motor side, which rotors and friction go by. Rows that the caller fills are zero.
        """
        out = np.empty((self._rows, len(q)))
        out[self._unwritten] = 0.0
        TIER.fill(self, (q, dq, ddq, dtheta, ddtheta), out)
        for row, first in self._again:
            out[row] = out[first]
        return PackedRows(out, self.columns, len(self._wanted))

    def by_numpy(self, motion: Motion, out: FloatArray) -> None:
        """Write the rows of links and drives into out, the readable way; motion as for `rows`."""
        q, dq, ddq, dtheta, ddtheta = (np.ascontiguousarray(array.T) for array in motion)
        for j, parameter, values in inertial_columns(self._chain, q, dq, ddq, self._asked):
            if self._seen[j, parameter] >= 0:
                out[self._seen[j, parameter]] = values
        for j, rows in enumerate(self._drives):
            for row, values in zip(rows, (ddtheta[j], dtheta[j], np.sign(dtheta[j]), 1.0), strict=True):
                if row >= 0:
                    out[row] = values

    def by_kernel(self, kernel: Callable[..., None], motion: Motion, out: FloatArray) -> None:
        """Write the same by the compiled loop."""
        q, dq, ddq, dtheta, ddtheta = motion
        kernel(*self._compiled, q, np.sin(q), 1 - np.cos(q), dq, ddq, dtheta, ddtheta, self._drives, out)


class Tier:
    """Which of the two ways is taken; see the module.

    Attributes
    ----------
    seen
        links of samples so far. kernel: the compiled loop, None until there were many.
    """

    def __init__(self) -> None:
        self.seen = 0
        self.kernel: Callable[..., None] | None = None

    def fill(self, packer: RowPacker, motion: Motion, out: FloatArray) -> None:
        """Write the rows of a motion (see `RowPacker.rows`) into out."""
        if self.kernel is None and self.seen > LINKS_UNTIL_COMPILED:
            from joint_dynamics.robot.regressor_kernel import fill_rows

            self.kernel = fill_rows
        if self.kernel is None:
            self.seen += motion[0].size
            packer.by_numpy(motion, out)
        else:
            packer.by_kernel(self.kernel, motion, out)


TIER = Tier()


def _arguments(chain: Chain, seen: IntArray) -> tuple[Any, ...]:
    """Return what the kernel takes of a chain, as `JointPlacements` computes it."""
    n = chain.n
    hat = [np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) for x, y, z in chain.axis]
    place = np.array([[seen[j, link_columns(i)] for i in range(n)] for j in range(n)], dtype=np.int64)
    return (
        np.array(chain.parent, dtype=np.int64),
        np.ascontiguousarray(chain.rotation),
        np.array([chain.rotation[i] @ hat[i] for i in range(n)]),
        np.array([chain.rotation[i] @ hat[i] @ hat[i] for i in range(n)]),
        np.ascontiguousarray(chain.translation),
        np.ascontiguousarray(chain.axis),
        np.array([chain.rotation[i] @ chain.axis[i] for i in range(n)]),
        np.array(chain.prismatic, dtype=np.bool_),
        np.array(chain.gravity, dtype=float),
        place,
    )
