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

"""Rows of the base parameters, and what goes with them: terms, offsets that are weights, how far a URDF may be off."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import ModelRows, prior_spread
from joint_dynamics.robot import INERTIAL, RobotModel, StandardParameters
from joint_dynamics.signals.filtering import ParallelDecimator

COUPLING = np.eye(6)
COUPLING[5, 4] = 0.7


@pytest.fixture(params=['6R', 'coupled', 'prismatic'])
def model(request, ur_table, scara_table):
    if request.param == 'prismatic':
        return RobotModel.from_mdh(scara_table)
    return RobotModel.from_mdh(
        ur_table | ({'position_coupling_R': COUPLING.tolist()} if request.param == 'coupled' else {})
    )


def observation(model, samples, seed, factor=7):
    """Other speeds of the motors than of the links."""
    rng = np.random.default_rng(seed)
    q, dq, ddq = model.random_states(samples, rng)
    tau = rng.normal(size=q.shape)
    decimator = ParallelDecimator(samples, 5.0, 100.0, factor)
    motor = q + 0.1, dq + 0.2 * np.sign(dq), 1.1 * ddq
    every = np.full(model.n, True)
    return Observation('run', np.arange(samples) * 0.01, q, dq, ddq, *motor, tau, None, decimator, every)


def test_rows_of_a_run_are_its_filtered_samples(model):
    """They are put together from pieces of 2048 samples, in blocks that overlap by the filter's reach."""
    run = observation(model, 5000, 1)
    rows = np.concatenate([block.rows for block in Problem(model, [run]).blocks()], axis=2)
    whole = ModelRows(model, model.base_parameters().independent).of(run, slice(None)).dense()
    expected = np.array([run.decimator.apply(joint.T).T for joint in whole])
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-12 * np.abs(whole).max())


def test_terms_of_no_joint_are_refused(two_links, observed):
    terms = terms_from_config({'elbow': [{'fourier': 1}]})
    with pytest.raises(JointDynamicsError, match="expected a joint of joint_1, joint_2, found 'elbow'"):
        Problem(two_links, [observed(1, 20)], terms)


@pytest.mark.parametrize('mounting', [None, (0.4, 0.0, 0.0)])
def test_the_weight_on_a_sliding_first_joint_is_an_offset(mounting, observed):
    """It is the same in every posture, however the joint leans; a joint that slides behind a turning one is none."""
    turn = {'alpha': np.pi / 2, 'a': 0.0, 'd': 0.0, 'theta': 0.0}
    slide = {**turn, 'type': 'prismatic'}
    lift = RobotModel.from_mdh({'joints': [{**slide, 'alpha': 0.0}, turn]}, mounting=mounting)
    assert Problem(lift, [observed(1, 300)]).lifts == ['joint_1']
    assert Problem(RobotModel.from_mdh({'joints': [turn, slide]}), [observed(1, 300)]).lifts == []


def test_prior_spread_is_a_share_of_mass_and_inertia():
    rng = np.random.default_rng(4)
    prior = StandardParameters(np.zeros(28), 2)
    prior.links[:] = rng.normal(size=(2, 10))
    prior.links[1] = 0.0
    names = [f'{kind}_{j}' for j in (1, 2) for kind in (*INERTIAL, 'Ia', 'Fv', 'Fc', 'off')]
    found = StandardParameters(prior_spread(SimpleNamespace(standard_names=names), prior.values), 2)
    largest = []
    for link, off in zip(prior.links, found.links, strict=True):
        mass = max(link[9], 1e-3)
        inertia = max(0.5 * (abs(link[0]) + abs(link[3]) + abs(link[5])), 1e-6)
        largest.append(inertia)
        np.testing.assert_allclose(off, [*[0.3 * inertia] * 6, *[0.3 * math.sqrt(mass * inertia)] * 3, 0.3 * mass])
    np.testing.assert_allclose(found.rotor_inertia, 30.0 * max(largest))
