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

"""Torques of a robot that compensates its own weight and reports the rest."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import identify
from joint_dynamics.identification.regression.residuals import overall_residual
from joint_dynamics.identification.validate import judge_description
from joint_dynamics.recording.conversions import Corrections

NOISE = 0.02
STATED = Corrections(torque_without_gravity=True)


@pytest.fixture(scope='module')
def weighed(true_robot):
    return true_robot.record(7, duration=16.0, rate=200.0, noise=NOISE)


@pytest.fixture(scope='module')
def weightless(true_robot, weighed):
    """The same recording less the gravity of the true bodies."""
    data = true_robot.rigid.createData()
    gravity = [pinocchio.computeGeneralizedGravity(true_robot.rigid, data, q) for q in weighed.q]
    return replace(weighed, tau=weighed.tau - gravity)


@pytest.fixture(scope='module')
def result(true_robot, weightless):
    return identify(true_robot.model, [replace(weightless, corrections=STATED)])


def test_missing_gravity_is_named_first_with_its_setting(true_robot, weightless):
    first = identify(true_robot.model, [weightless]).reasons[0]
    assert first.code == 'gravity'
    assert first.mend == {'recording': {'torque_without_gravity': True}}


def test_stated_kind_is_reliable_within_noise(result, weighed, weightless):
    assert result.reasons == []
    # The noise is a share of the torque with gravity, before any filter.
    share = 100 * NOISE * np.sqrt((weighed.tau**2).sum() / (weightless.tau**2).sum())
    assert overall_residual(result.training)[1] < share


def test_gravity_in_torques_stated_without_it_is_named(true_robot, weighed):
    reasons = identify(true_robot.model, [replace(weighed, corrections=STATED)]).reasons
    assert reasons[0].code == 'gravity'


def test_description_and_arm_have_no_gravity(result):
    description = DynamicsDescription.from_yaml(result.description.to_yaml())
    assert description.document['inertial']['gravity'] == 'none'
    arm = Arm.from_description(None, description)
    q = np.random.default_rng(1).uniform(-2, 2, (5, arm.n))
    assert not arm.link_torque(q, 0 * q, 0 * q).any()
    assert not arm.rigid.gravity(q[0]).any()
    # exports and simulators fall
    assert np.linalg.norm(description.robot_model().chain.gravity) == pytest.approx(9.81, abs=0.01)


def test_simulation_is_no_use_of_unknown_masses(result):
    uses = result.summary()['uses']
    assert 'gravity' in uses['simulation']
    assert uses['feedforward'] == ''


def test_recordings_of_both_kinds_are_not_mixed(true_robot, weighed, weightless):
    with pytest.raises(JointDynamicsError, match=weighed.name):
        identify(true_robot.model, [replace(weightless, corrections=STATED), weighed])


def test_validation_of_the_other_kind_is_refused(result, weighed):
    with pytest.raises(JointDynamicsError, match=weighed.name):
        judge_description(result.description, [weighed])
