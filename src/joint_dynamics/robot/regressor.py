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

r"""The joint-torque regressor of a tree of rigid bodies, for many samples at once, compiled.

w and ẇ are the link's angular velocity and acceleration, a its origin's acceleration less gravity (`newton_euler`).
The wrench of link i is linear in its standard parameters about the origin of its joint frame:

    f = K [MX MY MZ]ᵀ + a M;                     K = [ẇ]× + [w]×[w]×;
    n = L(ẇ) I + w × L(w) I − a × [MX MY MZ]ᵀ;   I = [XX XY XZ YY YZ ZZ]ᵀ;  L(w) I = (inertia tensor) w.

The torque of a revolute joint j before i is zᵀ n + uᵀ f, in frame i. Its axis is z, and u = z × (origin of j → origin
of i). For a prismatic one it is uᵀ f, with u its axis and z = 0. So each pair (j, i) has one row:

    inertia: L(ẇ)ᵀ z + L(w)ᵀ (z × w);     first moments: Kᵀ u + a × z;     mass: u · a.

It is filled with all zeros (`regressor_rows`), or for each joint with the columns of its own links (`PackedRows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import compiled
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.newton_euler import (
    Motion,
    Placement,
    add,
    base_motion,
    cross,
    keep,
    kept,
    link_coefficients,
    link_motion,
    placement,
    turn_back,
    vector,
)
from joint_dynamics.robot.standard_parameters import drive_columns, link_columns, parameter_names


@compiled
def carry(
    links: Any, i: int, placed: Placement, dq: float, ddq: float, moving: FloatArray, levers: FloatArray
) -> Motion:
    """Write w, ẇ, a of link i into moving (N, 9), and z, u of the joints that move it into levers (N, N, 6).

    Those of its parent must be written already; `placed`: from `placement`. Returns w, ẇ, a.
    """
    link, (R, p) = links[i], placed
    up = link.parent
    if up < 0:
        before = base_motion(link)
    else:
        before = kept(moving[up], 0), kept(moving[up], 3), kept(moving[up], 6)
    now = link_motion(link, placed, before, dq, ddq)
    keep(moving[i], 0, now[0])
    keep(moving[i], 3, now[1])
    keep(moving[i], 6, now[2])
    none, axis = (0.0, 0.0, 0.0), vector(link.axis)
    keep(levers[i, i], 0, none if link.prismatic else axis)
    keep(levers[i, i], 3, axis if link.prismatic else none)
    j = up
    while j >= 0:
        z, u = kept(levers[up, j], 0), kept(levers[up, j], 3)
        keep(levers[i, j], 0, turn_back(R, z))
        keep(levers[i, j], 3, turn_back(R, add(u, cross(z, p))))
        j = links[j].parent
    return now


@compiled
def fill_link_rows(
    links: Any,
    place: IntArray,
    motion: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Add the columns of the N links to out (rows, samples).

    place (n, N, 10): row of out for joint, joint of the tree and parameter, −1 for none. motion of the tree: q, sin q,
    1 − cos q, dq, ddq, (samples, N) each. A row is the sum over the tree's joints that the joint leads.
    """
    q, sine, versine, dq, ddq = motion
    n = len(links)
    moving, levers = np.zeros((n, 9)), np.zeros((n, n, 6))
    for s in range(len(q)):
        for i in range(n):
            placed = placement(links[i], q[s, i], sine[s, i], versine[s, i])
            now = carry(links, i, placed, dq[s, i], ddq[s, i], moving, levers)
            j = i
            while j >= 0:
                lever = kept(levers[i, j], 0), kept(levers[i, j], 3)
                values, turned = link_coefficients(lever, now), links[j]
                for m in range(turned.leaders):
                    joint, ratio = turned.leader[m], turned.ratio[m]
                    for k in range(10):
                        if place[joint, i, k] >= 0:
                            out[place[joint, i, k], s] += ratio * values[k]
                j = links[j].parent


@compiled
def fill_drive_rows(place: IntArray, dtheta: FloatArray, ddtheta: FloatArray, out: FloatArray) -> None:
    """Write each drive's Ia, Fv, Fc, off into out (rows, samples); place (n, 4): rows of out, −1 for none."""
    for j in range(len(place)):
        for s in range(len(dtheta)):
            if place[j, 0] >= 0:
                out[place[j, 0], s] = ddtheta[s, j]
            if place[j, 1] >= 0:
                out[place[j, 1], s] = dtheta[s, j]
            if place[j, 2] >= 0:
                out[place[j, 2], s] = np.sign(dtheta[s, j])
            if place[j, 3] >= 0:
                out[place[j, 3], s] = 1.0


def regressor_rows(
    chain: Chain, q: FloatArray, dq: FloatArray, ddq: FloatArray, wanted: BoolArray | None = None
) -> FloatArray:
    """Return the regressor of one block of samples, component-major.

    Parameters
    ----------
    q, dq, ddq
        (joints, samples), rad (m), rad/s, rad/s².
    wanted
        (parameters,) bool: the inertial parameters whose columns are needed, the others stay zero; None: all.

    Returns
    -------
    (joints, parameters, samples), columns in the order of `StandardParameters`.
    """
    n, samples = q.shape
    count = len(parameter_names(len(chain.parent)))
    rows = np.zeros((n * count, samples))
    place = np.arange(n * count).reshape(n, count)
    links = np.stack([place[:, link_columns(i)] for i in chain.tree.link], axis=1)
    if wanted is not None:
        links = np.where(np.stack([wanted[link_columns(i)] for i in chain.tree.link]), links, -1)
    q, dq, ddq = (np.ascontiguousarray(array.T) for array in (q, dq, ddq))
    fill_link_rows(chain.links(), links, chain.motion(q, dq, ddq), rows)
    fill_drive_rows(np.stack([place[j, drive_columns(j)] for j in range(n)]), dq, ddq, rows)
    return rows.reshape(n, count, samples)


class PackedRows:
    """Rows of a regressor by joint, without the columns that are zero for it.

    Attributes
    ----------
    values
        (rows, samples): those of joint j at `parts[j]`.
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
            start += len(own)
        self.shape = (len(columns), count, values.shape[1])

    def dense(self) -> FloatArray:
        """Return the rows with all zeros, (joints, columns, samples)."""
        rows_of_all = np.zeros(self.shape)
        for rows, own, part in zip(rows_of_all, self.columns, self.parts, strict=True):
            rows[own] = self.values[part]
        return rows_of_all

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
        self._rows = int(self.own.sum())
        seen = np.full((n, links), -1)
        self._again: list[tuple[int, int]] = []  # rows of a parameter that is wanted twice, as of a payload
        parts = PackedRows(np.zeros((self._rows, 0)), self.columns, len(wanted)).parts
        for j, (columns, part) in enumerate(zip(self.columns, parts, strict=True)):
            for row, k in zip(range(part.start, part.stop), wanted[columns], strict=True):
                if k >= links:
                    continue
                if seen[j, k] < 0:
                    seen[j, k] = row
                else:
                    self._again.append((row, int(seen[j, k])))
        self._links = chain.links()
        self._place = np.array([[seen[j, link_columns(link)] for link in tree.link] for j in range(n)])
        self._drives = np.array([seen[j, drive_columns(j)] for j in range(n)])

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
