"""What is learnt, under names: the numbers of the estimator, in the order of its joints."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import QUANTITIES, EstimationSettings, JointEstimator, JointHealth, estimates

HEALTH = [JointHealth('ok', ''), JointHealth('warning', '', 0.8, 1.1), JointHealth('error', '', 0.5, None)] + [
    JointHealth('unknown', '')
] * 3


@pytest.fixture
def running(ur):
    """A session of a UR5e about which all is known but what friction it has."""
    friction = np.array([[3.0, 5.0]] * 6)
    spring = SimpleNamespace(
        known=np.linspace(1e4, 2e4, 12).reshape(6, 2),
        covariance=np.array([np.diag([4.0, 1.0])] * 6),
        noise=np.arange(1.0, 7.0),
    )
    estimator = SimpleNamespace(
        arm=SimpleNamespace(friction=object()),
        friction=object(),
        friction_scale=lambda: (friction, np.array([np.diag([0.04, 0.09])] * 6)),
        stiffness=spring,
        temperature=np.array([30.0, 31.0, np.nan, 33.0, 34.0, 35.0]),
        contact=np.array([True, False, False, False, False, False]),
        detector=SimpleNamespace(lasting=np.array([False, True, False, False, False, False])),
    )
    return SimpleNamespace(estimator=estimator, health=lambda: HEALTH)


def test_each_quantity_is_that_of_the_estimator(running):
    found = estimates(running)
    assert set(found) == set(QUANTITIES) - {'coulomb_friction', 'viscous_friction'}
    assert list(found) == [name for name in QUANTITIES if name in found]
    assert np.array_equal(found['friction_scale'].value, np.full(6, 3.0))
    assert np.allclose(found['friction_scale'].deviation, 0.2)
    assert np.array_equal(found['viscous_change'].value, np.full(6, 5.0))
    assert np.allclose(found['viscous_change'].deviation, 0.3)
    assert np.array_equal(found['stiffness'].value, running.estimator.stiffness.known[:, 0])
    assert np.allclose(found['stiffness'].deviation, 2.0 * np.arange(1, 7))
    nan = np.nan
    assert np.array_equal(found['stiffness_ratio'].value, [nan, 0.8, 0.5, nan, nan, nan], equal_nan=True)
    assert np.array_equal(found['friction_ratio'].value, [nan, 1.1, nan, nan, nan, nan], equal_nan=True)
    assert np.array_equal(found['temperature'].value, running.estimator.temperature, equal_nan=True)
    assert np.array_equal(found['contact'].value, [1, 1, 0, 0, 0, 0])
    assert np.array_equal(found['health'].value, [0, 1, 2, nan, nan, nan], equal_nan=True)


def test_what_is_not_estimated_is_left_out(running):
    running.estimator.friction = running.estimator.stiffness = None
    running.health = lambda: [JointHealth('unknown', '')] * 6
    assert set(estimates(running)) == {'temperature', 'contact', 'health'}
    running.estimator = None
    assert estimates(running) == {}


def test_friction_without_a_description_has_names_of_its_own(ur):
    estimator = JointEstimator(Arm(ur, np.zeros(14 * 6)), 2e-3, EstimationSettings(friction='coulomb_viscous'))
    session = SimpleNamespace(estimator=estimator, health=lambda: [JointHealth('unknown', '')] * 6)
    found = estimates(session)
    assert {'coulomb_friction', 'viscous_friction'} <= set(found)
    assert np.isnan(found['coulomb_friction'].value).all() and np.isnan(found['viscous_friction'].value).all()
    assert not {'friction_scale', 'viscous_change'} & set(found)
