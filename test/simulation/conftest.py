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

"""Small arms and motions for the tests of the plant."""

import numpy as np
import pytest

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Sensors, TrajectoryPoints, ur5e_urdf

VERTICAL = """<robot name="turntable"><link name="base"/><link name="table"><inertial><origin xyz="0.1 0.05 0.2"/>
  <mass value="5"/>
<inertia ixx="0.1" iyy="0.12" izz="0.4" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="table"/><axis xyz="0 0 1"/>
<limit lower="-6.28" upper="6.28" effort="150" velocity="3.14"/></joint></robot>"""

SLIDER = """<robot name="gantry"><link name="base"/><link name="rail"><inertial>
  <origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><mass value="4"/>
<inertia ixx="0.1" iyy="0.12" izz="0.08" ixy="0.01" ixz="-0.02" iyz="0.01"/></inertial></link>
<link name="arm"><inertial><origin xyz="0.2 0.1 0"/><mass value="2"/>
<inertia ixx="0.02" iyy="0.05" izz="0.06" ixy="0" ixz="0.01" iyz="0"/></inertial></link>
<link name="hand"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.012" izz="0.008" ixy="0" ixz="0" iyz="0.001"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="rail"/>
  <origin xyz="0.1 0 0.3" rpy="0.3 0 0"/><axis xyz="0.6 0 0.8"/>
<limit lower="-1" upper="1" effort="200" velocity="1"/></joint>
<joint name="swing" type="revolute"><parent link="rail"/><child link="arm"/><origin xyz="0 0.2 0" rpy="0 0.5 0.2"/>
  <axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="60" velocity="3"/></joint>
<joint name="branch" type="continuous"><parent link="rail"/><child link="hand"/><origin xyz="0 -0.2 0.1"/>
  <axis xyz="1 0 0"/>
<limit effort="20" velocity="3"/></joint></robot>"""


@pytest.fixture(scope='session')
def gantry_urdf():
    """A tree: a rail that slides, and two arms on it."""
    return SLIDER


@pytest.fixture(params=['ur5e', 'gantry', 'mounted'])
def model(request, gantry_urdf):
    """An arm, a tree with a slide, and an arm mounted at an angle."""
    if request.param == 'gantry':
        return RobotModel.from_urdf(gantry_urdf)
    return RobotModel.from_urdf(ur5e_urdf(), mounting=[0.4, -0.7, 0.2] if request.param == 'mounted' else None)


@pytest.fixture
def turntable():
    """A maker of turntables that are exactly the methods' model, with ideal sensors.

    Options as for FlexibleJointRobot.
    """

    def make(**options):
        return FlexibleJointRobot(VERTICAL, **{'errors': ModelErrors.none(), 'sensors': Sensors.ideal(), **options})

    return make


@pytest.fixture
def waves():
    """A maker of smooth motions about a posture, starting and ending at rest.

    q0 + size (1 − cos wt) sin²-windowed per joint.
    """

    def make(q0, duration, size=0.5, rate=100.0, speed=1.0):
        q0 = np.asarray(q0, dtype=float)
        t = np.arange(int(duration * rate) + 1) / rate
        w = 2 * np.pi * np.round(speed * duration * (0.2 + 0.04 * np.arange(q0.size))) / duration
        w = np.maximum(w, 2 * np.pi / duration)
        c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
        return TrajectoryPoints(t, q0 + size * (1 - c) / 2, size * w * s / 2, size * w**2 * c / 2)

    return make
