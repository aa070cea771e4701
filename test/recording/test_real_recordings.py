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

"""Recordings of real robots: shapes, rates, units, and two ways to the same signal agree."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from joint_dynamics.recording import Recording, load_recording

JOINTS = tuple(f'joint_{k}' for k in range(1, 8))


@pytest.fixture(scope='module')
def meta(data):
    return {name: yaml.safe_load((data / name / 'metadata.yaml').read_text()) for name in ('tx40', 'kr300', 'gen3')}


def test_tx40_joint_side(data, meta):
    recording = Recording.load(data / 'tx40' / 'exciting_traj', joint_names=JOINTS[:6])
    assert recording.samples == meta['tx40']['trajectories']['exciting_traj']['samples']
    assert recording.rate == pytest.approx(5000)
    assert recording.quantities == ('q', 'tau')
    assert recording.notes == ()


def test_tx40_raw_motor_signals_give_the_joint_side(data):
    table = yaml.safe_load((data / 'tx40' / 'mdh.yaml').read_text())
    path = f'{data / "tx40" / "exciting_traj"}@0:3'
    settings = {
        'joint_states': None,
        'names': {f'motor_{k}': f'joint_{k}' for k in range(1, 7)},
        'motor_states': {
            'topic': '/motor_states',
            'effort': 'torque',
            'position_coupling': table['position_coupling_R'],
            'zero_offsets': table['zero_offsets_rad'],
        },
    }
    motor, joint = Recording.load(path, settings, JOINTS[:6]), Recording.load(path, None, JOINTS[:6])
    assert motor.samples == 15_000
    # The raw angles are stored with five decimals, on the motor side of a gear of 32 and more.
    np.testing.assert_allclose(motor.q, joint.q, atol=5e-5)
    np.testing.assert_allclose(motor.tau, joint.tau, atol=1e-3 * np.abs(joint.tau).max())


@pytest.mark.parametrize('run', ['FF_A', 'FF_B'])
def test_kr300_link_side_encoders_and_motor_torque(data, meta, run):
    settings = {
        'joint_states': {'effort': 'torque'},
        'motor_states': {'topic': '/joint_states', 'effort': 'none'},
        'link_states': '/link_states',
    }
    recording = Recording.load(data / 'kr300' / run, settings, JOINTS[:6])
    assert recording.samples == meta['kr300']['trajectories'][run]['samples']
    assert recording.rate == pytest.approx(250, rel=1e-6)
    deformation = recording.theta - recording.q
    assert np.ptp(deformation[:, :3], axis=0).min() > 1e-4
    np.testing.assert_array_equal(deformation[:, 3:], 0)
    ratios = dict(zip(JOINTS, meta['kr300']['gear_ratios'], strict=False))
    motor_states = {'topic': '/motor_torque', 'effort': 'torque', 'gear_ratio': ratios}
    settings = {'joint_states': {'effort': 'none'}, 'motor_states': motor_states}
    motor = Recording.load(data / 'kr300' / run, settings, JOINTS[:6])
    np.testing.assert_allclose(motor.tau, recording.tau, rtol=1e-3, atol=1e-3 * np.abs(recording.tau).max())


def test_gen3_currents_temperatures_and_gains(data, meta):
    settings = {
        'motor_current': '/motor_current',
        'temperatures': '/{joint}/temperature',
        'load_torques': '/joint_torque_sensor',
    }
    recording = Recording.load(data / 'gen3' / 'opti_traj_testing1', settings, JOINTS)
    assert recording.samples == meta['gen3']['trajectories']['opti_traj_testing1']['samples']
    assert recording.rate == pytest.approx(1000)
    assert recording.quantities == ('q', 'dq', 'tau', 'current', 'temperature', 'load_torque')
    assert 20 < recording.temperature.min() < recording.temperature.max() < 60
    gains = dict(zip(JOINTS, meta['gen3']['drive_gains_Nm_per_A'], strict=True))
    np.testing.assert_allclose(recording.torque(gains), recording.tau, rtol=2e-3, atol=0.02)


def test_every_gen3_run_in_another_joint_order(data, meta):
    for run, facts in meta['gen3']['trajectories'].items():
        recording = Recording.load(data / 'gen3' / run, None, JOINTS[::-1])
        assert recording.samples == facts['samples'], run
        assert recording.joint_names == JOINTS[::-1]
        np.testing.assert_array_equal(recording.select(JOINTS).q, Recording.load(data / 'gen3' / run).q)


PAGE = (Path(__file__).parents[2] / 'docs' / 'reference' / 'recordings.md').read_text(encoding='utf-8')
EXAMPLES = dict(re.findall(r'^### (\w+ \w+)[^\n]*\n.*?```yaml\n(.*?)```', PAGE, re.MULTILINE | re.DOTALL))


def settings(title):
    return yaml.safe_load(EXAMPLES[title])['recording']


@pytest.mark.parametrize(
    ('title', 'path', 'quantities'),
    [
        ('Kinova Gen3', 'gen3/RunTrajectory1', ('q', 'dq', 'tau', 'current', 'temperature')),
        ('Stäubli TX40', 'tx40/exciting_traj', ('q', 'tau', 'theta')),
        ('Second encoders', 'kr300/FF_A', ('q', 'dq', 'tau', 'theta', 'dtheta')),
    ],
)
def test_examples_read_the_recordings_they_are_for(data, title, path, quantities):
    assert load_recording(data / path, settings(title)).quantities == quantities
