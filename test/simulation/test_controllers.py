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

"""Commands with the semantics of ros2_control's controllers, and recordings under them."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import (
    Controllers,
    FlexibleJointRobot,
    ModelErrors,
    Samples,
    Sensors,
    TrajectoryPoints,
    record,
)

EFFORT = 'forward_effort_controller'
TRAJECTORY = 'joint_trajectory_controller'
COMMANDS = 'joint_commands'


@pytest.fixture
def robot():
    return FlexibleJointRobot(seed=1, errors=ModelErrors.none(), sensors=Sensors.ideal())


def run(robot, controllers, seconds, block=50):
    return Samples.joined([robot.run(controllers.commands(block)) for _ in range(int(seconds * robot.rate / block))])


def test_without_a_command_the_robot_stands(robot):
    q = robot.truth.position
    for name in (TRAJECTORY, EFFORT, COMMANDS, 'none'):
        controllers = Controllers(robot, active=name)
        assert np.abs(run(robot, controllers, 0.5).true_q - q).max() < 1e-4
        assert not controllers.busy


def test_trajectory_in_another_joint_order_is_followed(robot):
    controllers = Controllers(robot)
    q = robot.truth.position
    goal = q + np.array([0.1, -0.1, 0.2, 0.3, -0.2, 0.4])
    names = robot.joint_names[::-1]
    controllers.follow(names, TrajectoryPoints([1.5], [goal[::-1]], [np.zeros(6)], [np.zeros(6)]))
    assert controllers.busy
    half = run(robot, controllers, 0.75)
    # A quintic from rest to rest is half-way at half-time.
    assert np.abs(half.true_q[-1] - (q + goal) / 2).max() < 0.02
    end = run(robot, controllers, 2.0)
    assert not controllers.busy
    assert np.abs(end.true_q[-1] - goal).max() < 1e-3


def test_a_new_trajectory_takes_over_without_a_jump(robot):
    controllers = Controllers(robot)
    q = robot.truth.position
    controllers.follow(robot.joint_names, TrajectoryPoints([1.0], [q + 0.3], [np.zeros(6)]))
    run(robot, controllers, 0.5)
    before = controllers.commands(1)
    controllers.follow(robot.joint_names, TrajectoryPoints([1.0], [q], [np.zeros(6)]))
    after = controllers.commands(1)
    np.testing.assert_allclose(after.q, before.q, atol=1e-12)
    np.testing.assert_allclose(after.dq, before.dq, atol=1e-12)


def test_a_start_in_the_future_is_reached_on_time(robot):
    controllers = Controllers(robot)
    q = robot.truth.position
    run(robot, controllers, 0.1)
    controllers.follow(robot.joint_names, TrajectoryPoints([0.5, 1.0], [q + 0.1, q + 0.2]), start=robot.time + 0.4)
    reference = controllers.commands(1500)
    np.testing.assert_allclose(reference.q[900], q + 0.1, atol=1e-3)
    np.testing.assert_allclose(reference.q[1400], q + 0.2, atol=1e-3)


def test_feedforward_takes_over_from_the_integral(robot):
    controllers = Controllers(robot)
    q = robot.truth.position
    gravity = robot.model.gravity(q)
    controllers.follow(robot.joint_names, TrajectoryPoints([0.5, 1.0], [q, q], effort=[gravity, 1.2 * gravity]))
    np.testing.assert_allclose(controllers.commands(751).effort[750], 1.1 * gravity, rtol=1e-9)
    onset = run(robot, controllers, 0.4)
    assert np.abs(onset.true_q - q).max() < 1e-4
    # The torque is unchanged: the integral returns the feedforward.
    np.testing.assert_allclose(onset.command[-1], onset.command[0], atol=0.5)


@pytest.mark.parametrize(
    ('names', 'trajectory', 'start'),
    [
        (('shoulder_pan_joint',), TrajectoryPoints([1.0], [[0.0]]), None),
        ((), TrajectoryPoints([1.0], [[0.0] * 6]), None),
        (None, TrajectoryPoints([1.0], [[0.0] * 5]), None),
        (None, TrajectoryPoints([1.0], [[0.0] * 6], [[0.1] * 6]), None),
        (None, TrajectoryPoints([0.01], [[0.0] * 6]), -1.0),
    ],
)
def test_wrong_trajectories_are_rejected(robot, names, trajectory, start):
    controllers = Controllers(robot)
    with pytest.raises(JointDynamicsError):
        controllers.follow(robot.joint_names if names is None else names, trajectory, start)
    assert not controllers.busy


def test_only_the_active_controller_listens(robot):
    controllers = Controllers(robot)
    points = TrajectoryPoints([1.0], [robot.truth.position])
    for command in (
        lambda: controllers.command_effort(np.zeros(6)),
        lambda: controllers.command_joints(robot.joint_names, np.zeros(6), [], []),
        lambda: controllers.switch(EFFORT) or controllers.follow(robot.joint_names, points),
        lambda: controllers.switch('cartesian'),
    ):
        with pytest.raises(JointDynamicsError, match='controller'):
            command()


def test_efforts_are_in_the_order_of_the_controller(robot):
    order = robot.joint_names[::-1]
    controllers = Controllers(robot, effort_joints=order, active=EFFORT)
    torque = np.arange(1.0, 7.0)
    controllers.command_effort(torque)
    np.testing.assert_array_equal(run(robot, controllers, 0.2).command[-1], torque[::-1])
    with pytest.raises(JointDynamicsError, match='dropped'):
        controllers.command_effort([np.nan, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(controllers.commands(1).effort[0], torque[::-1])
    with pytest.raises(JointDynamicsError, match='joints'):
        Controllers(robot, effort_joints=order[:-1])


def test_wrong_number_of_efforts_deactivates_the_controller(robot):
    controllers = Controllers(robot, active=EFFORT)
    controllers.command_effort(robot.model.gravity(robot.truth.position))
    run(robot, controllers, 0.2)
    with pytest.raises(JointDynamicsError, match='deactivated'):
        controllers.command_effort(np.zeros(7))
    assert controllers.active == 'none'
    q = robot.truth.position
    assert np.abs(run(robot, controllers, 0.5).true_q - q).max() < 1e-3


def test_joint_states_as_commands(robot):
    controllers = Controllers(robot, active=COMMANDS)
    names, nan = robot.joint_names[::-1], [np.nan] * 6
    goal = robot.truth.position + 0.02
    controllers.command_joints(names, goal[::-1], nan, [])
    assert np.abs(run(robot, controllers, 2.0).true_q[-1] - goal).max() < 1e-3
    torque = np.arange(6.0)
    controllers.command_joints(names, nan, nan, torque)
    np.testing.assert_array_equal(controllers.commands(1).effort[0], torque[::-1])
    controllers.command_joints(names, goal, np.ones(6), torque)
    command = controllers.commands(2)
    np.testing.assert_array_equal(command.dq, np.ones((2, 6)))
    np.testing.assert_array_equal(command.effort[1], torque[::-1])


@pytest.mark.parametrize(
    'arrays', [([0.0] * 5, [], []), ([np.nan, *[0.0] * 5], [], []), ([], [0.0] * 6, []), ([0.0] * 7, [], [])]
)
def test_wrong_joint_states_are_refused(robot, arrays):
    controllers = Controllers(robot, active=COMMANDS)
    with pytest.raises(JointDynamicsError):
        controllers.command_joints(robot.joint_names, *arrays)


def test_recording_holds_the_sensor_values(waves):
    robot = FlexibleJointRobot(seed=1)
    trajectory = waves(robot.truth.position, 1.0)
    recording = record(robot, trajectory, hold=0.5, name='run')
    assert (recording.name, recording.joint_names) == ('run', robot.joint_names)
    assert (recording.rate, recording.duration) == pytest.approx((1000.0, 1.5))
    assert recording.quantities == ('q', 'dq', 'current', 'theta', 'dtheta', 'temperature')
    assert np.abs(recording.q - trajectory.sample(recording.time).q).max() < 0.02
    assert np.abs(recording.theta - recording.q).max() < 0.01


RNG = np.random.default_rng(6)


def test_polynomials_are_interpolated_exactly():
    t = np.linspace(0, 2, 5)
    coefficients = RNG.normal(size=6)

    def exact(x, order=0):
        return np.polynomial.Polynomial(coefficients[::-1]).deriv(order)(x)

    trajectory = TrajectoryPoints(t, exact(t)[:, None], exact(t, 1)[:, None], exact(t, 2)[:, None])
    fine = np.linspace(0, 1.99, 200)
    at = trajectory.sample(fine)
    np.testing.assert_allclose(at.q[:, 0], exact(fine), atol=1e-10)
    np.testing.assert_allclose(at.ddq[:, 0], exact(fine, 2), atol=1e-8)
    linear = TrajectoryPoints(t, exact(t)[:, None], effort=exact(t)[:, None]).sample(fine)
    np.testing.assert_allclose(linear.q[:, 0], np.interp(fine, t, exact(t)), atol=1e-12)
    np.testing.assert_allclose(linear.effort, linear.q, atol=1e-12)
    outside = trajectory.sample([-1.0, 2.0, 5.0])
    np.testing.assert_allclose(outside.q[:, 0], exact(np.array([0.0, 2.0, 2.0])), atol=1e-10)
    assert not outside.dq.any() and not outside.ddq.any()


@pytest.mark.parametrize(
    'arguments',
    [
        ([0.0, 1.0], [[0.0], [1.0], [2.0]]),
        ([], np.zeros((0, 1))),
        ([0.0, 0.0], [[0.0], [1.0]]),
        ([-1.0, 0.0], [[0.0], [1.0]]),
        ([0.0, np.nan], [[0.0], [1.0]]),
        ([0.0, 1.0], [[0.0], [np.inf]]),
        ([0.0, 1.0], [[0.0], [1.0]], [[0.0, 1.0]]),
        ([0.0, 1.0], [[0.0], [1.0]], None, [[0.0], [1.0]]),
    ],
)
def test_broken_points_are_refused(arguments):
    with pytest.raises(JointDynamicsError):
        TrajectoryPoints(*arguments)
