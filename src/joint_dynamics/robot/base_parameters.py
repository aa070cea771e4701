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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray

# Columns to keep where there is a choice, first to last; Khalil's rules regroup YY, MZ and M.
PREFERENCE = ('XX', 'XY', 'XZ', 'YZ', 'ZZ', 'MX', 'MY', 'Ia', 'Fv', 'Fc', 'Fs', 'off', 'YY', 'MZ', 'M')
RANK_TOLERANCE = 3e-5  # smallest relative influence of a column: above the rounding of a URDF (3.1416 for π)
NEGLIGIBLE = 1e-4  # smallest relative entry of a combination


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
    # One scale per kind of parameter: scaled by its own norm, a nearly inactive column would look independent.
    largest = {kind: max(norm[k] for k, other in enumerate(kinds) if other == kind) or 1.0 for kind in kinds}
    scale = np.array([largest[kind] for kind in kinds])
    scaled = W / scale
    order = sorted(range(W.shape[1]), key=lambda column: _preference(names[column]))
    chosen = np.array(sorted(independent_columns(scaled, order)))
    K = np.linalg.lstsq(scaled[:, chosen], scaled, rcond=None)[0] * scale / scale[chosen, None]
    K[:, chosen] = np.eye(len(chosen))
    # in the scaled columns, where sizes compare; smaller entries are rounding
    K[np.abs(K) * scale[chosen, None] < NEGLIGIBLE * scale] = 0.0
    return BaseParameters(tuple(names), chosen, K)
