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

"""The menu of further terms."""

from types import SimpleNamespace

import numpy as np

from joint_dynamics.arm import terms_from_config
from joint_dynamics.identification.selection.candidate_terms import first_terms, menu, temperature_range

JOINTS = ('a', 'b')
FRICTION = {
    'square root of speed (F_T0)': ('F_T0', 'power of speed'),
    'square of speed (F_V2)': ('F_V2', 'power of speed'),
    'cube of speed (F_V3)': ('F_V3', 'power of speed'),
    'load, linear (F_Cl)': ('F_Cl', ''),
    'load, quadratic (F_C1)': ('F_C1', ''),
}


def test_menu_has_laws_for_all_joints_and_single_positions():
    found = {group.name: group for group in menu(JOINTS, None)}
    stribeck = 'Stribeck at 0.4 rad/s (F_S)'
    quadrants = 'motor and generator quadrants'
    widths = {f'hysteresis of {width:g} rad (Maxwell-slip)': width for width in (1e-4, 3e-4, 1e-3, 3e-3)}
    positions = {f'position of {joint} (sin, cos of q and 2q)': joint for joint in JOINTS}
    assert set(found) == {*FRICTION, stribeck, quadrants, *widths, *positions}
    for name, group in found.items():
        assert group.single == (name in positions)
        kinds = {name: kind for name, (_, kind) in FRICTION.items()} | dict.fromkeys(widths, 'hysteresis')
        assert group.kind == ('stribeck' if name == stribeck else kinds.get(name, ''))
        assert group.positive == (name.startswith('load') or name == stribeck or name in widths)
        joints = [term.joint for term in group.terms]
        assert joints == ([positions[name]] if name in positions else ['a', 'b'])
        for term in group.terms:
            if name in FRICTION:
                assert term.document == {'friction': FRICTION[name][0]}
            elif name == stribeck:
                assert term.document == {'stribeck': {'V_S': 0.4, 'mu': 1.0}}
            elif name in widths:
                assert (term.document, term.width) == ({'hysteresis': widths[name]}, widths[name])
            elif name in positions:
                assert term.document == {'fourier': [1, 2]}
    assert [term.document for term in found[quadrants].terms] == [{'friction': 'load_sign'}] * 2


def test_springs_of_followers_and_one_width_per_joint():
    given = terms_from_config({'a': [{'hysteresis': 0.02}, {'fourier': 1}]})
    found = {group.name: group for group in menu(JOINTS, None, ['rod'], given)}
    assert found['position of rod (sin, cos of q and 2q)'].terms[0].joint == 'rod'
    for name, group in found.items():
        if name.startswith('hysteresis'):
            assert [term.joint for term in group.terms] == ['b']
    both = terms_from_config({joint: [{'hysteresis': 0.02}] for joint in JOINTS})
    assert not any(group.kind == 'hysteresis' for group in menu(JOINTS, None, given=both))


def test_no_load_friction_for_a_lift():
    found = {group.name: group for group in menu(JOINTS, None, lifts=['a'])}
    for name, group in found.items():
        if name.startswith(('load', 'motor and generator')):
            assert {term.joint for term in group.terms} == {'b'}
        elif not group.single:
            assert {term.joint for term in group.terms} == set(JOINTS)
    assert set(found) - {group.name for group in menu(JOINTS, None, lifts=JOINTS)} == {
        'load, linear (F_Cl)', 'load, quadratic (F_C1)', 'motor and generator quadrants',
    }  # fmt: skip


def test_temperature_is_tried_where_it_rises():
    plain = [group.name for group in menu(JOINTS, None)]
    assert [group.name for group in menu(JOINTS, np.array([[20.0, 23.0], [30.0, 32.0]]))] == plain
    warm = {group.name: group for group in menu(JOINTS, np.array([[20.0, 23.16], [5.0, 6.0]]))}
    assert set(warm) - set(plain) == {'temperature (F_T1)', 'temperature (F_T2)'}
    for name in ('F_T1', 'F_T2'):
        group = warm[f'temperature ({name})']
        assert (group.kind, group.single, group.slow) == ('', False, True)
        # rounded to a tenth, and within what a workshop has
        assert [(term.joint, term.document) for term in group.terms] == [
            ('a', {'friction': name, 'T_0': 21.6}), ('b', {'friction': name, 'T_0': 10.0}),
        ]  # fmt: skip
    hot = {group.name: group for group in menu(JOINTS, np.array([[60.0, 90.0], [20.0, 20.0]]))}
    assert [term.document['T_0'] for term in hot['temperature (F_T1)'].terms] == [70.0, 20.0]


def test_temperature_range_is_that_of_all_recordings():
    first, second = np.array([[20.0, 30.0], [25.0, 29.0]]), np.array([[19.0, 31.0]])
    runs = [SimpleNamespace(temperature=first), SimpleNamespace(temperature=second)]
    np.testing.assert_array_equal(temperature_range(runs), [[19.0, 25.0], [29.0, 31.0]])
    assert temperature_range([*runs, SimpleNamespace(temperature=None)]) is None


def test_the_first_solution_has_one_law_of_each_kind():
    first = first_terms(menu(JOINTS, np.array([[20.0, 30.0], [20.0, 30.0]])))
    assert {term.joint for term in first} == set(JOINTS) and all(term.selected for term in first)
    own = [term.document for term in first if term.joint == 'a']
    friction = [document['friction'] for document in own if 'friction' in document]
    assert sorted(friction) == ['F_C1', 'F_Cl', 'F_T0', 'load_sign']
    assert [document for document in own if 'friction' not in document] == [
        {'hysteresis': 1e-4}, {'stribeck': {'V_S': 0.4, 'mu': 1.0}},
    ]  # fmt: skip
