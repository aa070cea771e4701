"""The stiffness polynomial, its derivative and its inverse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness

alphas = st.lists(st.sampled_from([0.0, 1.0, 3e3, 2.1e4, 5e9]), min_size=1, max_size=4).filter(any)


def test_is_the_polynomial_of_the_sheet():
    stiffness = TorsionalStiffness([2e4, 3e9, 1e13])
    phi = np.linspace(-3e-3, 3e-3, 31)
    assert np.allclose(stiffness.torque(phi), 2e4 * phi + 3e9 * phi**3 + 1e13 * phi**5)
    assert np.allclose(stiffness.torque(phi), stiffness.basis(phi, 3) @ stiffness.coefficients)
    assert stiffness.stiffness(0.0) == 2e4
    central = (stiffness.torque(phi + 1e-8) - stiffness.torque(phi - 1e-8)) / 2e-8
    assert np.allclose(stiffness.stiffness(phi), central, rtol=1e-6)


@pytest.mark.parametrize('alpha', [[2e4], [2e4, 3e9], [2e4, -3e9, 1e14], [1e4, 2e9, 3e13, -4e18]])
def test_stiffness_and_its_slope_are_those_of_numpys_polynomial(alpha):
    odd = np.zeros(2 * len(alpha))
    odd[1::2] = alpha
    torque = np.polynomial.Polynomial(odd)
    phi = np.linspace(-3e-3, 3e-3, 31)
    model, joints = TorsionalStiffness(alpha), TorsionalStiffness([alpha, alpha])
    for function, expected in (
        ('torque', torque(phi)),
        ('stiffness', torque.deriv()(phi)),
        ('curvature', torque.deriv(2)(phi)),
    ):
        # sums of at most four terms
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(model, function)(phi), expected, rtol=1e-12, atol=1e-14 * size)
        both = getattr(joints, function)(np.stack([phi, -phi], axis=1))
        np.testing.assert_allclose(both[:, 0], expected, rtol=1e-12, atol=1e-14 * size)
        np.testing.assert_allclose(both[::-1, 1], expected, rtol=1e-12, atol=1e-14 * size)


@given(alpha=alphas, tau=st.floats(-500, 500))
@settings(deadline=None)
def test_inverse_is_the_inverse(alpha, tau):
    stiffness = TorsionalStiffness(alpha)
    phi = stiffness.deformation(tau)
    assert np.isclose(stiffness.torque(phi), tau, rtol=1e-12, atol=1e-300)
    assert phi * tau >= 0


def test_all_joints_at_once_are_each_joint_alone():
    rows = [[2e4, 3e9], [5e3, 0.0], [0.0, 1e9]]
    together = TorsionalStiffness(rows)
    phi = np.random.default_rng(1).uniform(-2e-3, 2e-3, (20, 3))
    for j, row in enumerate(rows):
        one = TorsionalStiffness(row)
        assert np.allclose(together.torque(phi)[:, j], one.torque(phi[:, j]))
        assert np.allclose(together.stiffness(phi)[:, j], one.stiffness(phi[:, j]))
    assert np.allclose(together.deformation(together.torque(phi)), phi, rtol=1e-9)
    assert np.array_equal(together.torque(phi[4]), together.torque(phi)[4])


def test_what_is_not_monotone_has_no_inverse():
    with pytest.raises(JointDynamicsError, match='monotone'):
        TorsionalStiffness([1e4, -1e9]).deformation(1.0)
    with pytest.raises(JointDynamicsError, match='expected shape'):
        TorsionalStiffness([[1.0], [2.0]]).torque(np.zeros(3))
    with pytest.raises(JointDynamicsError, match='finite'):
        TorsionalStiffness([np.nan])


def test_documents_and_stacking():
    parts = [TorsionalStiffness([1e4, 2e9], 3e-3), TorsionalStiffness([3e4])]
    stacked = TorsionalStiffness.stack([TorsionalStiffness.from_dict(part.to_dict()) for part in parts])
    assert np.array_equal(stacked.coefficients, [[1e4, 2e9], [3e4, 0]])
    assert np.array_equal(stacked.reach, [3e-3, np.inf])
    assert TorsionalStiffness.from_dict({'coefficients': [1e4], 'range': [-1e-3, 2e-3]}).reach == 2e-3


@pytest.mark.parametrize('alpha', [[2e4, 3e9], [2e4, -3e9], [2e4, 1e9, 1e14], [1e4, -3e8, 9e12]])
def test_beyond_its_reach_it_is_the_tangent(alpha):
    """Same torque and stiffness within; beyond, τ(r) + k(r) (|φ| − r), and the inverse of both."""
    r = 1.2e-3
    whole, ends = TorsionalStiffness(alpha), TorsionalStiffness(alpha, r)
    phi = np.linspace(-r, r, 41)
    assert np.array_equal(ends.torque(phi), whole.torque(phi))
    assert np.array_equal(ends.stiffness(phi), whole.stiffness(phi))
    beyond = np.array([1.01 * r, 2 * r, 30 * r])
    line = whole.torque(r) + whole.stiffness(r) * (beyond - r)
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(ends.torque(sign * beyond), sign * line, rtol=1e-14)
        np.testing.assert_allclose(ends.bounded_deformation(sign * line), sign * beyond, rtol=1e-12)
    assert np.all(ends.stiffness(beyond) == whole.stiffness(r)) and not ends.curvature(beyond).any()
    assert ends.largest[0] == np.inf


def test_one_that_bends_over_within_its_reach_is_the_polynomial():
    phi_max, tau_max = TorsionalStiffness([2e4, -3e9]).largest
    bends = TorsionalStiffness([2e4, -3e9], 1.5 * phi_max[0])
    assert bends.largest == (phi_max, tau_max)
    assert bends.bounded_deformation(2 * tau_max) == pytest.approx(phi_max)


@pytest.mark.parametrize(
    ('build', 'message'),
    [
        (
            lambda: TorsionalStiffness(np.ones((2, 2, 2))),
            r'^TorsionalStiffness: expected finite coefficients of shape \(P,\) or \(n, P\), found shape \(2, 2, 2\)$',
        ),
        (
            lambda: TorsionalStiffness([]),
            r'^TorsionalStiffness: expected finite coefficients of shape \(P,\) or \(n, P\), found shape \(0,\)$',
        ),
        (
            lambda: TorsionalStiffness([[1.0], [2.0]]).torque(1.0),
            r'^TorsionalStiffness: expected shape \(…, 2\), found \(\)$',
        ),
        (
            lambda: TorsionalStiffness([[1.0], [0.0]]).deformation([1.0, 1.0]),
            (
                r'^TorsionalStiffness.deformation: expected coefficients >= 0, one of them > 0 per joint \(monotone\),'
                r' found \[\[1.0\], \[0.0\]\]$'
            ),
        ),
        (lambda: TorsionalStiffness([1.0], np.nan), r'^TorsionalStiffness: expected a reach > 0 rad, found nan$'),
        (lambda: TorsionalStiffness.from_dict({}), '^stiffness: expected the field coefficients, found none$'),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(build, message):
    with pytest.raises(JointDynamicsError, match=message):
        build()


def test_without_torque_there_is_no_deformation_and_no_warning(recwarn):
    assert np.array_equal(TorsionalStiffness([0.0, 1e9]).deformation([0.0, -0.0]), [0.0, 0.0])
    assert np.array_equal(TorsionalStiffness([2e4, 0.0]).deformation([10.0, -10.0]), [5e-4, -5e-4])
    # a spring so soft that its slope is far below one
    assert TorsionalStiffness([1e-3, 1e-9]).deformation(1e-3) == pytest.approx(1.0, rel=1e-6)
    assert list(recwarn) == []


def test_documents_of_one_and_of_all_joints():
    stacked = TorsionalStiffness([[1e4, 2e9], [3e4, 0]])
    assert stacked.order == 2
    assert stacked.to_dict() == {'coefficients': [1e4, 2e9]}
    assert stacked.to_dict(1) == {'coefficients': [3e4, 0.0]}
    assert TorsionalStiffness([1e4]).to_dict() == {'coefficients': [1e4]}
