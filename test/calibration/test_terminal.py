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

"""Questions need somebody to answer them."""

import io

import pytest

from joint_dynamics.calibration.terminal import Terminal
from joint_dynamics.errors import JointDynamicsError


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


def test_names_are_no_markup(capsys):
    Terminal().table(['joint'], [['a[/x]']])
    Terminal().say('[rad/s]')
    assert 'a[/x]' in (text := capsys.readouterr().out)
    assert '[rad/s]' in text
