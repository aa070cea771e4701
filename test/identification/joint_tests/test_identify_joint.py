"""One call from recordings of a robot to a joint's physics and a description."""

import numpy as np
import pytest

from joint_dynamics import JointDynamicsError, JointSettings, Recording, identify_joint
from joint_dynamics.identification.joint_tests.identify_joint import moving_joint


@pytest.fixture(scope='module')
def constant_speeds():
    """Joint b at constant speeds with friction 3 sgn q̇ + 2 q̇ [N·m] and current of it at 4 N·m/A, joint a at rest."""
    rng = np.random.default_rng(4)
    omega = np.concatenate([np.full(400, speed * way) for speed in (0.2, 0.5, 0.9, 1.4) for way in (1, -1)])
    q = np.cumsum(omega) / 500
    torque = 3.0 * np.sign(omega) + 2.0 * omega + 0.05 * rng.standard_normal(q.size)
    still = np.zeros_like(q)
    return Recording(
        ('a', 'b'), np.arange(q.size) / 500, np.column_stack([still, q]), current=np.column_stack([still, torque / 4.0])
    )


def test_the_joint_that_moves_is_identified_with_the_gain_of_the_settings_or_the_description(constant_speeds):
    """Recordings alone, one or several; what an earlier test knew stays in the description, the gain among it."""
    settings = {'drive_gains': {'b': 4.0}, 'friction': {'model': 'viscous'}}
    first = identify_joint('friction', constant_speeds, settings=settings)
    assert (first.joint, first.reliable) == ('b', True)
    # the deviations of the mean of 400 samples of 0.05 N·m are 0.0025 N·m: within ten of them
    assert first.parameters['F_C'].value == pytest.approx(3.0, abs=0.025)
    assert first.parameters['F_V1'].value == pytest.approx(2.0, abs=0.025)
    assert first.description.joint('b')['friction']['parameters']['F_C0'] == first.parameters['F_C'].value
    assert first.description.joint('a') == {}
    first.description.document['joints']['b']['drive_gain'] = {'value': 4.0}
    both, viscous = [constant_speeds, constant_speeds], JointSettings.from_mapping({'friction': {'model': 'viscous'}})
    again = identify_joint('friction', both, 'b', description=first.description, settings=viscous)
    assert again.parameters['F_C'].value == pytest.approx(first.parameters['F_C'].value, abs=0.01)
    assert again.description.joint('b')['drive_gain'] == {'value': 4.0}


def test_what_cannot_be_is_refused(constant_speeds):
    with pytest.raises(JointDynamicsError, match=r'test: expected one of stiffness, .*, found .wobble.'):
        identify_joint('wobble', constant_speeds)
    with pytest.raises(JointDynamicsError, match='friction: expected at least one recording'):
        identify_joint('friction', [])
    with pytest.raises(JointDynamicsError, match='b: expected a motor torque'):
        identify_joint('friction', constant_speeds, 'b')
    with pytest.raises(JointDynamicsError, match='expected a joint of a, b, found c'):
        identify_joint('friction', constant_speeds, 'c')


def test_the_joint_under_test_is_the_only_one_that_moves(constant_speeds):
    assert moving_joint([constant_speeds]) == 'b'
    assert moving_joint([constant_speeds.select(['a'])]) == 'a'
    both = Recording(('a', 'b'), constant_speeds.time, constant_speeds.q[:, [1, 1]])
    with pytest.raises(JointDynamicsError, match='joint under test: expected one that moves, found 2: a, b'):
        moving_joint([both])
