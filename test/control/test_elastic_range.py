"""Stiffness that falls with the load: allowed while it stays positive over the torques of the joint."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.joint.stiffness import SOFTEST

NAMES = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint', 'wrist_2_joint', 'wrist_3_joint')


def cubic(stiffness, torque):
    """The negative α₂ whose stiffness vanishes at a torque: τ_max = (2/3) α₁ √(α₁/(3 |α₂|))."""
    return -4.0 * stiffness**3 / (27.0 * torque**2)


def test_the_range_ends_where_the_stiffness_vanishes():
    stiffness = TorsionalStiffness([[2e4, cubic(2e4, 400.0), 0.0], [2e4, 1e9, 0.0], [1e4, -1e8, 1e12]])
    phi, tau = stiffness.largest
    np.testing.assert_allclose(tau[0], 400.0, rtol=1e-12)
    np.testing.assert_allclose(stiffness.stiffness(np.array([phi[0], 0.0, 0.0]))[0], 0.0, atol=1e-9 * 2e4)
    # Always rising; and falling at first, but never to zero (discriminant 9 α₂² − 20 α₁ α₃ < 0).
    assert np.isinf(phi[1:]).all()
    assert np.isinf(tau[1:]).all()


@given(st.floats(160.0, 1e5), st.floats(-1.0, 1.0), st.sampled_from([1e3, 2e4]))
def test_the_inverse_is_the_inverse(limit, share, stiffness):
    model = TorsionalStiffness([[stiffness, cubic(stiffness, limit)]])
    phi_max, _ = model.largest
    tau = np.array([0.999 * share * limit])
    phi = model.bounded_deformation(tau)
    np.testing.assert_allclose(model.torque(phi), tau, rtol=1e-9, atol=1e-30)
    assert np.abs(phi) <= phi_max


@pytest.mark.parametrize(
    'coefficients',
    [
        [2e4, cubic(2e4, 155.0)],
        [[2e4, cubic(2e4, 155.0)]] * 3 + [[5e3, 1e9]] * 3,
        [2e4, cubic(2e4, 300.0), 0.0],
        [1e4, -1e8, 1e12],
        [2e4, -1e6, -1e10],
    ],
)
def test_an_arm_takes_a_joint_that_softens(make_arm, coefficients):
    arm = make_arm(stiffness=TorsionalStiffness(coefficients))
    for share in (0.0, 1e-9, -0.5, 1.0):
        tau = share * arm.effort_limit
        np.testing.assert_allclose(arm.stiffness.torque(arm.deformation(tau)), tau, rtol=1e-9)
    # Torques beyond every range still give a number.
    assert np.isfinite(arm.deformation(np.full(6, 1e6))).all()


def test_hardening_and_softening_meet_at_the_line():
    tau = np.linspace(-150.0, 150.0, 7)[1:]
    line = tau / 2e4
    for sign in (1.0, -1.0):
        stiffness = TorsionalStiffness(np.tile([2e4, sign * 1e3], (6, 1)))
        np.testing.assert_allclose(stiffness.bounded_deformation(tau), line, rtol=1e-5)


def test_a_flexible_law_on_a_joint_that_softens_is_the_derivative_of_itself(make_loop, make_arm, path):
    loop = make_loop(
        'flexible_joint', make_arm(stiffness=TorsionalStiffness([2e4, cubic(2e4, 200.0)]), kinematic_error=None)
    )
    law, h = loop.controller, 1e-4
    for time in (0.7, 1.9, 3.3):
        before, omega_before, _ = law.motor_reference(path.at(time - h))
        _, omega, alpha = law.motor_reference(path.at(time))
        after, omega_after, _ = law.motor_reference(path.at(time + h))
        # θ_d carries the first order of the damping, θ̇_d does not: D/k φ̇ ~ 3e-4 s of it.
        np.testing.assert_allclose((after - before) / (2 * h), omega, atol=2e-3 * np.abs(omega).max())
        np.testing.assert_allclose(
            (omega_after - omega_before) / (2 * h), alpha, rtol=1e-5, atol=1e-5 * np.abs(alpha).max()
        )


@pytest.mark.parametrize(
    ('coefficients', 'expected'),
    [
        (
            [1e4, cubic(1e4, 140.0)],
            'stiffness of shoulder_pan_joint that stays positive up to its torque limit of 150 N·m',
        ),
        ([1e4, cubic(1e4, 150.0 * (1 + 1e-6))], 'shoulder_pan_joint'),
        ([[2e4, 0.0]] * 4 + [[-5e3, 1e9]] + [[2e4, 0.0]], 'wrist_2_joint'),
        ([0.0, 0.0], 'hold up to'),
    ],
)
def test_one_that_does_not_hold_the_joint_is_refused(make_arm, make_loop, coefficients, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        make_loop('flexible_joint', make_arm(stiffness=TorsionalStiffness(coefficients)))
    assert 0 < SOFTEST < 1
