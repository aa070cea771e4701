"""Friction that grows with load; Hamon's quadrants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import CoulombLevel, LoadFriction, QuadrantFriction
from joint_dynamics.joint.load import QUADRANT_PARAMETERS


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


def test_bad_parameters_are_refused():
    with pytest.raises(JointDynamicsError, match='tau_max'):
        CoulombLevel(1, tau_max=-1)
    with pytest.raises(JointDynamicsError, match='dq_s'):
        QuadrantFriction(dq_s=0)


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


@pytest.mark.parametrize(
    ('build', 'message'),
    [
        (lambda: CoulombLevel(np.nan), '^F_C0: expected a finite number'),
        (lambda: CoulombLevel(1, tau_max=np.nan), '^tau_max: expected values >= 0, found nan'),
        (lambda: LoadFriction(linear=np.inf), '^linear: expected a finite number'),
        (lambda: LoadFriction(quadratic=np.nan), '^quadratic: expected'),
        (lambda: QuadrantFriction(c_m=[[1.0]]), '^c_m: expected a finite number or one per joint'),
        (lambda: QuadrantFriction(dq_s=-1), '^dq_s: expected values > 0'),
    ],
)
def test_what_is_no_number_is_named(build, message):
    with pytest.raises(JointDynamicsError, match=message):
        build()
