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

"""Loop 3 of I-IRLS: friction with a power of the speed, from rows whose answer is known."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from joint_dynamics.identification.regression.friction_loop import (
    EXPONENTS,
    JointRows,
    PowerColumns,
    bounded_fit,
    fit_friction,
    gather,
)
from joint_dynamics.identification.regression.problem import Problem

FREE = np.array([0.0, -np.inf])
"""Coulomb friction dissipates, an offset may have either sign."""


@pytest.fixture(scope='module')
def powers(two_links, observed):
    return PowerColumns(Problem(two_links, [observed(1, 500), observed(2, 300)]))


def rows_of(powers, exponent, power=(3.0, 1.5), coulomb=(2.0, 4.0), offset=(0.3, -0.7), noise=0.0, seed=0):
    """Per joint, columns sgn ω and 1 and the target of friction with exactly one answer; every seventh row left out."""
    rng = np.random.default_rng(seed)
    sign, speed = np.sign(powers.at(np.full(2, 1.0))), np.abs(powers.at(np.full(2, 1.0)))
    keep = np.arange(sign.shape[1]) % 7 != 0
    found = []
    for j in range(2):
        target = (coulomb[j] + power[j] * speed[j] ** exponent[j]) * sign[j] + offset[j]
        target = np.where(keep, target + noise * rng.normal(size=target.shape), 1e3)
        found.append(JointRows(np.array([sign[j], np.ones_like(speed[j])])[:, keep], target[keep], keep))
    return found


@pytest.mark.parametrize('factor', [None, 4])
def test_table_interpolates_the_filtered_power_of_speed(two_links, observed, factor):
    run = observed(1, 500, factor=factor)
    table = PowerColumns(Problem(two_links, [run, observed(2, 300)]))
    for exponents in ((0.2, 2.0), (0.5, 1.1), (table.nodes[3], 0.77)):
        exact = np.sign(run.dtheta) * np.abs(run.dtheta) ** np.array(exponents)
        exact = run.at_kept(exact)
        np.testing.assert_allclose(table.at(np.array(exponents))[:, : len(run.kept)], exact.T, atol=1e-5)
    assert table.at(np.ones(2)).shape == (2, len(run.kept) + 300)
    assert table.nodes.min() > EXPONENTS[0] and table.nodes.max() < EXPONENTS[1]


@pytest.mark.parametrize('exponent', [(0.35, 1.6), (1.0, 0.6), (0.9, 1.2), (1.9, 0.25)])
def test_everywhere_finds_exponent_and_parameters_from_any_start(powers, exponent):
    for start in (1.0, 0.2, 2.0):
        found = fit_friction(powers, rows_of(powers, exponent), [FREE, FREE], np.full(2, start), everywhere=True)
        # twelve golden sections of the 29 % between starts leave 0.1 %
        np.testing.assert_allclose([one.exponent for one in found], exponent, rtol=2e-3)
        np.testing.assert_allclose([one.power for one in found], (3.0, 1.5), rtol=1e-2)
        np.testing.assert_allclose([one.linear for one in found], [[2.0, 0.3], [4.0, -0.7]], atol=0.03)


def test_bounds_hold_for_columns_and_power(powers):
    rows = rows_of(powers, (0.8, 0.8), power=(-1.0, 2.0), coulomb=(3.0, -2.0))
    found = fit_friction(powers, rows, [FREE, FREE], np.ones(2), everywhere=True)
    assert found[0].power == 0.0 and found[1].linear[0] == 0.0
    assert found[0].linear[1] == pytest.approx(0.3, abs=0.05)
    low = fit_friction(powers, rows, [FREE, np.full(2, -np.inf)], np.ones(2), everywhere=True)
    assert low[1].linear[0] == pytest.approx(-2.0, abs=0.03)
    high = fit_friction(powers, rows, [np.array([5.0, -np.inf]), FREE], np.ones(2), everywhere=True)
    assert high[0].linear[0] == pytest.approx(5.0)


@pytest.mark.parametrize('seed', range(5))
def test_a_bounded_fit_is_scipys(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(4, 60)) * 10.0 ** rng.uniform(-3, 3, 4)[:, None]
    target = rng.normal(size=4) / np.abs(columns).mean(axis=1) @ columns + 0.1 * rng.normal(size=60)
    lower = np.where(rng.random(4) < 0.5, 0.0, -np.inf)
    found, cost = bounded_fit(columns, target, lower)
    scale = np.linalg.norm(columns, axis=1)
    exact = lsq_linear((columns / scale[:, None]).T, target, bounds=(lower, np.inf), method='bvls', tol=1e-14)
    np.testing.assert_allclose(found * scale, exact.x, atol=1e-5 * np.abs(exact.x).max())
    assert cost == pytest.approx(2 * exact.cost, rel=1e-4)
    # a column that is nowhere stays at zero
    without, again = bounded_fit(np.vstack([columns, np.zeros(60)]), target, np.append(lower, -np.inf))
    assert without[4] == 0.0
    np.testing.assert_allclose(without[:4] * scale, found * scale, atol=1e-9 * np.abs(exact.x).max())
    assert again == pytest.approx(cost, rel=1e-9)


def test_the_target_is_what_other_columns_leave_of_the_torque(two_links, observed):
    """Of the joint's own rows that count: weighted above zero, in motion."""
    rng = np.random.default_rng(2)
    runs = [observed(seed, size, tau=rng.normal(size=(size, 2))) for seed, size in ((1, 400), (2, 2500))]
    problem = Problem(two_links, runs, rest_speed=0.3)
    chi = rng.normal(size=problem.columns)
    friction = [[problem.names.index(f'{kind}_{j}') for kind in ('Fc', 'off')] for j in (1, 2)]
    power = [problem.names.index(f'Fv_{j}') for j in (1, 2)]
    blocks = list(problem.blocks())
    weights = [(rng.random(block.tau.shape) < 0.8) * 0.5 for block in blocks]
    assert len(blocks) > len(runs) and any(block.resting.any() for block in blocks)
    for used in (power, []):
        found = gather(problem, chi, friction, used, weights)
        for j, part in enumerate(found):
            rest = [k for k in range(problem.columns) if k not in (*friction[j], *used[j : j + 1])]
            rows, tau, resting = (
                np.concatenate([getattr(block, name)[j] for block in blocks], axis=-1)
                for name in ('rows', 'tau', 'resting')
            )
            keep = (np.concatenate([weight[j] for weight in weights]) > 0) & ~resting
            np.testing.assert_array_equal(part.keep, keep)
            np.testing.assert_array_equal(part.columns, rows[friction[j]][:, keep])
            np.testing.assert_allclose(part.target, (tau - chi[rest] @ rows[rest])[keep], rtol=1e-9, atol=1e-9)
    still = gather(Problem(two_links, runs), chi, friction, power, weights)
    np.testing.assert_array_equal(still[0].keep, np.concatenate([weight[0] for weight in weights]) > 0)
