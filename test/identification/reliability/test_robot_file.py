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

"""Signs, scales and orders of torques told by the robot file's inertials, and files that are wrong."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import regressor_columns
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples, samples_of
from joint_dynamics.identification.reliability.robot_file import check_units, file_alternatives


@pytest.fixture
def by_file(problem_of):
    """Return what a file with these standard parameters, (n, 14), clearly explains: (code, text)."""

    def of(robot, recording, standard):
        model = copy.copy(robot.model)
        model.parameters = np.where(np.arange(standard.shape[1]) < 10, standard, 0.0).ravel()
        found = file_alternatives(Alternatives(model, samples_of(problem_of(model, [recording]))))
        return [(one.code, one.text) for one in found.better_alternatives() if one.clear]

    return of


def test_without_inertials_nothing_is_told_by_them(true_robot, problem_of):
    model = true_robot.model
    free = Alternatives(model, samples_of(problem_of(model, [true_robot.record(0, 3.0, rate=100.0)])))
    assert model.parameters is None and file_alternatives(free) is None


def test_a_torque_that_the_files_links_do_not_have_is_named(true_robot, by_file, corruptions):
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


def test_the_same_correction_by_free_parameters_and_by_the_file_is_named_once(true_robot, checked):
    model = copy.copy(true_robot.model)
    model.parameters = np.where(np.arange(14) < 10, true_robot.standard, 0.0).ravel()
    recording = true_robot.record(0, 6.0, rate=100.0, noise=0.05, frequency=0.4)
    reasons = checked(model, [replace(recording, tau=-recording.tau)]).reasons
    assert [(reason.code, len(reason.joints)) for reason in reasons] == [('torque_sign', 6)]


def test_a_file_says_nothing_by_links_that_free_parameters_leave_far_behind(true_robot, problem_of):
    """Links off by factors, torque of joint 2 turned."""
    standard = wrong(true_robot, 'factors', np.random.default_rng(4))
    recording = true_robot.record(4, 6.0, rate=100.0, frequency=0.4)
    turned = replace(recording, tau=recording.tau * [1, -1, 1, 1, 1, 1])
    model = copy.copy(true_robot.model)
    model.parameters = np.where(np.arange(standard.shape[1]) < 10, standard, 0.0).ravel()
    free = Alternatives(model, samples_of(problem_of(model, [turned])))
    better = free.better_alternatives()
    assert {one.code for one in better} == {'torque_sign'}
    assert {one.code for one in file_alternatives(free, better).better_alternatives()} == {'torque_sign'}


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
    ('zero of joint 2 off by 90°', 'position_offset', 3),
])  # fmt: skip
def test_what_short_windows_of_gen3_hardly_show_the_file_does(gen3, name, code, seed, checked, corruptions):
    """Windows of the bench: without the file all passed, and changed the prediction of a motion by 11 to 187 %."""
    (model, runs), rng, recordings = gen3, np.random.default_rng(seed), []
    parts = [run.window(rng.uniform(0, 0.15) * run.duration, rng.uniform(0.85, 1) * run.duration) for run in runs]
    for part in parts:
        noise = 0.02 * np.sqrt((part.tau**2).mean(axis=0)) * rng.normal(size=part.tau.shape)
        recordings.append(replace(part, tau=part.tau + noise))
    (corruption,) = (one for one in corruptions.CORRUPTIONS if one.name == name)
    found = checked(*corruption.apply(model, recordings, np.random.default_rng(seed + 1)))
    assert code in {reason.code for reason in found.reasons}


UNKNOWN = np.full(2, np.nan)


@pytest.fixture
def seen(two_links):
    """Samples of two links; `of(torque, parameters)` are alternatives with these."""
    rng = np.random.default_rng(6)
    arrays = {name: rng.normal(size=(2, 900)) for name in ('q', 'dq', 'ddq')}
    weight = np.where(rng.random((2, 900)) < 0.3, 0.4, 1.0)
    arrays |= {'dtheta': arrays['dq'], 'ddtheta': arrays['ddq'], 'sign': np.sign(arrays['dq'])}
    names = two_links.parameter_names
    parameters = np.zeros(len(names))
    for name, value in {'ZZ_1': 0.5, 'MX_1': 1.5, 'M_1': 5.0, 'ZZ_2': 0.25, 'MX_2': 0.9, 'M_2': 2.0}.items():
        parameters[names.index(name)] = value
    bare = FilteredSamples(**arrays, tau=np.zeros((2, 900)), weight=weight, part=np.zeros(900, dtype=int))
    every = np.arange(len(names))
    stated = np.einsum('jps,p->js', regressor_columns(bare, two_links, independent=every), parameters)

    def of(factor, parameters=parameters, noise=0.2, count=500.0):
        own = stated * np.reshape(factor, (2, 1)) + 3.0 * arrays['sign'] + 2.0 * arrays['dq'] - 4.0
        tau = own + noise * np.random.default_rng(7).normal(size=own.shape)
        model = SimpleNamespace(
            n=2, chain=two_links.chain, coupling=None, parameters=parameters, parameter_names=names,
            pinocchio=two_links.pinocchio, columns=two_links.columns, base_parameters=two_links.base_parameters,
        )  # fmt: skip
        samples = FilteredSamples(**arrays, tau=tau, weight=weight, part=np.zeros(900, dtype=int))
        found = SimpleNamespace(model=model, samples=samples, names=two_links.joint_names, count=np.full(2, count))
        factors = []
        for j in range(2):
            A = np.stack([stated[j], arrays['ddq'][j], arrays['dq'][j], arrays['sign'][j], np.ones(900)], axis=1)
            factors.append(np.linalg.lstsq(A * weight[j][:, None], tau[j] * weight[j], rcond=None)[0][0])
        return found, factors

    return of


def test_efforts_far_below_the_robots_inertials_are_currents(seen, two_links):
    """The factor is that of a regression on the file's torque, rotor inertia, friction and offset."""
    found, factors = seen([0.1, 0.2])
    listed = ', '.join(f'{name} {value:.3g}' for name, value in zip(two_links.joint_names, factors, strict=True))
    (reason,) = check_units(found, UNKNOWN)
    assert reason.code == 'current' and f'expect: {listed};' in reason.text and 'drive gains' in reason.text
    # the median of 0.2 and 0.45 is below a third, that of 0.2 and 0.5 is not
    assert check_units(seen([0.2, 0.45])[0], UNKNOWN) and not check_units(seen([0.2, 0.5])[0], UNKNOWN)
    for factor in (1.0, 5.0, -0.1, [0.1, -0.1], [0.1, 0.0]):
        assert check_units(seen(np.broadcast_to(factor, 2))[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], None)[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], np.zeros(28))[0], UNKNOWN) == []
    # of few samples, and where most of the torque is something else, nothing is said
    assert check_units(seen([0.1, 0.1], count=5.0)[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], noise=3.0)[0], UNKNOWN) == []


def test_efforts_far_below_their_limits_are_currents(seen):
    found, _ = seen([1.0, 1.0])
    largest = np.quantile(np.abs(found.samples.tau), 0.99, axis=1)
    (reason,) = check_units(found, largest / [0.0299, 0.01])
    assert reason.code == 'current' and 'reaches 3 % of its limit' in reason.text and 'drive gains' in reason.text
    for rated in (largest / [0.0301, 0.01], [np.nan, 1e6]):
        assert check_units(found, np.asarray(rated)) == []
