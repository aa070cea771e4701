"""Friction without memory: against speed, temperature and load; Hamon's quadrants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.joint import (
    AbsoluteTemperatureFriction,
    CoulombLevel,
    LoadFriction,
    PowerLawFriction,
    QuadrantFriction,
    StaticFriction,
    TemperatureFriction,
)
from joint_dynamics.joint.static_friction import QUADRANT_PARAMETERS

OMEGA = np.linspace(-3, 3, 61)


def test_terms_one_by_one():
    friction = StaticFriction(F_C=5, F_S=8, V_S=0.1, mu=1.3, F_V1=2, F_V2=-0.5, F_V3=0.1, offset=0.3)
    dry = np.sign(OMEGA) * (5 + 3 * np.exp(-((np.abs(OMEGA) / 0.1) ** 1.3)))
    assert np.allclose(friction.torque(OMEGA), dry + 2 * OMEGA - 0.5 * np.abs(OMEGA) * OMEGA + 0.1 * OMEGA**3 + 0.3)
    assert friction.torque(0.0) == 0.3
    assert np.isclose(friction.torque(1e-12), 8.3)


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


def test_the_power_law_can_be_smooth_and_has_signs_of_its_own():
    friction = PowerLawFriction(3, -2, 0.6, -0.1)
    smooth = np.tanh(OMEGA / 0.2) * (3 - 2 * np.abs(OMEGA) ** 0.6) - 0.1
    assert np.allclose(friction.torque(OMEGA, smoothing=0.2), smooth)


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


def test_the_reference_may_be_one_of_the_bounds_and_bounds_low():
    assert TemperatureFriction(-0.05, 10.0, T_0=0.5, T_min=0.5, T_max=0.6).torque(1.0, 0.5) == 0.0
    assert TemperatureFriction(-0.05, 10.0, T_0=80.0).torque(1.0, 90.0) == 0.0


def test_level_is_even_in_load_and_bounded():
    level = CoulombLevel(5, F_Cl=0.02, F_C1=1e-3, tau_max=50)
    assert np.isclose(level.level(20), 5 + 0.4 + 0.4)
    assert level.level(-20) == level.level(20)
    assert level.level(1e6) == level.level(50)


def test_a_bound_may_be_any_magnitude():
    for bound in (0.0, 0.5, 1.0, np.inf):
        assert CoulombLevel(5.0, 0.5, tau_max=bound).level(-3.0) == 5.0 + 0.5 * min(3.0, bound)


def test_load_friction_forms():
    assert np.isclose(LoadFriction(linear=0.1).torque(-0.3, 20), -2)
    assert np.isclose(LoadFriction(quadratic=0.01).torque(0.3, -20), 4)
    assert LoadFriction(0.1, 0.1).torque(0.0, 20) == 0


@given(tau=st.floats(-300, 300), dq=st.floats(-2, 2))
def test_quadrants_reduce_to_the_usual_model(tau, dq):
    # Equal in all quadrants and without load or speed dependence: τ_out + F_C sgn q̇ + F_V q̇ + τ_off.
    usual = QuadrantFriction(c_m=7, c_g=7, F_V=3, tau_off=0.5)
    assert np.isclose(usual.torque(tau, dq), tau + 7 * np.sign(dq) + 3 * dq + 0.5)


def test_quadrants_by_hand():
    # Equation (25) with the parameters of table II, joint 3 of the RX130L.
    friction = QuadrantFriction(
        a_m=1.05, b_m=0.08, a_g=0.92, b_g=0.085, c_m=21.152, c_g=15.588, F_V=48.139, tau_off=9.95, dq_s=0.03
    )
    E = np.exp(-0.05 / 0.03)
    assert np.isclose(friction.torque(100, 0.05), (1.05 + 0.08 * E) * 100 + 21.152 + 48.139 * 0.05 + 9.95)
    assert np.isclose(friction.torque(100, -0.05), (0.92 - 0.085 * E) * 100 - 15.588 - 48.139 * 0.05 + 9.95)
    assert np.isclose(friction.friction(100, 0.05), friction.torque(100, 0.05) - 100)


def test_regressor_times_parameters_is_the_torque():
    rng = np.random.default_rng(0)
    values = dict(zip(QUADRANT_PARAMETERS, rng.uniform(0.1, 2, 10), strict=True))
    tau, dq = rng.normal(0, 50, 40), rng.normal(0, 0.3, 40)
    columns = QuadrantFriction.columns(tau, dq, 0.03)
    assert np.allclose(columns @ list(values.values()), QuadrantFriction(**values, dq_s=0.03).torque(tau, dq))


def test_a_joint_at_rest_is_a_motor():
    """P = 0 counts as motor, with the measured power as with the default one; no sign of a speed that is none."""
    columns = QuadrantFriction.columns(np.array([50.0, -50.0]), np.zeros(2), 0.03)
    assert np.array_equal(columns, [[50, 50, 0, 0, 0, 0, 0, 0, 0, 1], [-50, -50, 0, 0, 0, 0, 0, 0, 0, 1]])


def test_the_measured_power_decides_the_quadrant():
    tau, dq = np.array([10.0, 10.0]), np.array([0.2, 0.2])
    motor, generator = QuadrantFriction.columns(tau, dq, 0.03, power=np.array([3.0, -3.0]))
    fade = np.exp(-0.2 / 0.03)
    assert np.allclose(motor, [10, 10 * fade, 0, 0, 1, fade, 0, 0, 0.2, 1])
    assert np.allclose(generator, [0, 0, 10, -10 * fade, 0, 0, 1, fade, 0.2, 1])
    friction = QuadrantFriction(c_m=7, c_g=5)
    assert np.allclose(friction.torque(tau, dq, power=np.array([3.0, -3.0])), [17, 15])
