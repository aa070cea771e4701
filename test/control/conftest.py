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

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import Law, Path, create
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

WAYPOINTS = np.radians([[-110, 0, 0, -90, 90, 0], [-70, -30, -90, -130, 50, 120], [-140, -10, -130, -40, 125, 10]])


@pytest.fixture(scope='session')
def robot():
    return RobotModel.from_urdf(ur5e_urdf())


@pytest.fixture
def make_arm(robot):
    """An arm with every field; `changes` replace fields."""

    def make(**changes):
        rng = np.random.default_rng(5)
        n = robot.n
        friction = FrictionModel(
            {
                'F_C0': np.array([7.0, 7, 6, 2, 2, 2]),
                'F_C1': 1e-3,
                'F_S': np.array([8.0, 8, 7, 2.5, 2.5, 2.5]),
                'F_V1': 6.0,
                'F_T1': -0.05,
            },
            MaxwellSlip(n, 5e-4),
        )
        values = {
            'rotor_inertia': np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2]),
            'drive_gain': rng.uniform(8, 14, n),
            'friction': friction,
            'stiffness': TorsionalStiffness([2e4, 1e8]),
            'damping': np.full(n, 5.0),
            'kinematic_error': PeriodicMap(rng.normal(0, 1e-4, 90)),
        }
        return Arm(robot, **{**values, **changes})

    return make


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def make_law(make_arm):
    """A law by name, on an arm."""

    def make(law='computed_torque', arm=None, **parameters):
        return create(law, arm or make_arm(), **parameters)

    return make


class GivenLaw(Law):
    """A law of somebody else: what `effort(motion)` returns."""

    def __init__(self, arm, effort):
        super().__init__(arm, {})
        self._effort = effort

    def effort_along(self, motion):
        return self._effort(motion)


@pytest.fixture(scope='session')
def given_law():
    """See GivenLaw."""
    return GivenLaw


@pytest.fixture
def path():
    """A smooth motion through three points of the thesis's cycle, at rest at each."""
    zero = np.zeros_like(WAYPOINTS)
    return Path([0.0, 2.5, 5.0], WAYPOINTS, zero, zero)
