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

"""Every example runs, is listed, and gives its stated result."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics import DynamicsDescription, Recording, RobotModel
from joint_dynamics.arm import Arm

FOLDER = Path(__file__).parents[1] / 'examples'
EXAMPLES = sorted(path.name for path in FOLDER.glob('*.py'))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs an example in an empty folder and returns its names."""
    monkeypatch.chdir(tmp_path)
    return lambda name: runpy.run_path(str(FOLDER / name), run_name='__main__')


def test_each_is_tested_and_listed():
    assert set(re.findall(r"run\('(\w+\.py)'\)", Path(__file__).read_text(encoding='utf-8'))) == set(EXAMPLES)
    page = (FOLDER.parent / 'docs' / 'reference' / 'python.md').read_text(encoding='utf-8')
    for name in EXAMPLES:
        assert f'(../../examples/{name})' in page


def test_identification_predicts_the_other_run(run):
    """The table it prints is that of the whole unfiltered run.

    Filtered, the result leaves a few percent of an unseen motion.
    """
    names = run('identify_from_csv.py')
    result, validation = names['result'], names['validation']
    assert not result.reasons
    assert Recording.load('run2.csv').samples == validation.samples == names['predicted'].shape[0]
    rms = np.sqrt(np.mean(validation.torque() ** 2, axis=0))
    assert np.all(names['error'] < rms)
    assert DynamicsDescription.load('dynamics.yaml').joint_names == names['model'].joint_names


def test_estimators_find_what_the_samples_were_made_with(run):
    names = run('estimate_online.py')
    error = np.abs(names['stiffness'].coefficients[0] - names['STIFFNESS'])
    # 4 σ of noise, and 1 % for the noise of the measured bending, which least squares does not model
    assert np.all(error < 4 * names['stiffness'].standard_deviation[0] + 0.01 * names['STIFFNESS'])
    sigma = np.sqrt(names['friction'].covariance[0, 0, 0])
    assert names['after'] - names['before'] == pytest.approx(0.3, abs=4 * np.sqrt(2) * sigma)


def test_recorded_bags_are_those_of_a_driver(run):
    names = run('record_bags.py')
    model = RobotModel.load('robot.urdf')
    for bag in ('run1', 'run2'):
        recording = Recording.load(bag, joint_names=model.joint_names)
        assert set(recording.quantities) == {'q', 'dq', 'tau'}
    np.testing.assert_array_equal(recording.q, names['run'].q)
    np.testing.assert_array_equal(recording.tau, names['run'].tau)


def test_a_planned_motion_keeps_its_limits(run):
    names = run('plan_excitation.py')
    result, samples, limits = names['result'], names['samples'], names['model'].limits
    assert result.condition_number < result.before.condition_number
    assert all(margin > 0 for margin in result.margins.values())
    share = 0.8
    assert np.all(np.abs(samples.dq) <= share * limits.velocity)
    table = np.loadtxt('trajectory.csv', delimiter=',', skiprows=1)
    np.testing.assert_allclose(table[:, 1:7], samples.q, atol=1e-8)


def test_feedforward_brings_the_motors_closer(run):
    alone, fed = run('feed_forward.py')['errors'].values()
    assert np.linalg.norm(fed) < np.linalg.norm(alone)


def test_a_joint_test_finds_the_friction(run):
    names = run('joint_test.py')
    result, robot = names['result'], names['robot']
    assert result.reliable, result.reasons
    found = DynamicsDescription.load('joint.yaml')
    found = Arm.of_joints(found).friction.static(names['speeds'][:, None])[:, 0]
    omega = np.zeros((names['speeds'].size, robot.n))
    omega[:, 0] = names['speeds']
    true = np.array([robot.truth.friction(row)[0] for row in omega])
    assert np.linalg.norm(found - true) < 0.1 * np.linalg.norm(true)
