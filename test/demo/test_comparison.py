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

"""The demonstration's numbers, held against cases whose answer is known."""

import numpy as np
import pytest

from joint_dynamics.demo import scenario
from joint_dynamics.demo.comparison import (
    Comparison,
    compare_parameters,
    friction_errors,
    headlines,
    map_nrmse,
    mean_squares,
    reduction_percent,
)
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ur5e_urdf


@pytest.fixture(scope='module')
def robot():
    return FlexibleJointRobot(seed=3)


@pytest.fixture(scope='module')
def truth(robot):
    return robot.truth.as_document()


@pytest.fixture(scope='module')
def model():
    return RobotModel.load(ur5e_urdf())


def test_coverage_counts_what_lies_within_two_deviations():
    rows = tuple((f'XX_{k}', 'XX', 1.0 + error, 0.1, 1.0) for k, error in enumerate((0.0, 0.19, -0.19, 0.21, -0.5)))
    comparison = Comparison(rows)
    assert comparison.coverage_percent == pytest.approx(60.0)
    assert comparison.median_error_percent == pytest.approx(19.0)


def test_parameters_are_compared_by_name_without_friction(model, truth):
    base = model.base_parameters()
    true = base.regroup(np.array(truth['parameters']))
    identified = [
        {'name': name, 'expression': '', 'value': value + 0.5, 'std': 1.0}
        for name, value in zip(base.names, true, strict=True)
    ]
    comparison = compare_parameters(identified[::-1], truth)
    assert 0 < len(comparison.rows) < base.count
    assert not any(row[0].startswith(('Fv', 'Fc', 'off')) for row in comparison.rows)
    np.testing.assert_allclose(comparison.deviations, 0.5)


def test_a_map_scaled_by_a_tenth_has_90_percent(model, truth):
    motion = scenario.cycle()
    true = np.array(truth['stiffness'])
    # The curve is a table of 101 points to 1.2 times the torque limit; its chords lie off the cubic by less than that.
    np.testing.assert_allclose(map_nrmse(TorsionalStiffness(true), model, motion, truth), 100.0, atol=0.02)
    np.testing.assert_allclose(map_nrmse(TorsionalStiffness(0.9 * true), model, motion, truth), 90.0, atol=0.02)


def test_a_map_is_judged_with_its_tangent_beyond_its_range(model, truth):
    """A soft part up to a tenth of the work's deformation, described by a cubic that grows far too stiff beyond."""
    true = np.array(truth['stiffness'])
    wound = np.column_stack([true[:, 0], np.full(model.n, 2e9)])
    scores = [map_nrmse(TorsionalStiffness(wound, reach), model, scenario.cycle(), truth) for reach in (2e-4, np.inf)]
    assert (scores[0] > 90.0).all() and scores[1].min() < 50.0


def test_friction_errors_are_those_put_in(truth):
    names = truth['joint_names']
    joints = {name: {'friction': {'parameters': {'F_C0': 10.0, 'F_V1': 5.0}}} for name in names}
    description = DynamicsDescription({'robot': {'joint_names': list(names)}, 'joints': joints})
    found = friction_errors(description, np.tile([1.5, 2.0], (len(names), 1)), truth)
    speeds = np.linspace(0.1, 1.5, 29)[:, None]
    np.testing.assert_allclose(found['friction_identified'], np.tile(10.0 + 5.0 * speeds, len(names)))
    np.testing.assert_allclose(found['friction_adapted'], np.tile(15.0 + 7.0 * speeds, len(names)))
    wrong, true = found['friction_adapted'] - found['friction_true'], found['friction_true']
    expected = 100 * np.linalg.norm(wrong, axis=0) / np.linalg.norm(true, axis=0)
    np.testing.assert_allclose(found['friction_error_adapted_percent'], expected)


def test_mean_squares_of_a_run_with_known_errors():
    time = np.linspace(0, 2, 41)
    motion = MotionSamples(time, *(np.column_stack([row] * 2) for row in (np.sin(time), np.cos(time), -np.sin(time))))
    fine = np.linspace(-1, 3, 1001)
    q = np.column_stack([np.sin(fine) + 1e-3, np.sin(fine) - 2e-3])
    effort = np.column_stack([time, 2 * time])
    torque = np.column_stack([fine + 0.5, 2 * fine])
    run = mean_squares(fine, q, torque, motion, time, effort)
    np.testing.assert_allclose(run['tracking_mse'], [1e-6, 4e-6], rtol=1e-2)
    np.testing.assert_allclose(run['torque_mse'], [0.25, 0.0], atol=1e-12)
    assert run['time'][0] >= 0
    assert run['time'][-1] <= 2


def test_a_reduction_is_the_mean_of_ratios():
    assert reduction_percent(np.array([1.0, 10.0]), np.array([0.5, 1.0])) == pytest.approx(70.0)


def test_headlines_show_the_figures_of_the_summary():
    figures = {'validation_moving_percent': 0.5, 'parameter_coverage_percent': 70.0, 'median_error_percent': 2.0}
    assert [row[1] for row in headlines(figures)] == [70.0, 2.0, 0.5]


def test_constant_speeds_hold_every_speed_both_ways(model):
    motion = scenario.constant_speeds(np.zeros(6))
    assert np.all(motion.dq[-1] == 0)
    np.testing.assert_allclose(np.gradient(motion.q[:, 0], motion.time)[5:-5], motion.dq[5:-5, 0], atol=0.05)
    for speed, seconds in scenario.SPEEDS:
        for direction in (1, -1):
            held = np.count_nonzero(np.isclose(motion.dq[:, 0], direction * speed)) / 200
            assert held >= seconds
    assert np.abs(motion.dq).max() < model.limits.velocity.min()
