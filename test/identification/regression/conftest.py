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

"""Systems of rows with stays, and the same as dense matrices."""

import numpy as np
import pytest

from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate

N = 3
B = 6
SAMPLES = 240


@pytest.fixture(params=range(3))
def system(request):
    """Rows (3, 6, 240), torque, which rows rest, and 1/√m of a stay of m rows; joint 0 does not see the last column."""
    rng = np.random.default_rng(request.param)
    rows = rng.normal(size=(N, B, SAMPLES)) * 10.0 ** rng.uniform(-1, 1, B)[:, None]
    rows[0, 5] = 0.0
    resting = np.repeat(rng.random((N, SAMPLES // 12)) < 0.3, 12, axis=1)
    scale = np.where(resting, 12**-0.5, 1.0)
    sigma = np.array([0.1, 1.0, 3.0])[:, None] * np.where(resting, 4.0, 1.0)
    tau = np.einsum('jbs,b->js', rows, rng.normal(size=B)) + sigma * rng.normal(size=(N, SAMPLES))
    return rows, tau, resting, scale


@pytest.fixture(scope='module')
def first(problem):
    """The weighted solution of the module's problem."""
    return wls(triangulate(problem.blocks()))


@pytest.fixture(scope='session')
def blocks():
    """Return the blocks of 50 samples that rows, torque, rest and scale are computed in."""

    def of(rows, tau, resting=None, scale=None, size=50):
        samples = tau.shape[1]
        for start in range(0, samples, size):
            part = slice(start, min(start + size, samples))
            still = (None, None) if resting is None else (resting[:, part], scale[:, part])
            yield Block(rows[:, :, part], tau[:, part], tau[:, part], 0, part, *still)

    return of


@pytest.fixture(scope='session')
def dense():
    """Return A and y of rows and torque with every row multiplied by its factor."""

    def of(rows, tau, factor):
        A = (rows * factor[:, None]).transpose(0, 2, 1).reshape(-1, rows.shape[1])
        return A, (tau * factor).ravel()

    return of
