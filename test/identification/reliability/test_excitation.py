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

"""Excitation of a training, and the deviation it leaves of another motion."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.description.result_files import summary_text
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.reliability.prediction import excitation_reasons, predicted_deviation
from joint_dynamics.identification.validate import judge_description

PLAIN = IdentificationSettings(selection=False)


def test_validation_at_rest_does_not_judge_motion(model_and_robot):
    """The verdict is within the residual of the training."""
    model, robot = model_and_robot
    run = robot.record(1, rate=100.0)
    still = replace(run, q=np.tile(run.q[:1], (len(run.time), 1)), dq=None, name='held')
    found = identify(model, [run], [still], settings=PLAIN)
    alone = identify(model, [run], settings=PLAIN)
    assert found.verdict == alone.verdict and found.verdict.startswith('reliable within ')
    assert found.summary()['validation_deviation_percent'] is None
    assert 'no joint moves in the validation: it says nothing of the torque in motion' in found.notes
    summary_text(found.summary())


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
