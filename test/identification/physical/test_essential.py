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

"""Elimination of parameters on a system whose essential ones are known."""

import numpy as np
import pytest

from joint_dynamics.identification.physical import essential
from joint_dynamics.identification.physical.essential import essential_parameters
from joint_dynamics.identification.regression.least_squares import solve, wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate

NAMES = [f'p{k}' for k in range(1, 9)]
TRUE = np.array([3.0, 0.0, -2.0, 0.0, 1.5, 0.0, 0.0, 4.0])


@pytest.fixture(scope='module')
def system():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(2, len(TRUE), 400)) * np.array([1, 3, 1, 1, 2, 1, 5, 1])[None, :, None]
    tau = np.einsum('jbs,b->js', rows, TRUE) + np.array([0.3, 1.0])[:, None] * rng.normal(size=(2, 400))
    block = Block(rows, tau, np.ones_like(tau), 0)
    triangles = triangulate([block])
    return block, triangles, wls(triangles)


@pytest.mark.parametrize('rule', ['ratio', 'f'])
def test_what_is_zero_goes_and_what_is_not_stays(system, rule):
    _, triangles, solution = system
    found = essential_parameters(triangles, solution, NAMES, rule=rule)
    assert set(np.array(NAMES)[TRUE != 0]) <= set(found.summary()['parameters'])
    assert found.kept.sum() <= 5
    assert (found.solution.chi[~found.kept] == 0).all()
    assert found.ratio < 30 if rule == 'ratio' else found.smallest_f > 3.84


def test_the_result_is_least_squares_on_what_is_left(system):
    block, triangles, solution = system
    found = essential_parameters(triangles, solution, NAMES)
    smaller = triangulate([Block(block.rows[:, found.kept], block.tau, block.dq, 0)])
    assert np.allclose(found.solution.chi[found.kept], solve(smaller, solution.sigma).chi)


def test_the_price_of_every_step(system, monkeypatch):
    """‖ρ‖ never falls when a column goes; the first steps cost next to nothing, an essential parameter much."""
    _, triangles, solution = system
    monkeypatch.setattr(essential, 'RATIO', 1.0001)
    steps = essential_parameters(triangles, solution, NAMES).steps
    price = [step.price_percent for step in steps]
    assert (np.diff([0.0, *price]) >= -1e-9).all()
    assert price[3] < 1.0 < 50.0 < price[4]
    assert {step.dropped for step in steps[:4]} == set(np.array(NAMES)[TRUE == 0])


def test_f_of_a_step_is_the_growth_of_the_squared_residual(system):
    """Dropping one parameter costs (χ/σ)² in ‖ρ‖² of the weighted system."""
    _, triangles, solution = system
    found = essential_parameters(triangles, solution, NAMES, rule='f')
    size = triangles.residual_norms(np.zeros(8)) / solution.sigma
    before, after = found.residual_percent, found.steps[0].residual_percent
    growth = (size @ size) * (after**2 - before**2) / 1e4
    assert growth == pytest.approx(found.steps[0].f_statistic, rel=1e-6)
