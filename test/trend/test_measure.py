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

"""The measurement of one run against its true changes."""

import numpy as np
import pytest

from joint_dynamics.recording import Recording
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints
from joint_dynamics.trend.measure import measure_recording


def by_name(figures, quantity):
    return {figure.joint: figure for figure in figures if figure.quantity == quantity}


def test_friction_that_grew_is_measured(fleet):
    more_coulomb, more_viscous = np.array([1.2, -0.4]), np.array([0.5, 0.0])
    errors = []
    for seed in range(12):
        found = measure_recording(fleet.record(seed, more_coulomb, more_viscous), fleet.description())
        for quantity, wanted in (
            ('coulomb', np.array([4.0, 2.0]) + more_coulomb),
            ('viscous', np.array([3.0, 1.5]) + more_viscous),
        ):
            figures = by_name(found, quantity)
            errors += [
                (figures[name].value - value) / figures[name].std
                for name, value in zip(fleet.names, wanted, strict=True)
            ]
            assert [figures[name].reference for name in fleet.names] == [4.0, 2.0] if quantity == 'coulomb' else True
    # t with some eight degrees of freedom, stretched to the normal's 95 %: of 48 errors 46 within two deviations.
    assert np.mean(np.abs(errors) < 1.96) > 0.8
    assert np.abs(errors).max() < 6.0
    assert abs(np.mean(errors)) < 4.0 / np.sqrt(len(errors))


def test_the_residual_is_that_of_the_reference(fleet):
    new, worn = (
        by_name(measure_recording(fleet.record(1, level), fleet.description()), 'residual') for level in (0.0, 3.0)
    )
    assert all(worn[name].value > 1.5 * new[name].value for name in fleet.names)


def test_friction_of_a_resting_joint_is_left_out(fleet):
    run = fleet.record(2)
    q = run.q.copy()
    q[:, 1] = 0.3
    found = measure_recording(Recording(run.joint_names, run.time, q, tau=run.tau), fleet.description())
    assert set(by_name(found, 'coulomb')) == {fleet.names[0]}


@pytest.mark.slow
def test_stiffness_and_backlash_of_a_plant_that_wears():
    """A UR5e with two encoders per joint: what wear does to the shoulder is seen."""
    from joint_dynamics.identification import IdentificationSettings, identify
    from joint_dynamics.simulation import initial_posture, record

    robot = FlexibleJointRobot(seed=3, rate=500.0)
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 10.0, 0.01)
    k = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = 0.4 * rng.normal(size=(2, 5, 6))
    sine, cosine = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    q = initial_posture(robot.model) + sine @ (a / k[:, None]) - cosine @ (b / k[:, None])
    points = TrajectoryPoints(t, q, cosine @ a + sine @ b, -sine @ (a * k[:, None]) + cosine @ (b * k[:, None]))
    new = record(robot, points, torque=True)
    reference = identify(robot.model, [new], settings=IdentificationSettings(selection=False)).description
    name = robot.model.joint_names[1]
    robot.set_wear(np.where(np.arange(6) == 1, 1.0, 0.0))
    robot.place(points.q[0])
    worn = record(robot, points, torque=True)
    before, after = (measure_recording(run, reference) for run in (new, worn))
    fell = by_name(after, 'stiffness')[name].value / by_name(before, 'stiffness')[name].value
    assert fell < 0.9  # wear takes a quarter
    grew = by_name(after, 'coulomb')[name].value / by_name(before, 'coulomb')[name].value
    assert 1.3 < grew < 2.0  # wear adds 0.6 of it
