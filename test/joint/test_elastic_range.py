"""The deformation under a torque, where the stiffness rises, falls, or does neither: against scipy's roots."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.joint.stiffness import SOFTEST, check_range

SOFTENS, HARDENS = [2e4, -3e9], [2e4, 3e9]
#: A stiffness that falls to 0.55 of itself and rises again: 1e4 − 3e8·3 φ²… has no real root.
DIPS = [1e4, -3e8, 9e12]
CURVES = {
    'straight': [2e4],
    'hardens': HARDENS,
    'softens': SOFTENS,
    'of third order': [2e4, 1e9, 1e14],
    'without first order': [0.0, 1e9],
    'softens by its third': [2e4, 0.0, -2e15],
    'dips': DIPS,
}


def reached(curve, share=0.999):
    """The largest deformation and torque that a test goes to: of the range, or 5 mrad."""
    phi_max = TorsionalStiffness([curve]).largest[0][0]
    phi = share * phi_max if np.isfinite(phi_max) else 5e-3
    return phi, float(TorsionalStiffness(curve).torque(phi))


def test_the_range_of_a_cubic_is_in_closed_form():
    """k(φ) = α₁ + 3 α₂ φ² vanishes at φ² = α₁/(3 |α₂|), where τ = (2/3) α₁ φ."""
    phi, tau = TorsionalStiffness([SOFTENS, HARDENS, [1e4, -1e9]]).largest
    s = np.sqrt(np.array([2e4 / 9e9, 1e4 / 3e9]))
    np.testing.assert_allclose(phi[[0, 2]], s, rtol=1e-12)
    np.testing.assert_allclose(tau[[0, 2]], [2 / 3 * 2e4 * s[0], 2 / 3 * 1e4 * s[1]], rtol=1e-12)
    assert phi[1] == tau[1] == np.inf
    single = TorsionalStiffness(SOFTENS).largest
    assert [part.shape for part in single] == [(1,), (1,)]
    assert single[0][0] == pytest.approx(s[0], rel=1e-12)


def test_the_first_of_several_roots_ends_the_range():
    """k = α₁ (1 − φ²/a²)(1 − φ²/b²) with a < b."""
    a, b, alpha = 2e-3, 3e-3, 2e4
    factors = alpha * np.array([1.0, -(a**-2 + b**-2), (a * b) ** -2])
    phi, tau = TorsionalStiffness([factors / [1, 3, 5]]).largest
    assert phi[0] == pytest.approx(a, rel=1e-9)
    assert tau[0] == pytest.approx(np.polyval((factors / [1, 3, 5])[::-1], a * a) * a, rel=1e-9)
    assert np.isinf(TorsionalStiffness([DIPS]).largest[0][0])


@pytest.mark.parametrize('curve', CURVES.values(), ids=CURVES)
def test_the_inverse_is_the_root_that_scipy_finds(curve):
    model, (phi_max, tau_max) = TorsionalStiffness(curve), reached(curve)
    torques = tau_max * np.array([-1.0, -0.4, -1e-3, 1e-6, 0.2, 0.7, 0.95])
    expected = [brentq(lambda phi, tau=tau: model.torque(phi) - tau, -phi_max, phi_max, xtol=1e-18) for tau in torques]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        found = model.bounded_deformation(torques)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(model.torque(found), torques, rtol=1e-9)
    # a single number, zero, and a recording of several joints, each as alone
    assert model.bounded_deformation(0.0) == 0.0
    assert model.bounded_deformation(torques[4]) == pytest.approx(found[4], rel=1e-12)
    rows = TorsionalStiffness([curve] * 3).bounded_deformation(np.tile(torques[:, None], (1, 3)))
    np.testing.assert_allclose(rows, np.tile(found[:, None], (1, 3)), rtol=1e-12)


def test_joints_of_every_kind_beside_each_other():
    rows = [[*SOFTENS, 0.0], [*HARDENS, 0.0], DIPS, [2e4, 0.0, 0.0], [0.0, 0.0, 1e14]]
    torques = np.array([reached(row, 0.9)[1] for row in rows]) * np.array([[1.0], [-0.3]])
    found = TorsionalStiffness(rows).bounded_deformation(torques)
    alone = np.stack([TorsionalStiffness(row).bounded_deformation(torques[:, j]) for j, row in enumerate(rows)], axis=1)
    np.testing.assert_allclose(found, alone, rtol=1e-9)


@pytest.mark.parametrize('curve', [SOFTENS, [2e4, -3e9, 0.0], CURVES['softens by its third']])
def test_beyond_the_range_the_deformation_is_that_at_its_end(curve):
    model = TorsionalStiffness([curve])
    (phi,), (tau,) = model.largest
    found = model.bounded_deformation(np.array([[1.001 * tau], [-50.0 * tau]]))
    np.testing.assert_allclose(found[:, 0], [phi, -phi], rtol=1e-7)


ARM = ('a', 'b')


def test_a_joint_that_stays_stiff_is_taken():
    rising, softening = TorsionalStiffness([HARDENS, HARDENS]), TorsionalStiffness([HARDENS, SOFTENS])
    check_range(rising, ARM, np.full(2, np.inf))
    tau = softening.largest[1][1]
    # k falls to a share r of k(0) at φ² = (1 − r) φ_max²
    share = np.sqrt(1 - 1.01 * SOFTEST)
    check_range(softening, ARM, np.array([np.inf, tau * share * (3 - share**2) / 2]))
    check_range(TorsionalStiffness([DIPS, DIPS]), ARM, np.array([300.0, 300.0]))
    check_range(TorsionalStiffness([[2e4, 0.0], [0.0, 1e9]]), ARM, np.full(2, np.inf))
    # however soft it is
    check_range(TorsionalStiffness([[0.5, 0.0], [0.0, 0.5]]), ARM, np.full(2, np.inf))


@pytest.mark.parametrize(
    ('curve', 'working', 'message'),
    [
        (SOFTENS, np.inf, 'inf N·m, found coefficients [20000.0, -3000000000.0], which hold up to 19.88 N·m'),
        (SOFTENS, 19.9, '19.9 N·m, found coefficients [20000.0, -3000000000.0], which hold up to 19.88 N·m'),
        # softer than a twentieth of itself though not at its end yet
        (SOFTENS, 19.87, '19.87 N·m, found coefficients [20000.0, -3000000000.0], which hold up to 19.88 N·m'),
        ([0.0, 0.0], 5.0, '5 N·m, found coefficients [0.0, 0.0], which hold up to inf N·m'),
        ([-5e3, 1e9], 5.0, '5 N·m, found coefficients [-5000.0, 1000000000.0], which hold up to -4.303 N·m'),
    ],
)
def test_one_that_does_not_is_refused_by_name(curve, working, message):
    with pytest.raises(JointDynamicsError) as caught:
        check_range(TorsionalStiffness([HARDENS, curve]), ARM, np.array([np.inf, working]))
    assert (
        str(caught.value) == f'arm: expected a stiffness of b that stays positive up to its torque limit of {message}'
    )
