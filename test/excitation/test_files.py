"""Trajectories as text and back."""

import json

import numpy as np
import pytest
import yaml

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import FourierBasis, FourierTrajectory, load_trajectory, to_csv, to_joint_trajectory
from joint_dynamics.excitation.files import coefficients, seconds_and_nanoseconds


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
    assert document['header'] == {'stamp': {'sec': 0, 'nanosec': 0}, 'frame_id': ''}
    assert document['joint_names'] == ['first', 'second']
    times = [
        point['time_from_start']['sec'] + 1e-9 * point['time_from_start']['nanosec'] for point in document['points']
    ]
    np.testing.assert_allclose(times, samples.time, atol=1e-9)
    for point in document['points']:
        assert set(point) == {'positions', 'velocities', 'accelerations', 'effort', 'time_from_start'}
        assert all(
            isinstance(value, float) for key in ('positions', 'velocities', 'accelerations') for value in point[key]
        )
    np.testing.assert_allclose([point['velocities'] for point in document['points']], samples.dq, atol=1e-9)


def test_times_split_without_carrying_errors():
    assert seconds_and_nanoseconds(1.9999999999) == (2, 0)
    assert seconds_and_nanoseconds(3.25) == (3, 250_000_000)


def test_a_series_comes_back_from_its_coefficients(series, tmp_path):
    path = tmp_path / 'summary.json'
    path.write_text(json.dumps({'profile': 'fourier', 'trajectory': coefficients(series)}))
    again = load_trajectory(path)
    t = np.linspace(0, series.duration, 100)
    np.testing.assert_array_equal(again.acceleration(t), series.acceleration(t))
    assert again.joint_names == series.joint_names


def test_a_motion_comes_back_from_its_points(series, tmp_path):
    path = tmp_path / 'trajectory.yaml'
    path.write_text(to_joint_trajectory(series, series.sample(50.0)))
    t = np.linspace(0, series.duration, 100)
    np.testing.assert_allclose(load_trajectory(path).position(t), series.position(t), atol=1e-6)


@pytest.mark.parametrize(
    'text',
    [
        '',
        'a: 1',
        '{"trajectory": {"joint_names": ["a"]}}',
        'points: [{positions: [0]}]\njoint_names: [a]',
        '{[',
        '- 1',
        '{"trajectory": {"joint_names": ["a"], "period": 1, "harmonics": 1, "repeats": 1, "ramp": 1, "posture": null, '
        '"coefficients": [[1, 2]]}}',
    ],
)
def test_what_is_no_trajectory_is_refused(tmp_path, text):
    path = tmp_path / 'file'
    path.write_text(text)
    with pytest.raises(JointDynamicsError, match=r'trajectory .*: expected'):
        load_trajectory(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(JointDynamicsError, match=r'trajectory .*: expected a readable file'):
        load_trajectory(tmp_path / 'none')


@pytest.mark.parametrize(
    'names',
    [
        ['on', 'off'],
        ['1', '1e3'],
        ['null', '~'],
        ['a, b', 'c]'],
        ["it's", '"q"'],
        ['ü: x', '# no'],
        ['2026-01-01', ' padded '],
    ],
)
def test_any_joint_name_comes_back_as_text(names, tmp_path):
    series = FourierTrajectory(
        names, FourierBasis(3.0, 2, 2, 0.5, True), np.random.default_rng(0).standard_normal((2, 5))
    )
    text = to_joint_trajectory(series, series.sample(10.0))
    assert yaml.safe_load(text)['joint_names'] == names
    (tmp_path / 'trajectory.yaml').write_text(text, encoding='utf-8')
    assert load_trajectory(tmp_path / 'trajectory.yaml').joint_names == tuple(names)


@pytest.mark.parametrize(
    ('key', 'value'),
    [
        ('period', 0.0),
        ('period', -1),
        ('repeats', 10**12),
        ('repeats', 0),
        ('harmonics', 0),
        ('ramp', 0),
        ('ramp', 1e300),
        ('joint_names', [True, 'b']),
        ('joint_names', ['a', 'a']),
        ('posture', [1.0]),
        ('posture', ['x', 'y']),
    ],
)
def test_coefficients_of_no_motion_are_refused(series, tmp_path, key, value):
    path = tmp_path / 'summary.json'
    path.write_text(json.dumps({'trajectory': {**coefficients(series), key: value}}))
    with pytest.raises(JointDynamicsError, match=r'trajectory .*: expected all fields of a trajectory'):
        load_trajectory(path)
