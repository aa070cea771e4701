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

"""The whole chain in one process on a robot whose laws are not the methods'."""

from dataclasses import replace

import numpy as np

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.control import create
from joint_dynamics.demo import scenario
from joint_dynamics.demo.comparison import map_nrmse
from joint_dynamics.demo.scenario import GAIN_DEVIATION
from joint_dynamics.identification.observations import observe
from joint_dynamics.identification.validate import predicted_torque


def test_plant_differs_from_the_model(chain):
    urdf = np.array([body.mass for body in list(chain.model.pinocchio.inertias)[1:]])
    assert np.abs(chain.robot.truth.links.mass[:-1] / urdf[:-1] - 1).max() > 0.05
    assert chain.robot.truth.links.mass[-1] > urdf[-1] + 1.5


def test_robot_is_identified(chain):
    assert not chain.result.reasons
    figures = chain.figures()
    # Linear friction columns on other laws, ± 20 % bodies and an unknown tool: the torque of a motion not trained on,
    # moving joints.
    assert figures['work_residual_percent'] < 3.0
    assert figures['median_error_percent'] < 15.0


def test_stiffness_is_learnt(chain):
    missed = 100.0 - chain.figures()['stiffness_nrmse']
    # Drive gains are off their data sheet, invisible to recordings and estimator; a play of another law shifts the
    # deformation by all of itself at most. Two deviations in the mean.
    joints, stiffness = chain.result.description.document['joints'].values(), chain.estimator.stiffness
    reach = np.array([joint['stiffness']['range'][1] for joint in joints])
    deviation = 100.0 * np.hypot(GAIN_DEVIATION, np.sqrt(stiffness.variance(reach)) / stiffness.torque(reach))
    assert missed.mean() < 2.0 * deviation.mean()


def test_adaptation_makes_no_worn_joint_worse(chain):
    figures = chain.figures()
    assert (figures['worn_torque_left_percent'] < 100.0).all()
    assert (figures['worn_tracking_left_percent'] < 100.0).all()


def test_estimator_follows_worn_stiffness(chain):
    """The mean error of the map is less than a quarter of that of the map when new, and half at each joint."""
    ignored = 100.0 - map_nrmse(chain.arm.stiffness, chain.model, scenario.cycle(), chain.robot.truth.as_document())
    followed = 100.0 - chain.figures()['worn_stiffness_nrmse']
    assert (ignored > 20.0).all()
    assert followed.mean() < 0.25 * ignored.mean()
    assert (followed < 0.5 * ignored).all()


def test_feedforward_reduces_tracking_error(chain):
    alone, static, adaptive = (chain.tracking[law].mean() for law in ('none', 'static', 'adaptive'))
    assert static < 0.5 * alone
    assert adaptive < 0.5 * alone
    assert chain.torque['adaptive'].mean() < 0.1 * chain.torque['none'].mean()


def test_law_plays_the_predicted_torque(chain):
    """Along the recorded work, its link side alone: the law has no motor encoder to look at."""
    work = replace(chain.recordings[-1], theta=None, dtheta=None).window(0.0, 4.0)
    sheet = dict(zip(chain.robot.joint_names, map(float, chain.robot.nominal_gains), strict=True))
    observation = observe(work.select(chain.model.joint_names), chain.result.plan, sheet)
    # a law lets friction that is described without hysteresis turn over within a tenth of a milliradian
    arm, _ = with_reversal(chain.arm)
    law, zero = create('adaptive_friction', arm), np.zeros(arm.n)
    played = []
    for k, (q, dq, ddq) in enumerate(zip(observation.q, observation.dq, observation.ddq, strict=True)):
        if observation.temperature is not None:
            law.adapt(observation.temperature[k], np.full((arm.n, 2), np.nan))
        played.append(law.effort_along(np.array([[q, dq, ddq, zero, zero]]))[0])
    # rounding of torques below 200 N·m is a thousand times less
    np.testing.assert_allclose(np.array(played), predicted_torque(arm, observation), rtol=0, atol=1e-9)


def test_no_contact_is_reported_without_touch(chain):
    assert chain.contacts <= 0.02 * chain.learned


def test_one_short_motion_identifies_the_robot(make_chain):
    short = make_chain(1, repeats=1)
    short.record()
    short.identify()
    assert not short.result.reasons
    assert short.result.summary()['validation_moving_overall_percent'] < 3.0
    assert Arm.from_description(short.model, short.result.description).stiffness is not None
