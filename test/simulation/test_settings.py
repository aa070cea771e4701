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

"""Heat, wear, payload, sensors and the switches of the model errors."""

from dataclasses import fields

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import Command, FlexibleJointRobot, ModelErrors, Payload, Sensors, play


def stand(robot, ticks):
    return robot.run(Command.track(np.tile(robot.truth.position, (ticks, 1))))


def test_outside_heat_reaches_the_temperature_the_path_allows(turntable):
    robot = turntable(seed=1, heat_speed=2000.0, temperature=20.0)
    robot.set_heating(12.0)
    stand(robot, 10000)
    assert robot.truth.temperature[0] == pytest.approx(20.0 + 12.0 * robot.drives.joint_path[0], rel=0.01)
    robot.set_heating(0.0)
    stand(robot, 10000)
    assert robot.truth.temperature[0] == pytest.approx(20.0, abs=0.3)


def test_losses_heat_the_joints_and_heat_changes_friction(waves):
    robot = FlexibleJointRobot(seed=1, heat_speed=1000.0, temperature=15.0)
    speed = np.full((1, 6), 1.0)
    cold = robot.truth.friction(speed)
    play(robot, waves(robot.truth.position, 4.0, size=1.5))
    assert (robot.truth.temperature > 17.0).all()
    assert (robot.truth.winding_temperature > 15.0).all()
    assert (robot.truth.friction(speed) < cold).all()


def test_the_sensor_lags_behind_the_gear(turntable):
    robot = turntable(seed=1, errors=ModelErrors(temperature_lag=10.0), temperature=20.0, heat_speed=0.0)
    robot.set_temperature(50.0, sensed=20.0)
    samples = stand(robot, 10000)
    assert samples.temperature[-1, 0] == pytest.approx(50.0 - 30.0 * np.exp(-1.0), abs=0.1)
    robot.set_temperature(40.0)
    assert stand(robot, 1).temperature[0, 0] == pytest.approx(40.0, abs=0.1)


def test_wear_comes_slowly_and_takes_stiffness_and_adds_friction():
    robot = FlexibleJointRobot(seed=1)
    stiffness, coulomb = robot.truth.stiffness, robot.truth.coulomb
    robot.set_wear([1.0, 0.5, 0, 0, 0, 0], duration=2.0)
    stand(robot, 1000)
    np.testing.assert_allclose(robot.truth.wear, [0.5, 0.25, 0, 0, 0, 0], atol=1e-9)
    stand(robot, 1500)
    np.testing.assert_allclose(robot.truth.wear, [1.0, 0.5, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(robot.truth.stiffness[:2] / stiffness[:2], [[0.75] * 2, [0.875] * 2])
    np.testing.assert_allclose(robot.truth.coulomb[:3] / coulomb[:3], [1.6, 1.3, 1.0])
    with pytest.raises(JointDynamicsError, match='wear within'):
        robot.set_wear(1.5)


def test_a_payload_comes_and_goes():
    robot = FlexibleJointRobot(seed=1)
    q = robot.truth.position
    before = robot.truth.parameters
    robot.attach_payload(Payload(4.0, (0.0, 0.0, 0.1)))
    assert robot.truth.parameters[14 * 5 + 9] == pytest.approx(before[14 * 5 + 9] + 4.0)
    heavy = stand(robot, 3000).transmission_torque[-1]
    robot.attach_payload(None)
    np.testing.assert_allclose(robot.truth.parameters, before)
    light = stand(robot, 3000).transmission_torque[-1]
    # Four kilogrammes pull on the shoulder, and the controller has brought the arm back both times.
    assert np.abs(heavy - light)[1] > 10.0
    assert np.abs(robot.truth.position - q).max() < 2e-3


def test_encoders_are_quantised_and_currents_are_noisy(waves):
    robot = FlexibleJointRobot(seed=1, errors=ModelErrors.none(), sensors=Sensors(link_bits=16, motor_bits=12))
    samples = play(robot, waves(robot.truth.position, 1.0))
    link, motor = 2 * np.pi / 2**16, 2 * np.pi / 2**12 / 101
    np.testing.assert_allclose(samples.q / link, np.rint(samples.q / link), atol=1e-6)
    np.testing.assert_allclose(samples.theta / motor, np.rint(samples.theta / motor), atol=1e-4)
    assert np.abs(samples.q - samples.true_q).max() <= link / 2 * (1 + 1e-6)
    still = FlexibleJointRobot(seed=1, errors=ModelErrors.none())
    # Differences: the integral of the controller creeps a little against friction.
    noise = np.diff(stand(still, 4000).current, axis=0).std(axis=0) / np.sqrt(2)
    np.testing.assert_allclose(noise, 0.004 * still.drives.max_current, rtol=0.1)
    steps = stand(still, 200).temperature / 0.1
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)


@pytest.mark.parametrize('name', [field.name for field in fields(ModelErrors)])
def test_every_model_error_changes_the_motion(name, waves):
    default, none = ModelErrors(), ModelErrors.none()
    assert getattr(default, name) != getattr(none, name)
    runs = []
    for errors in (none, ModelErrors(**{**none.__dict__, name: getattr(default, name)})):
        robot = FlexibleJointRobot(seed=1, errors=errors, sensors=Sensors.ideal(), heat_speed=50.0)
        runs.append(play(robot, waves(robot.truth.position, 1.0)))
    changed = [
        np.abs(getattr(runs[0], what) - getattr(runs[1], what)).max() for what in ('current', 'temperature', 'effort')
    ]
    assert max(changed) > 1e-6


@pytest.mark.parametrize('options', [{'dynamics': 'mujoco'}, {'floor': 0.0}])
def test_another_engine_and_its_floor_are_refused(options):
    with pytest.raises(JointDynamicsError) as caught:
        FlexibleJointRobot(**options)
    assert next(iter(options)) in str(caught.value) and '0.3.0' in str(caught.value)
