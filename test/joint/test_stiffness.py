# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The stiffness polynomial, its derivative, its range and its inverse, against scipy's roots; lost motion."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq

from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.joint.stiffness import SOFTEST, check_range, lost_motion_share, place_in_play


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


SOFTENS = [2e4, -3e9]
HARDENS = [2e4, 3e9]
#: A stiffness that falls to 0.55 of itself and rises again: 1e4 − 3e8·3 φ²… has no real root.
DIPS = [1e4, -3e8, 9e12]
CURVES = {
    'straight': [2e4], 'hardens': HARDENS, 'softens': SOFTENS, 'of third order': [2e4, 1e9, 1e14],
    'without first order': [0.0, 1e9], 'softens by its third': [2e4, 0.0, -2e15], 'dips': DIPS,
}  # fmt: skip


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
def test_inverse_is_the_root_of_scipy(curve):
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


@pytest.mark.parametrize('curve', [SOFTENS, [2e4, -3e9, 0.0], CURVES['softens by its third']])
def test_deformation_beyond_the_range_is_that_at_its_end(curve):
    model = TorsionalStiffness([curve])
    (phi,), (tau,) = model.largest
    found = model.bounded_deformation(np.array([[1.001 * tau], [-50.0 * tau]]))
    np.testing.assert_allclose(found[:, 0], [phi, -phi], rtol=1e-7)


ARM = ('a', 'b')


def test_stiff_joints_are_accepted():
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


def test_lost_motion_falls_with_the_load_to_a_half():
    ratio = np.linspace(-5, 5, 101)
    left = lost_motion_share(ratio)
    assert lost_motion_share(np.array([0.0, 1.0, -1.0, 3.0])).tolist() == pytest.approx([1.0, 0.5, 0.5, 0.1])
    np.testing.assert_allclose(left, left[::-1])
    assert (np.diff(left[:51]) > 0).all()


def test_the_place_in_the_play_is_the_clip_of_the_motion():
    """x ← clip(x + Δθ/𝓑, ±1), sample by sample, from the middle on."""
    width = 4e-4
    theta = 1.0 + np.cumsum(np.random.default_rng(3).normal(scale=3e-4, size=500))
    expected, x = [0.0], 0.0
    for change in np.diff(theta):
        x = float(np.clip(x + change / width, -1.0, 1.0))
        expected.append(x)
    found = place_in_play(theta, width)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert {-1.0, 1.0} <= set(found)
