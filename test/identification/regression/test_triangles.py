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

"""Triangles of rows that come in blocks: those of all rows at once."""

import numpy as np
import pytest

from joint_dynamics.identification.regression.triangles import triangulate


@pytest.mark.parametrize('rest', [False, True])
def test_normal_equations_are_those_of_all_rows(blocks, system, rest):
    """A column that later blocks show, one that no row does; a joint that never moves, one that never rests."""
    rows, tau, resting, scale = system
    rows[1, 2, :150], rows[2, 4] = 0.0, 0.0
    resting[0], resting[1] = True, False
    scale = np.where(resting, 0.3, 1.0) if rest else np.ones_like(scale)
    found = triangulate(blocks(rows, tau, resting, scale) if rest else blocks(rows, tau))
    for part, here in ((found, ~resting), (found.resting, resting)) if rest else ((found, resting | True),):
        augmented = np.concatenate([rows, tau[:, None]], axis=1) * (scale * here)[:, None]
        normal = augmented @ augmented.transpose(0, 2, 1)
        # QR is backward stable: to a few roundings of the columns' norms
        size = np.sqrt(np.einsum('jkk->jk', normal))
        off = np.abs(part.factors.transpose(0, 2, 1) @ part.factors - normal)
        assert np.all(off <= 1e3 * np.finfo(float).eps * size[:, :, None] * size[:, None])
        assert np.all(np.tril(part.factors, -1) == 0)
        np.testing.assert_array_equal(part.own, augmented[:, :-1].any(axis=2))
        np.testing.assert_allclose(part.counts, (scale**2 * here).sum(axis=1))
