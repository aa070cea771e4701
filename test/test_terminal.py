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

"""Tables lose nothing, progress is seen off a terminal, and questions need somebody to answer them."""

import io
import json
import re
import threading

import pytest
from rich.console import Console

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.terminal import Terminal


class Tty(io.StringIO):
    """Standard input of a person who has typed already."""

    def isatty(self):
        """Return True."""
        return True


@pytest.mark.parametrize(
    ('typed', 'agreed'), [('y\n', True), ('yes\n', True), ('\n', False), ('n\n', False), ('', False)]
)
def test_only_yes_moves_a_robot(monkeypatch, typed, agreed):
    monkeypatch.setattr('sys.stdin', Tty(typed))
    assert Terminal().ask('Move?') is agreed


def test_nobody_to_ask_is_refused(monkeypatch):
    monkeypatch.setattr('sys.stdin', io.StringIO('y\n'))
    with pytest.raises(JointDynamicsError, match='--yes'):
        Terminal().ask('Move?')
    with pytest.raises(JointDynamicsError, match='current'):
        Terminal().choose('What?', [('torque', ''), ('current', '')])


def test_choice_is_by_number(monkeypatch):
    monkeypatch.setattr('sys.stdin', Tty('0\nx\n2\n'))
    assert Terminal().choose('What?', [('torque', ''), ('current', '')]) == 'current'


def test_json_holds_what_quiet_hides(tmp_path, capsys):
    path = tmp_path / 'shown.json'
    terminal = Terminal('gains', quiet=True, json_file=str(path))
    terminal.say('a line', label='note: ')
    terminal.table('Gains', ['joint', 'p'], [['a', 1.5], ['b', float('nan')]])
    terminal.problem('warning: sags')
    terminal.record(written=['out'])
    assert json.loads(path.read_text())['status'] is None, 'not finished yet'
    terminal.close(3)
    shown = json.loads(path.read_text())
    assert shown == {
        'command': 'gains',
        'status': 3,
        'lines': ['note: a line'],
        'tables': [{'title': 'Gains', 'headers': ['joint', 'p'], 'rows': [['a', 1.5], ['b', None]]}],
        'problems': ['warning: sags'],
        'written': ['out'],
    }
    output = capsys.readouterr()
    assert output.out == ''
    assert output.err == 'joint-dynamics gains: warning: sags\n'


def test_progress_off_a_terminal_is_lines_in_time(monkeypatch):
    """The last state is shown again and again, whether or not the work reports anything new."""
    written, seen = io.StringIO(), threading.Semaphore(0)

    class Pipe(io.StringIO):
        def write(self, text):
            seen.release()
            return written.write(text)

    monkeypatch.setattr('joint_dynamics.terminal.LINE_EVERY', 1e-3)
    monkeypatch.setattr('sys.stderr', Pipe())
    with Terminal('excite').progress('searching') as show:
        show('condition 20')
        for _ in range(8):
            assert seen.acquire(timeout=300.0)
    assert len(re.findall('searching: condition 20', written.getvalue())) >= 2


@pytest.fixture
def terminal(monkeypatch, capsys):
    """A function that makes a terminal of a width; its value returns what was shown there."""

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
    Terminal().table('Trained on', HEADERS, [ROW, ROW])
    text = said()
    assert all(f'{value:.4g}' in text for value in ROW[1:])
    assert 'joint_7 %' in text and max(map(len, text.splitlines())) <= 80


def test_what_fits_stays_as_it_is(terminal):
    said = terminal(200)
    Terminal().table('Trained on', HEADERS, [ROW])
    assert sum('10.5' in line and '10.62' in line for line in said().splitlines()) == 1


def test_many_rows_stay_rows(terminal):
    said = terminal(40)
    Terminal().table('Parameters', ['parameter', 'value', 'made of'], [['XX_1', 1.0, 'XX_1 + ' * 9]] * 5)
    assert sum('XX_1  ' in line for line in said().splitlines()) == 5


PATHS = [f'/a/folder/that/lies/deep/in/the/tree/of/recordings/robot_{k}/recording_{k}' for k in range(5)]


def test_a_path_is_never_broken(terminal):
    said = terminal(60)
    Terminal().table('Runs', ['run', 'value', 'reason'], [[path, 1.5, 'too short'] for path in PATHS])
    text = said()
    table, below = text.split('(1) /', 1)[0], [line for line in text.splitlines() if '/a/folder' in line]
    assert below == [f'({k + 1}) {path}' for k, path in enumerate(PATHS)]
    assert '(5)' in table
    assert table.count('1.5') == 5


def test_a_pipe_has_no_width(capsys):
    Terminal().table('Runs', ['run', 'value', 'reason'], [[path * 4, 1.5, 'too short'] for path in PATHS])
    text = capsys.readouterr().out
    assert all(any(path * 4 in line and '1.5' in line for line in text.splitlines()) for path in PATHS)


def test_brackets_and_colons_of_a_name_are_no_markup(capsys):
    title = 'What is left over of data that took no part, %'
    Terminal().table(title, ['joint', 'value'], [['arm[left]_joint', 1.5], ['arm:cat:joint', 2.5]])
    text = capsys.readouterr().out
    # nor is a title folded to a narrow table
    assert text.splitlines()[0].strip() == title
    assert 'arm[left]_joint' in text and 'arm:cat:joint' in text
