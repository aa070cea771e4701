"""Noise of a torque, told by what lies above the band, is no fault of the robot."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import welch

from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.preparation.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.residual_reasons import power_density, torque_noise
from joint_dynamics.robot import RobotModel


@pytest.fixture(scope='module')
def sensed(ur_table, true_robot_of):
    """An arm with torque sensors behind its gears: no rotor, hardly any friction; sampled slowly."""
    model = RobotModel.from_mdh(ur_table)
    robot = true_robot_of(model)
    robot.standard[:, 10], robot.standard[:, 11:13] = 0.0, 0.03 * robot.standard[:, 11:13]
    return model, robot.record(1, duration=25.0, rate=30.0, frequency=0.12)


def observations_of(recordings):
    plan = filter_plan(recordings, IdentificationSettings())
    return [observe(recording, plan) for recording in recordings], plan


def codes(model, recording):
    problem = Problem(model, observations_of([recording])[0], rest_speed=IdentificationSettings().rest_speed)
    return [reason.code for reason in check_training(problem, [recording]).reasons]


@pytest.mark.parametrize(('samples', 'length'), [(700, 128), (333, 81), (40, 8)])
def test_the_power_density_is_that_of_scipy(samples, length):
    x = np.random.default_rng(0).normal(size=(samples, 3)).cumsum(axis=0)
    frequency, density = power_density(x, 30.0, length)
    expected = welch(x, 30.0, nperseg=length, axis=0, detrend='linear')
    np.testing.assert_allclose(frequency, expected[0], rtol=1e-12)
    np.testing.assert_allclose(density, expected[1], rtol=1e-9, atol=1e-12 * expected[1].max())


def test_white_noise_is_found_within_its_scatter(sensed):
    """White noise far above the torque that is there: its share below the cut-off, 2 fc / rate."""
    _, recording = sensed
    size = 1000.0 * np.arange(1, 7)
    noisy = replace(recording, tau=recording.tau + size * np.random.default_rng(0).normal(size=recording.tau.shape))
    observations, plan = observations_of([noisy])
    expected = size * np.sqrt(2 * plan.parallel_cutoff / recording.rate)
    # A median of some 60 periodograms' means, each of 7 segments: its logarithm scatters by a tenth, twice in power,
    # and lies up to a tenth below their mean.
    assert np.abs(np.log(torque_noise(observations) / expected)).max() < 0.2
    assert torque_noise([replace(one, decimator=None) for one in observations]).tolist() == [0.0] * 6


def test_noise_of_a_joint_with_hardly_any_torque_is_no_reason(sensed):
    """40 % of the first joint's torque in the band is noise: it was `residual`, as a slow Panda's was.

    As much that is not noise is one: a torque that swings with neither motion nor friction.
    """
    model, recording = sensed
    _, plan = observations_of([recording])
    size = 0.4 * recording.tau[:, 0].std()
    white = np.random.default_rng(0).normal(size=recording.samples) * np.sqrt(recording.rate / 2 / plan.parallel_cutoff)
    swinging = np.sqrt(2) * np.sin(2 * np.pi * 0.77 * recording.time)
    for extra, expected in ((white, []), (swinging, ['residual'])):
        tau = recording.tau.copy()
        tau[:, 0] += size * extra
        assert codes(model, replace(recording, tau=tau)) == expected
