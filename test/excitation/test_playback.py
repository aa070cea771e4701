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

"""How a motion is played: checked, approached, stopped on its path, and where the robot is on it."""

import json

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from joint_dynamics.cli.excite import PROFILES
from joint_dynamics.cli.main import main
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import (
    FourierBasis,
    FourierTrajectory,
    MotionSamples,
    Playback,
    SampledTrajectory,
    load_trajectory,
    to_csv,
    to_joint_trajectory,
)
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.excitation.playback import SHORTEST, come_to_rest, delay_of
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

RATE = 30  # Hz, of the points sent
POSTURE = np.array([0.0, -1.57, 0.6, -1.57, 0.3, 0.0])


@pytest.fixture(scope='module')
def robot():
    return RobotModel.load(ur5e_urdf())


def waves(robot, period=3.0, ramp=0.8):
    waves = np.column_stack([POSTURE, np.full((6, 4), 0.02)])
    return FourierTrajectory(robot.joint_names, FourierBasis(period, 2, 1, ramp, True), waves)


MOTIONS = {
    'fourier': {'period': 6.0, 'harmonics': 2, 'starts': 1, 'candidates': 1},
    'bang-coast-bang': {},
    'constant-speed': {'joint': 'elbow_joint'},
    'slow-reversals': {'joint': 'shoulder_pan_joint', 'span': 0.6},
    'load-sweep': {'joint': 'shoulder_lift_joint', 'start': -1.57, 'stop': 0.0, 'speed': 0.5},
    'trapezoids': {'joint': 'wrist_1_joint'},
    'waypoints': {},
}


@pytest.mark.parametrize('profile', PROFILES)
def test_written_motions_are_sent_unchanged(robot, tmp_path, profile):
    """Every profile: the file is accepted, and the points of it that are sent are those of the planned motion."""
    section = {'rate': RATE, profile.replace('-', '_'): MOTIONS[profile]}
    if profile != 'bang-coast-bang':
        section['posture'] = [0.0, -1.57, 0.0, -1.57, 0.0, 0.0]
    (tmp_path / 'config.yaml').write_text(yaml.safe_dump({'excitation': section}))
    given = ['--robot', ur5e_urdf(), '--config', tmp_path / 'config.yaml', '--out', tmp_path / 'out']
    assert main(['excite', '--profile', profile, *map(str, given)]) in (0, 3)
    table = np.genfromtxt(tmp_path / 'out' / 'trajectory.csv', delimiter=',', skip_header=1).T
    for name in ('trajectory.yaml', 'summary.json'):
        playback = Playback(robot, LimitSettings(), load_trajectory(tmp_path / 'out' / name))
        playback.refuse_samples(playback.trajectory.points(RATE))
        played = playback.trajectory.states(table[0])
        np.testing.assert_allclose(played.q.T, table[1:7], atol=1e-5)
        if playback.trajectory.jumps:
            motion = playback.from_posture(playback.trajectory.position(0.0)[0] + 0.05)
            playback.refuse_samples(motion.points(RATE))
            # What a controller makes of the points, cubic from one to the next, is the motion at all times.
            sent, times = motion.points(RATE), np.linspace(0.0, motion.duration, 5003)
            again = SampledTrajectory(motion.joint_names, sent.time, sent.q, sent.dq)
            for one, other in zip(again.motion(times)[:2], motion.motion(times)[:2], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-4)
            np.testing.assert_allclose(played.dq.T, table[7:13], atol=1e-6)


@pytest.mark.parametrize('times', [{'period': 1e-100}, {'period': 1e-300}, {'ramp': 1e-300}, {'ramp': 1e-100}])
def test_times_too_short_for_a_message_are_refused(robot, tmp_path, times):
    file = tmp_path / 'summary.json'
    file.write_text(json.dumps({'trajectory': coefficients(waves(robot)) | times}))
    with pytest.raises(JointDynamicsError, match=r'found: period .* ramp .* at least 1e-06 s') as caught:
        load_trajectory(file)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('period', [1e-100, 1e-5, 0.02])
@pytest.mark.filterwarnings('ignore::RuntimeWarning')
def test_excessive_motion_is_refused_with_joint_and_time(robot, period):
    """Of 1e-100 s the margins are no numbers."""
    with pytest.raises(JointDynamicsError, match=r'by \w+_joint at .* s$'):
        Playback(robot, LimitSettings(), waves(robot, period))


@pytest.mark.parametrize('field', ['q', 'dq', 'ddq'])
@pytest.mark.parametrize('wrong', [np.nan, np.inf, -np.inf, 50.0])
def test_every_sample_is_checked_before_it_is_sent(robot, field, wrong):
    motion = waves(robot)
    playback, samples = Playback(robot, LimitSettings(), motion), motion.sample(100.0)
    playback.refuse_samples(samples)
    values = getattr(samples, field).copy()
    values[37, 4] = wrong
    given = {'time': samples.time, 'q': samples.q, 'dq': samples.dq, 'ddq': samples.ddq, field: values}
    what = {'q': 'position', 'dq': 'speed', 'ddq': 'acceleration'}[field]
    with pytest.raises(JointDynamicsError, match=rf'found {what} of {robot.joint_names[4]} .* at 0\.37 s'):
        playback.refuse_samples(MotionSamples(**given))


NAMES = ('a', 'b', 'c')


@pytest.fixture(scope='module')
def motion():
    return FourierTrajectory(
        NAMES, FourierBasis(4.0, 3, 2, 0.8, True), 0.3 * np.random.default_rng(1).standard_normal((3, 7))
    )


@pytest.mark.parametrize('delay', [0.0, 0.05, 0.12, 0.3, 0.5])
def test_the_delay_of_a_robot_on_the_path_is_found(motion, delay):
    for at in np.arange(2.0, 7.0, 0.37):
        q, speed = (
            motion.position(at - delay)[0],
            np.abs(motion.motion(np.linspace(at - delay - 0.05, at, 50))[1]).max(axis=0).min(),
        )
        found, apart = delay_of(motion, at, q)
        # what 1 mrad leaves open at the speed the path has there, and half a step of the search
        assert abs(found - delay) <= 2.5e-3 / speed + 0.005
        assert apart.max() <= 2.5e-3 * 1.5


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_coming_to_rest_keeps_the_allowed_deceleration(q, dq):
    limit = np.array([2.0, 3.0, 5.0])
    target, duration = come_to_rest(q, dq, limit)
    assert duration >= SHORTEST
    assert np.all(np.abs(dq) / duration <= limit * (1 + 1e-12))
    assert_allclose(target, np.array(q) + np.array(dq) * duration / 2)


@pytest.fixture(params=[None, [0.1, -0.2]])
def series(request):
    basis = FourierBasis(3.0, 2, 2, 0.5, request.param is None)
    return FourierTrajectory(
        ['first', 'second'], basis, np.random.default_rng(0).standard_normal((2, 5)), request.param
    )


def test_csv_has_the_columns_of_the_interface(series):
    samples = series.sample(40.0)
    header, *rows = to_csv(samples).splitlines()
    assert header == 'time,q1,q2,dq1,dq2,ddq1,ddq2'
    table = np.array([[float(value) for value in row.split(',')] for row in rows])
    np.testing.assert_allclose(
        table, np.column_stack([samples.time, samples.q, samples.dq, samples.ddq]), rtol=1e-9, atol=1e-15
    )


def test_yaml_is_a_joint_trajectory_message(series):
    samples = series.sample(30.0)
    document = yaml.safe_load(to_joint_trajectory(series, samples))
    assert set(document) == {'header', 'joint_names', 'points'}
    assert document['joint_names'] == ['first', 'second']
    times = [point['time_from_start'] for point in document['points']]
    np.testing.assert_allclose([time['sec'] + 1e-9 * time['nanosec'] for time in times], samples.time, atol=1e-9)
    for key, values in (('positions', samples.q), ('velocities', samples.dq), ('accelerations', samples.ddq)):
        np.testing.assert_allclose([point[key] for point in document['points']], values, atol=1e-9)


@pytest.mark.parametrize('text', ['', 'a: 1', '{"trajectory": {"joint_names": ["a"]}}', '{[', '- 1', None])
def test_broken_files_are_refused(tmp_path, text):
    path = tmp_path / 'file'
    if text is not None:
        path.write_text(text)
    with pytest.raises(JointDynamicsError, match='file'):
        load_trajectory(path)


@pytest.mark.parametrize(
    'names', [['on', 'off'], ['1', '~'], ['a, b', 'c]'], ['ü: x', '"q"'], ['2026-01-01', ' padded ']]
)
def test_any_joint_name_comes_back_as_text(names, tmp_path):
    coefficients = np.random.default_rng(0).standard_normal((2, 5))
    series = FourierTrajectory(names, FourierBasis(3.0, 2, 2, 0.5, True), coefficients)
    (tmp_path / 'trajectory.yaml').write_text(to_joint_trajectory(series, series.sample(10.0)), encoding='utf-8')
    assert load_trajectory(tmp_path / 'trajectory.yaml').joint_names == tuple(names)


@pytest.mark.parametrize(
    ('key', 'value'),
    [('period', 0.0), ('repeats', 10**12), ('ramp', 1e300), ('joint_names', ['a', 'a']), ('posture', ['x', 'y'])],
)
def test_wrong_coefficients_are_refused(series, tmp_path, key, value):
    path = tmp_path / 'summary.json'
    path.write_text(json.dumps({'trajectory': {**coefficients(series), key: value}}))
    with pytest.raises(JointDynamicsError, match=r'summary\.json'):
        load_trajectory(path)
