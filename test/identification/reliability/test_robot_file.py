"""Signs, scales and orders of torques told by the robot file's inertials, and files that are wrong."""

import copy
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.identification.reliability.robot_file import file_alternatives

spec = importlib.util.spec_from_file_location('corruptions_by_file', Path(__file__).with_name('corruptions.py'))
corruptions = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(corruptions)
BY_NAME = {corruption.name: corruption for corruption in corruptions.CORRUPTIONS}


@pytest.fixture
def by_file(problem_of):
    """Return what a file with these standard parameters, (n, 14), clearly explains: (code, text)."""

    def of(robot, recording, standard):
        model = copy.copy(robot.model)
        model.parameters = np.where(np.arange(standard.shape[1]) < 10, standard, 0.0).ravel()
        found = file_alternatives(Alternatives(model, samples_of(problem_of(model, [recording]))))
        return [(one.code, one.text) for one in found.ahead() if one.clear]

    return of


def test_without_inertials_nothing_is_told_by_them(true_robot, problem_of):
    model = true_robot.model
    free = Alternatives(model, samples_of(problem_of(model, [true_robot.record(0, 3.0, rate=100.0)])))
    assert model.parameters is None and file_alternatives(free) is None


def test_a_torque_that_the_files_links_do_not_have_is_named(true_robot, by_file):
    """A file a twentieth off in every link, a payload that it does not know, 3 s of motion and 5 % of noise."""
    standard = true_robot.standard * np.exp(0.05 * np.random.default_rng(0).normal(size=(6, 1)))
    recording = true_robot.record(0, 3.0, rate=100.0, noise=0.05, frequency=0.4)
    recording = replace(recording, tau=recording.tau + corruptions.payload_torque(true_robot.model, recording, 1.0))
    assert by_file(true_robot, recording, standard) == []
    turned = replace(recording, tau=recording.tau * [1, -1, 1, 1, 1, 1])
    code, text = by_file(true_robot, turned, standard)[0]
    assert code == 'torque_sign' and 'joint_2' in text and 'by the inertials of the robot file' in text
    # one whose links are all ten times as heavy says nothing
    assert by_file(true_robot, turned, 10 * standard) == []


@pytest.mark.parametrize(('change', 'code'), [
    (lambda run: replace(run, q=run.q + np.pi / 2 * np.eye(6)[1]), 'position_offset'),
    (lambda run: replace(run, q=run.q * [1, 1, -1, 1, 1, 1]), 'position_sign'),
    (lambda run: replace(run, q=run.q[:, [0, 2, 1, 3, 4, 5]]), 'position_order'),
])  # fmt: skip
def test_a_motion_that_the_files_links_do_not_make_is_named(true_robot, change, code, by_file):
    """A file a twentieth off in every link, 3 s of motion and 5 % of noise: told by the file alone."""
    standard = true_robot.standard * np.exp(0.05 * np.random.default_rng(0).normal(size=(6, 1)))
    recording = true_robot.record(0, 3.0, rate=100.0, noise=0.05, frequency=0.4)
    assert by_file(true_robot, change(recording), standard)[0][0] == code


def test_a_file_says_nothing_by_links_that_free_parameters_leave_far_behind(true_robot, problem_of):
    """Links off by factors, torque of joint 2 turned."""
    standard = wrong(true_robot, 'factors', np.random.default_rng(4))
    recording = true_robot.record(4, 6.0, rate=100.0, frequency=0.4)
    turned = replace(recording, tau=recording.tau * [1, -1, 1, 1, 1, 1])
    model = copy.copy(true_robot.model)
    model.parameters = np.where(np.arange(standard.shape[1]) < 10, standard, 0.0).ravel()
    free = Alternatives(model, samples_of(problem_of(model, [turned])))
    ahead = free.ahead()
    assert {one.code for one in ahead} == {'torque_sign'}
    assert {one.code for one in file_alternatives(free, ahead).ahead()} == {'torque_sign'}


def wrong(robot, kind, rng):
    """Standard parameters of files as they are: links off by factors, one of them far, 1 kg for every link."""
    standard = robot.standard.copy()
    if kind == 'factors':
        return standard * np.exp(0.7 * rng.normal(size=(6, 1)))
    if kind == 'one link':
        standard[rng.integers(1, 6)] *= rng.choice([0.3, 0.5, 2.0, 3.0])
        return standard
    standard[:, :10] = 0.0
    standard[:, [0, 3, 5]], standard[:, 6:9], standard[:, 9] = 0.01, 0.1 * rng.normal(size=(6, 3)), 1.0
    return standard


@pytest.mark.parametrize('kind', ['factors', 'one link', '1 kg'])
@pytest.mark.parametrize('seed', [1, 2])
def test_a_good_recording_is_accepted_whatever_the_file_says(true_robot, kind, seed, by_file):
    rng = np.random.default_rng(seed)
    recording = true_robot.record(seed, rng.choice([3.0, 6.0, 12.0]), rate=100.0, frequency=0.4)
    assert by_file(true_robot, recording, wrong(true_robot, kind, rng)) == []


@pytest.mark.parametrize(('name', 'code', 'seed'), [
    ('torque of joint 2 doubled', 'drive_gain', 1), ('last torques swapped', 'torque_order', 1),
    ('torque of joint 2 doubled', 'drive_gain', 2), ('zero of joint 2 off by 90°', 'position_offset', 3),
])  # fmt: skip
def test_what_short_windows_of_gen3_hardly_show_the_file_does(gen3, name, code, seed, problem_of):
    """Windows of the bench: without the file all passed, and changed the prediction of a motion by 11 to 187 %."""
    (model, runs), rng, recordings = gen3, np.random.default_rng(seed), []
    parts = [run.window(rng.uniform(0, 0.15) * run.duration, rng.uniform(0.85, 1) * run.duration) for run in runs]
    for part in parts:
        noise = 0.02 * np.sqrt((part.tau**2).mean(axis=0)) * rng.normal(size=part.tau.shape)
        recordings.append(replace(part, tau=part.tau + noise))
    other, corrupted = BY_NAME[name].apply(model, recordings, np.random.default_rng(seed + 1))
    assert code in {reason.code for reason in check_training(problem_of(other, corrupted), corrupted).reasons}
