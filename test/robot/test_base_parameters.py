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

"""Base parameters: counts of the literature, the closed form against the numeric one.

Regrouping that changes no torque.
"""

import numpy as np
import pytest
import scipy.linalg

from joint_dynamics.robot import INERTIAL, RobotModel, gravity_in_base
from joint_dynamics.robot.base_parameters import find_base_parameters

HALF = np.pi / 2
TABLE = None
TILTED = [0.3, 0.2, 0.0]
WALL = [HALF, 0.0, 0.0]


@pytest.mark.parametrize(('mounting', 'count'), [(TABLE, 36), (TILTED, 38), (WALL, 38)])
def test_counts_of_a_ur_arm(ur_table, mounting, count):
    assert RobotModel.from_mdh(ur_table, mounting=mounting).base_parameters(INERTIAL).count == count


def test_count_of_the_pa10(pa10_table):
    assert RobotModel.from_mdh(pa10_table).base_parameters(INERTIAL).count == 43


def test_count_survives_the_rounding_of_a_urdf(data):
    """3.1416 for π in the Gen3's URDF tilts its axes by 7e-6 rad, which no recording shows.

    43 as for any vertical 7R arm.
    """
    assert RobotModel.load(data / 'gen3' / 'gen3.urdf').base_parameters(INERTIAL).count == 43


def random_chain(rng, kinds):
    """A chain with random lengths and angles, some of them right or zero as in real arms."""
    rows = [{'alpha': 0.0, 'a': 0.0, 'd': float(rng.uniform(0, 0.5)), 'theta': 0.0, 'type': kinds[0]}]
    for kind in kinds[1:]:
        alpha = float(rng.choice([HALF, -HALF, rng.uniform(0.3, 1.2)]))
        a, d = (float(rng.choice([0.0, rng.uniform(0.1, 0.5)])) for _ in range(2))
        rows.append({'alpha': alpha, 'a': a, 'd': d, 'theta': float(rng.uniform(-3, 3)), 'type': kind})
    return {'joints': rows}


def same_span(first, second):
    rank = np.linalg.matrix_rank(np.vstack([first.matrix, second.matrix]), tol=1e-6)
    return first.count == second.count == rank


@pytest.mark.parametrize('mounting', [TABLE, TILTED, WALL], ids=['table', 'tilted', 'wall'])
@pytest.mark.parametrize('robot', ['ur', 'pa10'])
def test_closed_form_spans_the_same_space(robot, mounting, ur_table, pa10_table, closed_form):
    model = RobotModel.from_mdh({'ur': ur_table, 'pa10': pa10_table}[robot], mounting=mounting)
    assert same_span(model.base_parameters(INERTIAL), closed_form(model.mdh, gravity_in_base(mounting)))


@pytest.mark.parametrize('seed', range(8))
def test_closed_form_on_random_chains(seed, closed_form):
    rng = np.random.default_rng(seed)
    kinds = ['revolute', 'revolute', *rng.choice(['revolute', 'revolute', 'prismatic'], 4)]
    mounting = [TABLE, TILTED][seed % 2]
    model = RobotModel.from_mdh(random_chain(rng, kinds), mounting=mounting)
    assert same_span(model.base_parameters(INERTIAL), closed_form(model.mdh, gravity_in_base(mounting)))


@pytest.mark.parametrize('mounting', [TABLE, TILTED], ids=['table', 'tilted'])
@pytest.mark.parametrize('kinds', ['RRR', 'RR', 'PR', 'PP', 'PPR'])
def test_closed_form_of_parallel_axes(kinds, mounting, closed_form):
    """Parallel axes throughout: of every tensor at most ZZ counts; slides show masses alone."""
    rows = [
        {'alpha': 0.0, 'a': 0.3 * k, 'd': 0.1, 'theta': 0.0, 'type': {'R': 'revolute', 'P': 'prismatic'}[kind]}
        for k, kind in enumerate(kinds)
    ]
    model = RobotModel.from_mdh({'joints': rows}, mounting=mounting)
    closed = closed_form(model.mdh, gravity_in_base(mounting))
    assert not {name[:2] for name in closed.names} & {'XX', 'XY', 'XZ', 'YY', 'YZ'}
    numeric = model.base_parameters(INERTIAL)
    if mounting is None and kinds in ('PR', 'PPR'):
        # Khalil's special case, which the rules leave out: gravity along the axis that a slide along it moves.
        assert closed.count == numeric.count + 2
        assert np.linalg.matrix_rank(np.vstack([numeric.matrix, closed.matrix]), tol=1e-6) == closed.count
    else:
        assert same_span(numeric, closed)


def test_regrouping_keeps_every_torque(ur):
    rng = np.random.default_rng(11)
    base = ur.base_parameters()
    standard = rng.normal(size=len(ur.parameter_names))
    states = ur.random_states(50, rng)
    W = ur.regressor(*states)
    tau = W @ standard
    assert np.allclose(W[:, :, base.independent] @ base.regroup(standard), tau, rtol=1e-7, atol=1e-7)
    lifted = base.lift(base.regroup(standard), prior=rng.normal(size=len(standard)))
    assert np.allclose(W @ lifted, tau, rtol=1e-7, atol=1e-6)


def test_lifted_set_is_nearest_to_the_prior(ur):
    """Of the sets with the base values, the one nearest to the prior.

    The difference is orthogonal to all that no torque shows.
    """
    rng = np.random.default_rng(13)
    base = ur.base_parameters()
    prior = rng.normal(size=len(ur.parameter_names))
    np.testing.assert_allclose(base.lift(base.regroup(prior), prior), prior, atol=1e-9)
    value = rng.normal(size=base.count)
    lifted = base.lift(value, prior)
    np.testing.assert_allclose(base.regroup(lifted), value, atol=1e-9)
    hidden = scipy.linalg.null_space(base.matrix)
    np.testing.assert_allclose(hidden.T @ (lifted - prior), 0.0, atol=1e-9)
    np.testing.assert_allclose(base.lift(value), base.lift(value, np.zeros(len(prior))))


def test_influence_below_the_tolerance_counts_as_none():
    """3e-5 of the largest column of its kind; a kind whose columns are all small is small for its unit only."""
    names = ['XX_1', 'XX_2', 'XX_3']
    assert find_base_parameters(np.diag([1.0, 1.0, 3.1e-5]), names).count == 3
    assert find_base_parameters(np.diag([1.0, 1.0, 2.9e-5]), names).count == 2
    assert find_base_parameters(np.diag([1.0, 1.0, 2.9e-5]), ['XX_1', 'XX_2', 'M_3']).count == 3
    # of two columns that say the same the preferred one is kept, the other one goes into it by its size
    found = find_base_parameters(np.array([[2.0, 1.0], [4.0, 2.0]]), ['M_1', 'XX_1'])
    assert found.names == ['XXR_1']
    assert found.expressions == ['XX_1 + 2 M_1']
    np.testing.assert_allclose(found.matrix, [[2.0, 1.0]])
