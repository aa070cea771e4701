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

"""`joint-dynamics identify --method tls`: currents of the unloaded and the loaded robot, and the weighed mass."""

import json

import numpy as np
import pytest
import yaml

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.recording import Recording
from joint_dynamics.robot import PER_JOINT

GAINS = np.array([12.0, 14.0, 11.0, -5.0, 6.0, 7.0])
BODY = np.array([0.05, 0.004, -0.003, 0.045, 0.006, 0.02, 0.12, -0.08, 0.25, 3.2])


@pytest.fixture
def pair(tmp_path, ur):
    """CSV files of currents without and with a payload, 1 % noise; parameters as of a UR-like arm."""
    rng = np.random.default_rng(11)
    standard = np.zeros((6, PER_JOINT))
    for k, mass in enumerate((3.8, 8.4, 2.3, 1.2, 1.2, 0.2)):
        centre = rng.normal(scale=0.05, size=3)
        tensor = mass * (0.004 * np.eye(3) + centre @ centre * np.eye(3) - np.outer(centre, centre))
        standard[k, :10] = (*tensor[np.triu_indices(3)], *(mass * centre), mass)
        standard[k, 10:] = (0.8 / (1 + k), 6.0 / (1 + k), 5.0 / (1 + k), 0.1)
    t = np.arange(0, 12.0, 0.01)
    phase = 2 * np.pi * np.outer(t, np.arange(1, 6)) / 8.0
    paths = []
    for name, body in (('free', 0.0), ('loaded', BODY)):
        a, b = rng.normal(scale=0.9, size=(2, 5, 6)) / np.arange(1, 6)[:, None]
        q = np.sin(phase) @ a + np.cos(phase) @ b
        dq = np.gradient(q, t, axis=0, edge_order=2)
        ddq = np.gradient(dq, t, axis=0, edge_order=2)
        loaded = standard.copy()
        loaded[5, :10] += body
        current = ur.inverse_dynamics(q, dq, ddq, loaded.ravel()) / GAINS
        current += 0.01 * np.sqrt((current**2).mean(axis=0)) * rng.normal(size=current.shape)
        paths.append(tmp_path / f'{name}.csv')
        Recording(ur.joint_names, t, q, current=current).save_csv(paths[-1])
    return paths


def test_gains_in_summary_and_description(run, arm_file, pair, ur, tmp_path):
    free, loaded = pair
    config = tmp_path / 'config.yaml'
    prior = dict(zip(ur.joint_names, (1.2 * GAINS).tolist(), strict=True))
    config.write_text(yaml.safe_dump({'identification': {'drive_gains': prior, 'selection': False}}))
    out = tmp_path / 'out'
    options = ('--method', 'tls', '--loaded', loaded, '--payload-mass', 3.2, '--validate', free, '--out', out)
    done = run('identify', free, '--robot', arm_file, '--config', config, *options)
    assert done.status == 0, done.err
    assert 'Drive gains' in done.out
    summary = json.loads((out / 'summary.json').read_text())
    description = DynamicsDescription.load(out / 'dynamics.yaml')
    for name, gain in zip(ur.joint_names, GAINS, strict=True):
        entry = summary['drive_gains'][name]
        assert entry['value'] == pytest.approx(gain, rel=0.05)
        assert entry['prior'] == pytest.approx(1.2 * gain)
        assert 0 < entry['std'] < 0.05 * abs(gain)
        assert description.document['joints'][name]['drive_gain']['value'] == pytest.approx(entry['value'])
    assert summary['payload']['M'] == {'value': 3.2, 'std': 0.0, 'known': True}
    assert summary['payload']['MZ']['value'] == pytest.approx(BODY[8], abs=0.05)
    assert summary['validation'][0]['residual_percent']['overall'] < 5
    payload = description.document['payload']
    assert payload['mass']['value'] == 3.2 and payload['first_moments'] == pytest.approx(BODY[6:9], abs=0.05)


@pytest.mark.parametrize(
    ('arguments', 'found'),
    [((), '--payload-mass'), (('--payload-mass', 3.2), '--loaded'), (('--loaded', 'LOADED'), '--payload-mass')],
)
def test_tls_without_what_it_needs_is_one_clear_line(run, arm_file, pair, tmp_path, arguments, found):
    arguments = [pair[1] if argument == 'LOADED' else argument for argument in arguments]
    done = run('identify', pair[0], '--robot', arm_file, '--method', 'tls', *arguments, '--out', tmp_path / 'out')
    assert done.status == 2
    assert found in done.error
