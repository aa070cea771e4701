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

"""Effort in trajectories, at as many points as linear interpolation needs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import FillSettings, Path, check_motion, create, fill_effort
from joint_dynamics.control.trajectory import MOST_STEPS, instants
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel


def test_a_quintic_through_the_points_is_the_motion(make_law, path):
    """A trajectory controller makes a quintic between the points; it must not wander off."""
    filled = fill_effort(make_law(), path)
    quintic = Path(filled.time, filled.q, filled.dq, filled.ddq, smooth=False)
    times = np.linspace(0, 5, 333)
    np.testing.assert_allclose(quintic.sample(times)[:, 0], path.sample(times)[:, 0], atol=1e-6)
    np.testing.assert_allclose(quintic.sample(times)[:, 1], path.sample(times)[:, 1], atol=1e-4)


def test_the_hysteresis_continues_in_the_next_trajectory(make_law, path):
    law = make_law('adaptive_friction')
    first, second = fill_effort(law, path), fill_effort(law, path)
    assert np.abs(first.effort[0] - second.effort[0]).max() > 1
    np.testing.assert_allclose(first.effort[-1], second.effort[-1], atol=1e-9)


def test_a_jump_of_the_law_is_limited_in_rate(make_law, path):
    rate = np.array([600.0] * 3 + [120.0] * 3)
    law = make_law('computed_torque', friction='static')
    filled = fill_effort(law, path, FillSettings(effort_rate=tuple(rate)))
    steps = np.diff(filled.effort, axis=0) / np.diff(filled.time)[:, None]
    assert (np.abs(steps) <= rate * (1 + 1e-9)).all()
    free = fill_effort(make_law('computed_torque', friction='static'), path, FillSettings(effort_rate=np.inf))
    assert np.abs(np.diff(free.effort, axis=0) / np.diff(free.time)[:, None]).max() > 600.0


def test_limits_of_a_current_are_those_of_the_torque(make_law):
    law = make_law('computed_torque', output='current')
    limit, rate = FillSettings(effort_limit=dict.fromkeys(law.arm.joint_names, 10.0)).bounds(law)
    np.testing.assert_allclose(limit, 10.0 / law.arm.drive_gain)
    np.testing.assert_allclose(rate, 50.0 * limit)
    own, _ = FillSettings(effort_limit=1e6).bounds(make_law())
    np.testing.assert_array_equal(own, law.arm.effort_limit)


def test_not_smooth_enough_is_refused(make_law, path):
    zero = np.zeros((3, 6))
    points = path.at(0.0)[0], path.at(2.5)[0], path.at(5.0)[0]
    quintic = Path([0, 2.5, 5], points, zero, zero, smooth=False)
    with pytest.raises(JointDynamicsError, match=r'4 times.*found 3 times'):
        fill_effort(make_law('flexible_joint'), quintic)
    fill_effort(make_law('computed_torque'), quintic)
    with pytest.raises(JointDynamicsError, match=r'2 times.*found 1 times'):
        fill_effort(make_law('computed_torque'), Path([0, 2.5, 5], points, smooth=False))
    jerky = Path([0, 2.5, 5], points, zero, zero + np.array([[1.0], [0.0], [0.0]]))
    assert jerky.derivatives == 2
    with pytest.raises(JointDynamicsError, match='found 2 times'):
        check_motion(make_law('flexible_joint'), jerky)
    check_motion(make_law('flexible_joint'), path)


def test_a_motion_beyond_the_limits_names_joint_and_time(make_arm, make_law, path):
    zero = np.zeros((2, 6))
    here = path.at(0.0)[0]
    far = here + np.array([2.0, 0, 0, 0, 0, 0])
    with pytest.raises(JointDynamicsError, match=r'at 0\.\d+ s speed of shoulder_pan_joint'):
        fill_effort(make_law(), Path([0, 0.8], [here, far], zero, zero))
    beyond = here.copy()
    beyond[2] = 4.0
    with pytest.raises(JointDynamicsError, match='position of elbow_joint'):
        fill_effort(make_law(), Path([0, 5], [here, beyond], zero, zero))
    heavy = make_arm().with_payload(25.0, [0, 0, 0.1])
    with pytest.raises(JointDynamicsError, match='shoulder_lift_joint'):
        fill_effort(make_law(arm=heavy), path)


@pytest.mark.parametrize('joint', [1, 4])
def test_the_first_instant_with_too_much_torque_is_named(make_law, path, joint):
    """Each joint by itself, upwards or downwards; torques that are within their limit at the beginning."""
    time = np.linspace(0.0, 5.0, 2501)
    torque = make_law().effort_along(path.sample(time))
    size = np.abs(torque)
    limit = 1.01 * size.max(axis=0)
    limit[joint] = 0.5 * (size[0, joint] + size[:, joint].max())
    first = int(np.argmax(size[:, joint] > limit[joint]))
    assert 0.1 < time[first] < 5.0
    law = make_law()
    named = rf'{time[first]:.3f} s torque of {law.arm.joint_names[joint]} is {torque[first, joint]:.4g}'
    with pytest.raises(JointDynamicsError, match=named[:-1]):
        fill_effort(law, path, FillSettings(effort_limit=tuple(limit)))


ROD = (
    '<robot name="rod"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="hinge" type="{}"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>{}</joint></robot>'
)


def test_a_joint_without_a_limit_of_speed_may_be_fast():
    zero = np.zeros((2, 1))
    fast = Path([0.0, 0.1], [[0.0], [2.0]], zero, zero)
    free, slow = (
        create('computed_torque', Arm(RobotModel.from_urdf(ROD.format(*kind))))
        for kind in (('continuous', ''), ('revolute', '<limit lower="-3" upper="3" effort="1e6" velocity="5"/>'))
    )
    assert np.abs(fill_effort(free, fast, FillSettings(effort_limit=1e6)).dq).max() > 30
    with pytest.raises(JointDynamicsError, match='speed of hinge'):
        fill_effort(slow, fast, FillSettings(effort_limit=1e6))
    # A limit of the effort has to be known.
    with pytest.raises(JointDynamicsError, match='hinge'):
        fill_effort(free, fast)


def test_a_refused_trajectory_leaves_no_trace(make_law, path):
    law = make_law('adaptive_friction')
    with pytest.raises(JointDynamicsError):
        fill_effort(law, path, FillSettings(effort_limit=20.0))
    motion = path.sample([0.1, 0.2])
    np.testing.assert_array_equal(law.effort_along(motion), make_law('adaptive_friction').effort_along(motion))


@pytest.mark.parametrize(
    ('effort', 'named'),
    [
        (lambda motion: motion[:, 0] * np.nan, 'not finite'),
        (lambda motion: motion[:, 0, :3], r'\(\d+, 3\)'),
        (lambda motion: 1 // 0, 'ZeroDivisionError'),
    ],
)
def test_a_law_that_fails_is_refused(arm, given_law, path, effort, named):
    with pytest.raises(JointDynamicsError, match=named):
        fill_effort(given_law(arm, effort), path)


def test_a_trajectory_too_long_to_plan_is_refused(make_law, path):
    here = np.tile(path.at(0.0)[0], (2, 1))
    with pytest.raises(JointDynamicsError, match=str(MOST_STEPS)):
        fill_effort(make_law(), Path([0.0, 2e9], here))


def test_positions_of_the_motor_side_begin_without_a_jump(make_law, path):
    law, use = make_law('flexible_joint'), FillSettings(trajectory_side='motor')
    link, motor = fill_effort(make_law('flexible_joint'), path), fill_effort(law, path, use)
    np.testing.assert_array_equal(motor.time, link.time)
    np.testing.assert_array_equal(motor.effort, link.effort)
    np.testing.assert_allclose(motor.q[0], link.q[0], atol=1e-12)
    later = motor.time > 0.5
    reference = law.motor_motion(path.sample(motor.time[later]))
    np.testing.assert_allclose(np.stack([motor.q, motor.dq, motor.ddq], axis=1)[later], reference, atol=1e-9)
    np.testing.assert_allclose(motor.offset, reference[-1, 0] - link.q[-1], atol=1e-12)
    assert np.abs(motor.offset).max() > 1e-4
    # The next one continues from there: no jump again.
    back = Path([0.0, 2.5], [path.at(5.0)[0], path.at(0.0)[0]], np.zeros((2, 6)), np.zeros((2, 6)))
    on = fill_effort(law, back, use, offset=motor.offset)
    np.testing.assert_allclose(on.q[0], motor.q[-1], atol=1e-12)
    with pytest.raises(JointDynamicsError, match='ComputedTorque'):
        fill_effort(make_law('computed_torque'), path, use)


def test_a_speed_loop_on_the_motor_gets_the_speed_of_the_motor(make_arm, make_law, path):
    gain = np.array([200.0, 150.0, 0.0, 20.0, 20.0, 10.0])

    def law():
        return make_law('flexible_joint', make_arm(friction=None), friction='none')

    plain, more = (
        fill_effort(law(), path, FillSettings(max_spacing=0.002, speed_gain=value)) for value in (0.0, tuple(gain))
    )
    np.testing.assert_array_equal(more.q, plain.q)
    motion = path.sample(plain.time)
    expected = gain * (law().motor_motion(motion)[:, 1] - motion[:, 1])
    np.testing.assert_allclose(more.effort - plain.effort, expected, atol=1e-9)
    assert np.abs(expected).max() > 0.1
    with pytest.raises(JointDynamicsError, match='trajectory_side'):
        fill_effort(law(), path, FillSettings(trajectory_side='motor', speed_gain=tuple(gain)))
    with pytest.raises(JointDynamicsError, match='ComputedTorque'):
        fill_effort(make_law('computed_torque'), path, FillSettings(speed_gain=tuple(gain)))


@pytest.mark.parametrize('kind', ['position', 'speed'])
def test_a_limit_broken_between_two_steps_is_detected(make_arm, make_law, path, kind):
    """With steps of 50 ms the law never meets the peak; the limit is between the law's largest value and the peak."""
    path = Path([0.0, 1.5, 3.5, 5.0], np.array([path.at(t)[0] for t in (0.0, 2.5, 5.0, 4.0)]))
    use, row = FillSettings(plan_period=0.05), ('position', 'speed').index(kind)
    steps, fine = (
        np.abs(path.sample(times)[:, row]).max(axis=0) for times in (instants(path, 0.05), np.linspace(0, 5, 100001))
    )
    joint = int(np.argmax((fine - steps) / fine))
    assert fine[joint] > steps[joint] * (1 + 1e-6)
    limit = (fine[joint] + steps[joint]) / 2
    law = make_law()
    limits, this = law.arm.robot.limits, np.arange(6) == joint
    if kind == 'speed':
        changed = replace(limits, velocity=np.where(this, limit, limits.velocity))
    else:
        changed = replace(limits, lower=np.where(this, -limit, limits.lower), upper=np.where(this, limit, limits.upper))
    law.arm.robot.limits = changed
    try:
        with pytest.raises(JointDynamicsError, match=rf's {kind} of {law.arm.joint_names[joint]}'):
            fill_effort(law, path, use)
    finally:
        law.arm.robot.limits = limits
    fill_effort(law, path, use)


@pytest.mark.parametrize(
    ('ends', 'period', 'steps'),
    [([2.5, 5.0], 0.025, 200), ([2.5, 5.0], 0.03, 168), ([1.1], 0.01, 110), ([0.3], 0.01, 30)],
)
def test_the_law_steps_evenly_from_point_to_point(path, ends, period, steps):
    """No step longer than the period, and none more for the rounding of a whole number of them."""
    here = np.tile(path.at(0.0)[0], (len(ends) + 1, 1))
    times = instants(Path([0.0, *ends], here, np.zeros_like(here), np.zeros_like(here)), period)
    assert len(times) == steps + 1
    assert np.diff(times).max() <= period * (1 + 1e-9) and set(ends) <= set(times)


@pytest.mark.parametrize('law', ['computed_torque', 'adaptive_friction', 'flexible_joint'])
def test_the_fewest_points_keep_the_tolerance(make_law, path, law):
    shares, use = [], FillSettings(plan_period=0.01, effort_tolerance=0.02, max_spacing=0.3)
    found = fill_effort(make_law(law), path, use, tell=shares.append)
    time = instants(path, 0.01)
    motion, own = path.sample(time), make_law(law)
    effort = own.effort_along(motion)
    keep = np.searchsorted(time, found.time - 1e-9)
    np.testing.assert_allclose(found.effort, effort[keep], atol=1e-9)
    for row, name in enumerate(('q', 'dq', 'ddq')):
        np.testing.assert_allclose(getattr(found, name), motion[keep, row], atol=1e-9)
    assert np.diff(found.time).max() <= 0.3 + 1e-9 and {0.0, 2.5, 5.0} <= set(np.round(found.time, 9))
    line = np.stack([np.interp(time, found.time, found.effort[:, j]) for j in range(6)], axis=1)
    allowed = 0.02 * own.arm.effort_limit
    assert (np.abs(line - effort) <= allowed + 1e-9).all()
    np.testing.assert_allclose(found.error, np.abs(line - effort).max(axis=0), atol=1e-9)
    assert shares[-1] == 1.0 and shares == sorted(shares)
    for i, j in pairwise(keep):
        # one further would have been beyond the tolerance, the spacing, or a point of the path
        k = j + 1
        if j >= len(time) - 1 or time[j] in path.times or time[k] - time[i] > 0.3 + 1e-9:
            continue
        share = ((time[i + 1 : k] - time[i]) / (time[k] - time[i]))[:, None]
        off = np.abs(effort[i] + share * (effort[k] - effort[i]) - effort[i + 1 : k])
        assert (off > allowed).any()
