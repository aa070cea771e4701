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

"""Which runs a folder holds, of whom and when."""

import datetime

import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.trend import find_runs

UTC = datetime.timezone.utc


def touch(path, text=''):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_runs_by_robot_and_date(tmp_path):
    touch(tmp_path / 'b' / '20260302_1430' / 'run.csv')
    touch(tmp_path / 'b' / '2026-03-01.csv')
    touch(tmp_path / 'a' / '2026' / 'test_2026-01-05T06:07:08.csv')
    touch(tmp_path / 'out' / '2026-03-01.csv')
    touch(tmp_path / '.hidden' / '2026-03-01.csv')
    touch(tmp_path / 'b' / 'notes.txt')
    touch(tmp_path / 'b' / 'config.yaml', 'robot: {}')
    runs, left_out = find_runs(tmp_path, tmp_path / 'out')
    assert not left_out
    assert [(run.robot, run.path.name, run.date) for run in runs] == [
        ('a', 'test_2026-01-05T06:07:08.csv', datetime.datetime(2026, 1, 5, 6, 7, 8, tzinfo=UTC)),
        ('b', '2026-03-01.csv', datetime.datetime(2026, 3, 1, tzinfo=UTC)),
        ('b', 'run.csv', datetime.datetime(2026, 3, 2, 14, 30, tzinfo=UTC)),
    ]


def test_a_bag_is_one_run_and_one_without_a_date_is_left_out(tmp_path):
    for name in ('rosbag2_2026_02_03-04_05_06', 'recording_1'):
        touch(tmp_path / 'arm' / name / 'metadata.yaml')
        touch(tmp_path / 'arm' / name / f'{name}_0.mcap')
    runs, left_out = find_runs(tmp_path)
    assert [run.date for run in runs] == [datetime.datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)]
    assert [*left_out] == [str(tmp_path / 'arm' / 'recording_1')]


def test_nothing_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / 'missing'):
        with pytest.raises(JointDynamicsError, match='trend: expected'):
            find_runs(folder)
