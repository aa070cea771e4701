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

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import QUANTITIES, Recording, load_recording


@pytest.fixture
def recording(motion):
    stamps = motion.stamps(500, 2)
    rng = np.random.default_rng(3)
    time = np.arange(stamps.size) * 2e-3
    more = {name: rng.standard_normal((stamps.size, 3)) for name in QUANTITIES if name != 'q'}
    more.update(dq=motion.dq(stamps), theta=motion.q(stamps) + 1e-4 * more['theta'], dtheta=motion.dq(stamps))
    return Recording(motion.names, time, motion.q(stamps), **more)


def write(path, header, rows):
    path.write_text('\n'.join([','.join(header), *(','.join(map(str, row)) for row in rows)]) + '\n', encoding='utf-8')
    return path


def refused(path, reason, **keys):
    with pytest.raises(JointDynamicsError, match=reason) as caught:
        load_recording(path, **keys)
    assert str(caught.value).startswith(f'{path}: ')
    assert '\n' not in str(caught.value)


def test_every_array_comes_back_bit_for_bit(recording, tmp_path, motion):
    recording.save_csv(tmp_path / 'run.csv')
    back = Recording.load(tmp_path / 'run.csv', joint_names=motion.names)
    assert back.quantities == QUANTITIES
    for name in QUANTITIES:
        np.testing.assert_array_equal(getattr(back, name), getattr(recording, name))
    np.testing.assert_allclose(back.time, recording.time, atol=1e-9)
    assert back.joint_names == motion.names
    assert back.notes == ()


@settings(max_examples=20, deadline=None)
@given(
    values=arrays(np.float64, (60, 2), elements=st.floats(-1e6, 1e6)),
    period=st.sampled_from([0.0002, 0.001, 1 / 125, 0.02, 1 / 3]),
)
def test_any_recording_comes_back(tmp_path_factory, values, period):
    path = tmp_path_factory.mktemp('csv') / 'any.csv'
    q = np.linspace([0.0, 0.3], [1.0, -0.2], 60)
    Recording(('a', 'b'), np.arange(60) * period, q, load_torque=values).save_csv(path)
    back = load_recording(path, {'min_duration': 0.01, 'implausible': 'note'})
    np.testing.assert_array_equal(back.q, q)
    np.testing.assert_array_equal(back.load_torque, values)
    assert back.joint_names == ('joint_1', 'joint_2')
    assert back.rate == pytest.approx(1 / period, rel=1e-6)


@pytest.mark.parametrize('first', [0, 1])
def test_columns_may_stand_in_any_order_and_others_are_named(tmp_path, motion, first):
    time = np.arange(200) * 5e-3
    q = np.sin(time[:, None] + [0, 1])
    path = write(
        tmp_path / 'run.csv',
        [f'cur{first + 1}', f'q{first + 1}', ' time', 'comment_7', f'cur{first}', f'q{first}'],
        np.column_stack([q[:, 1] * 2, q[:, 1], time + 12.5, time, q[:, 0] * 2, q[:, 0]]).tolist(),
    )
    recording = load_recording(f'{path}@0.5:')
    np.testing.assert_array_equal(recording.q, q[100:])
    np.testing.assert_array_equal(recording.current, 2 * q[100:])
    assert recording.tau is None
    assert recording.notes == ('columns not used: comment_7',)


GOOD = [[k * 0.01, np.sin(k * 0.01), np.cos(k * 0.01)] for k in range(100)]
TWO = ['time', 'q1', 'q2']


def changed(*row):
    """Good rows with another one in line 52."""
    return [*GOOD[:50], list(row), *GOOD[51:]]


@pytest.mark.parametrize(
    ('header', 'rows', 'found'),
    [
        (['time', 'x1'], GOOD, 'time, x1'),
        (['t', 'q1', 'q2'], GOOD, 't, q1, q2'),
        (['time', 'q1', 'q1'], GOOD, 'q1'),
        (['time', 'q1', 'q3'], GOOD, 'q1, q3'),
        (['time', 'q1', 'tau2'], GOOD, 'tau2'),
        (TWO, [], 'header'),
        (['', 'time', 'q1', 'q2'], GOOD, 'line 2, found 3'),
        (TWO, changed(0.5, 'x', 1.0), "line 52: .*'x'"),
        (TWO, changed(0.5, '1_0.004', 1.0), "line 52: '1_0.004'"),
        (TWO, changed(0.5, 1.0), 'line 52, found 2'),
        (TWO, changed(0.5, '', 1.0), r'q of joint_1 on run.csv: .* 1 of 100 .* at 0.5 s'),
        (TWO, changed('', 1.0, 1.0), 'nan in line 52'),
        (TWO, GOOD[::-1], 'run.csv'),
        (TWO, GOOD[:20], '20 samples, 0.2 s'),
        (TWO, GOOD[:1], 'too short'),
    ],
)
def test_wrong_tables_are_refused(tmp_path, header, rows, found):
    refused(write(tmp_path / 'run.csv', header, rows), found)


def test_another_number_of_joints_than_the_robot_has(tmp_path):
    path = write(tmp_path / 'run.csv', TWO, GOOD)
    refused(path, r'q1 to q3 \(joints a, b, c\), found q1, q2', joint_names=('a', 'b', 'c'))
    refused(path, r'q1 to q1 \(joints a\), found q1, q2', joint_names=('a',))


def test_files_that_are_not_text(tmp_path):
    (tmp_path / 'a.csv').write_bytes(b'\xff\xfe\x01\x02' * 50)
    refused(tmp_path / 'a.csv', 'CSV')
    (tmp_path / 'b.csv').write_bytes(b'')
    refused(tmp_path / 'b.csv', 'none')
    (tmp_path / 'c.csv').mkdir()
    refused(tmp_path / 'c.csv', 'metadata.yaml')


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    path = write(tmp_path / 'run.csv', TWO, GOOD)
    path.write_bytes(b'\xef\xbb\xbf' + path.read_bytes().replace(b'\n', b'\r\n'))
    np.testing.assert_array_equal(load_recording(path).q, np.array(GOOD)[:, 1:])


def test_a_place_that_cannot_be_written_is_named(recording, tmp_path):
    with pytest.raises(JointDynamicsError, match='expected a file that can be written'):
        recording.save_csv(tmp_path / 'nowhere' / 'run.csv')


def test_a_file_without_end_or_of_zeros_is_refused(tmp_path):
    os.mkfifo(tmp_path / 'pipe.csv')
    refused(tmp_path / 'pipe.csv', 'found a named pipe')
    for name, start, size, reason in (
        ('a', '', 20 * 10**9, 'at most .* bytes'),
        ('b', '', 10**9, 'zero bytes|longer'),
        ('c', 'time,q1\n0,1\n', 10**9, 'zero bytes|longer'),
    ):
        with (tmp_path / f'{name}.csv').open('w') as file:
            file.write(start)
            file.truncate(size)
        refused(tmp_path / f'{name}.csv', reason)


def test_a_table_of_twenty_thousand_columns_is_refused(tmp_path):
    for header in ([f'q{k}' for k in range(1, 20_000)], [f'x{k}' for k in range(20_000)]):
        refused(write(tmp_path / 'run.csv', ['time', *header], [[0.0] * (len(header) + 1)] * 3), 'at most 1000 columns')


@pytest.mark.parametrize('time', [['0', '1e300'], ['-1e18', '0'], ['0', '1e12']])
def test_times_that_no_recording_has_are_refused(tmp_path, time):
    refused(write(tmp_path / 'run.csv', ['time', 'q1'], [[t, 0.0] for t in time]), 'time: expected seconds')
