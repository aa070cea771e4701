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

"""Maxwell-slip in position form: the laws of the paper, proposition 1, passivity, samples and recordings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip, PeriodicMap, polynomial_limits, polynomial_stiffness

backlash_tables = st.lists(st.floats(2e-4, 3e-3), min_size=1, max_size=40)
turning_points = st.lists(st.floats(-0.02, 0.02), min_size=1, max_size=8)


def path(points, step, start=0.0):
    """Walk from `start` along the turning points in steps of at most `step`."""
    pieces, here = [np.array([start])], start
    for point in points:
        count = max(2, int(np.ceil(abs(point - here) / step)) + 1)
        pieces.append(np.linspace(here, point, count)[1:])
        here = point
    return np.concatenate(pieces)


def literal(theta, backlash, limits, stiffness):
    """Equations (14) and (15) of the third journal paper as they are printed, one sample at a time, one joint."""
    delta, out = np.zeros(len(limits)), []
    for k, angle in enumerate(theta):
        width = backlash(angle) * limits
        if k:
            moved = angle - theta[k - 1] + delta
            delta = np.sign(moved) * np.minimum(np.abs(moved), width)
        out.append(stiffness @ delta / backlash(angle))
    return np.array(out)


def test_polynomial_laws_normalise_to_one():
    for operators in (1, 2, 4, 9):
        for r_Delta, r_k in ((1, 1), (4, 2), (2.5, 0.5)):
            limits = polynomial_limits(operators, r_Delta)
            assert limits[-1] == 1
            assert np.isclose(polynomial_stiffness(limits, r_k) @ limits, 1)
    # Equation (18) by hand for M = 2, rΔ = 1, rk = 1: shares 2/3 and 1/3 at Δ = ½ and 1.
    assert np.allclose(polynomial_stiffness([0.5, 1.0], 1.0), [4 / 3, 1 / 3])


@given(table=backlash_tables, points=turning_points, start=st.floats(-7, 7))
@settings(max_examples=60, deadline=None)
def test_follows_the_printed_recursion(table, points, start):
    backlash = PeriodicMap(table)
    slip = MaxwellSlip(1, backlash)
    theta = start + path(points, 3e-4)
    assert np.allclose(slip.run(theta), literal(theta, backlash, slip.limits[0], slip.stiffness[0]), atol=1e-9)


@given(table=backlash_tables, sign=st.sampled_from([-1.0, 1.0]), start=st.floats(-10, 10), stride=st.floats(1e-5, 0.3))
@settings(max_examples=60, deadline=None)
def test_steady_slip_is_exactly_one_whatever_the_backlash(table, sign, start, stride):
    # Proposition 1. Far enough that every operator has slipped: a map may grow along the way, so its largest width
    # counts.
    slip = MaxwellSlip(1, PeriodicMap(table))
    begin = MaxwellSlip(1, PeriodicMap(table))
    begin.run(start + sign * np.arange(0, 2.2 * max(table) + stride, stride))
    far = start + sign * (2.2 * max(table) + stride)
    slip.state = begin.state
    H = slip.run(far + sign * stride * np.arange(50))
    steep = np.max(np.abs(np.diff([*table, table[0]]))) * len(table) / (2 * np.pi)
    if steep < 0.5:  # where the map grows faster than the joint turns, nothing can slip
        assert np.allclose(H, sign, rtol=0, atol=1e-12)


@given(table=backlash_tables, points=turning_points, start=st.floats(-7, 7))
@settings(max_examples=60, deadline=None)
def test_no_path_returns_more_energy_than_it_took(table, points, start):
    # From rest (no deformation) the work ∫ H dθ is never negative, closed path or not.
    slip = MaxwellSlip(1, PeriodicMap(table))
    step = min(table) / 50
    theta = path([*points, 0.0], step)
    H = slip.run(start + theta)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (H[1:] + H[:-1]) * np.diff(theta))])
    assert work.min() >= -1e-5 * max(table)


@given(seed=st.integers(0, 2**31), joints=st.integers(1, 7), samples=st.integers(1, 400))
@settings(max_examples=40, deadline=None)
def test_recordings_and_single_samples_are_the_same_numbers(seed, joints, samples):
    rng = np.random.default_rng(seed)
    maps = PeriodicMap.stack([PeriodicMap(rng.uniform(5e-4, 2e-3, rng.integers(1, 30))) for _ in range(joints)])
    error = PeriodicMap.stack([PeriodicMap(1e-4 * rng.standard_normal(12)) for _ in range(joints)])
    theta = rng.uniform(-3, 3, joints) + np.cumsum(rng.normal(0, 5e-4, (samples, joints)), axis=0)
    whole, single = MaxwellSlip(joints, maps, kinematic_error=error), MaxwellSlip(joints, maps, kinematic_error=error)
    H = whole.run(theta)
    assert np.array_equal(H, np.array([single.step(sample) for sample in theta]))
    assert np.array_equal(whole.state, single.state)
    assert np.array_equal(whole.output, H[-1])
    assert np.all(np.abs(H) <= 1)


def test_reset_starts_without_deformation_or_in_full_slip():
    slip = MaxwellSlip(2, [1e-3, 2e-3])
    slip.reset([0.3, 0.4], direction=[1, -1])
    assert np.array_equal(slip.output, [1, -1])
    assert np.allclose(slip.step([0.3, 0.4]), [1, -1])
    slip.reset([0.3, 0.4])
    assert np.array_equal(slip.output, [0, 0])
    # The first pre-sliding stiffness Σk_i/𝓑 holds until the first operator slips.
    assert np.allclose(slip.step([0.3 + 1e-7, 0.4]), [slip.stiffness[0].sum() * 1e-7 / 1e-3, 0], rtol=1e-6)


def test_the_relative_deformations_make_the_output():
    slip = MaxwellSlip(2, [1e-3, 2e-3])
    theta = np.cumsum(np.random.default_rng(7).normal(0, 4e-4, (300, 2)), axis=0)
    relative = slip.relative_deformation(theta)
    assert relative.shape == (300, 2, 4)
    assert np.abs(relative).max() == 1.0
    H = MaxwellSlip(2, [1e-3, 2e-3]).run(theta)
    assert np.allclose((relative * slip.stiffness * slip.limits).sum(axis=-1), H, atol=1e-15)
    assert np.array_equal(slip.output, H[-1])
    # the first operator's deformation by hand, joint 2
    delta = [0.0]
    for step in np.diff(theta[:, 1]):
        delta.append(np.clip(delta[-1] + step, -2e-3 * slip.limits[1, 0], 2e-3 * slip.limits[1, 0]))
    assert np.allclose(relative[:, 1, 0], np.array(delta) / (2e-3 * slip.limits[1, 0]), atol=1e-9)


@pytest.mark.parametrize(
    'law', [{'operators': 3, 'r_Delta': 2.5, 'r_k': 1.5}, {'operators': 5}, {'r_Delta': 3.0}, {'r_k': 1.0}, {}]
)
def test_a_document_is_its_laws_with_the_defaults_of_the_paper(law):
    slip = MaxwellSlip.from_dicts([{**law, 'presliding': 1e-3}] * 2)
    limits = polynomial_limits(law.get('operators', 4), law.get('r_Delta', 4.0))
    assert np.allclose(slip.limits, [limits, limits])
    assert np.allclose(slip.stiffness, polynomial_stiffness(limits, law.get('r_k', 2.0)))
    assert slip.to_dict(1) == {
        'operators': law.get('operators', 4),
        'r_Delta': law.get('r_Delta', 4.0),
        'r_k': law.get('r_k', 2.0),
        'presliding': PeriodicMap.constant(1e-3).to_dict(),
    }


def test_document_keeps_its_own_limits_and_stiffness():
    error = [PeriodicMap([0.0, 1e-3])]
    document = {'limits': [0.25, 1.0], 'stiffness': [2.0, 0.5], 'presliding': PeriodicMap.constant(1e-3).to_dict()}
    slip = MaxwellSlip.from_dicts([document], error)
    assert np.allclose(slip.limits, [[0.25, 1.0]])
    assert np.allclose(slip.stiffness, [[2.0, 0.5]])
    assert slip.to_dict() == {'operators': 2, **document}
    theta = np.linspace(0, 3, 500)
    expected = MaxwellSlip.from_dicts([document]).run(theta - error[0](theta))
    assert np.allclose(slip.run(theta), expected, atol=1e-9)


def test_nearly_normal_stiffness_is_normalised():
    slip = MaxwellSlip(1, limits=[0.5, 1.0], stiffness=[1.0 + 6e-7, 0.5])
    assert np.isclose(slip.stiffness[0] @ slip.limits[0], 1.0, rtol=0, atol=1e-15)
    with pytest.raises(JointDynamicsError, match=r'^MaxwellSlip: expected stiffness k >= 0 with sum k_i Delta_i = 1'):
        MaxwellSlip(1, limits=[0.5, 1.0], stiffness=[1.0 + 6e-6, 0.5])
    with pytest.raises(JointDynamicsError, match=r'^MaxwellSlip: expected stiffness k >= 0'):
        MaxwellSlip(1, limits=[0.5, 1.0], stiffness=[3.0, -0.5])


def test_nan_angle_affects_only_its_joint():
    one, theta = MaxwellSlip(2, 1e-3), np.zeros((6, 2))
    theta[:, 0], theta[3, 1] = np.linspace(0, 0.1, 6), np.nan
    other = one.copy()
    np.testing.assert_array_equal([one.step(sample) for sample in theta], other.run(theta))
