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

"""Base parameters: the identifiable combinations of standard parameters, by QR in order [Gautier 1991].

On random states the regressor W (rows × p) has rank b < p. Some b of its columns, W_1, span the others, W_2 = W_1 K,
hence W χ = W_1 (χ_1 + K χ_2): the base parameters are χ_1 + K χ_2. Any b independent columns will do; they are chosen
in the order of Khalil's tables (YY_j, MZ_j, M_j and Ia_j are regrouped into other parameters).

Of a serial MDH chain they are known in closed form, by the rules of Gautier and Khalil, from the last link to the
first: in the kinetic and potential energy of link j, seen from link j−1, some parameters of j act like parameters of
j−1 [M5 eq 9, A eq 2.17, corrected]. A revolute joint regroups YY_j, MZ_j and M_j into link j−1; a prismatic one its
whole inertia tensor, rotated into frame j−1. Remaining parameters are dropped where the first joints cannot excite
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.robot.mdh import MdhTable
from joint_dynamics.robot.standard_parameters import INERTIAL

# Columns to keep where there is a choice, first to last; YY, MZ and M are what Khalil's rules regroup.
PREFERENCE = ('XX', 'XY', 'XZ', 'YZ', 'ZZ', 'MX', 'MY', 'Ia', 'Fv', 'Fc', 'Fs', 'off', 'YY', 'MZ', 'M')
# What a URDF's rounding (3.1416 for π) makes visible, no recording does: influence below this, relative, counts as
# none.
RANK_TOLERANCE = 3e-5
NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class BaseParameters:
    """A set of b base parameters of p standard ones.

    `standard_names` (p,); `independent` (b,) the standard parameters that head each combination, as column indices;
    `matrix` (b, p), base = matrix · standard.
    """

    standard_names: tuple[str, ...]
    independent: IntArray
    matrix: FloatArray

    @property
    def count(self) -> int:
        """Number of base parameters b."""
        return len(self.independent)

    @property
    def names(self) -> list[str]:
        """One name each: that of its leading standard parameter, with R for a regrouped one (`ZZR_1`)."""
        names = []
        for row, column in zip(self.matrix, self.independent, strict=True):
            name = self.standard_names[column]
            kind, _, index = name.partition('_')
            names.append(name if np.count_nonzero(row) == 1 else f'{kind}R_{index}')
        return names

    @property
    def expressions(self) -> list[str]:
        """The combinations in readable form, such as `ZZ_1 + Ia_1 + YY_2 + 0.0506 M_3`."""
        return [self._expression(row, column) for row, column in zip(self.matrix, self.independent, strict=True)]

    def _expression(self, row: FloatArray, leading: int) -> str:
        terms = [self.standard_names[leading]]
        for column in np.flatnonzero(row):
            if column == leading:
                continue
            size = f'{abs(row[column]):.4g}'
            factor = '' if size == '1' else f'{size} '
            terms.append(f'{"-" if row[column] < 0 else "+"} {factor}{self.standard_names[column]}')
        return ' '.join(terms)

    def regroup(self, standard: FloatArray) -> FloatArray:
        """Return the base values (b,) of a standard parameter vector (p,) [SI]."""
        return self.matrix @ np.asarray(standard, dtype=float)

    def lift(self, base: FloatArray, prior: FloatArray | None = None, spread: FloatArray | None = None) -> FloatArray:
        """Return the standard vector (p,) [SI] nearest to `prior` (default: zero) that has these base values (b,).

        Parameters
        ----------
        base
            (b,) [SI].
        prior
            (p,) [SI]; None: zero.
        spread
            (p,) > 0, standard deviations of the prior, by which distances from it are scaled; None: 1.
        """
        prior = np.zeros(len(self.standard_names)) if prior is None else np.asarray(prior, dtype=float)
        missing = np.asarray(base, dtype=float) - self.matrix @ prior
        if spread is None:
            return prior + np.linalg.pinv(self.matrix) @ missing
        return prior + spread * (np.linalg.pinv(self.matrix * spread) @ missing)


def _preference(name: str) -> int:
    return PREFERENCE.index(name.partition('_')[0])


def independent_columns(W: FloatArray, order: Sequence[int]) -> list[int]:
    """Return the columns of W (of norm 1 at most), taken in `order`, that the preceding ones do not span.

    By Gram-Schmidt with reorthogonalisation.
    """
    basis = np.empty((W.shape[0], 0))
    chosen = []
    for column in order:
        v = W[:, column]
        for _ in range(2):
            v = v - basis @ (basis.T @ v)
        if np.linalg.norm(v) > RANK_TOLERANCE:
            basis = np.column_stack([basis, v / np.linalg.norm(v)])
            chosen.append(column)
    return chosen


def find_base_parameters(W: FloatArray, names: Sequence[str]) -> BaseParameters:
    """Return the base parameters of a regressor W (rows, p) evaluated on random states, p = len(names).

    A column is independent where its residual with respect to the preceding ones exceeds `RANK_TOLERANCE`; this defines
    the rank as well: for linkages, whose many links follow few joints, no order of columns shows a gap.
    """
    norm = np.linalg.norm(W, axis=0)
    kinds = [name.partition('_')[0] for name in names]
    # One scale per kind of parameter: relative to its own column, a parameter that hardly acts would look independent
    # for any reason.
    largest = {kind: max(norm[k] for k, other in enumerate(kinds) if other == kind) or 1.0 for kind in kinds}
    scale = np.array([largest[kind] for kind in kinds])
    scaled = W / scale
    order = sorted(range(W.shape[1]), key=lambda column: _preference(names[column]))
    chosen = np.array(sorted(independent_columns(scaled, order)))
    K = np.linalg.lstsq(scaled[:, chosen], scaled, rcond=None)[0] * scale / scale[chosen, None]
    K[:, chosen] = np.eye(len(chosen))
    # in the scaled columns, where sizes compare; the rest is what the solution leaves of zero
    K[np.abs(K) * scale[chosen, None] < NEGLIGIBLE * scale] = 0.0
    return BaseParameters(tuple(names), chosen, K)


_TENSOR = {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 1): 3, (1, 2): 4, (2, 2): 5}
PARALLEL = 1e-9


def _revolute_rules(alpha: float, a: float, r: float) -> FloatArray:
    """Return (10, 3): what YY_j, MZ_j, M_j add to the ten parameters of link j−1 (methods.md section 1)."""
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            # YY,  MZ,            M
            [1, 2 * r, r * r],  # XX
            [0, a * s, a * r * s],  # XY
            [0, -a * c, -a * r * c],  # XZ
            [c * c, 2 * r * c * c, a * a + r * r * c * c],  # YY
            [c * s, 2 * r * c * s, r * r * c * s],  # YZ
            [s * s, 2 * r * s * s, a * a + r * r * s * s],  # ZZ
            [0, 0, a],  # MX
            [0, -s, -r * s],  # MY
            [0, c, r * c],  # MZ
            [0, 0, 1],  # M
        ]
    )


def _tensor_rules(rotation: FloatArray) -> FloatArray:
    """Return (6, 6): how the inertia tensor of link j, XX … ZZ, adds to that of link j−1 of a joint that slides."""
    rules = np.zeros((6, 6))
    for (i, k), column in _TENSOR.items():
        unit = np.zeros((3, 3))
        unit[i, k] = unit[k, i] = 1.0
        turned = rotation @ unit @ rotation.T
        for (row, col), index in _TENSOR.items():
            rules[index, column] = turned[row, col]
    return rules


def _rotations(table: MdhTable) -> list[FloatArray]:
    """Rotation of each frame in the one before, at q = 0."""
    rotations = []
    for alpha, theta in zip(table.alpha, table.theta, strict=True):
        ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        rotations.append(np.array([[ct, -st, 0], [ca * st, ca * ct, -sa], [sa * st, sa * ct, ca]]))
    return rotations


def _without_effect(table: MdhTable, gravity: FloatArray) -> set[tuple[int, str]]:
    """Return (joint, parameter) pairs that no motion shows, once each link has handed down what it can.

    Up to the second revolute direction every link turns about one line direction only: of its tensor just ZZ counts.
    Where that axis stays in place and gravity is along it, the first moments across it do nothing either.
    """
    dropped: set[tuple[int, str]] = set()
    first = np.flatnonzero(~table.prismatic)
    if not len(first):
        return {(j, name) for j in range(table.n) for name in INERTIAL[:9]}
    along = np.allclose(np.cross(gravity, [0.0, -np.sin(table.alpha[0]), np.cos(table.alpha[0])]), 0.0, atol=1e-9)
    dropped |= {(j, name) for j in range(first[0]) for name in INERTIAL[:9]}
    axis_in_frame = np.eye(3)
    for j in range(first[0], table.n):
        if j > first[0]:
            ca, sa = np.cos(table.alpha[j]), np.sin(table.alpha[j])
            twist = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
            axis_in_frame = twist.T @ axis_in_frame
            # about its own axis the next turn changes nothing; any other direction ends the rule at the next revolute
            # joint
            if abs(abs(axis_in_frame[2, 2]) - 1) > PARALLEL or table.prismatic[j]:
                break
        dropped |= {(j, name) for name in ('XX', 'XY', 'XZ', 'YZ')}
        if j == 0 and along:
            dropped |= {(j, 'MX'), (j, 'MY')}
    return dropped


def closed_form_base_parameters(table: MdhTable, gravity: FloatArray) -> BaseParameters:
    """Return the base parameters of the ten inertial parameters per link (names as in `INERTIAL`, no joint columns).

    Parameters
    ----------
    gravity
        (3,) [m/s²] in the base frame. Chains whose first joints are revolute are covered completely; where a prismatic
        joint comes before the second revolute direction the rules stop early (Khalil's special case) and the set may
        hold more than the minimum.
    """
    n = table.n
    names = tuple(f'{name}_{k}' for k in range(1, n + 1) for name in INERTIAL)
    # row (j, name) holds which combination of standard parameters stands in that parameter's place
    place = np.eye(10 * n)
    keep = np.ones((n, 10), dtype=bool)
    rotations = _rotations(table)
    for j in reversed(range(n)):
        own = place[10 * j : 10 * j + 10]
        before = place[10 * (j - 1) : 10 * j] if j else None
        if table.prismatic[j]:
            if before is not None:
                before[:6] += _tensor_rules(rotations[j]) @ own[:6]
            keep[j, :6] = False
            continue
        if before is not None:
            before += _revolute_rules(table.alpha[j], table.a[j], table.d[j]) @ own[[3, 8, 9]]
        own[0] -= own[3]
        keep[j, [3, 8, 9]] = False
    for j, name in _without_effect(table, gravity):
        keep[j, INERTIAL.index(name)] = False
    kept = np.flatnonzero(keep.ravel())
    return BaseParameters(names, kept, place[kept])
