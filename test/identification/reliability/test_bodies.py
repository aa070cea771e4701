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

"""Inertias that no body has."""

from dataclasses import replace

import numpy as np

from joint_dynamics.identification.reliability import bodies
from joint_dynamics.robot.standard_parameters import link_columns


def without_a_body(model, robot, seed, size=8.0):
    """A recording of an arm whose third link has the inertia of no body: below zero about all its axes."""
    recording = robot.record(seed, rate=100.0, noise=0.0)
    _, q, dq, ddq = robot.motion(np.random.default_rng(seed), 20.0, 100.0)
    values = np.zeros(len(model.parameter_names))
    values[link_columns(2)][:6] = -size * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    wrong = model.inverse_dynamics(q, dq, ddq, values)
    tau = recording.tau + wrong
    return replace(recording, tau=tau + 0.02 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape))


def test_inertias_no_body_has_are_named(model_and_robot, alternatives_of):
    model, robot = model_and_robot
    wrong = alternatives_of(model, [without_a_body(model, robot, 1)])
    assert [reason.code for reason in bodies.impossible_inertials(wrong)] == ['negative_inertia']
    right = alternatives_of(model, [robot.record(1, rate=100.0)])
    assert bodies.impossible_inertials(right) == []


def test_inertias_of_rotors_and_of_postures_below_zero_are_seen(model_and_robot, problem_of):
    model, robot = model_and_robot
    problem = problem_of(model, [robot.record(1, rate=100.0, noise=0.0)])
    chi = np.zeros(len(problem.names))
    chi[: problem.base.count] = problem.base.regroup(robot.standard.ravel())
    assert bodies.positive_inertia(problem, chi)
    rotor = next(k for k, name in enumerate(problem.names) if name.startswith('Ia_'))
    first = problem.names.index('ZZR_1')
    for index, value in ((rotor, -1e-6), (first, -100.0), (rotor, np.nan)):
        assert not bodies.positive_inertia(problem, np.where(np.arange(len(chi)) == index, value, chi))
