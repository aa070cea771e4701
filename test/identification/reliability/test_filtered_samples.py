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

"""Samples of all recordings end to end, and what corrections make of them."""

import numpy as np

from joint_dynamics.identification.regression.least_squares import PRIOR_RATIO
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.filtered_samples import row_weights, samples_of
from joint_dynamics.recording.conversions import Corrections


def test_samples_are_the_filtered_signals_end_to_end(resting_problem):
    found = samples_of(resting_problem)
    for name in ('q', 'dq', 'ddq', 'dtheta', 'ddtheta', 'tau'):
        whole = [run.decimator.apply(getattr(run, name)).T for run in resting_problem.observations]
        np.testing.assert_allclose(getattr(found, name), np.hstack(whole), rtol=1e-9, atol=1e-12)
    signs = [run.decimator.apply(np.sign(run.dtheta)).T for run in resting_problem.observations]
    np.testing.assert_allclose(found.sign, np.hstack(signs), atol=1e-12)
    lengths = [len(run.kept) for run in resting_problem.observations]
    np.testing.assert_array_equal(found.part, np.repeat([0, 1], lengths))
    assert [joints for joints, _ in found.extra] == [{1: 1.0}, {1: 1.0}]
    for k, (_, values) in enumerate(found.extra):
        np.testing.assert_allclose(values, np.hstack([resting_problem.extra(0)[k], resting_problem.extra(1)[k]]))
    for index in (0, 1):
        rest = resting_problem.rest(index)
        assert rest.resting.any() and not rest.resting.all()
        expected = [
            [scale / PRIOR_RATIO if still else 1.0 for still, scale in zip(*pair, strict=True)]
            for pair in zip(rest.resting, rest.scale, strict=True)
        ]
        np.testing.assert_allclose(row_weights(resting_problem, index), expected)
        np.testing.assert_allclose(found.weight[:, found.part == index], expected)
    moving = Problem(resting_problem.model, resting_problem.observations)
    np.testing.assert_array_equal(row_weights(moving, 1), np.ones((2, lengths[1])))
    assert samples_of(moving).extra == []


def test_corrected_samples_are_those_of_corrected_recordings(resting_problem, two_links):
    samples, (first, second) = samples_of(resting_problem), two_links.joint_names
    swap = {first: second, second: first}
    mend = Corrections(
        position_order=swap, position_sign={first: -1.0}, position_scale={first: 2.0}, zero_offset={second: 0.3}
    )
    moved = samples.corrected(mend, two_links.joint_names)
    for name in ('q', 'dq', 'ddq', 'dtheta', 'ddtheta'):
        given = getattr(samples, name)
        offset = 0.3 if name == 'q' else 0.0
        np.testing.assert_array_equal(getattr(moved, name), [-2.0 * given[1], given[0] + offset])
    np.testing.assert_array_equal(moved.sign, [-samples.sign[1], samples.sign[0]])
    np.testing.assert_array_equal(moved.weight, samples.weight)
    np.testing.assert_array_equal(moved.tau, samples.tau)
    both = samples.corrected(Corrections(position_order=swap, torque_order=swap), two_links.joint_names)
    np.testing.assert_array_equal(both.weight, samples.weight[::-1])
    np.testing.assert_array_equal(both.tau, samples.tau[::-1])
    slower = samples.corrected(Corrections(time_scale=4.0, torque_sign={second: -1.0}), two_links.joint_names)
    np.testing.assert_array_equal(slower.dq, samples.dq / 4)
    np.testing.assert_array_equal(slower.ddtheta, samples.ddtheta / 16)
    np.testing.assert_array_equal(slower.tau, [samples.tau[0], -samples.tau[1]])
