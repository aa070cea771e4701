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

"""A training too poor for the motion it is validated on."""

import copy
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.description.result_files import summary_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.reliability.coverage import (
    Training,
    excitation_reasons,
    judge_coverage,
    leaves,
    predicted_deviation,
)
from joint_dynamics.identification.validate import judge_description

PLAIN = IdentificationSettings(selection=False)


NAMES = ('a', 'b')


def test_what_leaves_the_training_is_told_from_a_fifth_beyond_it():
    """Of speed and acceleration a fifth more, of the position a fifth of the range to either side."""
    training = Training(
        np.eye(1), 1.0, 2.0, np.array([[-1.0, 1.0], [0.0, 4.0]]), np.array([1.0, 2.0]), np.array([5.0, 6.0])
    )

    def of(q, speed=(1.0, 2.0), acceleration=(5.0, 6.0)):
        run = SimpleNamespace(
            q=np.array([*q, [99.0, 99.0]]), dtheta=np.array([speed, [0.0, 0.0]]) * [-1.0, 1.0],
            ddtheta=np.array([[0.0, 0.0], acceleration]) * [1.0, -1.0], kept=np.array([0, 1]),
        )  # fmt: skip
        return leaves(training, SimpleNamespace(model=SimpleNamespace(joint_names=NAMES), observations=[run]))

    inside = [[-1.0, 0.0], [1.0, 4.0]]
    assert of(inside) == []
    assert of([[-1.39, -0.79], [1.39, 4.79]], (1.19, 2.39), (5.9, 7.1)) == []
    assert of([[0.0, 2.0], [0.1, 2.1]], (0.0, 0.0), (0.0, 0.0)) == []
    assert of([[-1.41, 0.0], [1.0, 4.0]]) == ['position of a -1.41 to 1, in training -1 to 1']
    assert of([[-1.0, 0.0], [1.0, 4.81]]) == ['position of b 0 to 4.81, in training 0 to 4']
    assert of(inside, (1.21, 2.0)) == ['speed of a 1.21 rad/s, in training 1']
    assert of(inside, (1.0, 2.0), (5.0, 7.3)) == ['acceleration of b 7.3 rad/s², in training 6']


def test_identify_states_the_coverage_of_its_validation(model_and_robot):
    model, robot = model_and_robot
    result = identify(model, [robot.record(1, rate=100.0)], [robot.record(2, rate=100.0)], PLAIN)
    entry = result.summary()['coverage']
    assert 0 < entry['training_deviation_percent'] < 5 and 0 < entry['validation_deviation_percent'] < 5
    assert not result.reasons


def test_validation_at_rest_does_not_judge_motion(model_and_robot):
    """It ended in a summary that is no JSON; the verdict is within what the training leaves over."""
    model, robot = model_and_robot
    run = robot.record(1, rate=100.0)
    still = replace(run, q=np.tile(run.q[:1], (len(run.time), 1)), dq=None, name='held')
    found = identify(model, [run], [still], settings=PLAIN)
    alone = identify(model, [run], settings=PLAIN)
    assert found.verdict == alone.verdict and found.verdict.startswith('reliable within ')
    assert found.summary()['coverage']['validation_deviation_percent'] is None
    assert 'no joint moves in the validation: it says nothing of the torque in motion' in found.notes
    summary_text(found.summary())


def test_validate_reads_the_coverage_of_the_description(model_and_robot):
    """By the description alone what `identify` says of the same recording, of the base parameters."""
    model, robot = model_and_robot
    poor = robot.record(1, duration=6.0, rate=100.0, frequency=0.03, noise=0.05)
    other = robot.record(2, rate=100.0)
    result = identify(model, [poor], [other], PLAIN)
    description = DynamicsDescription.from_yaml(result.description.to_yaml())
    found = judge_description(description, [other])
    entry, expected = found.summary['coverage'], result.summary()['coverage']
    for key in ('training_deviation_percent', 'validation_deviation_percent'):
        assert entry[key] == pytest.approx(expected[key], rel=1e-3)
    assert entry['beyond_training'] == expected['beyond_training'] != []
    codes = {reason.code for reason in found.reasons}
    assert codes - {'description'} == {'validation', 'coverage'} <= {reason.code for reason in result.reasons}
    older = copy.deepcopy(description.document)
    del older['provenance']['coverage']
    assert 'coverage' not in judge_description(DynamicsDescription(older), [other]).summary
    older['provenance']['coverage'] = {'covariance': [[1.0]]}
    with pytest.raises(JointDynamicsError, match=r'provenance\.coverage'):
        judge_description(DynamicsDescription(older), [other])


def coverage_of(own, other, percent, of_training, monkeypatch, left=()):
    from joint_dynamics.identification.reliability import coverage

    monkeypatch.setattr(coverage, 'predicted_deviation', lambda problem, covariance: other)
    monkeypatch.setattr(coverage, 'leaves', lambda training, unseen: list(left))
    none = np.zeros(1)
    return judge_coverage(Training(none, own, of_training, none, none, none), None, percent)


@pytest.mark.parametrize('left', [(), ('speed of a', 'position of b')])
def test_a_training_too_poor_for_the_other_motion_is_said(monkeypatch, left):
    where = ' (speed of a; position of b)' if left else ''
    summary = {
        'coverage': {
            'training_deviation_percent': 3.0, 'validation_deviation_percent': 12.3, 'beyond_training': list(left),
        }
    }  # fmt: skip
    found = coverage_of(3.0, 12.3, 20.0, 4.0, monkeypatch, left)
    assert (found.notes, found.summary) == ((), summary)
    (reason,) = found.reasons
    assert reason.code == 'coverage'
    for part in (f'validation motion{where}:', '12.3 % of its torque (training: 3 %), left over are 20 %; train on'):
        assert part in reason.text
    found = coverage_of(3.0, 12.3, 20.0, 8.0, monkeypatch, left)
    assert (found.reasons, found.summary) == ((), summary)
    (note,) = found.notes
    within = f'and it leaves the training{where}:' if left else 'and it lies within the training:'
    for part in ('(20 against 8 % of the torque)', 'make 12 % of it (training: 3 %)', within):
        assert part in note


def test_predicted_deviation_is_of_the_moving_samples():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(3, 3))
    C = root @ root.T
    blocks, spread, size = [], 0.0, 0.0
    for resting in (None, rng.random((2, 7)) < 0.5):
        rows, tau = rng.normal(size=(2, 4, 7)), rng.normal(size=(2, 7))
        blocks.append(SimpleNamespace(rows=rows, tau=tau, resting=resting))
        for j in range(2):
            for k in range(7):
                if resting is None or not resting[j, k]:
                    spread += rows[j, :3, k] @ C @ rows[j, :3, k]
                    size += tau[j, k] ** 2
    problem = SimpleNamespace(blocks=lambda: iter(blocks))
    assert predicted_deviation(problem, C) == pytest.approx(100 * math.sqrt(spread / size))
    for block in blocks:
        block.tau *= 1e-3  # a finger's torques
    assert predicted_deviation(problem, C) == pytest.approx(1e5 * math.sqrt(spread / size))
    assert math.isnan(predicted_deviation(SimpleNamespace(blocks=lambda: iter(())), C))


def test_poor_excitation_lists_parameters_and_still_joints():
    solution = SimpleNamespace(condition_number=1234.5, inflation=np.array([31.0, 1.0, 400.0, 30.0]))
    names = ['p', 'q', 'r', 's']
    for still, unmoved in (((), '300; '), (('a',), '; a never moves;'), (('a', 'b'), '; a, b never move;')):
        (reason,) = excitation_reasons(names, solution, 300.0, still)
        assert reason.code == 'excitation'
        for part in (
            '1.23e+03, expected at most 300',
            'not well determined: r, p;',
            unmoved,
            '`joint-dynamics excite`',
        ):
            assert part in reason.text
    solution.inflation = np.ones(4)
    for number, said in ((np.inf, 'infinite'), (np.nan, 'infinite'), (300.5, '300')):
        solution.condition_number = number
        (reason,) = excitation_reasons(names, solution, 300.0)
        assert f'condition number {said}, expected at most 300;' in reason.text and 'determined' not in reason.text
    solution.condition_number = 300.0
    assert excitation_reasons(names, solution, 300.0, ('a',)) == []


def test_a_description_that_is_not_reliable_says_so_of_itself(model_and_robot):
    model, robot = model_and_robot
    run = robot.record(1, duration=8.0, rate=100.0)
    refused = identify(model, [replace(run, tau=-run.tau)], settings=PLAIN)
    reasons = judge_description(refused.description, [replace(run, tau=-run.tau)], PLAIN).reasons
    assert reasons[0].code == 'description'
    assert refused.reasons[0].text in reasons[0].text
