"""A compensation of friction says where the desired motion left the range that the friction was checked in."""

import numpy as np
import pytest

from joint_dynamics.arm import Validity
from joint_dynamics.control.friction import FrictionCompensation


@pytest.fixture
def checked(make_arm):
    """The arm with friction checked up to 1 rad/s and 50 N·m, between 10 and 40 °C."""
    return make_arm(validity=Validity(np.full(6, 1.0), np.full(6, 50.0), np.full(6, 10.0), np.full(6, 40.0)))


def moved(compensation, speed, load=0.0):
    zero = np.zeros(6)
    compensation.torque(zero, zero, np.array([0.5, speed, 0.0, 0.0, 0.0, 0.0]), np.full(6, load))
    return compensation.watch.notes()


@pytest.mark.parametrize('kind', ['static', 'hysteresis'])
def test_joint_and_quantity_that_left_the_range_are_named(checked, kind):
    compensation = FrictionCompensation(checked, kind)
    name = checked.joint_names[1]
    assert moved(compensation, 1.0, 50.0) == []
    assert moved(compensation, -1.2) == [
        f'joints.{name}.validity.speed: above 1 rad/s, friction is held at its value there'
    ]
    # it stays said, until the law begins anew
    assert len(moved(compensation, 0.0)) == 1
    assert len(moved(compensation, 0.0, -60.0)) == 7
    compensation.reset()
    assert moved(compensation, 0.5) == []


def test_where_nothing_is_compensated_or_checked_nothing_is_watched(checked, make_arm):
    assert moved(FrictionCompensation(checked, 'none'), 5.0) == []
    assert moved(FrictionCompensation(make_arm(), 'static'), 5.0) == []
