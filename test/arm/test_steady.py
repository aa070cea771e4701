"""Friction in steady slip of one joint: what stands in the description, in each direction, and how sure it is."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, FrictionDetail, SteadyFriction
from joint_dynamics.arm.steady_friction import POSITIONS, SMALL_LOAD, loads_up_to
from joint_dynamics.description import DynamicsDescription

PLAIN = {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.2, 'F_V1': 3.0, 'offset': 0.3}
LOADED = {**PLAIN, 'F_Cl': 0.1, 'F_C1': 2e-3}
SPEED = np.linspace(0.05, 2.0, 20)
STRIBECK = np.exp(-SPEED / 0.2)


def steady(part, joint=0, before=None):
    """The friction of one of two joints."""
    names = ['other', 'j'] if joint else ['j', 'other']
    joints = {'j': part, 'other': before or {'friction': {'parameters': {'F_C0': 900.0}}}}
    arm = Arm.of_joints(DynamicsDescription({'robot': {'joint_names': names}, 'joints': joints}))
    return SteadyFriction(arm, joint)


@pytest.mark.parametrize('joint', [0, 1])
def test_the_torque_is_that_of_the_parameters(joint):
    friction = steady({'friction': {'parameters': PLAIN, 'scale': [1.2, 0.5]}}, joint)
    assert friction.name == 'j'
    assert (friction.loads, friction.positions, friction.most_load) == ((0.0,), (0.0,), 0.0)
    slip = 1.2 * 5.0 + 2.0 * STRIBECK + 3.5 * SPEED
    np.testing.assert_allclose(friction.torque(SPEED), slip + 0.3, rtol=1e-12)
    np.testing.assert_allclose(friction.torque(-SPEED), 0.3 - slip, rtol=1e-12)
    assert not friction.deviation(SPEED).any()


def test_each_direction_goes_by_its_own_parameters():
    directions = {'positive': {'F_C': 5.5, 'F_S': 7.5, 'F_V1': 3.2}, 'negative': {'F_C': 4.5, 'F_V1': 2.8}}
    friction = steady({'friction': {'parameters': PLAIN, 'directions': directions}})
    # level and offset are in F_C; where no F_S of its own is known there is no Stribeck friction
    np.testing.assert_allclose(friction.torque(SPEED), 5.5 + 2.0 * STRIBECK + 3.2 * SPEED, rtol=1e-12)
    np.testing.assert_allclose(friction.torque(-SPEED), -4.5 - 2.8 * SPEED, rtol=1e-12)


def test_load_temperature_and_position_reach_it():
    terms = [
        {'document': {'function': 'sign(dq)*cos(q)'}, 'values': [2.0]},
        {'document': {'fourier': [1]}, 'values': [50.0, 60.0]},
    ]
    friction = steady({'friction': {'parameters': {**LOADED, 'F_T1': 0.1, 'T_0': 25.0}}, 'terms': terms}, 1)
    base = 5.0 + 2.0 * STRIBECK + 3.0 * SPEED + 0.3
    # the spring is no friction
    np.testing.assert_allclose(friction.torque(SPEED), base + 2.0, rtol=1e-12)
    np.testing.assert_allclose(friction.torque(SPEED, position=1.1), base + 2.0 * np.cos(1.1), rtol=1e-12)
    loaded = base + 0.1 * 30.0 + 2e-3 * 900.0 + 2.0
    np.testing.assert_allclose(friction.torque(SPEED, -30.0), loaded, rtol=1e-12)
    warm = friction.torque(SPEED, -30.0, 0.0, np.array([99.0, 35.0]))
    np.testing.assert_allclose(warm, loaded + 1.0 * np.sqrt(SPEED), rtol=1e-12)


def test_loads_at_which_it_is_looked_at():
    assert loads_up_to(40.0) == (-40.0, -SMALL_LOAD, SMALL_LOAD, 40.0)
    assert loads_up_to(SMALL_LOAD) == loads_up_to(0.0) == (-SMALL_LOAD, SMALL_LOAD)
    for more, most in (({}, 0.0), ({'tau_max': 40.0}, 40.0)):
        friction = steady({'friction': {'parameters': {**LOADED, **more}}})
        assert (friction.most_load, friction.loads) == (most, loads_up_to(most))
    checked = steady({'friction': {'parameters': {**LOADED, 'tau_max': 40.0}}, 'validity': {'load': 25.0}})
    assert (checked.most_load, checked.loads) == (25.0, loads_up_to(25.0))
    # a term that depends on the load counts as the friction itself; that of another joint does not
    term = [{'document': {'friction': 'load_gain'}, 'values': [0.1]}]
    assert steady({'friction': {'parameters': PLAIN}, 'terms': term}).loads == (-SMALL_LOAD, SMALL_LOAD)
    assert steady({'friction': {'parameters': PLAIN}}, before={'terms': term}).loads == (0.0,)
    assert steady({'terms': term}).torque(SPEED, 30.0).tolist() == pytest.approx([3.0] * 20)


def test_the_effort_limit_is_the_most_that_a_joint_bears(tools, arm3):
    document = tools.described(arm3)
    for part in document['joints'].values():
        part['friction']['parameters']['F_Cl'] = 0.1
    arm = Arm.from_description(arm3, DynamicsDescription(document))
    assert SteadyFriction(arm, 1).most_load == 400.0
    assert SteadyFriction(arm, 1).loads == (-400.0, -SMALL_LOAD, SMALL_LOAD, 400.0)
    document['joints']['j2']['terms'] = [{'document': {'function': 'q*dq'}, 'values': [1.0]}]
    arm = Arm.from_description(arm3, DynamicsDescription(document))
    np.testing.assert_allclose(SteadyFriction(arm, 1).positions, np.linspace(-3, 3, POSITIONS))
    assert SteadyFriction(arm, 0).positions == (0.0,)


def test_positions_at_which_it_is_looked_at():
    def positions(formula):
        term = [{'document': {'function': formula}, 'values': [1.0]}]
        return steady({'friction': {'parameters': PLAIN}, 'terms': term}).positions

    np.testing.assert_allclose(positions('q*dq'), np.linspace(-np.pi, np.pi, POSITIONS))
    # of the speed alone; of the position alone, which is no friction
    assert positions('dq**3') == positions('sin(q)') == (0.0,)


def test_the_deviation_is_by_the_derivative_of_every_parameter():
    deviations = {'F_C0': 0.2, 'F_V1': 0.1, 'F_S': 0.3, 'offset': 0.4}
    friction = steady({'friction': {'parameters': PLAIN, 'standard_deviations': deviations}}, 1)
    # F = F_C + (F_S − F_C) E + F_V ω + offset
    expected = np.sqrt((0.2 * (1 - STRIBECK)) ** 2 + (0.1 * SPEED) ** 2 + (0.3 * STRIBECK) ** 2 + np.full(20, 0.4**2))
    np.testing.assert_allclose(friction.deviation(SPEED), expected, rtol=1e-9)
    np.testing.assert_allclose(friction.deviation(-SPEED), expected, rtol=1e-9)
    # without Stribeck friction there is none with a higher level either
    level = steady({'friction': {'parameters': {'F_C0': 5.0}, 'standard_deviations': {'F_C0': 0.2}}})
    np.testing.assert_allclose(level.deviation(SPEED), 0.2, rtol=1e-9)
    loaded = steady({'friction': {'parameters': LOADED, 'standard_deviations': {'F_Cl': 0.01}}})
    np.testing.assert_allclose(loaded.deviation(SPEED, -30.0), 0.3, rtol=1e-9)


def test_the_deviation_of_a_direction_is_its_own():
    directions = {
        'positive': {'F_C': 5.5, 'F_V1': 3.2, 'F_C_std': 0.05, 'F_V1_std': 0.02},
        'negative': {'F_C': 4.5, 'F_V1': 2.8},
    }
    deviations = {'F_C0': 0.2, 'F_V1': 0.1, 'F_S': 0.3, 'offset': 0.4, 'F_V2': 0.05}
    friction = steady({'friction': {'parameters': PLAIN, 'directions': directions, 'standard_deviations': deviations}})
    square = (0.05 * SPEED**2) ** 2
    positive = np.sqrt(0.05**2 + (0.02 * SPEED) ** 2 + square)
    negative = np.sqrt(0.2**2 + (0.1 * SPEED) ** 2 + square)
    np.testing.assert_allclose(friction.deviation(SPEED), positive, rtol=1e-9)
    np.testing.assert_allclose(friction.deviation(-SPEED), negative, rtol=1e-9)


def test_the_deviation_of_quadrants_and_of_terms():
    quadrants = {'dq_s': 0.3, 'c_m': 4.0, 'a_m': 1.1, 'c_g': 3.0}
    further = [
        {'document': {'fourier': [1]}, 'values': [5.0, 6.0], 'std': [9.0, 9.0]},
        {'document': {'friction': 'F_V2'}, 'values': [0.3], 'std': [0.2]},
    ]
    dry = {'parameters': PLAIN, 'quadrants': quadrants, 'standard_deviations': {'c_m': 0.2, 'a_m': 0.01}}
    other = {'terms': [{'document': {'friction': 'F_V2'}, 'values': [0.3], 'std': [70.0]}]}
    friction = steady({'friction': dry, 'terms': further}, before=other)
    expected = np.sqrt(0.2**2 + (0.01 * 20.0) ** 2 + (0.2 * SPEED**2) ** 2)
    np.testing.assert_allclose(friction.deviation(SPEED, 20.0), expected, rtol=1e-9)


def test_without_friction_nothing_is_sure_to_be_nothing():
    friction = steady({'damping': {'value': 1.0}}, before={'damping': {'value': 1.0}})
    assert not friction.torque(SPEED).any() and not friction.deviation(SPEED).any()
    assert FrictionDetail() == FrictionDetail({}, {})
