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

"""Conditions of a running estimation: level, message and values, of a session put together by hand."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.estimation import QUANTITIES, JointHealth, estimates
from joint_dynamics.estimation.conditions import Condition, conditions

NAMES = ('a', 'b', 'c')


def mask(text):
    """'a c' as (3,) bool."""
    return np.array([name in text.split() for name in NAMES])


def make_line(**changes):
    line = SimpleNamespace(
        period=2e-3, given=1000, bridged=0, late=0, repeated=0, broken=3, beyond='', gaps=1, jumps=2, error=1e-4,
        missing=dict, silent=dict, duplicates=list,
    )  # fmt: skip
    line.__dict__.update(changes)
    return line


def make_session(**changes):
    """A session whose estimator has friction, stiffness and payload, and about which there is nothing to say."""
    friction = SimpleNamespace(
        parameters=np.array([[1.0, 0.0], [1.23456, -0.01], [0.9, 0.02]]),
        excitation=np.array([1.0, 9.0, 9.0]),
        saturated=np.zeros((3, 2), dtype=bool),
        informative=mask('a b c'),
    )
    stiffness = SimpleNamespace(
        known=np.array([[2e4, 3e9], [1e4, 0.0], [12345.678, 1.0]]),
        changes=np.zeros(3, dtype=int),
        excitation=np.array([1.0, 9.0, 9.0]),
        reliable=mask('a b c'),
    )
    estimator = SimpleNamespace(
        arm=SimpleNamespace(
            joint_names=NAMES,
            friction=SimpleNamespace(parameters={'T_min': np.full(3, 10.0), 'T_max': np.array([80.0, 70.0, 80.0])}),
        ),
        friction=friction,
        temperature=np.array([10.0, 70.0, 40.04]),
        stiffness=stiffness,
        detector=SimpleNamespace(lasting=mask(''), armed=mask('a b c')),
        contact=mask(''),
        external=np.array([0.004, -1.5, 20.0]),
        payload=SimpleNamespace(known=True, mass=2.5, mass_deviation=0.1, first_moments=np.array([0.0, 0.12345, 1.0])),
        learning=True,
        filter=SimpleNamespace(ready=True),
    )
    health = [JointHealth('ok', 'fine'), JointHealth('unknown', 'not excited yet'), JointHealth('ok', 'good')]
    session = SimpleNamespace(
        timeline=make_line(),
        estimator=estimator,
        seconds=0.5,
        steps=1000,
        begun_anew=0,
        begun_anew_said=0,
        reads_temperature=True,
        health=lambda: health,
    )
    session.__dict__.update(changes)
    return session


def of(name, session=None, /, **parts):
    """One condition, fields of parts of the estimator replaced: `friction={'moving': …}`, or of itself."""
    session = make_session() if session is None else session
    for part, value in parts.items():
        if isinstance(value, dict):
            getattr(session.estimator, part).__dict__.update(value)
        else:
            setattr(session.estimator, part, value)
    return conditions(session)[name]


def test_there_is_one_for_every_part():
    everything = ['samples', 'friction', 'temperature', 'stiffness', 'contact', 'payload', 'health']
    assert list(conditions(make_session())) == everything
    assert list(conditions(make_session(estimator=None))) == ['samples']
    bare = make_session()
    bare.estimator.stiffness = bare.estimator.payload = None
    assert list(conditions(bare)) == ['samples', 'friction', 'temperature', 'contact', 'health']


def joints(message):
    """Return the lists of joints at the ends of the parts of a message."""
    return [part.split(', ') for part in re.findall(r'\b([abc](?:, [abc])*)(?:;|$)', message)]


def test_counts_of_samples():
    session = make_session()
    found = of('samples', session)
    assert found.level == 'ok'
    assert found.values == {
        'period_s': 2e-3, 'given': 1000, 'bridged': 0, 'out_of_order': 0, 'implausible': 3, 'gaps': 1,
        'time_jumps': 2, 'alignment_error_s': 1e-4, 'begun_anew': 0, 'step_us': 500.0,
    }  # fmt: skip
    assert session.timeline.error == 0.0
    values = of('samples', make_session(timeline=make_line(period=None), steps=0)).values
    assert (values['period_s'], values['step_us']) == (0.0, 5e5)


@pytest.mark.parametrize(
    ('line', 'level', 'named'),
    [
        ({'missing': lambda: {'q': ['a', 'c'], 'theta': ['b']}}, 'error', [['a', 'c'], ['b']]),
        ({'silent': lambda: {'q of a': 1.0, 'theta of b': 2.0}}, 'error', [['a'], ['b']]),
        ({'duplicates': lambda: ['a', 'b']}, 'warning', [['a', 'b']]),
        ({'period': None}, 'warning', []),
        *(({count: 20}, 'ok', []) for count in ('late', 'repeated', 'bridged')),
        *(({count: 21}, 'warning', []) for count in ('late', 'repeated', 'bridged')),
    ],
)
def test_samples_that_are_not_in_order(line, level, named):
    found = of('samples', make_session(timeline=make_line(**line)))
    assert (found.level, joints(found.message)) == (level, named)


def test_dropped_samples_and_restarts_are_reported_once():
    session = make_session(timeline=make_line(beyond='q of a 1e+150'), begun_anew=2, begun_anew_said=1)
    assert [of('samples', session).level for _ in range(2)] == ['error', 'ok']
    session.timeline.beyond = 'q of a 1e+150'
    dropped, after = of('samples', session), of('samples', session)
    assert dropped.level == 'error' and 'q of a 1e+150' in dropped.message and after.level == 'ok'


def test_filters_fill_first():
    filling = make_session()
    filling.estimator.filter.ready = False
    for session in (make_session(estimator=None), filling):
        assert conditions(session)['samples'].level == 'warning'


@pytest.mark.parametrize(
    ('name', 'parts', 'level', 'named'),
    [
        ('friction', {}, 'ok', []),
        ('friction', {'learning': False}, 'warning', []),
        ('friction', {'friction': {'excitation': np.array([0.99, 1.0, 0.0])}}, 'warning', [['a', 'c']]),
        ('friction', {'friction': {'saturated': np.array([[0, 1], [0, 0], [1, 0]]) > 0}}, 'warning', [['a', 'c']]),
        (
            'friction',
            {'friction': {'informative': mask('b'), 'excitation': np.array([0.0, 2.0, 2.0])}},
            'warning',
            [['a'], ['c']],
        ),
        ('temperature', {}, 'ok', []),
        ('temperature', {'temperature': np.array([9.9, 40.0, 80.0])}, 'warning', [['a']]),
        ('temperature', {'temperature': np.array([40.0, 70.1, 80.1])}, 'warning', [['b', 'c']]),
        ('temperature', {'temperature': np.array([np.nan, 99.0, np.nan])}, 'warning', [['a', 'c']]),
        ('stiffness', {}, 'ok', []),
        ('stiffness', {'stiffness': {'excitation': np.array([0.99, 1.0, 0.5])}}, 'ok', [['a', 'c']]),
        ('stiffness', {'stiffness': {'reliable': mask('')}}, 'warning', [['b', 'c']]),
        (
            'stiffness',
            {'stiffness': {'reliable': mask('b'), 'excitation': np.full(3, 5.0), 'changes': np.array([0, 2, 1])}},
            'ok',
            [['a', 'c'], ['b', 'c']],
        ),
        ('contact', {}, 'ok', []),
        ('contact', {'detector': {'armed': mask('b')}}, 'ok', [['a', 'c']]),
        ('contact', {'detector': {'armed': mask('b')}, 'contact': mask('c')}, 'warning', [['c']]),
        ('contact', {'detector': {'lasting': mask('a')}, 'contact': mask('a c')}, 'warning', [['a']]),
        ('payload', {}, 'ok', []),
        ('payload', {'payload': {'known': False}}, 'warning', []),
    ],
)
def test_level_and_joints_of_each_condition(name, parts, level, named):
    found = of(name, **parts)
    assert (found.level, joints(found.message)) == (level, named)


def test_values_of_each_condition():
    values = {name: condition.values for name, condition in conditions(make_session()).items()}
    assert values['friction'] == {'a': '1 0', 'b': '1.235 -0.01', 'c': '0.9 0.02'}
    assert values['temperature'] == {'a': '10.0', 'b': '70.0', 'c': '40.0'}
    assert values['stiffness'] == {'a': '2e+04 3e+09', 'b': '1e+04 0', 'c': '1.235e+04 1'}
    assert values['contact'] == {'a': '0.00', 'b': '-1.50', 'c': '20.00'}
    assert values['payload'] == {'mass_kg': 2.5, 'deviation_kg': 0.1, 'first_moments_kgm': '0 0.1235 1'}
    assert values['health'] == {'a': 'fine', 'b': 'not excited yet', 'c': 'good'}


def test_parts_that_are_not_used_are_no_fault():
    assert of('friction', friction=None) == Condition('ok', of('friction', friction=None).message, {})
    without = SimpleNamespace(joint_names=NAMES, friction=None)
    hot = np.full(3, 200.0)
    assert of('temperature', arm=without, temperature=hot).level == 'ok'
    assert of('temperature', make_session(reads_temperature=False), temperature=hot).level == 'ok'


def test_health_is_that_of_the_worst_joints():
    assert of('health').level == 'ok'
    unknown = [JointHealth('unknown', 'x')] * 3
    assert of('health', make_session(health=lambda: unknown)).level == 'ok'
    worn = [JointHealth('warning', 'soft'), JointHealth('error', 'hard'), JointHealth('warning', 'dry')]
    found = of('health', make_session(health=lambda: worn))
    assert found.level == 'error' and 'b (hard)' in found.message and 'soft' not in found.message
    assert found.values == {'a': 'soft', 'b': 'hard', 'c': 'dry'}
    worn[1] = JointHealth('ok', 'fine')
    found = of('health', make_session(health=lambda: worn))
    assert found.level == 'warning' and 'a (soft)' in found.message and 'c (dry)' in found.message


HEALTH = [JointHealth('ok', ''), JointHealth('warning', '', 0.8, 1.1), JointHealth('error', '', 0.5, None)] + [
    JointHealth('unknown', '')
] * 3


@pytest.fixture
def running(ur):
    """A session of a UR5e without described friction."""
    friction = np.array([[3.0, 5.0]] * 6)
    spring = SimpleNamespace(
        known=np.linspace(1e4, 2e4, 12).reshape(6, 2),
        covariance=np.array([np.diag([4.0, 1.0])] * 6),
        noise=np.arange(1.0, 7.0),
    )
    estimator = SimpleNamespace(
        arm=SimpleNamespace(friction=object()),
        friction=object(),
        friction_scale=lambda: (friction, np.array([np.diag([0.04, 0.09])] * 6)),
        stiffness=spring,
        temperature=np.array([30.0, 31.0, np.nan, 33.0, 34.0, 35.0]),
        contact=np.array([True, False, False, False, False, False]),
        detector=SimpleNamespace(lasting=np.array([False, True, False, False, False, False])),
    )
    return SimpleNamespace(estimator=estimator, health=lambda: HEALTH)


def test_each_quantity_is_that_of_the_estimator(running):
    found = estimates(running)
    assert list(found) == list(QUANTITIES)
    assert np.array_equal(found['friction_scale'].value, np.full(6, 3.0))
    assert np.allclose(found['friction_scale'].deviation, 0.2)
    assert np.array_equal(found['viscous_change'].value, np.full(6, 5.0))
    assert np.allclose(found['viscous_change'].deviation, 0.3)
    assert np.array_equal(found['stiffness'].value, running.estimator.stiffness.known[:, 0])
    assert np.allclose(found['stiffness'].deviation, 2.0 * np.arange(1, 7))
    nan = np.nan
    assert np.array_equal(found['stiffness_ratio'].value, [nan, 0.8, 0.5, nan, nan, nan], equal_nan=True)
    assert np.array_equal(found['friction_ratio'].value, [nan, 1.1, nan, nan, nan, nan], equal_nan=True)
    assert np.array_equal(found['temperature'].value, running.estimator.temperature, equal_nan=True)
    assert np.array_equal(found['contact'].value, [1, 1, 0, 0, 0, 0])
    assert np.array_equal(found['health'].value, [0, 1, 2, nan, nan, nan], equal_nan=True)


def test_missing_estimates_are_omitted(running):
    running.estimator.friction = running.estimator.stiffness = None
    running.health = lambda: [JointHealth('unknown', '')] * 6
    assert set(estimates(running)) == {'temperature', 'contact', 'health'}
    running.estimator = None
    assert estimates(running) == {}
