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

"""The search: better than random, never outside a limit, reproducible, and honest when it cannot be done."""

import pickle
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import ExcitationSettings, LimitSettings, PayloadSettings, optimise
from joint_dynamics.excitation.constraint import RESERVE, motion_margins
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.optimise import ALL, NOTHING_GAINED, Search
from joint_dynamics.excitation.problem import ExcitationProblem, all_constraints
from joint_dynamics.excitation.search import FeasibleMotion, random_trajectory
from joint_dynamics.python_process import environment, module_command

QUICK = ExcitationSettings(period=6.0, harmonics=3, starts=2, candidates=2, processes=2)
SHORT = replace(QUICK, starts=1, candidates=1)
TIGHT = LimitSettings(
    height=[0.0, 1.2], radius=[0.1, 1.1], torque=25.0, payload=PayloadSettings(1.0), viscous_friction=0.5, floor=-0.3
)


@pytest.fixture(scope='module')
def result(arm):
    return optimise(arm, replace(QUICK, limits=TIGHT))


def test_the_result_keeps_every_limit(arm, result):
    assert result.margins == motion_margins(arm, result.trajectory, all_constraints(arm, TIGHT))
    assert min(result.margins.values()) >= 0
    assert set(result.margins) == {'position', 'velocity', 'acceleration', 'torque', 'radius', 'height', 'clearance'}


def test_condition_number_is_that_of_the_base_regressor(arm, result):
    samples = result.trajectory.states(np.linspace(0, result.trajectory.duration, result.assessment.samples))
    base = arm.base_parameters()
    W = arm.regressor(samples.q, samples.dq, samples.ddq).reshape(-1, len(arm.parameter_names))[:, base.independent]
    assert result.condition_number == pytest.approx(np.linalg.cond(W / np.linalg.norm(W, axis=0)), rel=1e-9)
    assert result.assessment.log_det == pytest.approx(np.linalg.slogdet(W.T @ W / len(samples.time))[1], rel=1e-9)
    assert result.assessment.base_parameters == base.count


def test_result_is_much_better_than_a_random_motion(result):
    assert result.condition_number < 0.5 * result.before.condition_number
    assert result.condition_number < 10
    assert result.before.feasible
    seconds, values = zip(*result.history, strict=True)
    assert all(np.diff(seconds) >= 0)
    assert values[-1] == result.condition_number
    assert result.finished == 2
    assert result.ended == ALL
    assert result.reproducible


def test_motion_is_the_same_on_one_process_and_on_two(arm, result):
    again = optimise(arm, replace(QUICK, limits=TIGHT, processes=1))
    np.testing.assert_array_equal(again.trajectory.coefficients, result.trajectory.coefficients)
    assert again.condition_number == result.condition_number


def test_motion_begins_and_ends_at_the_posture(arm):
    posture = {'a': 0.3, 'b': -0.4, 'c': 0.9}
    trajectory = optimise(arm, replace(SHORT, posture=posture)).trajectory
    np.testing.assert_allclose(
        trajectory.position([0.0, trajectory.duration]), np.tile(list(posture.values()), (2, 1)), atol=1e-12
    )


@pytest.mark.parametrize(
    'settings', [QUICK, replace(QUICK, posture=[0.0, -0.9, 1.8], repeats=2, limits=TIGHT, criterion='log_det')]
)
@pytest.mark.parametrize('with_criterion', [True, False])
def test_the_gradient_of_the_objective_is_its_derivative(arm, settings, with_criterion):
    problem = ExcitationProblem(arm, settings)
    rng = np.random.default_rng(0)
    x, direction = 0.7 * rng.standard_normal((2, problem.size))
    gradient = problem.objective(x, 4.0, 50.0, with_criterion)[1]
    slope = (
        sum(sign * problem.objective(x + sign * 1e-6 * direction, 4.0, 50.0, with_criterion)[0] for sign in (1, -1))
        / 2e-6
    )
    assert gradient @ direction == pytest.approx(slope, rel=1e-4)


def test_a_motion_adds_to_the_information_of_earlier_ones(arm):
    first = optimise(arm, SHORT)
    second = optimise(arm, SHORT, earlier=[first.trajectory])
    alone = ExcitationProblem(arm, SHORT)
    # Both at once are better than the first one twice, whose condition number is that of the first.
    assert second.condition_number < 0.95 * first.condition_number
    together = sum(alone.evaluate_criterion(one.trajectory).information for one in (first, second))
    np.testing.assert_allclose(second.assessment.information, together, rtol=1e-9, atol=1e-9 * np.abs(together).max())


def test_random_motions_keep_every_limit(arm):
    problem = ExcitationProblem(arm, replace(QUICK, limits=TIGHT))
    rng = np.random.default_rng(7)
    for _ in range(5):
        assert min(problem.assess(random_trajectory(problem, rng)).margins.values()) >= 0


def test_narrow_box_without_a_feasible_random_motion(arm):
    settings = replace(SHORT, limits=LimitSettings(height=[0.75, 0.85], radius=[0.8, 1.0]))
    assert random_trajectory(ExcitationProblem(arm, settings), np.random.default_rng(0)) is None
    found = optimise(arm, settings)
    assert found.assessment.feasible
    assert found.condition_number < found.before.condition_number


def test_impossible_limit_is_named(arm):
    with pytest.raises(JointDynamicsError, match='height'):
        optimise(arm, replace(SHORT, limits=LimitSettings(height=[3.0, 4.0])))


@pytest.mark.parametrize(
    ('posture', 'found'),
    [([0, 0], 'posture'), ('home', 'home'), ([0, 2.7, 0], 'position'), ([0, 2.22, 0.44], 'clearance')],
)
def test_unusable_postures_are_refused(arm, posture, found):
    with pytest.raises(JointDynamicsError, match=found):
        optimise(arm, replace(QUICK, posture=posture))


def arrived(*merits, patience=2, order=None):
    """A search of as many starts as merits, whose messages came in `order`; starts without a merit are not done."""
    state = Search(len(merits), patience)
    for start in order or range(len(merits)):
        if merits[start] is not None:
            found = FeasibleMotion(start, 3, f'motion {start}', None, merits[start], merits[start])
            state.arrivals.append((float(len(state.arrivals)), found))
            state.done.add(start)
    return state


def test_end_of_a_search_is_independent_of_the_order():
    merits = (1.0, 0.9, 0.895, 0.95, 0.5, 0.4)
    for order in (None, [5, 4, 3, 2, 1, 0], [1, 0, 4, 2, 5, 3]):
        state = arrived(*merits, order=order)
        assert state.enough() == 4
        assert state.best().start == 2
        assert state.history()[-1][1] == 0.895
    assert arrived(*merits, patience=3).enough() == 6
    # while a start is not done, those count that no outcome of it can keep from doing so
    assert arrived(1.0, None, 1.0, 1.0, 1.0, 1.0).enough() == 3
    # starts that found nothing at all are no reason to end before anything is found
    state = arrived(*merits)
    state.arrivals = [one for one in state.arrivals if one[1].start > 3]
    assert state.enough() == 6


@pytest.mark.parametrize('seed', range(5))
def test_best_motion_never_gets_worse(seed):
    """In any order of arrivals; the last motion shown is the result of the search."""
    rng = np.random.default_rng(seed)
    merits, state, shown = rng.uniform(0.0, 0.1, 12), Search(12, 2), []
    for start in rng.permutation(12).tolist():
        found = FeasibleMotion(start, 3, f'motion {start}', None, merits[start], merits[start])
        state.arrivals.append((0.0, found))
        state.done.add(start)
        shown += [] if state.best() is None else [state.best().value]
        if state.complete:
            break
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] == state.best().value
    assert state.complete


def test_a_search_process_ends_with_its_caller(arm):
    """A search of hours, whose results nobody reads any more."""
    process = subprocess.Popen(
        module_command('joint_dynamics.excitation.search:serve_search'),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    pickle.dump((arm, replace(QUICK, candidates=1000), ()), process.stdin)
    pickle.dump(0, process.stdin)
    process.stdin.flush()
    kind, found = pickle.load(process.stdout)
    assert kind == 'motion'
    assert found.start == 0
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def test_patience_ends_a_search_before_its_starts(arm):
    found = optimise(arm, replace(SHORT, starts=50, patience=1, processes=1, harmonics=1))
    assert found.ended == NOTHING_GAINED
    assert 2 <= found.finished < 50
    assert found.reproducible


def test_loss_between_samples_is_compensated(ur5e):
    """Bodies go several centimetres from one sample to the next.

    What keeps its clearance at the samples may not keep it between.
    """
    problem = ExcitationProblem(ur5e, replace(ExcitationSettings(), samples_per_cycle=8))
    rng = np.random.default_rng(0)
    x = 0.5 * rng.standard_normal(problem.size)
    lost, missing = problem.lost_between(x)
    trajectory = problem.trajectory(x)
    sampled = {
        one.kind: one.smallest(RobotMotion(ur5e, *trajectory.motion(problem.times))) for one in problem.constraints
    }
    fine = np.linspace(0, trajectory.duration, 4000)
    true = {one.kind: one.smallest(RobotMotion(ur5e, *trajectory.motion(fine))) for one in problem.constraints}
    assert lost['acceleration'] > 1e-3
    for kind in ('position', 'velocity', 'acceleration', 'torque'):
        # the fine samples miss a little themselves, and a checked slack has its reserve
        assert sampled[kind] - true[kind] <= lost[kind] <= sampled[kind] - true[kind] + 1e-3 + RESERVE
        assert missing[kind] == pytest.approx(max(0.0, -true[kind]), abs=1e-3 + RESERVE)
