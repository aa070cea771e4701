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

"""Payload of a known robot: ten parameters of a body welded to the last link.

In pinocchio, out of the robot's torque.
"""

import re
from copy import copy
from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from scipy.stats import binom, chi2
from scipy.stats import t as student

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.conversion import GainUncertainty, gain_sensitivity
from joint_dynamics.identification.drive_gains.payload import identify_payload, payload_differences
from joint_dynamics.identification.drive_gains.payload_runs import LoadedRows, known_payload, payload_problem
from joint_dynamics.identification.identification_settings import KnownPayload
from joint_dynamics.identification.observations import FilterPlan, Observation, observe
from joint_dynamics.identification.physical.semidefinite import payload_body, pseudo_inertias
from joint_dynamics.identification.regression.covariance import sandwich
from joint_dynamics.identification.regression.methods import least_squares
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, StandardParameters
from joint_dynamics.robot.standard_parameters import point_mass
from joint_dynamics.signals.filtering import ParallelDecimator

BODY = pinocchio.Inertia(2.3, np.array([0.04, -0.02, 0.11]), np.diag([0.02, 0.025, 0.012]))
PLAN = FilterPlan(10.0, 50.0, 20.0, 20, 0.1)
SHORT = {'duration': 8.0, 'rate': 250.0}


def parameters(body):
    """XX XY XZ YY YZ ZZ MX MY MZ M about the frame's origin."""
    mass, mx, my, mz, xx, xy, yy, xz, yz, zz = body.toDynamicParameters()
    return np.array([xx, xy, xz, yy, yz, zz, mx, my, mz, mass])


def with_body(true_robot, body, link=-1):
    """The robot with a body welded to one of its links, the last one where none is said."""
    robot, joint = copy(true_robot), range(1, true_robot.model.n + 1)[link]
    robot.rigid = true_robot.rigid.copy()
    robot.rigid.inertias[joint] = robot.rigid.inertias[joint] + body
    return robot


@pytest.fixture
def carrying(true_robot):
    """The robot with the body welded to its last link, for one test."""
    return with_body(true_robot, BODY)


def observed(robot, seed, **options):
    return observe(robot.record(seed, **(SHORT | options)), PLAN)


def test_columns_of_the_payload_are_the_torque_of_a_welded_body(true_robot):
    """W_L χ_L is what pinocchio's arm takes more with the body on it."""
    rng = np.random.default_rng(3)
    model = true_robot.model
    q, dq, ddq = model.random_states(40, rng)
    more = with_body(true_robot, BODY).torque(q, dq, ddq) - true_robot.torque(q, dq, ddq)
    whole = np.full(model.n, True)
    decimator = ParallelDecimator(40, 1.0, 10.0, 1)
    observation = Observation('', np.arange(40) * 0.1, q, dq, ddq, q, dq, ddq, 0.0 * q, None, decimator, whole)
    problem = Problem(model, [observation], rows=LoadedRows(model, [observation], model.n - 1))
    columns = [block.rows[:, problem.base.count - 10 : problem.base.count] for block in problem.blocks()]
    torque = np.concatenate([np.einsum('jps,p->sj', rows, parameters(BODY)) for rows in columns])
    assert np.allclose(torque, decimator.apply(more), atol=1e-9)


def test_payload_of_a_known_robot(true_robot, carrying):
    observation = observed(carrying, 5)
    problem = Problem(true_robot.model, [observation])
    found = identify_payload(problem, true_robot.base, [observation])
    assert np.abs((found.values - parameters(BODY)) / found.deviation).max() < 4.5
    assert found.mass == pytest.approx(2.3, rel=0.01)
    assert np.allclose(found.summary()['center_of_mass'], BODY.lever, atol=0.01)


def test_payload_at_another_link(true_robot):
    """In the frame of the joint that moves it, beside a robot whose last link carries nothing."""
    observation = observed(with_body(true_robot, BODY, -2), 5)
    problem = Problem(true_robot.model, [observation])
    found = identify_payload(problem, true_robot.base, [observation], joint=true_robot.model.joint_names[-2])
    told = np.isfinite(found.deviation)
    assert np.abs((found.first_moments - parameters(BODY)[6:9])[told[6:9]]).max() < 0.02
    assert np.abs((found.values - parameters(BODY)) / found.deviation)[told].max() < 4.5 and told.sum() > 5
    with pytest.raises(JointDynamicsError, match=re.escape('payload.joint: expected one of')):
        payload_problem(problem, [observation], joint='tail')


def test_the_rest_of_a_payload_of_known_mass(true_robot, carrying):
    observation = observed(carrying, 6)
    problem = Problem(true_robot.model, [observation])
    free = identify_payload(problem, true_robot.base, [observation])
    weighed = identify_payload(problem, true_robot.base, [observation], {'M': 2.3})
    assert weighed.mass == 2.3 and weighed.deviation[-1] == 0.0 and weighed.known.tolist() == [False] * 9 + [True]
    assert (weighed.deviation[:-1] <= 1.5 * free.deviation[:-1]).all()


def test_an_unloaded_robot_carries_nothing(true_robot):
    observation = observed(true_robot, 7)
    found = identify_payload(Problem(true_robot.model, [observation]), true_robot.base, [observation])
    assert np.abs(found.values / found.deviation).max() < 4.5
    assert abs(found.mass) < 0.05


def test_the_deviation_includes_that_of_the_robot(true_robot, carrying):
    observation = observed(carrying, 5)
    problem = Problem(true_robot.model, [observation])
    exact = identify_payload(problem, true_robot.base, [observation])
    spread = identify_payload(problem, true_robot.base, [observation], covariance=1e-4 * np.eye(len(problem.names)))
    assert np.allclose(spread.values, exact.values)
    assert (spread.deviation > exact.deviation).all()


def test_mass_at_a_known_place_of_another_link(true_robot):
    """The mass alone is unknown, and the other nine parameters are those of a point at its place."""
    place, joint = np.array([0.05, -0.02, 0.1]), true_robot.model.joint_names[-2]
    observation = observed(with_body(true_robot, pinocchio.Inertia(1.3, place, np.zeros((3, 3))), -2), 5)
    problem = Problem(true_robot.model, [observation])
    found = identify_payload(
        problem,
        true_robot.base,
        [observation],
        covariance=1e-6 * np.eye(len(problem.names)),
        joint=joint,
        position=place,
    )
    assert abs(found.mass - 1.3) < 4.5 * found.deviation[-1] < 0.1
    assert np.allclose(found.values, point_mass(found.mass, place)) and not found.known.any()
    assert len(found.mass_by_joint) >= 3 and 'M by ' + next(iter(found.mass_by_joint)) in found.summary()
    assert all(abs(mass - 1.3) < 4.5 * std for mass, std in found.mass_by_joint.values())
    assert np.allclose(found.deviation, np.abs(point_mass(found.deviation[-1], place)))
    with pytest.raises(JointDynamicsError, match='payload: expected `position`'):
        KnownPayload(mass=1.3, position=place)


def test_what_a_badly_excited_robot_knows_of_a_payload_is_stated(true_robot):
    """Scatter over repetitions of one small motion; large errors of the robot's parameters cancel."""
    place, mass, trials = np.array([0.05, -0.02, 0.1]), 0.5, 12
    loaded, rng = with_body(true_robot, pinocchio.Inertia(mass, place, np.zeros((3, 3)))), np.random.default_rng(100)
    time, *motion = true_robot.motion(rng, SHORT['duration'], SHORT['rate'])
    states = [0.1 * part for part in motion]

    def repeated(torque):
        noise = 0.02 * np.sqrt((torque**2).mean(axis=0)) * rng.normal(size=torque.shape)
        return observe(Recording(true_robot.model.joint_names, time, states[0], tau=torque + noise), PLAN)

    found, torques = [], [robot.torque(*states) for robot in (true_robot, loaded)]
    for _ in range(trials):
        unloaded, carrying = map(repeated, torques)
        problem = Problem(true_robot.model, [unloaded])
        solution = least_squares(problem, 'wls')
        assert solution.condition_number > 300
        spread = sandwich(problem.blocks, solution)
        found.append(identify_payload(problem, solution.chi, [carrying], covariance=spread, position=place))
    z = np.array([(payload.mass - mass) / payload.deviation[-1] for payload in found])
    # few clusters stretch a deviation by 1.42 at most, of four degrees of freedom
    low, high = np.sqrt(chi2.interval(0.998, trials) / np.full(2, trials)) / [student.ppf(0.975, 4) / 1.96, 1.0]
    assert low < np.sqrt(np.mean(z**2)) < high
    assert np.count_nonzero(np.abs(z) < 2.0) >= binom.ppf(0.001, trials, 0.954)


def test_known_parameters_by_name():
    values, known = known_payload({'M': 4.59, 'MX': -0.2})
    assert values[INERTIAL.index('MX')] == -0.2 and values[-1] == 4.59 and known.sum() == 2
    assert not known_payload(None)[1].any()


def test_bad_input(true_robot):
    observation = observed(true_robot, 1)
    problem = Problem(true_robot.model, [observation])
    with pytest.raises(JointDynamicsError, match='at least one recording'):
        identify_payload(problem, true_robot.base, [])
    with pytest.raises(JointDynamicsError, match='all ten known'):
        identify_payload(problem, true_robot.base, [observation], dict.fromkeys(INERTIAL, 0.1))


@pytest.mark.parametrize(('name', 'value', 'expected'), [
    ('mass', 1.0, f'expected one of {", ".join(INERTIAL)}'),
    *(('M', value, 'payload.M: expected a mass above 0 kg') for value in (0.0, -1.0, np.inf, True, '4')),
    *(('MX', value, 'payload.MX: expected a finite number') for value in (np.nan, None, False)),
])  # fmt: skip
def test_payloads_that_cannot_be_are_named(name, value, expected):
    found = re.escape(repr(name if name == 'mass' else value))
    with pytest.raises(JointDynamicsError, match=f'{expected}, found {found}'):
        known_payload({name: value})


def test_one_payload_held_two_ways_is_told(true_robot, carrying):
    """Turned by 180° about y: less than a twentieth of the torque, as on a UR10e, and most of the residual."""
    turned = with_body(true_robot, pinocchio.Inertia(BODY.mass, BODY.lever * [-1, 1, -1], BODY.inertia))
    problem = Problem(true_robot.model, [observed(true_robot, 1)])
    runs = [observed(robot, seed) for robot, seed in ((carrying, 2), (carrying, 3), (turned, 4))]
    (reason,) = payload_differences(problem, true_robot.base, runs)
    share = float(re.search(r'makes ([0-9.]+) % of the torque', reason.text)[1])
    # what one body takes more than the other without noise, two thirds of its square in one of three; motions differ
    one, other = (observed(robot, 4, noise=0.0).tau for robot in (turned, carrying))
    expected = 100 * np.sqrt(2 / 3 / 3) * np.linalg.norm(one - other) / np.linalg.norm(one)
    assert share == pytest.approx(expected, rel=0.1) and share < 5 and reason.code == 'payload_mixed'
    assert payload_differences(problem, true_robot.base, runs[:2]) == []
    assert payload_differences(problem, true_robot.base, runs[:1]) == []
    own, others = re.findall(r'([0-9.]+) kg at \(([^)]+)\) m', reason.text)
    for (mass, centre), lever in ((own, BODY.lever * [-1, 1, -1]), (others, BODY.lever)):
        assert float(mass) == pytest.approx(BODY.mass, rel=0.05)
        np.testing.assert_allclose([float(value) for value in centre.split(',')], lever, atol=0.02)


def test_the_payload_is_moved_to_a_body_only_where_it_is_none(true_robot, carrying):
    """A possible body is unchanged; an impossible one is moved, except for its known parameters."""
    pytest.importorskip('cvxpy')
    found = identify_payload(
        Problem(true_robot.model, [observed(true_robot, 1)]), true_robot.base, [observed(carrying, 5)], {'M': 2.3}
    )
    assert payload_body(found) is found
    values = found.values.copy()
    values[[0, 3, 5]] = 0.02, 0.025, -0.01
    body = payload_body(replace(found, values=values))
    assert body.body and body.mass == 2.3
    standard = np.concatenate([body.values, np.zeros(4)])
    assert np.linalg.eigvalsh(pseudo_inertias(StandardParameters(standard, 1).links)[0])[0] > 0


def test_uncertainty_of_drive_gains_is_in_the_payload(true_robot, carrying):
    """Every gain off by the same share scales the payload by it, robot and payload alike.

    The deviation is that share of every parameter.
    """
    problem = Problem(true_robot.model, [observed(true_robot, 1)])
    solution = least_squares(problem, 'wls')
    loaded = [observed(carrying, 6)]
    n = true_robot.model.n
    sensitivity = gain_sensitivity(problem.blocks(), solution, np.eye(n))
    uncertainty = GainUncertainty(0.05**2 * np.ones((n, n)), sensitivity, np.eye(n))
    exact = identify_payload(problem, solution.chi, loaded)
    spread = identify_payload(problem, solution.chi, loaded, gains=uncertainty)
    assert np.array_equal(exact.values, spread.values)
    assert np.sqrt(spread.deviation**2 - exact.deviation**2) == pytest.approx(
        0.05 * np.abs(exact.values), rel=1e-3, abs=1e-6
    )
