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

"""Terms one by one: each column is its formula written out, each document is read back, each mistake is named."""

import numpy as np
import pytest

from joint_dynamics.arm.terms import (
    FRICTION,
    OPPOSING,
    Motion,
    fourier_term,
    friction_term,
    hysteresis_term,
    needs_of,
    power_term,
    spring_term,
    stribeck_term,
    terms_from_config,
)
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.friction_documents import T_MAX, T_MIN

RNG = np.random.default_rng(21)
Q = RNG.uniform(-3, 3, 40)
OMEGA = RNG.normal(size=40)
LOAD = RNG.normal(scale=30.0, size=40)
WARM = RNG.uniform(15, 60, 40)
SIGN = RNG.uniform(-1, 1, 40)
OMEGA[:3] = 0.0
LOAD[2:5] = 0.0
ROOT = np.sign(OMEGA) * np.sqrt(np.abs(OMEGA))


def motion(**changes):
    return Motion(Q, OMEGA, **{'load': LOAD, 'temperature': WARM, **changes})


#: Column of each friction term for a direction s.
WRITTEN_OUT = {
    'F_T0': lambda s: ROOT, 'F_V2': lambda s: np.abs(OMEGA) * OMEGA, 'F_V3': lambda s: OMEGA**3,
    'F_Cl': lambda s: s * np.abs(LOAD), 'F_C1': lambda s: s * LOAD**2, 'F_T1': lambda s: ROOT * (WARM - 25.0),
    'F_T2': lambda s: ROOT * (WARM**-3 - 25.0**-3), 'load_gain': lambda s: LOAD, 'load_sign': lambda s: np.sign(LOAD),
}  # fmt: skip


@pytest.mark.parametrize('name', FRICTION)
def test_friction_terms_are_their_formulas(name):
    term = friction_term('a', name)
    for sign in (None, SIGN):
        found = term.of(motion(sign=sign))
        assert found.shape == (1, 40)
        np.testing.assert_allclose(found[0], WRITTEN_OUT[name](np.sign(OMEGA) if sign is None else sign), rtol=1e-12)
    assert (term.joint, term.names, term.kind) == ('a', (f'{name}_a',), 'friction')
    assert term.is_friction
    assert term.opposes_motion == (name in OPPOSING) == (not name.startswith('load_'))
    loaded, warm = name in ('F_Cl', 'F_C1', 'load_gain', 'load_sign'), name in ('F_T1', 'F_T2')
    assert term.needs == needs_of(name) == frozenset({'load'} if loaded else {'temperature'} if warm else ())
    assert term.document == {'friction': name, **({'T_0': 25.0} if warm else {})}
    assert (term.ridge, term.selected, term.width) == (0.1, False, None)


@pytest.mark.parametrize('name', ['F_Cl', 'F_C1', 'load_gain', 'load_sign'])
def test_a_load_is_bounded_by_its_size(name):
    term = friction_term('a', name, tau_max=8, ridge=0.3, selected=True)
    plain = friction_term('a', name)
    held = np.clip(LOAD, -8.0, 8.0)
    np.testing.assert_array_equal(term.of(motion()), plain.of(motion(load=held)))
    assert term.document == {'friction': name, 'tau_max': 8.0}
    assert (term.names, term.needs, term.ridge, term.selected) == (plain.names, plain.needs, 0.3, True)


def test_column_vanishes_at_the_reference_temperature():
    term = friction_term('a', 'F_T1', T_0=31, ridge=0.2)
    np.testing.assert_allclose(term.of(motion())[0], ROOT * (WARM - 31.0), rtol=1e-12)
    assert (term.document, term.ridge) == ({'friction': 'F_T1', 'T_0': 31.0}, 0.2)
    # a temperature outside its bounds counts as the bound
    for temperature, bound in ((-1e3, T_MIN), (1e3, T_MAX)):
        found = term.of(motion(temperature=np.full(40, temperature)))
        np.testing.assert_allclose(found[0], ROOT * (bound - 31.0), rtol=1e-12)
    # a term of speed has no bounds
    assert friction_term('a', 'F_V2', T_0=31.0, tau_max=3.0, ridge=0.2).document == {'friction': 'F_V2'}


@pytest.mark.parametrize('name', ['load', 'temperature'])
def test_missing_signals_are_named(name):
    term = friction_term('a', {'load': 'F_Cl', 'temperature': 'F_T1'}[name])
    with pytest.raises(JointDynamicsError, match=f'^terms: expected a recording with {name} for a term that depends'):
        term.of(motion(**{name: None}))


def test_stribeck_falls_from_one_with_the_speed():
    term = stribeck_term('a', 0.4, 1.7, ridge=0.5)
    np.testing.assert_allclose(
        term.of(motion(sign=SIGN))[0], SIGN * np.exp(-((np.abs(OMEGA) / 0.4) ** 1.7)), rtol=1e-12
    )
    assert term.document == {'stribeck': {'V_S': 0.4, 'mu': 1.7}}
    assert (term.names, term.kind, term.ridge) == (('F_S-F_C0_a',), 'stribeck', 0.5)
    assert term.opposes_motion and term.is_friction
    assert stribeck_term('a', 1).document == {'stribeck': {'V_S': 1.0, 'mu': 1.0}}


def test_hysteresis_is_its_operator_less_the_sign():
    H = RNG.uniform(-1, 1, 40)
    term = hysteresis_term('a', 2e-3, ridge=0.5)
    np.testing.assert_array_equal(term.of(motion(slip={2e-3: H}))[0], H - np.sign(OMEGA))
    assert (term.document, term.width, term.names, term.ridge) == ({'hysteresis': 2e-3}, 2e-3, ('F_H_a',), 0.5)
    assert term.is_friction and not term.opposes_motion


def test_harmonics_of_the_angle():
    term = fourier_term('a', [1, 3], ridge=0.0)
    np.testing.assert_allclose(
        term.of(motion()), [np.sin(Q), np.cos(Q), np.sin(3 * Q), np.cos(3 * Q)], rtol=1e-12, atol=1e-15
    )
    assert term.names == ('sin1q_a', 'cos1q_a', 'sin3q_a', 'cos3q_a')
    assert (term.document, term.kind, term.ridge) == ({'fourier': [1, 3]}, 'fourier', 0.0)
    assert not term.is_friction and not term.opposes_motion


def test_springs_are_powers_of_the_position():
    term = spring_term('a', [1, 3])
    np.testing.assert_allclose(term.of(motion()), [Q, Q**3], rtol=1e-12)
    assert not term.is_friction and not term.opposes_motion
    assert (term.names, term.document, term.kind) == (('q^1_a', 'q^3_a'), {'spring': [1, 3]}, 'spring')


def test_the_power_of_the_speed_is_friction():
    term = power_term('a', 0.75, ridge=0.0)
    np.testing.assert_allclose(term.of(motion()), [np.sign(OMEGA) * np.abs(OMEGA) ** 0.75], rtol=1e-12)
    assert term.is_friction and term.opposes_motion
    assert (term.names, term.document, term.ridge) == (('f_v_a',), {'power': 0.75}, 0.0)


@pytest.mark.parametrize(
    'formula', ['sin(q)', 'q', 3, True, ['q'], '', 'sign(dq) * abs(dq)**q', 'sign(dq) * abs(dq)**1.2.3']
)
def test_formulas_are_refused_with_their_replacement(formula):
    with pytest.raises(JointDynamicsError) as caught:
        terms_from_config({'a': [{'function': formula}]})
    said = str(caught.value)
    assert said.startswith('terms.a.function: ') and '0.3.0' in said and 'spring' in said and '\n' not in said


def test_a_configuration_is_read_term_by_term():
    found = terms_from_config({
        'a': [{'fourier': 2}, {'fourier': [4, 1]}, {'spring': 3}, {'friction': 'F_T1', 'T_0': 30}],
        'b': [{'stribeck': 0.4}, {'power': 1}, {'spring': [9]}],
        'c': [
            {'stribeck': {'V_S': 2, 'mu': 3}}, {'hysteresis': 1}, {'tau_max': 9, 'friction': 'F_Cl'},
            {'friction': 'F_V2', 'tau_max': None},
        ],
        'd': [],
    })  # fmt: skip
    documents = [
        {'fourier': [1, 2]}, {'fourier': [4, 1]}, {'spring': [1, 2, 3]}, {'friction': 'F_T1', 'T_0': 30.0},
        {'stribeck': {'V_S': 0.4, 'mu': 1.0}}, {'power': 1.0}, {'spring': [9]},
        {'stribeck': {'V_S': 2.0, 'mu': 3.0}}, {'hysteresis': 1.0},
        {'friction': 'F_Cl', 'tau_max': 9.0}, {'friction': 'F_V2'},
    ]  # fmt: skip
    assert ([term.joint for term in found], [term.document for term in found]) == (list('aaaabbbcccc'), documents)
    # documents can be read again
    again = terms_from_config({name: [t.document for t in found if t.joint == name] for name in 'abc'})
    assert [term.document for term in again] == [term.document for term in found]


def wrong(kind, *values):
    return [({'a': [{kind: value}]}, f'terms.a.{kind}') for value in values]


@pytest.mark.parametrize(
    ('config', 'place'),
    [
        ([1], 'terms'),
        ({1: []}, 'terms'),
        *(
            ({'a': value}, 'terms.a')
            for value in ([{}], 'x', [[]], [{'fourier': 1, 'friction': 'F_T0'}], [{'rubber': 1}])
        ),
        *wrong('fourier', 0, 51, 10**30, True, 1.0, [], [0], [1001], [1, 'x'], [1] * 51, None, {'h': 1}),
        *wrong('spring', 0, 10, [0], 1.5, 'q'),
        *wrong('power', 0, -1, True, 'x'),
        *wrong('stribeck', {'V_S': 1, 'x': 2}, {'mu': 2}, 0, True, {'V_S': 1, 'mu': -1}),
        *wrong('hysteresis', 'x', 1e30),
        *wrong('friction', 'F_X', ['F_T0']),
        *(({'a': [{'friction': 'F_T1', 'T_0': value}]}, 'terms.a.T_0') for value in ('x', True, 1e4)),
        ({'a': [{'friction': 'F_Cl', 'tau_max': 0}]}, 'terms.a.friction.tau_max'),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_terms_are_named(config, place):
    with pytest.raises(JointDynamicsError) as caught:
        terms_from_config(config)
    assert str(caught.value).startswith(place)
