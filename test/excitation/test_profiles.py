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

"""The test motions of the literature: what each promises, and that none breaks a limit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import PROFILES, LimitSettings, PiecewiseTrajectory, make_profile
from joint_dynamics.excitation.excitation_settings import PayloadSettings
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.trajectory import JointPieces

UPRIGHT = [0.0, -np.pi / 2, 0.0, -np.pi / 2, 0.0, 0.0]
OPTIONS = {
    'bang_coast_bang': {'duration': 8.0, 'reach': 0.3},
    'constant_speed': {'joint': 'elbow_joint', 'start': 0.0, 'stop': 1.5},
    'trapezoids': {'joint': 'wrist_1_joint'},
    'slow_reversals': {'joint': 'shoulder_pan_joint', 'span': 0.6},
    'load_sweep': {'joint': 'shoulder_lift_joint', 'reversals': 2},
    'waypoints': {},
}


@pytest.fixture(params=sorted(PROFILES), scope='module')
def motion(request, ur5e):
    return make_profile(ur5e, request.param, OPTIONS[request.param], posture=UPRIGHT)


def test_profiles_go_from_rest_to_rest_within_the_limits(motion, ur5e):
    trajectory, assessment = motion
    samples = trajectory.sample(200.0)
    limits = MotionLimits.of(ur5e, LimitSettings())
    assert np.all(samples.q >= limits.lower - 1e-6)
    assert np.all(samples.q <= limits.upper + 1e-6)
    assert np.all(np.abs(samples.dq) <= limits.velocity * (1 + 1e-6))
    assert np.all(np.abs(samples.ddq) <= limits.acceleration * (1 + 1e-6))
    assert np.all(np.abs(ur5e.inverse_dynamics(samples.q, samples.dq, samples.ddq)) <= limits.torque * (1 + 1e-6))
    assert assessment.feasible
    assert set(assessment.margins) == {'position', 'velocity', 'acceleration', 'torque', 'clearance'}
    np.testing.assert_allclose(trajectory.velocity([0.0, trajectory.duration]), 0, atol=1e-9)


def test_position_speed_and_acceleration_are_integrals(motion):
    trajectory, _ = motion
    knots = trajectory.knots
    middle, half = (knots[1:] + knots[:-1]) / 2, (knots[1:] - knots[:-1])[:, None] / 2
    q, dq = trajectory.position(knots), trajectory.velocity(knots)
    ddq = trajectory.acceleration(middle)
    np.testing.assert_allclose(np.diff(dq, axis=0), 2 * half * ddq, atol=1e-9)
    np.testing.assert_allclose(np.diff(q, axis=0), half * (dq[1:] + dq[:-1]), atol=1e-9)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.05, 3), st.floats(0.1, 10))
def test_move_reaches_its_target_in_the_predicted_time(start, target, speed, acceleration):
    pieces = JointPieces(start)
    pieces.move_to(target, speed, acceleration)
    trajectory = PiecewiseTrajectory(['a'], [pieces], pieces.time + 0.1)
    assert trajectory.position(trajectory.duration)[0, 0] == pytest.approx(target, abs=1e-9)
    assert np.abs(trajectory.velocity(trajectory.knots)).max() <= speed * (1 + 1e-9)
    assert np.abs(trajectory.acceleration(trajectory.knots)).max() <= acceleration * (1 + 1e-9)
    assert pieces.time == pytest.approx(JointPieces(start).time_of_move(target, speed, acceleration), abs=1e-9)


def test_the_waypoint_cycle_takes_the_time_of_the_paper(ur5e):
    # 13.25 s by the stated limits; the paper's 13.458 s is in error
    trajectory, _ = make_profile(ur5e, 'waypoints', limits=LimitSettings(velocity=np.pi, acceleration=10.0))
    assert trajectory.duration == pytest.approx(13.25, abs=0.005)
    start = np.deg2rad([-110, 0, 0, -90, 90, 0])
    np.testing.assert_allclose(trajectory.position([0.0, trajectory.duration]), [start, start], atol=1e-9)


def test_waypoints_are_joined_by_straight_lines(ur5e):
    trajectory, _ = make_profile(
        ur5e, 'waypoints', {'waypoints': [[0, -90, 0, -90, 0, 0], [40, -70, 30, -90, 20, 10]], 'rest': 0.5, 'cycles': 2}
    )
    q = trajectory.position(np.linspace(0, trajectory.duration, 300))
    way = np.deg2rad([40, 20, 30, 0, 20, 10])
    share = (q - np.deg2rad([0, -90, 0, -90, 0, 0])) @ way / (way @ way)
    np.testing.assert_allclose(q - q[0], share[:, None] * way, atol=1e-9)
    assert share.max() == pytest.approx(1)


def test_slow_reversals_are_240_a_turn_in_17_minutes(ur5e):
    trajectory, _ = make_profile(ur5e, 'slow_reversals', {'joint': 'shoulder_pan_joint'}, posture=UPRIGHT)
    assert trajectory.duration == pytest.approx(17 * 60, rel=1e-3)
    dq = trajectory.velocity(trajectory.knots)[:, 0]
    ddq = trajectory.acceleration(trajectory.knots)[:, 0]
    np.testing.assert_allclose(np.abs(ddq[:-1]), 0.05)
    rests = trajectory.knots[np.abs(dq) < 1e-9]
    assert len(rests) == 241
    q = trajectory.position(rests)[:, 0]
    np.testing.assert_allclose(q[2::2] - q[:-2:2], np.deg2rad(3.0), atol=1e-9)
    assert q[-1] - q[0] == pytest.approx(2 * np.pi)
    signs = np.sign(np.diff(q))
    np.testing.assert_array_equal(signs, np.tile([1, -1], 120))


def test_constant_speed_has_a_plateau_each_way_at_every_speed(ur5e):
    speeds = [0.05, 0.4, 1.1]
    trajectory, _ = make_profile(
        ur5e, 'constant_speed', {'joint': 'elbow_joint', 'start': 0.0, 'stop': 1.0, 'speeds': speeds}, posture=UPRIGHT
    )
    t = np.linspace(0, trajectory.duration, 20000)
    dq, ddq = trajectory.velocity(t)[:, 2], trajectory.acceleration(t)[:, 2]
    for speed in (*speeds, *(-np.array(speeds))):
        q = trajectory.position(t)[(np.abs(dq - speed) < 1e-9) & (ddq == 0), 2]
        assert np.ptp(q) == pytest.approx(1.0 - speed**2 / 5.655, abs=0.01)
    assert not trajectory.velocity(t)[:, [0, 1, 3, 4, 5]].any()


def test_a_load_sweep_goes_from_no_load_to_the_greatest(ur5e):
    settings = LimitSettings(payload=PayloadSettings(3.0))
    trajectory, _ = make_profile(
        ur5e, 'load_sweep', {'joint': 'shoulder_lift_joint', 'reversals': 3}, settings, posture=UPRIGHT
    )
    t = np.linspace(0, trajectory.duration, 2000)
    q, dq = trajectory.position(t), trajectory.velocity(t)
    gravity = ur5e.gravity(q)[:, 1]
    assert abs(gravity[0]) < 3.0
    every = np.repeat([UPRIGHT], 721, axis=0)
    every[:, 1] = np.linspace(-2 * np.pi, 2 * np.pi, 721)
    assert np.abs(gravity).max() == pytest.approx(np.abs(ur5e.gravity(every)[:, 1]).max(), rel=0.02)
    assert np.abs(dq).max() == pytest.approx(0.05)
    moving = np.sign(dq[np.abs(dq[:, 1]) > 0.01, 1])
    assert np.count_nonzero(np.diff(moving)) == 2 * 3 + 1


def test_load_sweep_needs_gravity(ur5e, ur):
    with pytest.raises(JointDynamicsError, match=r'load_sweep\.joint'):
        make_profile(ur5e, 'load_sweep', {'joint': 'shoulder_pan_joint'}, posture=UPRIGHT)
    with pytest.raises(JointDynamicsError, match='load_sweep'):
        make_profile(ur, 'load_sweep', {'joint': 'joint_2'}, LimitSettings(velocity=2.0, torque_limit=False))


def test_bang_coast_bang_uses_30_to_100_percent(arm):
    limits = MotionLimits.of(arm, LimitSettings())
    trajectory, _ = make_profile(arm, 'bang_coast_bang', {'duration': 60.0, 'reach': 0.2, 'seed': 3})
    assert trajectory.duration == 60.0
    states = np.array(trajectory.motion(trajectory.knots))
    for j in range(3):
        # of all knots those at which the acceleration of this joint changes
        own = np.append(True, np.diff(states[2, j]) != 0)
        begin, (position, speed, acceleration) = trajectory.knots[own], states[:, j, own]
        moving = acceleration != 0
        assert np.all(np.abs(acceleration[moving]) >= 0.3 * limits.acceleration[j] - 1e-12)
        assert np.all(np.abs(acceleration[moving]) <= limits.acceleration[j] + 1e-12)
        resting = (acceleration == 0) & (np.abs(speed) < 1e-9)
        lengths = np.diff(np.append(begin, 60.0))[resting]
        assert np.all(lengths[:-1] <= 1.0)
        assert np.any(lengths[:-1] > 0.5)
        targets = np.abs(position[resting][1:])
        assert np.all(targets <= 0.2 * limits.upper[j] + 1e-9)
        assert np.any(targets < 0.15 * limits.upper[j])


@pytest.mark.parametrize(
    ('name', 'options', 'place'),
    [
        ('sines', {}, 'profile'),
        ('trapezoids', {}, r'trapezoids\.joint'),
        ('trapezoids', {'joint': 'd'}, "joint: .*'d'"),
        ('trapezoids', {'joint': 'a', 'plateu': 1}, 'plateu'),
        ('trapezoids', {'joint': 'a', 'speeds': [0.2, 9.0]}, 'limits.* a at'),
        ('constant_speed', {'joint': 'a', 'speeds': [3.0], 'start': 0, 'stop': 0.2}, r'constant_speed\.speeds'),
        ('constant_speed', {'joint': 'a', 'start': 0.2, 'stop': 0.2}, 'constant_speed'),
        ('constant_speed', {'joint': 'a', 'start': 0.2, 'stop': 2.7}, 'position'),
        ('constant_speed', {'joint': 'b', 'start': 1.2, 'stop': 2.5}, 'clearance'),
        ('slow_reversals', {'joint': 'a'}, r'slow_reversals\.span'),
        ('slow_reversals', {'joint': 'a', 'cycle': 1.0}, r'slow_reversals\.cycle'),
        ('waypoints', {'waypoints': [[0, 0, 0]]}, r'waypoints\.waypoints'),
    ],
)
def test_wrong_options_are_refused(arm, name, options, place):
    with pytest.raises(JointDynamicsError, match=place):
        make_profile(arm, name, options, posture=[0, 0, 0.2])


def test_too_much_torque_is_refused(arm):
    with pytest.raises(JointDynamicsError, match=r'torque .* b at [\d.]+ s'):
        make_profile(arm, 'trapezoids', {'joint': 'b'}, LimitSettings(torque=10.0))
