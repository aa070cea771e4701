"""Trajectory mode: the torque at as many points as linear interpolation needs."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import ControlLoop, LoopSettings, Path, check_motion, create, fill_effort
from joint_dynamics.control.trajectory import instants
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel
from joint_dynamics.robot import RobotModel


def test_the_motion_between_the_points_is_the_motion(make_loop, path):
    """A trajectory controller makes a quintic between the points; it must not wander off."""
    filled = fill_effort(make_loop(), path)
    quintic = Path(filled.time, filled.q, filled.dq, filled.ddq, smooth=False)
    for time in np.linspace(0, 5, 333):
        np.testing.assert_allclose(quintic.at(time)[0], path.at(time)[0], atol=1e-6)
        np.testing.assert_allclose(quintic.at(time)[1], path.at(time)[1], atol=1e-4)


def test_a_tighter_tolerance_asks_for_more_points(make_loop, path):
    counts = [
        len(fill_effort(make_loop('adaptive_friction'), path, tolerance=share).time) for share in (0.02, 0.004, 0.0005)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_the_hysteresis_goes_on_from_one_trajectory_to_the_next(make_loop, path):
    loop = make_loop('adaptive_friction')
    first, second = fill_effort(loop, path), fill_effort(loop, path)
    assert np.abs(first.effort[0] - second.effort[0]).max() > 1
    np.testing.assert_allclose(first.effort[-1], second.effort[-1], atol=1e-9)


def test_a_jump_of_the_law_is_limited_in_rate(make_loop, path):
    loop = make_loop('computed_torque', settings=LoopSettings(effort_rate=[600.0] * 3 + [120.0] * 3), friction='static')
    filled = fill_effort(loop, path)
    steps = np.diff(filled.effort, axis=0) / np.diff(filled.time)[:, None]
    assert (np.abs(steps) <= loop.gate.rate * (1 + 1e-9)).all()


def test_not_smooth_enough_is_refused(make_loop, path):
    zero = np.zeros((3, 6))
    points = path.at(0.0)[0], path.at(2.5)[0], path.at(5.0)[0]
    quintic = Path([0, 2.5, 5], points, zero, zero, smooth=False)
    with pytest.raises(JointDynamicsError, match='4 times differentiable, as the law needs it, found 3 times'):
        fill_effort(make_loop('flexible_joint'), quintic)
    fill_effort(make_loop('computed_torque'), quintic)
    with pytest.raises(JointDynamicsError, match='2 times differentiable, as the law needs it, found 1 times'):
        fill_effort(make_loop('computed_torque'), Path([0, 2.5, 5], points, smooth=False))
    jerky = Path([0, 2.5, 5], points, zero, zero + np.array([[1.0], [0.0], [0.0]]))
    assert jerky.derivatives == 2
    with pytest.raises(JointDynamicsError, match='found 2 times'):
        check_motion(make_loop('flexible_joint'), jerky)
    check_motion(make_loop('flexible_joint'), path)


def test_what_the_arm_cannot_do_is_refused_with_joint_and_time(make_arm, make_loop, path):
    zero = np.zeros((2, 6))
    here = path.at(0.0)[0]
    far = here + np.array([2.0, 0, 0, 0, 0, 0])
    with pytest.raises(JointDynamicsError, match=r'at 0\.\d+ s speed of shoulder_pan_joint'):
        fill_effort(make_loop(), Path([0, 0.8], [here, far], zero, zero))
    beyond = here.copy()
    beyond[2] = 4.0
    with pytest.raises(JointDynamicsError, match='position of elbow_joint'):
        fill_effort(make_loop(), Path([0, 5], [here, beyond], zero, zero))
    heavy = make_arm().with_payload(25.0, [0, 0, 0.1])
    with pytest.raises(JointDynamicsError, match='torque of shoulder_lift_joint'):
        fill_effort(make_loop(arm=heavy), path)


@pytest.mark.parametrize('joint', [1, 4])
def test_the_first_time_at_which_the_torque_is_too_large_is_named(make_loop, path, joint):
    """Each joint by itself, upwards or downwards; torques that are within their limit at the beginning."""
    free = make_loop()
    time = np.linspace(0.0, 5.0, 2501)
    torque = np.array([free.evaluate_along(path.at(t), 0.0, 0.002) for t in time])
    size = np.abs(torque)
    limit = 1.01 * size.max(axis=0)
    limit[joint] = 0.5 * (size[0, joint] + size[:, joint].max())
    first = time[int(np.argmax(size[:, joint] > limit[joint]))]
    assert 0.1 < first < 5.0
    with pytest.raises(JointDynamicsError) as found:
        fill_effort(make_loop(settings=LoopSettings(effort_limit=limit.tolist())), path, period=0.002)
    said = re.fullmatch(
        r'trajectory: expected it within the limits, found at (\S+) s torque of (\S+) is (\S+), allowed are (\S+) … '
        r'(\S+)',
        str(found.value),
    )
    assert said[2] == free.arm.joint_names[joint]
    assert float(said[1]) == pytest.approx(first, abs=0.0025)
    assert float(said[3]) == pytest.approx(torque[int(round(first / 0.002)), joint], rel=1e-3)
    assert [float(said[4]), float(said[5])] == pytest.approx([-limit[joint], limit[joint]], rel=1e-5)


def test_a_joint_without_a_limit_of_speed_may_be_as_fast_as_it_likes():
    text = (
        '<robot name="rod"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="{}"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        '{}</joint></robot>'
    )
    zero = np.zeros((2, 1))
    fast = Path([0.0, 0.1], [[0.0], [2.0]], zero, zero)
    free, slow = (
        ControlLoop(
            create('computed_torque'), Arm(RobotModel.from_urdf(text.format(*kind))), LoopSettings(effort_limit=1e6), {}
        )
        for kind in (('continuous', ''), ('revolute', '<limit lower="-3" upper="3" effort="1e6" velocity="5"/>'))
    )
    free.activate()
    assert np.abs(fill_effort(free, fast).dq).max() > 30
    slow.activate()
    with pytest.raises(JointDynamicsError, match='speed of hinge is'):
        fill_effort(slow, fast)


def test_a_refused_trajectory_leaves_no_trace(make_loop, make_arm, path):
    weak = LoopSettings(effort_limit=20.0)
    loop = make_loop('adaptive_friction', settings=weak)
    with pytest.raises(JointDynamicsError):
        fill_effort(loop, path)
    fresh = make_loop('adaptive_friction', settings=weak)
    np.testing.assert_array_equal(
        loop.evaluate_along(path.at(0.1), 0.0, 0.01), fresh.evaluate_along(path.at(0.1), 0.0, 0.01)
    )


def test_a_law_that_measures_has_no_place_here(make_loop, path):
    with pytest.raises(JointDynamicsError, match=r'JointTorqueFeedback.*no measurement'):
        fill_effort(make_loop('joint_torque_feedback'), path)


def test_temperature_counts_and_feedback_does_not(make_loop, path):
    def filled(temperature=None, **parameters):
        loop = make_loop('adaptive_friction', **parameters)
        if temperature:
            loop.state.write('temperature', np.full(6, temperature), 0.0)
        return fill_effort(loop, path, tolerance=1e-6).effort

    np.testing.assert_allclose(filled(), filled(feedback=True, kp=100.0, kd=10.0, ki=10.0), atol=1e-9)
    assert np.abs(filled(60.0)[:100] - filled(25.0)[:100]).max() > 0.2


def test_a_law_that_fails_along_the_motion_is_refused(make_arm, make_loop, path):
    arm = make_arm(friction=FrictionModel({'F_C0': np.ones(6), 'V_S': 1e-300, 'F_S': 1e308, 'mu': 1e-3}))
    loop = make_loop('computed_torque', arm, friction='static')
    loop.controller.friction.gain[:] = np.nan
    with pytest.raises(JointDynamicsError, match='law: expected a finite command, found'):
        fill_effort(loop, path)


def test_positions_of_the_motor_side_come_in_without_a_jump(make_arm, make_loop, path):
    loop = make_loop('flexible_joint')
    link, motor = fill_effort(loop, path), fill_effort(make_loop('flexible_joint'), path, side='motor')
    np.testing.assert_array_equal(motor.time, link.time)
    np.testing.assert_array_equal(motor.effort, link.effort)
    np.testing.assert_allclose(motor.q[0], link.q[0], atol=1e-12)
    later = motor.time > 0.5
    reference = np.array([np.stack(loop.controller.motor_reference(path.at(t))) for t in motor.time[later]])
    np.testing.assert_allclose(np.stack([motor.q, motor.dq, motor.ddq], axis=1)[later], reference, atol=1e-9)
    np.testing.assert_allclose(motor.offset, reference[-1, 0] - link.q[-1], atol=1e-12)
    assert np.abs(motor.offset).max() > 1e-4
    # The next one goes on from there: no jump again.
    back = Path([0.0, 2.5], [path.at(5.0)[0], path.at(0.0)[0]], np.zeros((2, 6)), np.zeros((2, 6)))
    on = fill_effort(loop, back, side='motor', offset=motor.offset)
    np.testing.assert_allclose(on.q[0], motor.q[-1], atol=1e-12)
    quintic = Path(motor.time, motor.q, motor.dq, motor.ddq, smooth=False)
    for time in np.linspace(0.6, 4.9, 50):
        np.testing.assert_allclose(quintic.at(time)[0], loop.controller.motor_reference(path.at(time))[0], atol=1e-4)
    with pytest.raises(JointDynamicsError, match=r'ComputedTorque.*motor side'):
        fill_effort(make_loop('computed_torque'), path, side='motor')


def test_a_speed_loop_on_the_motor_is_given_the_motor_s_speed(make_arm, make_loop, path):
    gain = np.array([200.0, 150.0, 0.0, 20.0, 20.0, 10.0])
    plain, more = (
        fill_effort(
            make_loop('flexible_joint', make_arm(friction=None), friction='none'),
            path,
            max_spacing=0.002,
            speed_gain=value,
        )
        for value in (0.0, gain)
    )
    law = make_loop('flexible_joint', make_arm(friction=None), friction='none').controller
    np.testing.assert_array_equal(more.q, plain.q)
    for k in range(0, len(plain.time), 50):
        motion = path.at(plain.time[k])
        np.testing.assert_allclose(
            more.effort[k] - plain.effort[k], gain * (law.motor_reference(motion)[1] - motion[1]), atol=1e-9
        )
    assert np.abs(more.effort - plain.effort).max() > 0.1
    with pytest.raises(JointDynamicsError, match='speed_gain'):
        fill_effort(make_loop('flexible_joint'), path, side='motor', speed_gain=gain)
    with pytest.raises(JointDynamicsError, match='motor side'):
        fill_effort(make_loop('computed_torque'), path, speed_gain=gain)


@pytest.mark.parametrize('kind', ['position', 'speed'])
def test_a_limit_broken_between_two_steps_is_seen(make_arm, make_loop, path, kind):
    """With steps of half a second the law never meets the peak.

    The limit is put between what it meets and what there is.
    """
    path = Path([0.0, 1.5, 3.5, 5.0], np.array([path.at(t)[0] for t in (0.0, 2.5, 5.0, 4.0)]))
    row = ('position', 'speed').index(kind)
    steps, fine = (np.abs(path.sample(np.linspace(0, 5, count))[:, row]).max(axis=0) for count in (11, 20001))
    joint = int(np.argmax((fine - steps) / fine))
    assert fine[joint] > steps[joint] * 1.001
    limit = (fine[joint] + steps[joint]) / 2
    arm = make_arm()
    limits = arm.robot.limits
    if kind == 'speed':
        changed = replace(limits, velocity=np.where(np.arange(6) == joint, limit, limits.velocity))
    else:
        this = np.arange(6) == joint
        changed = replace(limits, lower=np.where(this, -limit, limits.lower), upper=np.where(this, limit, limits.upper))
    loop = make_loop(arm=arm)
    loop.arm.robot.limits, kept = changed, limits
    try:
        with pytest.raises(JointDynamicsError, match=rf'at \d\.\d+ s {kind} of {arm.joint_names[joint]}'):
            fill_effort(loop, path, period=0.5)
    finally:
        loop.arm.robot.limits = kept
    fill_effort(loop, path, period=0.5)


@pytest.mark.parametrize(
    ('ends', 'period', 'steps'), [([2.5, 5.0], 0.25, 20), ([2.5, 5.0], 0.3, 18), ([1.1], 0.1, 11), ([0.3], 0.1, 3)]
)
def test_the_law_steps_evenly_from_point_to_point(make_loop, path, ends, period, steps):
    """No step longer than the period, and none more for what rounding leaves of a whole number of them."""
    here = np.tile(path.at(0.0)[0], (len(ends) + 1, 1))
    still = Path([0.0, *ends], here, np.zeros_like(here), np.zeros_like(here))
    assert fill_effort(make_loop(), still, period=period).steps == steps + 1


def test_a_point_at_every_step_where_none_may_be_left_out(make_loop, path):
    filled = fill_effort(make_loop('computed_torque'), path, max_spacing=1e-6, tolerance=1.0)
    assert len(filled.time) == filled.steps
    np.testing.assert_allclose(np.diff(filled.time), 0.002, rtol=1e-6)


def test_temperature_and_alpha_are_taken_at_the_first_step(make_loop, path, monkeypatch):
    loop, loads = make_loop('computed_torque'), []
    evaluate_along = loop.evaluate_along

    def watched(*arguments, load=True):
        loads.append(load)
        return evaluate_along(*arguments, load=load)

    monkeypatch.setattr(loop, 'evaluate_along', watched)
    filled = fill_effort(loop, path)
    assert loads == [True] + [False] * (filled.steps - 1)


@pytest.mark.parametrize('law', ['computed_torque', 'adaptive_friction', 'flexible_joint'])
def test_a_filled_trajectory_is_a_line_within_its_tolerance_through_the_fewest_points(make_loop, path, law):
    loop = make_loop(law)
    shares = []
    found = fill_effort(loop, path, period=0.01, tolerance=0.02, max_spacing=0.3, tell=shares.append)
    time = instants(path, 0.01)
    motion = path.sample(time)
    other = make_loop(law)
    effort = np.array([other.evaluate_along(row, 0.0, 0.01) for row in motion])
    keep = np.searchsorted(time, found.time - 1e-9)
    np.testing.assert_allclose(found.effort, effort[keep], atol=1e-9)
    for row, name in enumerate(('q', 'dq', 'ddq')):
        np.testing.assert_allclose(getattr(found, name), motion[keep, row], atol=1e-9)
    assert np.diff(found.time).max() <= 0.3 + 1e-9 and {0.0, 2.5, 5.0} <= set(np.round(found.time, 9))
    line = np.stack([np.interp(time, found.time, found.effort[:, j]) for j in range(6)], axis=1)
    allowed = 0.02 * loop.gate.limit
    assert (np.abs(line - effort) <= allowed + 1e-9).all()
    assert shares == pytest.approx(np.arange(1, len(time) + 1) / len(time))
    for i, j in pairwise(keep):
        # one further would have been beyond the tolerance, the spacing, or a point of the path
        k = j + 1
        if j >= len(time) - 1 or time[j] in path.times or time[k] - time[i] > 0.3 + 1e-9:
            continue
        share = ((time[i + 1 : k] - time[i]) / (time[k] - time[i]))[:, None]
        off = np.abs(effort[i] + share * (effort[k] - effort[i]) - effort[i + 1 : k])
        assert (off > allowed).any()
