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

"""Tables on a terminal: no number is cut, whatever its width; in a pipe they look the same."""

import re

import pytest
from rich.console import Console

from joint_dynamics.cli import common


@pytest.fixture
def terminal(monkeypatch, capsys):
    def of_width(width):
        monkeypatch.setenv('TTY_COMPATIBLE', '1')
        monkeypatch.setattr(
            'rich.console.Console', lambda **more: Console(**{**more, 'force_terminal': True, 'width': width})
        )
        return lambda: re.sub(r'\x1b\[[0-9;]*m', '', capsys.readouterr().out)

    return of_width


HEADERS = ['recording', 'overall %', *(f'joint_{k} %' for k in range(1, 8)), '10 Hz %', '10 Hz N·m']
ROW = ['a_run_with_a_long_name@0:3', *(10.5 + 0.123 * k for k in range(10))]


def test_a_few_wide_rows_become_columns(terminal):
    said = terminal(80)
    common.show_table('Trained on', HEADERS, [ROW, ROW])
    text = said()
    assert all(f'{value:.4g}' in text for value in ROW[1:])
    assert 'joint_7 %' in text and max(map(len, text.splitlines())) <= 80


def test_what_fits_stays_as_it_is(terminal):
    said = terminal(200)
    common.show_table('Trained on', HEADERS, [ROW])
    assert sum('10.5' in line and '10.62' in line for line in said().splitlines()) == 1


def test_many_rows_stay_rows(terminal):
    said = terminal(40)
    common.show_table('Parameters', ['parameter', 'value', 'made of'], [['XX_1', 1.0, 'XX_1 + ' * 9]] * 5)
    assert sum('XX_1  ' in line for line in said().splitlines()) == 5


PATHS = [f'/a/folder/that/lies/deep/in/the/tree/of/recordings/robot_{k}/recording_{k}' for k in range(5)]


def test_a_path_is_never_broken(terminal):
    said = terminal(60)
    common.show_table('Runs', ['run', 'value', 'reason'], [[path, 1.5, 'too short'] for path in PATHS])
    text = said()
    table, below = text.split('(1) /', 1)[0], [line for line in text.splitlines() if '/a/folder' in line]
    assert below == [f'({k + 1}) {path}' for k, path in enumerate(PATHS)]
    assert '(5)' in table
    assert table.count('1.5') == 5


def test_a_pipe_has_no_width(capsys):
    common.show_table('Runs', ['run', 'value', 'reason'], [[path * 4, 1.5, 'too short'] for path in PATHS])
    text = capsys.readouterr().out
    assert all(any(path * 4 in line and '1.5' in line for line in text.splitlines()) for path in PATHS)


def test_brackets_and_colons_of_a_name_are_no_markup(capsys):
    title = 'What is left over of data that took no part, %'
    common.show_table(title, ['joint', 'value'], [['arm[left]_joint', 1.5], ['arm:cat:joint', 2.5]])
    text = capsys.readouterr().out
    # nor is a title folded to a narrow table
    assert text.splitlines()[0].strip() == title
    assert 'arm[left]_joint' in text and 'arm:cat:joint' in text
