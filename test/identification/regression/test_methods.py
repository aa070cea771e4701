"""Every method through `identify` itself: what it leaves in the summary and in the description."""

import copy
import json
from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.methods import least_squares
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.recording import Recording
from joint_dynamics.report.identification import identification_report

GAINS = np.array([13.0, 13.0, 11.0, 9.0, 9.0, 8.5])
MASS = 4.0
PAYLOAD = np.array([0.05, 0.002, -0.003, 0.05, 0.004, 0.03, 0.12, -0.08, 0.4, MASS])


@pytest.fixture(scope='module')
def loaded_robot(true_robot):
    robot = copy.copy(true_robot)
    robot.standard = true_robot.standard.copy()
    robot.standard[-1, :10] += PAYLOAD
    robot.rigid = true_robot.rigid.copy()
    xx, xy, xz, yy, yz, zz, mx, my, mz, mass = robot.standard[-1, :10]
    robot.rigid.inertias[robot.model.n] = pinocchio.Inertia.FromDynamicParameters(
        np.array([mass, mx, my, mz, xx, xy, yy, xz, yz, zz])
    )
    return robot


def currents(recording):
    return Recording(
        recording.joint_names, recording.time, recording.q, current=recording.tau / GAINS, name=recording.name
    )


def checked(result, *keys, report=False):
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    for key in ('training', 'parameters', 'diagnostics', *keys):
        assert key in summary
    description = result.description  # once: it carries its date
    assert DynamicsDescription.from_yaml(description.to_yaml()).document == description.document
    assert not report or 'Leverage' in identification_report(result).to_html()
    return summary


def test_drive_gains_and_payload(true_robot, loaded_robot):
    names = true_robot.model.joint_names
    prior = dict(zip(names, GAINS * np.array([1.2, 0.8, 1.1, 0.9, 1.3, 0.75]), strict=True))
    settings = IdentificationSettings(method='tls', drive_gains=prior, payload={'mass': MASS}, selection=False)
    runs = [
        [currents(robot.record(seed, rate=200.0, noise=0.02))] for robot, seed in ((true_robot, 1), (loaded_robot, 2))
    ]
    result = identify(true_robot.model, runs[0], settings=settings, loaded=runs[1])
    summary = checked(result, 'drive_gains', 'payload', report=True)
    found = np.array([summary['drive_gains'][name]['value'] for name in names])
    assert np.abs(found / GAINS - 1).max() < 0.05
    assert result.description.values('drive_gain', names) == pytest.approx(found)
    assert result.description.document['payload']['mass']['value'] == MASS
    assert result.description.document['payload']['first_moments'] == pytest.approx(PAYLOAD[6:9], abs=0.03)
    assert result.training[0].residual_percent()[1] < 5


def test_gains_need_a_weighed_mass(true_robot, loaded_robot):
    runs = [currents(robot.record(1, duration=6.0)) for robot in (true_robot, loaded_robot)]
    with pytest.raises(JointDynamicsError, match=r'weighed mass .*--payload-mass'):
        identify(true_robot.model, runs[:1], settings=IdentificationSettings(method='tls'), loaded=runs[1:])


@pytest.mark.parametrize('payload', [None, {'mass': MASS}])
def test_payload_of_a_robot_found_along_with_it(true_robot, loaded_robot, payload):
    runs = [true_robot.record(3, rate=200.0), loaded_robot.record(4, rate=200.0)]
    settings = IdentificationSettings(payload=payload, selection=False)
    result = identify(true_robot.model, runs[:1], loaded=runs[1:], settings=settings)
    entry = checked(result, 'payload')['payload']
    assert entry['M']['value'] == pytest.approx(MASS, rel=0.02)
    assert entry['M']['known'] is (payload is not None)
    assert [entry[name]['value'] for name in ('MX', 'MY', 'MZ')] == pytest.approx(PAYLOAD[6:9], abs=0.03)


@pytest.mark.parametrize(('settings', 'keys'), [
    ({'method': 'ols'}, ()), ({'method': 'wls'}, ('selection',)), ({'method': 'irls'}, ('selection', 'irls')),
    ({'method': 'i-irls'}, ('i_irls',)), ({'essential': True, 'selection': False}, ('essential',)),
    ({'essential': 'f', 'selection': False}, ('essential',)),
])  # fmt: skip
def test_every_method_reports(true_robot, settings, keys):
    run, unseen = (true_robot.record(seed, duration=seconds, rate=200.0) for seed, seconds in ((5, 12.0), (6, 8.0)))
    result = identify(true_robot.model, [run], [unseen], IdentificationSettings(**settings))
    checked(result, *keys, report=bool(keys) and keys[-1] in ('irls', 'essential'))
    assert result.validation[0].residual_percent()[1] < 10


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        (
            {'payload': {'weight': 1}},
            "identification.payload: expected the keys mass, joint, position, known, found 'weight'",
        ),
        ({'essential': 'best'}, 'essential: expected'),
        ({'selection': 1}, 'selection: expected'),
        ({'rest_speed': -1}, 'rest_speed'),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(JointDynamicsError, match=message):
        IdentificationSettings(**settings)


@pytest.mark.parametrize(
    ('still', 'said'),
    [((), 'counts as one\\)'), ((0, 1), 'joint_1, joint_2 never move'), ((1,), 'joint_2 never moves')],
)
def test_fewer_rows_than_parameters_are_refused_with_the_joints_that_never_move(two_links, observed, still, said):
    speed = np.where(np.isin([0, 1], still), 0.0, 1.0)
    problem = Problem(two_links, [replace(observed(1, 5), dtheta=np.ones((5, 2)) * speed)])
    message = f'more rows than the {problem.columns} parameters, found 10 .*{said}: record a longer motion'
    for method in ('ols', 'wls'):
        with pytest.raises(JointDynamicsError, match=message):
            least_squares(problem, method)
