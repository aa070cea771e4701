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

"""What an identification writes into a description: terms, payload, range of validity, and the figures it states."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification import IdentificationSettings, identify, validate_description
from joint_dynamics.identification.describe import add_term, payload_part
from joint_dynamics.identification.regression.residuals import predict
from joint_dynamics.identification.selection import WIDTHS
from joint_dynamics.identification.validate import judge_description


def test_terms_are_written_where_they_belong():
    state = SimpleNamespace(load_limit=np.array([30.0, 40.0]))
    values = {'x': 2.0, 'y': -1.0}

    def written(document, *, names=('x',), needs=(), deviation=None, state=state):
        joint = {'friction': {'parameters': {'F_C0': 5.0}, 'standard_deviations': {'F_C0': 0.3}}}
        term = SimpleNamespace(document=document, names=names, needs=needs, joint='b')
        add_term(joint, term, values, deviation or {'x': 0.4, 'y': np.inf}, state, 1)
        return joint

    joint = written({'stribeck': {'V_S': 0.01, 'mu': 1.5}})
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.01, 'mu': 1.5}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3, 'F_S': pytest.approx(0.5)}
    joint = written({'friction': 'F_T1', 'T_0': 25.0})
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_T1': 2.0, 'T_0': 25.0}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3, 'F_T1': 0.4}
    joint = written({'friction': 'F_C1'}, names=('y',), needs=('load',))
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_C1': -1.0, 'tau_max': 40.0}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3}
    joint = written({'fourier': [1]}, names=('x', 'y'), needs=('load',))
    assert joint['terms'] == [
        {'document': {'fourier': [1], 'tau_max': 40.0}, 'values': [2.0, -1.0], 'std': [0.4, None]}
    ]
    none = SimpleNamespace(load_limit=None)
    assert written({'fourier': [1]}, needs=('load',), state=none)['terms'][0]['document'] == {'fourier': [1]}


def test_a_payload_is_written_as_not_attached():
    order = ('M', 'MX', 'MY', 'MZ', 'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ')
    found = {name: {'value': float(k), 'std': 0.1 * k if k else None} for k, name in enumerate(order)}
    document = {
        'attached': False, 'mass': {'value': 0.0}, 'first_moments': [1.0, 2.0, 3.0],
        'inertia': [4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 'std': [None, *(0.1 * k for k in range(1, 10))],
    }  # fmt: skip
    assert payload_part(found) == document
    found['M']['std'] = 0.2
    assert payload_part(found)['mass'] == {'value': 0.0, 'std': 0.2}


@pytest.fixture(scope='module')
def trained(true_robot):
    slow = true_robot.record(1, duration=8.0)
    return slow, identify(true_robot.model, [slow], settings=IdentificationSettings(selection=False))


def narrowed(description, share):
    """The same, checked up to a share of the speed only."""
    document = {
        **description.document,
        'joints': {name: dict(part) for name, part in description.document['joints'].items()},
    }
    for part in document['joints'].values():
        part['validity'] = {**part['validity'], 'speed': share * part['validity']['speed']}
    return DynamicsDescription(document)


def test_the_description_states_what_the_summary_does(trained):
    _, result = trained
    document = result.description.document
    assert {name: part['validity'] for name, part in document['joints'].items()} == result.summary()['validity']


def test_a_motion_beyond_is_held_and_said(trained):
    slow, result = trained
    description = result.description
    held = narrowed(description, 0.1)
    (within,), judged = validate_description(description, [slow]), judge_description(held, [slow])
    (beyond,), notes = judged.fits, [note for note in judged.notes if '.validity.' in note]
    names = description.joint_names
    assert [note.partition(': joints.')[2].partition(':')[0] for note in notes] == [
        f'{name}.validity.speed' for name in names
    ]
    viscous = [description.joint(name)['friction']['parameters']['F_V1'] for name in names]
    limit = np.array([held.joint(name)['validity']['speed'] for name in names])
    # The prediction lacks the viscous friction beyond the limit, through the same filter.
    lost = within.full.predicted - beyond.full.predicted
    dq = within.full.dq
    expected = np.array(viscous) * (dq - np.clip(dq, -limit, limit))
    np.testing.assert_allclose(lost, expected, rtol=0, atol=1e-9)


CHOICES = {
    'none': [], 'hysteresis': [{'hysteresis': 1e-3}], 'narrowest hysteresis': [{'hysteresis': min(WIDTHS)}],
    'stribeck': [{'stribeck': 0.1}], 'root': [{'friction': 'F_T0'}], 'cubic': [{'friction': 'F_V3'}],
    'load': [{'friction': 'F_Cl'}], 'load squared': [{'friction': 'F_C1'}],
    'quadrants': [{'friction': 'load_gain'}, {'friction': 'load_sign'}],
    'hysteresis of everything': [{'hysteresis': 3e-3}, {'stribeck': 0.1}, {'friction': 'F_Cl'}, {'friction': 'F_T0'}],
    'spring': [{'fourier': 2}],
}  # fmt: skip


@pytest.fixture(scope='module')
def robot(two_links, true_robot_of):
    made = true_robot_of(two_links)
    return two_links, [made.record(seed, duration=8.0, rate=100.0, noise=0.01) for seed in (1, 2)]


@pytest.mark.parametrize('choice', list(itertools.product(CHOICES, repeat=2)), ids=' and '.join)
def test_figures_agree_for_every_choice_of_terms(robot, choice):
    model, (run, unseen) = robot
    chosen = {name: CHOICES[kind] for name, kind in zip(model.joint_names, choice, strict=True)}
    settings = IdentificationSettings(selection=False, terms=terms_from_config(chosen))
    result = identify(model, [run], [unseen], settings)
    document = DynamicsDescription.from_yaml(result.description.to_yaml())
    for fit, again in zip(
        (*result.training, *result.validation), validate_description(document, [run, unseen], settings), strict=True
    ):
        np.testing.assert_allclose(again.predicted, fit.predicted, rtol=0, atol=1e-9 * np.abs(fit.tau).max())
        assert again.residual_percent()[1] == pytest.approx(fit.residual_percent()[1], rel=1e-9)
    for j, (name, entries) in enumerate(chosen.items()):
        kinds = {key for entry in entries for key in entry}
        friction = document.joint(name)['friction']
        assert ('maxwell_slip' in friction) == ('hysteresis' in kinds and result.problem.state.share[j] > 0.0)
        assert ('F_S' in friction['parameters']) == ('stribeck' in kinds)
    # The fit, away from reversals of friction.
    (fit,), fitted = result.training, [predict(block, result.solution.chi).T for block in result.problem.blocks()]
    away = np.abs(fit.dq) > 0.3
    error = np.where(away, fit.predicted - np.concatenate(fitted), 0.0)
    assert np.linalg.norm(error) < 0.01 * np.linalg.norm(fit.tau)
