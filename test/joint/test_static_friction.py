"""Static friction against speed."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import PowerLawFriction, StaticFriction

OMEGA = np.linspace(-3, 3, 61)


def test_terms_one_by_one():
    friction = StaticFriction(F_C=5, F_S=8, V_S=0.1, mu=1.3, F_V1=2, F_V2=-0.5, F_V3=0.1, offset=0.3)
    dry = np.sign(OMEGA) * (5 + 3 * np.exp(-((np.abs(OMEGA) / 0.1) ** 1.3)))
    assert np.allclose(friction.torque(OMEGA), dry + 2 * OMEGA - 0.5 * np.abs(OMEGA) * OMEGA + 0.1 * OMEGA**3 + 0.3)
    assert friction.torque(0.0) == 0.3
    assert np.isclose(friction.torque(1e-12), 8.3)


def test_odd_without_offset_and_without_stribeck_by_default():
    friction = StaticFriction(5, F_V1=2, F_V2=1)
    assert np.allclose(friction.torque(-OMEGA), -friction.torque(OMEGA))
    assert np.all(friction.stribeck(OMEGA) == 0)


def test_smooth_form_tends_to_the_exact_one_and_has_no_jump():
    friction = StaticFriction(5, 8, 0.1)
    assert np.allclose(friction.torque(OMEGA, smoothing=1e-9), friction.torque(OMEGA))
    near = friction.torque(np.array([-1e-6, 0, 1e-6]), smoothing=0.01)
    assert np.all(np.abs(near) < 1e-2)


def test_power_law():
    friction = PowerLawFriction(3, 2, 0.6, 0.1)
    assert np.allclose(friction.torque(OMEGA), np.sign(OMEGA) * (3 + 2 * np.abs(OMEGA) ** 0.6) + 0.1)


def test_all_joints_at_once():
    friction = StaticFriction(F_C=[1, 2], F_V1=[0.1, 0.2])
    omega = np.stack([OMEGA, OMEGA], axis=1)
    assert np.allclose(friction.torque(omega)[:, 1], StaticFriction(2, F_V1=0.2).torque(OMEGA))
    assert np.array_equal(friction.torque(omega[7]), friction.torque(omega)[7])


@pytest.mark.parametrize('arguments', [{'F_C': np.nan}, {'F_C': 1, 'V_S': 0}, {'F_C': 1, 'mu': -1}, {'F_C': [[1]]}])
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(JointDynamicsError):
        StaticFriction(**arguments)


def test_the_power_law_can_be_smooth_and_has_signs_of_its_own():
    friction = PowerLawFriction(3, -2, 0.6, -0.1)
    smooth = np.tanh(OMEGA / 0.2) * (3 - 2 * np.abs(OMEGA) ** 0.6) - 0.1
    assert np.allclose(friction.torque(OMEGA, smoothing=0.2), smooth)
    with pytest.raises(JointDynamicsError, match=r'^alpha: expected values > 0, found 0'):
        PowerLawFriction(3, 2, 0)
