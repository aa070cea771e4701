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

"""How much worse a model fits than its noise lets expect, against fits of every joint by itself, written out."""

import numpy as np
import pytest

from joint_dynamics.identification.reliability.changes import TIME_FACTORS
from joint_dynamics.identification.reliability.evidence import (
    Explanation,
    ExplanationFit,
    NormalEquations,
    overdispersion,
)
from joint_dynamics.identification.reliability.thresholds import MIN_EVIDENCE, RESOLVED


def shared(misfit, seed=0, samples=600):
    """Three joints that share four parameters, which each of them feels `misfit` otherwise; noise of 0.1 N·m."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3, 4, samples))
    chi = 1.0 + misfit * rng.normal(size=(3, 4))
    tau = np.einsum('jbs,jb->js', rows, chi) + 0.1 * rng.normal(size=(3, samples))
    empty = [np.zeros(0, dtype=int)] * 3
    return NormalEquations(rows, np.ones((3, samples)), empty), tau


@pytest.mark.parametrize('misfit', [0.05, 0.5])
def test_it_is_what_every_joint_gains_by_parameters_of_its_own(misfit):
    normal, tau = shared(misfit)
    found = normal.fit(tau)
    count = np.array([600.0, 300.0, 450.0])
    rise = 0.0
    for j in range(3):
        alone = np.linalg.lstsq(normal.rows[j].T, tau[j], rcond=None)[1][0] / (tau[j] @ tau[j])
        rise += 0.5 * count[j] * np.log((found.unexplained[j] + RESOLVED**2) / (alone + RESOLVED**2))
    # twelve parameters in the place of four
    assert overdispersion(normal, tau, found, count) == pytest.approx(2 * rise / 8, rel=1e-9)


def test_it_is_one_where_every_joint_feels_the_same():
    """2 ΔL is then a χ² of as many degrees of freedom as there are further parameters: 8, so ± 0.5 about one."""
    found = []
    for seed in range(40):
        normal, tau = shared(0.0, seed)
        found.append(overdispersion(normal, tau, normal.fit(tau), np.full(3, 600.0)))
    assert min(found) == 1.0 and max(found) < 1 + 4 * 0.5
    assert np.mean(found) < 1.4


def test_a_right_model_of_an_arm_fits_as_its_noise_lets_expect(model_and_robot, alternatives_of):
    model, robot = model_and_robot
    right = alternatives_of(model, [robot.record(3, duration=8.0, rate=100.0)])
    assert overdispersion(right.normal, right.samples.tau, right.given, right.count) < 1.5


GIVEN = ExplanationFit(np.zeros(3), np.array([0.5, 0.4]), 3, np.array([10.0, 10.0]))


@pytest.mark.parametrize(('gain', 'dispersion', 'clear'), [(9.8, 1.0, False), (10.0, 1.0, True), (19.9, 2.0, True),
                                                           (60.0, 6.0, True), (60.0, 6.1, False)])  # fmt: skip
def test_a_gain_that_any_freedom_would_bring_is_not_named(gain, dispersion, clear):
    """ln(200/0.01) = 9.90 nats over the overdispersion."""
    assert Explanation('code', 'text', (), GIVEN, GIVEN, gain, dispersion).clear is clear


@pytest.mark.parametrize('arm', ['two_links', 'ur'])
def test_no_more_alternatives_are_tried_than_are_counted(request, true_robot_of, alternatives_of, arm):
    """Of a right model a likelihood ratio exceeds eˣ with probability e⁻ˣ at most: 200 of them refuse one in 100."""
    model = request.getfixturevalue(arm)
    alternatives = alternatives_of(model, [true_robot_of(model).record(3, duration=8.0, rate=100.0)])
    assert len(list(alternatives.all())) + len(TIME_FACTORS) <= 200 == pytest.approx(0.01 * np.exp(MIN_EVIDENCE))
