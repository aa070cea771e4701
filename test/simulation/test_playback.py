"""From a trajectory to a Recording."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, play, record, recording_of


def test_a_recording_holds_what_the_sensors_saw(waves):
    robot = FlexibleJointRobot(seed=1)
    trajectory = waves(robot.truth.position, 1.0)
    recording = record(robot, trajectory, hold=0.5, name='run')
    assert recording.name == 'run'
    assert recording.joint_names == robot.joint_names
    assert recording.rate == pytest.approx(1000.0)
    assert recording.duration == pytest.approx(1.5)
    assert recording.quantities == ('q', 'dq', 'current', 'theta', 'dtheta', 'temperature')
    reference = trajectory.sample(recording.time)
    assert np.abs(recording.q - reference.q).max() < 0.02
    assert np.abs(recording.dq - reference.dq).max() < 0.5
    assert np.abs(recording.theta - recording.q).max() < 0.01


def test_torque_instead_of_current_and_fewer_samples(waves):
    robot, other = FlexibleJointRobot(seed=1), FlexibleJointRobot(seed=1)
    trajectory = waves(robot.truth.position, 0.5)
    thin = record(robot, trajectory, torque=True, every=5)
    samples = play(other, trajectory)
    assert thin.rate == pytest.approx(200.0)
    assert thin.current is None
    np.testing.assert_array_equal(thin.tau, samples.effort[::5])
    np.testing.assert_array_equal(thin.q, samples.q[::5])


def test_a_robot_elsewhere_is_placed_at_the_start():
    robot = FlexibleJointRobot(seed=1)
    goal = robot.truth.position + 0.5
    samples = play(robot, TrajectoryPoints([0.0, 0.1], [goal, goal]))
    assert np.abs(samples.true_q - goal).max() < 1e-4
    stays = play(robot, TrajectoryPoints([0.0, 0.1], [robot.truth.position] * 2))
    np.testing.assert_allclose(stays.true_theta[0], samples.true_theta[-1], atol=1e-5)


def test_blocks_do_not_show(waves, monkeypatch):
    runs = []
    for block in (20000, 137):
        monkeypatch.setattr('joint_dynamics.simulation.controllers.BLOCK', block)
        robot = FlexibleJointRobot(seed=1)
        runs.append(play(robot, waves(robot.truth.position, 0.6)))
    for name in ('q', 'current', 'temperature', 'friction'):
        np.testing.assert_array_equal(getattr(runs[0], name), getattr(runs[1], name))
    np.testing.assert_allclose(np.diff(runs[1].time), 1e-3, atol=1e-12)


def test_wrong_trajectories_are_refused():
    robot = FlexibleJointRobot(seed=1)
    with pytest.raises(JointDynamicsError, match='a trajectory of 6 joints'):
        record(robot, TrajectoryPoints([1.0], [[0.0]]))
    with pytest.raises(JointDynamicsError, match='every >= 1'):
        recording_of(robot.step(), every=0)
