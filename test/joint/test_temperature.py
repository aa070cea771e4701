"""Both temperature forms, their bounds and the way from one to the other."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import AbsoluteTemperatureFriction, TemperatureFriction

T = np.linspace(6, 79, 30)


def test_vanishes_at_its_reference_and_has_no_pole_there():
    friction = TemperatureFriction(-0.05, 3e3, T_0=25)
    assert friction.torque(2.0, 25.0) == 0
    assert np.abs(friction.torque(2.0, 25.0 + 1e-9)) < 1e-8


def test_bounded_at_zero_degrees_and_below():
    for friction in (TemperatureFriction(-0.05, 3e3, T_min=8), AbsoluteTemperatureFriction(1, -0.05, 3e3, T_min=8)):
        assert friction.torque(1.0, 0.0) == friction.torque(1.0, 8.0) == friction.torque(1.0, -40.0)
        assert np.isfinite(friction.torque(1.0, 0.0))
        assert friction.torque(1.0, 500.0) == friction.torque(1.0, 80.0)


def test_odd_and_continuous_in_speed():
    friction = AbsoluteTemperatureFriction(1, -0.01, 100)
    assert np.allclose(friction.torque(-2.0, T), -friction.torque(2.0, T))
    assert np.allclose(friction.torque(4.0, T), 2 * (1 - 0.01 * T + 100 * T**-3))
    assert np.all(np.abs(friction.torque(1e-12, T)) < 1e-5)


def test_absolute_form_splits_into_the_vanishing_one():
    absolute = AbsoluteTemperatureFriction(1.5, -0.02, 900)
    base, vanishing = absolute.about(30.0)
    assert np.allclose(absolute.torque(1.7, T), np.sqrt(1.7) * base + vanishing.torque(1.7, T))


def test_bad_bounds_are_refused():
    with pytest.raises(JointDynamicsError, match='T_min'):
        TemperatureFriction(T_min=0)
    with pytest.raises(JointDynamicsError, match='T_0'):
        TemperatureFriction(T_0=200)


@pytest.mark.parametrize(
    ('bounds', 'message'),
    [
        ({'T_min': -1.0}, '^temperature bounds: expected 0 < T_min < T_max in °C, found -1.0 and 80.0$'),
        ({'T_min': 30.0, 'T_max': 30.0}, '^temperature bounds: expected 0 < T_min < T_max in °C, found 30.0 and 30.0$'),
        ({'T_min': 26.0}, r'^T_0: expected within \[T_min, T_max\], found 25.0$'),
        ({'T_max': 24.0}, r'^T_0: expected within \[T_min, T_max\], found 25.0$'),
        ({'F_T2': np.nan}, '^F_T2: expected a finite number'),
    ],
)
def test_bounds_that_do_not_hold_the_reference_are_refused(bounds, message):
    with pytest.raises(JointDynamicsError, match=message):
        TemperatureFriction(**bounds)


def test_the_reference_may_be_one_of_the_bounds_and_bounds_low():
    assert TemperatureFriction(-0.05, 10.0, T_0=0.5, T_min=0.5, T_max=0.6).torque(1.0, 0.5) == 0.0
    assert TemperatureFriction(-0.05, 10.0, T_0=80.0).torque(1.0, 90.0) == 0.0
    with pytest.raises(JointDynamicsError, match=r'^temperature bounds'):
        AbsoluteTemperatureFriction(T_min=90.0)
