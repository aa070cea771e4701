import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control.preflight import run_away
from joint_dynamics.description import DynamicsDescription


@pytest.fixture
def document(arm):
    """The friction of the arm as the description states it, at a present scale that is not the nominal one."""
    return {name: {**arm.friction.to_dict(k), 'scale': [1.2, 0.01]} for k, name in enumerate(arm.joint_names)}


@pytest.fixture
def described(robot, document):
    joints = {name: {'friction': document[name], 'backlash': {'values': [5e-4]}, 'drive_gain': {'value': 10.0}} for name in robot.joint_names}
    return Arm.from_description(robot, DynamicsDescription({'robot': {'joint_names': list(robot.joint_names)}, 'joints': joints}))


@pytest.mark.parametrize('kind', ['static', 'hysteresis'])
def test_the_description_compensated_as_it_is_does_not_run_away(make_loop, described, document, kind):
    np.testing.assert_array_equal(described.friction_scale[0], [1.2, 0.01])
    assert run_away(make_loop('adaptive_friction', described, friction=kind).controller, document) == []
    assert run_away(make_loop('adaptive_friction', described, friction=kind, friction_gain=0.9).controller, document) == []


def test_more_than_friction_runs_away_where_it_is_more(make_loop, described, document):
    law = make_loop('adaptive_friction', described, friction_gain=[1, 1, 1.1, 1, 1, 1]).controller
    reasons = run_away(law, document)
    assert len(reasons) == 2
    assert reasons[0].startswith('elbow_joint in positive direction')
    speed = described.robot.limits.velocity[2]
    model = described.friction
    # Without load, at the speed limit: a tenth of the friction at the present scale.
    friction = (1.2 * model.level(0.0) + 0.01 * speed + model.speed_part(np.ones(6), np.full(6, speed)))[2]
    assert float(reasons[0].split(': ')[1].split(' N')[0]) == pytest.approx(0.1 * friction, rel=1e-2)


def test_within_the_doubt_about_friction_it_is_not_refused(make_loop, described, document):
    law = make_loop('adaptive_friction', described, friction_gain=1.05).controller
    assert len(run_away(law, document)) == 12
    unsure = {name: {**item, 'standard_deviations': {'F_V1': 1.0}} for name, item in document.items()}
    assert run_away(law, unsure) == []


def test_friction_that_is_less_in_one_direction_is_seen(make_loop, described, document):
    law = make_loop('adaptive_friction', described).controller
    parameters = document['elbow_joint']['parameters']
    document['elbow_joint']['directions'] = {'positive': {'F_C': parameters['F_C0'], 'F_S': parameters['F_S'], 'F_V1': 6.0},
                                             'negative': {'F_C': parameters['F_C0'], 'F_S': parameters['F_S'], 'F_V1': 5.0}}
    assert [reason.split(':')[0] for reason in run_away(law, document)] == ['elbow_joint in negative direction']


def test_no_friction_no_check(make_loop, described):
    assert run_away(make_loop('computed_torque', described, friction_gain=1.5).controller, {}) == []
