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

"""A recording that was written wrongly, read with the settings that say how, is the recording as it was."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.recording.recording_settings import RecordingSettings

JOINTS = ('a', 'b', 'c')


@pytest.fixture
def recording():
    rng = np.random.default_rng(1)
    time = np.arange(400) * 0.01
    q = np.sin(time[:, None] * [1.0, 2.0, 3.0] + rng.uniform(0, 6, 3))
    dq = np.cos(time[:, None] * [1.0, 2.0, 3.0])
    return Recording(JOINTS, time, q, np.gradient(q, 0.01, axis=0), tau=q + dq)


def written(recording, path, **changes):
    """Save the recording with arrays replaced."""
    values = {key: getattr(recording, key) for key in ('time', 'q', 'dq', 'tau')} | changes
    Recording(JOINTS, values['time'], values['q'], values['dq'], tau=values['tau']).save_csv(path)
    return path


@pytest.mark.parametrize(
    ('settings', 'wrong'),
    [
        ({'torque_sign': {'b': -1}}, {'tau': lambda r: r.tau * [1, -1, 1]}),
        ({'torque_scale': {'c': 0.001}}, {'tau': lambda r: r.tau * [1, 1, 1000]}),
        ({'torque_order': {'a': 'c', 'c': 'a'}}, {'tau': lambda r: r.tau[:, ::-1]}),
        (
            {'position_order': {'a': 'b', 'b': 'c', 'c': 'a'}},
            {'q': lambda r: r.q[:, [2, 0, 1]], 'dq': lambda r: r.dq[:, [2, 0, 1]]},
        ),
        ({'position_sign': {'a': -1}}, {'q': lambda r: r.q * [-1, 1, 1], 'dq': lambda r: r.dq * [-1, 1, 1]}),
        (
            {'position_scale': dict.fromkeys(JOINTS, np.pi / 180)},
            {'q': lambda r: np.rad2deg(r.q), 'dq': lambda r: np.rad2deg(r.dq)},
        ),
        ({'zero_offset': {'b': 0.3}}, {'q': lambda r: r.q - [0, 0.3, 0]}),
        ({'time_scale': 5.0}, {'time': lambda r: r.time / 5}),
        (
            {'torque_order': {'a': 'b', 'b': 'a'}, 'torque_sign': {'a': -1}},
            {'tau': lambda r: np.stack([r.tau[:, 1], -r.tau[:, 0], r.tau[:, 2]], axis=1)},
        ),
    ],
)
def test_what_was_written_wrongly_is_read_rightly(recording, tmp_path, settings, wrong):
    path = written(recording, tmp_path / 'run.csv', **{key: change(recording) for key, change in wrong.items()})
    read = Recording.load(path, settings, JOINTS)
    for key in ('time', 'q', 'dq', 'tau'):
        np.testing.assert_allclose(getattr(read, key), getattr(recording, key), rtol=1e-12, atol=1e-12)
    assert f'corrected: {", ".join(settings)}' in read.notes
    assert RecordingSettings.from_mapping(settings).stated() == settings


def test_torques_stamped_late_are_read_ahead(recording, tmp_path):
    path = written(recording, tmp_path / 'run.csv', tau=np.roll(recording.tau, 5, axis=0))
    read = Recording.load(path, {'torque_delay': 0.05}, JOINTS)
    np.testing.assert_allclose(read.tau[10:-10], recording.tau[10:-10], atol=1e-12)


def corrected(corrections, recording):
    """The recording with its arrays corrected."""
    arrays = {key: getattr(recording, key) for key in ('q', 'dq', 'tau')}
    return replace(recording, **corrections.correct(JOINTS, recording.time, arrays))


def test_nothing_stated_changes_nothing(recording):
    assert corrected(Corrections(), recording).tau is recording.tau
    assert Corrections().stated() == {}


@pytest.mark.parametrize(
    ('settings', 'expected'),
    [
        ({'torque_sign': {'a': 2}}, 'torque_sign: expected 1 or -1'),
        ({'torque_scale': {'a': 0}}, 'torque_scale: expected a number above 0'),
        ({'torque_order': {'a': 'b'}}, 'torque_order: expected the same joints on both sides'),
        ({'zero_offset': {'d': 0.1}}, "zero_offset: expected joints of the recording .*found 'd'"),
        ({'time_scale': 0}, 'time_scale: expected'),
    ],
)
def test_settings_that_cannot_be_are_refused(recording, tmp_path, settings, expected):
    path = written(recording, tmp_path / 'run.csv')
    with pytest.raises(JointDynamicsError, match=expected):
        Recording.load(path, settings, JOINTS)


def test_one_after_the_other_is_both_together(recording):
    """Order, sign, scale and zero of positions and torques, time and delay."""
    first = Corrections(
        torque_order={'a': 'b', 'b': 'a'},
        torque_sign={'a': -1.0},
        torque_delay=0.02,
        position_sign={'b': -1.0},
        zero_offset={'b': 0.2},
    )
    second = Corrections(
        torque_order={'a': 'c', 'c': 'a'},
        torque_scale={'c': 10.0},
        torque_delay=0.03,
        position_order={'a': 'b', 'b': 'a'},
        position_scale={'a': 0.5},
        zero_offset={'a': 0.1},
    )
    both = first.then(second, JOINTS)
    one, other = corrected(second, corrected(first, recording)), corrected(both, recording)
    np.testing.assert_allclose(one.q, other.q, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.dq, other.dq, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.tau[10:-10], other.tau[10:-10], rtol=1e-9, atol=1e-9)


def test_time_and_delay_one_after_the_other():
    assert Corrections(time_scale=2.0).then(Corrections(time_scale=3.0, torque_delay=0.1), JOINTS) == Corrections(
        time_scale=6.0, torque_delay=0.1
    )
