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

"""Whether the robot rests before a motion is sent, and its controller goes along with it."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from joint_dynamics.nodes.interfaces import robot_states
from joint_dynamics.nodes.interfaces.robot_states import MAX_LISTENING_STEP, Listening, RobotStates
from joint_dynamics.nodes.interfaces.trajectory_controller import BEGUN_DISTANCE, STANDING_DISTANCE, SentMotion

BEGAN = 100.0  # s
LATE = 0.1  # s
PLACE = np.array([0.3, -0.2])


def swing(time):
    """Two swings of 0.2 rad, back at the place where it began in between."""
    return PLACE + 0.1 * (1 - np.cos(2 * np.pi * time))


@pytest.fixture
def sent():
    return SentMotion(swing, 2.0, BEGAN, PLACE, LATE)


def test_resting_reference_has_not_taken_the_motion(sent):
    times = np.linspace(0.0, 0.5, 51)  # s after it might have begun
    told = [sent.not_taken((BEGAN + LATE + time, PLACE + 0.9 * STANDING_DISTANCE)) for time in times]
    assert told == [np.abs(swing(time) - PLACE).max() > BEGUN_DISTANCE for time in times]
    assert any(told)


def test_late_reference_has_taken_the_motion(sent):
    """As a controller does that slows the motion down: at the end of a swing it stands where it began."""
    assert np.abs(swing(1.0 + 0.9 * LATE) - PLACE).max() > 0.5 * BEGUN_DISTANCE
    for time in np.arange(0.0, 2.0, 0.02):
        assert not sent.not_taken((BEGAN + time, swing(max(time - 0.9 * LATE, 0.0))))


def test_without_the_reference_before_or_now_nothing_is_said(sent):
    assert not sent.not_taken(None)
    assert not SentMotion(swing, 2.0, BEGAN).not_taken((BEGAN + 0.5, PLACE))


@pytest.mark.parametrize('first', [0, 20, 140, 300])
def test_still_robot_rests_at_every_simulated_stamp(first):
    """Stamps are multiples of the simulation's step, so that some lie the required time apart, up to rounding."""
    clock = [0.0]
    states = RobotStates(('axis',), lambda: clock[0])
    for k in range(1000):
        stamp = Time(sec=first + k // 500, nanosec=k % 500 * 2_000_000)
        clock[0] = stamp.sec + 1e-9 * stamp.nanosec
        message = JointState(name=['axis'], position=[0.3], velocity=[0.0])
        message.header.stamp = stamp
        states.take(message)
        assert k <= 100 or states.resting(1.0, 0.01) is not None


def test_listening_time_stands_while_the_executor_is_blocked(monkeypatch):
    now = [5.0]
    monkeypatch.setattr(robot_states, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    listening = Listening()
    for now[0] in (5.02, 60.0):
        listening.tick()
    assert listening.time == pytest.approx(0.02 + MAX_LISTENING_STEP)
