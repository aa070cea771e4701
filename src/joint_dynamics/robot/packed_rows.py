"""Selected columns of the regressor without zeros: for each joint only the links that it moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.regressor_rows import fill_drive_rows, fill_link_rows
from joint_dynamics.robot.standard_parameters import drive_columns, link_columns, parameter_names


class PackedRows:
    """Rows of a regressor by joint, without the columns that are zero for it.

    Attributes
    ----------
    values
        (rows, samples): those of joint j at `parts[j]`, followed by one spare row for a right-hand side.
    columns
        per joint the columns that its rows represent.
    shape
        (joints, columns, samples) of the full regressor.
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
        rows_of_all = np.zeros(self.shape)
        for rows, own, part in zip(rows_of_all, self.columns, self.parts, strict=True):
            rows[own] = self.values[part]
        return rows_of_all

    def with_right_side(self, j: int, y: FloatArray) -> FloatArray:
        """Return the rows of joint j with y (samples,) below them, (own columns + 1, samples); y is written here."""
        part = self.parts[j]
        self.values[part.stop] = y
        return self.values[part.start : part.stop + 1]

    def between(self, first: int, end: int) -> PackedRows:
        """Return the rows of the samples first … end − 1 as a view."""
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
    wanted
        (b,) indices of the standard parameters that become columns 0 … b − 1; columns beyond the chain's own are filled
        by the caller.
    further
        (n, b) bool, which of these the caller fills for which joint.

    Attributes
    ----------
    own
        (n, b) bool, which columns may differ from zero for which joint.
    """

    def __init__(self, chain: Chain, wanted: IntArray, further: BoolArray | None = None):
        self._chain, self._wanted = chain, wanted
        tree, n, links = chain.tree, chain.n, len(parameter_names(len(chain.parent)))
        own = np.zeros((n, links), dtype=bool)
        for j in range(n):
            own[j, drive_columns(j)] = True
        for i, link in enumerate(tree.link):
            j = i
            while j >= 0:
                own[tree.matrix[j] != 0, link_columns(link)] = True
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
        self._links = chain.links()
        self._place = np.array([[self._seen[j, link_columns(link)] for link in tree.link] for j in range(n)])
        self._drives = np.array([self._seen[j, drive_columns(j)] for j in range(n)])

    def row(self, j: int, parameter: int) -> int:
        """Return the row in which joint j has a standard parameter of the chain, −1 where it has none."""
        return int(self._seen[j, parameter])

    def rows(
        self, q: FloatArray, dq: FloatArray, ddq: FloatArray, dtheta: FloatArray, ddtheta: FloatArray
    ) -> PackedRows:
        """Return the rows of some samples, all (samples, joints) [rad, rad/s, rad/s²].

        dtheta, ddtheta: motor side, for rotors and friction. Rows that the caller fills are zero.
        """
        out = np.zeros((self._rows, len(q)))
        fill_link_rows(self._links, self._place, self._chain.motion(q, dq, ddq), out)
        fill_drive_rows(self._drives, dtheta, ddtheta, out)
        for row, first in self._again:
            out[row] = out[first]
        return PackedRows(out, self.columns, len(self._wanted))
