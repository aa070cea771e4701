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

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, short_name, with_short_names


@pytest.fixture
def recording():
    time = np.arange(1001) * 2e-3
    q = np.sin(time[:, None] * [1.0, 2.0, 3.0])
    return Recording(('a', 'b', 'c'), time, q, tau=2 * q, current=3 * q, temperature=q + 30, name='run')


def test_rate_duration_and_what_is_there(recording):
    assert recording.rate == pytest.approx(500)
    assert recording.duration == pytest.approx(2)
    assert (recording.samples, recording.n) == (1001, 3)
    assert recording.quantities == ('q', 'tau', 'current', 'temperature')
    assert recording.load_torque is None
    assert repr(recording) == '<Recording run: 3 joints, 1001 samples at 500 Hz (2 s): q, tau, current, temperature>'


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'q': np.zeros((1001, 2))}, r'\(1001, 3\), found \(1001, 2\)'),
        ({'tau': np.zeros(1001)}, 'tau'),
        ({'time': np.zeros(1001)}, 'time'),
        ({'time': -np.arange(1001) * 2e-3}, 'time'),
        ({'time': np.arange(1001) ** 2 * 1e-3}, 'time'),
        ({'time': np.full(1001, np.nan)}, 'time: .* 1001 of them'),
        ({'time': np.zeros(1)}, 'time'),
        ({'joint_names': ('a', 'b', 'a')}, "'a', 'b', 'a'"),
        ({'joint_names': ()}, 'joint names'),
        ({'q': None}, 'q'),
    ],
)
def test_what_does_not_fit_is_refused(recording, change, reason):
    fields = {'joint_names': recording.joint_names, 'time': recording.time, 'q': recording.q, 'name': 'run', **change}
    with pytest.raises(JointDynamicsError, match=f'run: .*{reason}'):
        Recording(**fields)


def test_a_value_that_is_not_finite_is_named(recording):
    tau = recording.tau.copy()
    tau[500, 1] = np.inf
    with pytest.raises(JointDynamicsError, match='tau of b: expected finite numbers, found inf at 1 s'):
        Recording(recording.joint_names, recording.time, recording.q, tau=tau)


def test_windows_that_adjoin_share_no_sample_and_lose_none(recording):
    first, second = recording.window(None, 0.7), recording.window(0.7, None)
    assert first.samples + second.samples == recording.samples
    assert second.time[0] == 0
    np.testing.assert_array_equal(np.vstack([first.tau, second.tau]), recording.tau)
    assert first.name == 'run@:0.7'


def test_window_of_a_window_counts_from_its_start(recording):
    np.testing.assert_array_equal(recording.window(0.5, 1.5).window(0.2, 0.4).q, recording.window(0.7, 0.9).q)


@pytest.mark.parametrize('window', [(3.0, None), (1.0, 1.0), (1.0, 0.5), (None, 0.0)])
def test_windows_without_samples_are_refused(recording, window):
    with pytest.raises(JointDynamicsError, match=r'expected at least 2 samples .*, found that it goes from 0 to 2 s'):
        recording.window(*window)


def test_select_reorders_every_array(recording):
    chosen = recording.select(['c', 'a'])
    for name in recording.quantities:
        np.testing.assert_array_equal(getattr(chosen, name), getattr(recording, name)[:, [2, 0]])
    assert chosen.joint_names == ('c', 'a')
    with pytest.raises(JointDynamicsError, match=r'not found: x, y; it has a, b, c \(.*robot\.joints'):
        recording.select(['x', 'a', 'y'])


def test_torque_from_current_needs_gains_and_takes_them_by_name(recording):
    np.testing.assert_array_equal(recording.torque(), recording.tau)
    gains = {'c': 3.0, 'a': 1.0, 'b': 2.0}
    np.testing.assert_allclose(recording.torque(gains), recording.current * [1, 2, 3])
    np.testing.assert_allclose(recording.torque([1, 2, 3]), recording.current * [1, 2, 3])
    only_current = Recording(recording.joint_names, recording.time, recording.q, current=recording.current)
    with pytest.raises(JointDynamicsError, match='drive gains'):
        only_current.torque()
    with pytest.raises(JointDynamicsError, match='drive gain: expected a number for each of a, b, c, found'):
        only_current.torque({'a': 1.0})
    with pytest.raises(JointDynamicsError, match=r'drive gain.b.: expected a number, found nan'):
        only_current.torque([1.0, np.nan, 2.0])
    with pytest.raises(JointDynamicsError, match=r'expected torque or current, found only q: .* tau<k>'):
        Recording(recording.joint_names, recording.time, recording.q).torque()


def test_the_last_component_with_its_window():
    assert short_name('/data/robot/run@0:3') == 'run@0:3'
    assert short_name('/data/robot/run/') == 'run'
    assert short_name('run.csv') == 'run.csv'


def test_texts_have_short_names():
    names = ['/data/run', '/data/run@0:3', '/data/other.csv']
    text = '/data/run@0:3 and /data/run differ from /data/other.csv'
    assert with_short_names(text, names) == 'run@0:3 and run differ from other.csv'


def test_two_of_one_short_name_keep_their_paths():
    names = ['/monday/run', '/tuesday/run', '/tuesday/walk']
    text = '/monday/run is not /tuesday/run, and /tuesday/walk'
    assert with_short_names(text, names) == '/monday/run is not /tuesday/run, and walk'


@pytest.mark.parametrize('name', ['a' * 5000, 'a\0b', f'{"a" * 5000}@0:3'], ids=['long', 'null', 'with window'])
def test_a_name_that_no_file_can_have_is_refused(name):
    with pytest.raises(JointDynamicsError):
        Recording.load(name)
