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

"""The live table: every number, and a dash for none."""

import io

import pytest
from rich.console import Console

from joint_dynamics.report.live_table import Watched, live_table, with_deviation

NAN = float('nan')


@pytest.mark.parametrize(
    ('value', 'deviation', 'text'),
    [
        (1.23456, 0.0123, '1.235 ± 0.012'),
        (-0.5, 0.25, '−0.50 ± 0.25'),
        (12345.6, 234.0, '12350 ± 230'),
        (12345.6, 12.3, '12346 ± 12'),
        (1.23456, None, '1.235'),
        (1.23456, NAN, '1.235'),
        (1.23456, 0.0, '1.235'),
        (NAN, 0.1, '–'),
        (None, None, '–'),
    ],
)
def test_a_value_has_as_many_digits_as_its_deviation_leaves(value, deviation, text):
    assert with_deviation(value, deviation) == text


@pytest.fixture
def watched():
    found = Watched('/left/estimator')
    names = ['shoulder', 'elbow']
    found.take('friction_scale', names, [1.2, 0.8], [0.05, 0.1])
    found.take('stiffness', names, [20000.0, NAN], [150.0, NAN])
    found.take('temperature', names, [31.25, NAN], [])
    found.take('contact', names, [0.0, 1.0], [])
    found.take('health', names, [2.0, NAN], [])
    found.take('stiffness_ratio', names, [0.7, NAN], [])
    found.take('friction_ratio', names, [1.25, 0.8], [])
    found.take_torque('external', names, [-3.5, 12.0])
    found.take_status('/left/estimator: samples', 0, 'aligned')
    found.take_status('/left/estimator: inputs', 2, 'silent: joint_states')
    found.take_status('/right/estimator: samples', 2, 'of somebody else')
    found.take_status('/left/estimator', 0, 'no condition')
    return found


def text_of(watched, age=0.1, width=160):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(live_table(watched, age))
    return console.export_text()


def row(text, joint):
    return next(line for line in text.splitlines() if joint in line)


def test_every_joint_has_its_row(watched):
    text = text_of(watched)
    shoulder, elbow = row(text, 'shoulder'), row(text, 'elbow')
    for part in ('1.200 ± 0.050', '20000 ± 150', '31.25', '−3.5', 'none', 'error', 'stiffness −30 %', 'friction +25 %'):
        assert part in shoulder
    for part in ('0.80 ± 0.10', '–', '12', 'contact', 'not known yet', 'friction −20 %'):
        assert part in elbow
    assert 'F_C' not in text  # nobody gives it


def test_conditions_are_those_of_the_node_alone(watched):
    text = text_of(watched)
    assert row(text, 'aligned').split()[:2] == ['ok', 'samples']
    assert row(text, 'silent: joint_states').split()[:2] == ['error', 'inputs']
    assert 'somebody else' not in text
    assert 'no condition' not in text


@pytest.mark.parametrize(
    ('age', 'text'), [(None, 'nothing received yet'), (0.5, '/left/estimator'), (7.4, 'silent for 7 s')]
)
def test_the_title_says_how_old_it_is(watched, age, text):
    first = text_of(watched, age).splitlines()[0]
    assert text in first
    assert ('silent' in first) == (age == 7.4)


@pytest.mark.parametrize('health', [9.0, -7.0, 1.5, 1e308, float('inf'), NAN])
def test_a_health_that_is_no_level_is_unknown(watched, health):
    watched.take('health', ['shoulder'], [health], [])
    assert 'not known' in row(text_of(watched), 'shoulder')


@pytest.mark.parametrize('text', ['a[/x]', '[/]', 'speed [rad/s]', '[bold]x'])
def test_markup_from_topics_is_shown_as_it_is(watched, text):
    watched.take('stiffness', [text], [1.0], [])
    watched.take_status('/left/estimator: ' + text, 1, text)
    shown = text_of(watched)
    assert sum(line.count(text) for line in shown.splitlines()) == 3


def test_control_characters_never_reach_the_terminal(watched):
    evil = 'x\x1b]0;title\x07\x1b[2J\x9b31m\r\nline'
    watched.take('stiffness', [evil], [1.0], [])
    watched.take_status(f'/left/estimator: {evil}', 1, evil * 1000)
    console = Console(width=160, file=io.StringIO(), force_terminal=False)
    console.print(live_table(watched, 0.1))
    shown = console.file.getvalue()
    assert not set('\x1b\x07\x9b\r') & set(shown)
    assert len(shown) < 20_000


@pytest.mark.parametrize('value', [1e308, -1e308, 1e-320, 5e-324])
@pytest.mark.parametrize('deviation', [1e308, 1e-320, 0.1])
def test_numbers_of_any_size_stay_short(watched, value, deviation):
    assert len(with_deviation(value, deviation)) < 40
    watched.take('stiffness_ratio', ['shoulder'], [value], [])
    assert len(text_of(watched)) < 20_000


def test_names_without_end_are_bounded(watched):
    for k in range(1000):
        watched.take('stiffness', [f'joint_{k}'], [1.0], [])
        watched.take_status(f'/left/estimator: condition_{k}', 0, '')
    assert len(watched.joints) + len(watched.statuses) <= 200
