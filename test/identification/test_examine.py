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

"""What a recording is told to have wrong, and what could be identified from it."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.examine import examine
from joint_dynamics.recording import Recording
from joint_dynamics.robot.limits import JointLimits


@pytest.fixture(scope='module')
def good(true_robot):
    return true_robot.record(7, duration=16.0, rate=200.0)


def test_of_a_good_recording_nothing_is_wrong(true_robot, good):
    found = examine(true_robot.model, good)
    assert found.reasons == ()
    (line,) = (line for line in found.able if 'base parameters' in line)
    assert line.startswith(f'{len(found.result.names)} of {len(found.result.names)} ')
    assert any('motor positions' in line for line in found.unable)
    assert any('temperatures' in line for line in found.unable)
    for j, joint in enumerate(found.joints):
        assert joint.name == true_robot.model.joint_names[j]
        assert joint.travel == np.ptp(good.q[:, j])
        assert joint.effort == pytest.approx(np.sqrt(np.mean(good.tau[:, j] ** 2)))
        assert 0.0 <= joint.resting <= 1.0
        # The noise of the torque, about, below the filter's cut-off.
        assert joint.left < 3.0


@pytest.mark.parametrize('name', ['run', 'folder/run'])
def test_what_is_odd_of_a_recording_is_told_once(true_robot, good, name):
    odd = 'resampled at 200 Hz'
    assert [note for note in examine(true_robot.model, replace(good, name=name, notes=(odd,))).odd if odd in note] == [
        odd
    ]


def test_a_position_outside_the_robot_files_limits_is_odd(true_robot, good, monkeypatch):
    """By joint, time and value; a position at the limit is inside."""
    limits, k = JointLimits.unlimited(good.n), int(np.argmax(good.q[:, 1]))
    limits.upper[:2], limits.lower[2] = good.q[:, :2].max(axis=0) - [0.0, 0.25], good.q[:, 2].min()
    monkeypatch.setattr(true_robot.model, 'limits', limits)
    told = [line for line in examine(true_robot.model, good).odd if 'outside' in line]
    assert told == [
        f"joint_2 is at {good.q[k, 1]:.5g} rad at {good.time[k]:.4g} s, outside the robot file's limits"
        f' -inf … {limits.upper[1]:.5g} rad'
    ]


def test_signals_are_examined_without_identification(true_robot, good):
    still = replace(good, q=np.where(np.arange(good.n) == 1, good.q, good.q[0]))
    found = examine(true_robot.model, still.window(0.0, 1.0))
    assert found.result is None
    assert found.unable[0].startswith('dynamics of the robot: ')
    assert np.isnan(found.joints[1].left)
    assert found.joints[1].travel > 0.0 == found.joints[0].travel
    current = examine(true_robot.model, replace(good, tau=None, current=good.tau / 10.0))
    assert current.result is None
    assert 'drive' in current.unable[0]
    with pytest.raises(JointDynamicsError, match='expected the joints'):
        examine(true_robot.model, replace(good, joint_names=tuple(f'x{j}' for j in range(good.n))))


def test_recording_without_torque_is_examined(two_links):
    t = 0.01 * np.arange(400)
    q = np.stack([t, np.sin(4 * t)], axis=1)
    names = two_links.joint_names
    found = examine(two_links, Recording(names, t, q, name='run'))
    assert found.result is None and found.able == ()
    for lines, starts in (
        (found.odd, ('no measured speeds', 'neither torque nor current')),
        (found.unable, (
            'dynamics of the robot: ', 'stiffness, kinematic error, backlash: expected motor positions, found none',
            'friction over temperature: expected joint temperatures, found none',
        )),
    ):  # fmt: skip
        assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == list(starts)
    first, second = found.joints
    assert (first.name, first.travel, first.resting) == (names[0], pytest.approx(t[-1]), 0.0)
    assert first.fastest == pytest.approx(1.0)
    for figures in found.joints:
        assert np.isnan([figures.effort, figures.left]).all()
    speed = np.abs(np.gradient(q[:, 1], 0.01))
    assert second.fastest == pytest.approx(np.quantile(speed, 0.99))
    assert second.resting == pytest.approx(np.mean(speed <= 0.01))


def test_motor_side_and_temperatures_are_examined_without_torque(two_links):
    t, names = 0.01 * np.arange(400), two_links.joint_names
    q, warm = np.stack([t, np.sin(4 * t)], axis=1), 20.0 + np.outer(t, [0.5, 0.7])
    both = examine(two_links, Recording(names, t, q, theta=q, temperature=warm, name='run'))
    (line,) = both.able
    assert line.startswith('stiffness, kinematic error and backlash')
    assert 'temperature: expected a change of 3 °C, found 2.8 °C' in both.unable[1]
    warmer = examine(two_links, Recording(names, t, q, temperature=2 * warm, name='run'))
    (line,) = warmer.able
    assert line.startswith('friction over temperature') and '5.59 °C' in line
