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

"""What is said about a running estimation: every word and value, of a session put together by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import (
    QUANTITIES,
    CoulombViscousEstimator,
    EstimationSettings,
    JointEstimator,
    JointHealth,
    estimates,
)
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
        arm=SimpleNamespace(joint_names=NAMES),
        friction=friction,
        friction_model=SimpleNamespace(parameters={'T_min': np.full(3, 10.0), 'T_max': np.array([80.0, 70.0, 80.0])}),
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


def test_samples_and_their_counts():
    session = make_session()
    assert of('samples', session) == Condition(
        'ok',
        'aligned',
        {
            'period_s': 2e-3, 'given': 1000, 'bridged': 0, 'out_of_order': 0, 'implausible': 3, 'gaps': 1,
            'time_jumps': 2, 'alignment_error_s': 1e-4, 'begun_anew': 0, 'step_us': 500.0,
        },
    )  # fmt: skip
    assert session.timeline.error == 0.0
    values = of('samples', make_session(timeline=make_line(period=None), steps=0)).values
    assert (values['period_s'], values['step_us']) == (0.0, 5e5)


@pytest.mark.parametrize(
    ('line', 'level', 'message'),
    [
        ({'missing': lambda: {'q': ['a', 'c'], 'theta': ['b']}}, 'error', 'nothing yet of q of a, c; theta of b'),
        ({'silent': lambda: {'q of a': 1.0, 'theta of b': 2.0}}, 'error', 'waiting for q of a; theta of b'),
        ({'period': None}, 'warning', 'finding the sample period'),
        ({'duplicates': lambda: ['a', 'b']}, 'warning', 'several publishers give a, b'),
        ({'late': 20}, 'ok', 'aligned'),
        ({'late': 21}, 'warning', 'samples out of order, dropped: several publishers, or clocks that differ'),
        ({'repeated': 20}, 'ok', 'aligned'),
        ({'repeated': 21}, 'warning', 'stamps repeat, dropped: a clock that stands still, or messages sent twice'),
        ({'bridged': 20}, 'ok', 'aligned'),
        ({'bridged': 21}, 'warning', 'samples are lost on the way, and bridged'),
    ],
)
def test_samples_that_are_not_in_order(line, level, message):
    found = of('samples', make_session(timeline=make_line(**line)))
    assert (found.level, found.message) == (level, message)


def test_dropped_samples_and_restarts_are_reported_once():
    session = make_session(timeline=make_line(beyond='q of a 1e+150'), begun_anew=2, begun_anew_said=1)
    for message in ('torques were not finite: the filters have begun anew', 'aligned'):
        assert of('samples', session).message == message
    session.timeline.beyond = 'q of a 1e+150'
    assert of('samples', session)[:2] == ('error', 'dropped, no joint can do this: q of a 1e+150')
    assert of('samples', session).message == 'aligned'


def test_filters_fill_first():
    for session in (make_session(estimator=None), make_session()):
        if session.estimator is not None:
            session.estimator.filter.ready = False
        assert conditions(session)['samples'][:2] == ('warning', 'filling the filters')


@pytest.mark.parametrize(
    ('parts', 'level', 'message'),
    [
        ({}, 'ok', 'adapting'),
        ({'learning': False}, 'warning', 'not adapting: switched off'),
        ({'friction': {'excitation': np.array([0.99, 1.0, 0.0])}}, 'warning', 'not excited yet: a, c'),
        (
            {'friction': {'saturated': np.array([[0, 1], [0, 0], [1, 0]], dtype=bool)}},
            'warning',
            'saturated, at a bound of its parameters: a, c',
        ),
        (
            {'friction': {'informative': mask('b'), 'excitation': np.array([0.0, 2.0, 2.0])}},
            'warning',
            'not excited yet: a; not excited, motion tells Coulomb from viscous friction too little: c',
        ),
    ],
)
def test_friction(parts, level, message):
    found = of('friction', **parts)
    assert (found.level, found.message) == (level, message)
    assert found.values == {'a': '1 0', 'b': '1.235 -0.01', 'c': '0.9 0.02'}


def test_friction_that_is_another_or_none():
    assert of('friction', friction=None) == Condition('ok', 'as described, not adapted', {})
    other = CoulombViscousEstimator(3, initial=[2.0, 0.5])
    assert of('friction', friction=other)[:2] == ('warning', 'not excited yet: a, b, c')
    other.seen = [1, 0, 5]
    assert of('friction', friction=other)[:2] == ('warning', 'not excited yet: b')
    other.seen = 1
    values = dict.fromkeys(NAMES, '2 0.5')
    assert of('friction', friction=other) == Condition('ok', 'adapting', values)


def test_temperature():
    values = {'a': '10.0', 'b': '70.0', 'c': '40.0'}
    assert of('temperature') == Condition('ok', 'in range', values)
    assert of('temperature', friction_model=None) == Condition('ok', 'not used', values)
    for model in (None, make_session().estimator.friction_model):
        found = of('temperature', make_session(reads_temperature=False), friction_model=model)
        assert found == Condition('ok', 'not measured', values)
    for temperature, message in (
        ([9.9, 40.0, 80.0], 'out of the range of the friction model, bounded: a'),
        ([40.0, 70.1, 80.1], 'out of the range of the friction model, bounded: b, c'),
        ([np.nan, 99.0, np.nan], 'nothing yet of a, c'),
    ):
        assert of('temperature', temperature=np.array(temperature))[:2] == ('warning', message)


@pytest.mark.parametrize(
    ('changes', 'level', 'message'),
    [
        ({}, 'ok', 'learnt'),
        ({'excitation': np.array([0.99, 1.0, 0.5])}, 'ok', 'not excited yet: a, c'),
        ({'reliable': mask('')}, 'warning', 'torque and deformation do not fit, nothing learnt: b, c'),
        (
            {'reliable': mask('b'), 'excitation': np.array([4.9, 9.0, 5.0]), 'changes': np.array([0, 2, 1])},
            'ok',
            'torque and deformation do not fit, nothing learnt: c; changed suddenly: b, c',
        ),
    ],
)
def test_stiffness(changes, level, message):
    values = {'a': '2e+04 3e+09', 'b': '1e+04 0', 'c': '1.235e+04 1'}
    assert of('stiffness', stiffness=changes) == Condition(level, message, values)


def test_contact():
    values = {'a': '0.00', 'b': '-1.50', 'c': '20.00'}
    assert of('contact') == Condition('ok', 'none', values)
    learning = {'armed': mask('b')}
    assert of('contact', detector=learning) == Condition('ok', 'learning error levels: a, c', values)
    assert of('contact', detector=learning, contact=mask('c')) == Condition('warning', 'contact: c', values)
    lasting = {'lasting': mask('a'), 'armed': mask('')}
    expected = Condition('warning', 'a load that the model does not have: a', values)
    assert of('contact', detector=lasting, contact=mask('a c')) == expected


def test_payload():
    values = {'mass_kg': 2.5, 'deviation_kg': 0.1, 'first_moments_kgm': '0 0.1235 1'}
    assert of('payload') == Condition('ok', 'known', values)
    assert of('payload', payload={'known': False}) == Condition('warning', 'not known yet: move the arm', values)


def test_health():
    reasons = {'a': 'fine', 'b': 'not excited yet', 'c': 'good'}
    assert of('health') == Condition('ok', 'as the reference', reasons)
    unknown = [JointHealth('unknown', 'x')] * 3
    assert of('health', make_session(health=lambda: unknown))[:2] == ('ok', 'not judged yet')
    worn = [JointHealth('warning', 'soft'), JointHealth('error', 'hard'), JointHealth('warning', 'dry')]
    found = of('health', make_session(health=lambda: worn))
    assert found == Condition('error', 'worn: b (hard)', {'a': 'soft', 'b': 'hard', 'c': 'dry'})
    worn[1] = JointHealth('ok', 'fine')
    assert of('health', make_session(health=lambda: worn))[:2] == ('warning', 'worn: a (soft), c (dry)')


HEALTH = [JointHealth('ok', ''), JointHealth('warning', '', 0.8, 1.1), JointHealth('error', '', 0.5, None)] + [
    JointHealth('unknown', '')
] * 3


@pytest.fixture
def running(ur):
    """A session of a UR5e about which all is known but what friction it has."""
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
    assert set(found) == set(QUANTITIES) - {'coulomb_friction', 'viscous_friction'}
    assert list(found) == [name for name in QUANTITIES if name in found]
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


def test_friction_without_a_description_has_names_of_its_own(ur):
    estimator = JointEstimator(Arm(ur, np.zeros(14 * 6)), 2e-3, EstimationSettings(friction='coulomb_viscous'))
    session = SimpleNamespace(estimator=estimator, health=lambda: [JointHealth('unknown', '')] * 6)
    found = estimates(session)
    assert {'coulomb_friction', 'viscous_friction'} <= set(found)
    assert np.isnan(found['coulomb_friction'].value).all() and np.isnan(found['viscous_friction'].value).all()
    assert not {'friction_scale', 'viscous_change'} & set(found)
