import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control.preflight import check_law, run_away
from joint_dynamics.description import DynamicsDescription


@pytest.fixture
def document(arm):
    """The friction of the arm as the description states it, at a present scale that is not the nominal one."""
    return {name: {**arm.friction.to_dict(k), 'scale': [1.2, 0.01]} for k, name in enumerate(arm.joint_names)}


@pytest.fixture
def describe(robot, document):
    """The arm of the description, with what is given instead in the joint `elbow_joint`."""

    def make(friction=None, **elbow):
        joints = {name: {'friction': document[name], 'drive_gain': {'value': 10.0}} for name in robot.joint_names}
        joints['elbow_joint'] |= {'friction': {**document['elbow_joint'], **(friction or {})}, **elbow}
        names = {'robot': {'joint_names': list(robot.joint_names)}}
        return Arm.from_description(robot, DynamicsDescription({**names, 'joints': joints}))

    return make


@pytest.fixture
def described(describe):
    return describe()


@pytest.mark.parametrize('kind', ['static', 'hysteresis'])
@pytest.mark.parametrize('gain', [1.0, 0.9])
def test_the_description_compensated_as_it_is_does_not_run_away(make_loop, described, kind, gain):
    np.testing.assert_array_equal(described.friction_scale[0], [1.2, 0.01])
    assert run_away(make_loop('adaptive_friction', described, friction=kind, friction_gain=gain).controller) == []


def test_more_than_friction_runs_away_where_it_is_more(make_loop, described):
    law = make_loop('adaptive_friction', described, friction_gain=[1, 1, 1.1, 1, 1, 1]).controller
    reasons = run_away(law)
    assert [reason.split(':')[0] for reason in reasons] == [
        f'elbow_joint in {side} direction' for side in ('positive', 'negative')
    ]
    speed, load = described.robot.limits.velocity[2], described.effort_limit[2]
    model = described.friction
    # At the speed limit and the torque limit: a tenth of the friction at the present scale.
    friction = (1.2 * model.level(load) + 0.01 * speed + model.speed_part(np.ones(6), np.full(6, speed)))[2]
    assert float(reasons[0].split(': ')[1].split(' N')[0]) == pytest.approx(0.1 * friction, rel=1e-2)
    assert f'under {load:.3g} N·m' in reasons[0].replace('-', '')


def test_within_the_uncertainty_of_friction_it_is_not_refused(make_loop, describe):
    law = make_loop('adaptive_friction', describe(), friction_gain=1.05).controller
    assert len(run_away(law)) == 12
    uncertain = make_loop('adaptive_friction', describe({'standard_deviations': {'F_V1': 2.0}}), friction_gain=1.05)
    assert len(run_away(uncertain.controller)) == 10


def test_friction_that_is_less_in_one_direction_is_seen(make_loop, describe, document):
    parameters = document['elbow_joint']['parameters']
    each = {
        side: {'F_C': parameters['F_C0'], 'F_S': parameters['F_S'], 'F_V1': F_V1}
        for side, F_V1 in (('positive', 6.0), ('negative', 5.0))
    }
    law = make_loop('adaptive_friction', describe({'directions': each})).controller
    assert [reason.split(':')[0] for reason in run_away(law)] == ['elbow_joint in negative direction']


QUADRANTS = {'dq_s': 0.05, 'c_m': 9.0, 'c_g': 4.0, 'a_m': 1.2, 'a_g': 0.9, 'F_V': 5.0}


@pytest.mark.parametrize(
    'change',
    [
        {'terms': [{'document': {'friction': 'F_V2'}, 'values': [5.0]}]},
        {'terms': [{'document': {'friction': 'load_gain'}, 'values': [0.3]}]},
        {'terms': [{'document': {'function': 'sign(dq) * sin(q)**2'}, 'values': [8.0]}]},
        {'friction': {'scale': [2.0, 0.5]}},
        {'friction': {'quadrants': QUADRANTS}},
        {'validity': {'speed': 0.5, 'load': 10.0}},
    ],
)
def test_an_excess_hidden_in_any_part_of_the_friction_is_found(make_loop, describe, document, change):
    """A tenth too much is a tenth of all of the friction, whatever it is described by."""
    plain, arm = describe(), describe(**change)
    law = make_loop('adaptive_friction', arm, friction_gain=1.1, viscous_share=2.0).controller
    before = make_loop('adaptive_friction', plain, friction_gain=1.1).controller
    for side in ('positive', 'negative'):
        check, old = (check_law(each, 2, side, np.pi) for each in (law, before))
        assert check.excess[-1] == pytest.approx(0.1 * check.friction[-1])
        assert abs(check.friction[-1] - old.friction[-1]) > 1.0
        # It is the friction of the arm's own motor torque, the joint in full slip under that load.
        sign = 1.0 if side == 'positive' else -1.0
        moving, still = np.zeros((2, 3, 6))
        q, dq, load = moving.copy(), moving.copy(), moving.copy()
        q[:, 2], dq[:, 2], load[:, 2] = check.position, sign * np.pi, check.load
        theta = q + dq * np.array([[0.0], [1.0], [2.0]])
        torque = arm.motor_torque(q, dq, still, theta=theta, load=load, temperature=law.friction.temperature)
        friction = torque - arm.link_torque(q, dq, still)
        assert sign * friction[-1, 2] == pytest.approx(check.friction[-1], abs=1e-9)


def test_no_friction_no_check(make_loop, described):
    assert run_away(make_loop('computed_torque', described, friction_gain=1.5).controller) == []
