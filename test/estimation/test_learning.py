"""The detector of jumps by itself: what is one, and what only looks like it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.estimation import StiffnessEstimator
from joint_dynamics.estimation.learning import LEVELS, jumped

WINDOW, LOOK = 100, 10
EVERY = np.ones(2, dtype=bool)


def levels():
    """Two joints that have seen nothing."""
    states = np.zeros(2, LEVELS)
    states['long'] = 1e-4
    return states


def watched(states, samples, error, torque, active=EVERY, share=0.3):
    """Give so many samples of a constant error and torque, both (2,), and return at which of them joints jumped."""
    at = []
    for k in range(samples):
        for name, values in (('samples', 1.0), ('squares', np.square(error)), ('torque', np.square(torque))):
            states[name] += values * active
        if k % LOOK == LOOK - 1:
            which = [bool(jumped(states[j], 1e-3, float(WINDOW), share, 1e-4)) for j in range(2)]
            if any(which):
                at.append((k, which))
                for name in ('short', 'level', 'seen'):
                    states[name][which] = 0.0
    return at


def test_an_error_that_grows_in_one_joint_is_a_jump_of_that_joint():
    found, torque = levels(), np.array([10.0, 10.0])
    assert watched(found, 50 * WINDOW, np.array([0.5, 0.5]), torque) == []
    (first, joints), *_ = watched(found, WINDOW, np.array([5.0, 0.5]), torque)
    assert joints == [True, False] and first < WINDOW
    assert found['seen'][0] <= WINDOW < found['seen'][1]


def test_an_error_that_is_always_there_is_one_at_first_only():
    """Above the share it is told until the usual level has grown to it, by a bounded step at a time; below, never."""
    assert watched(levels(), 20 * WINDOW, np.array([2.5, 2.9]), np.array([10.0, 10.0])) == []
    found, error, torque = levels(), np.array([4.0, 0.1]), np.array([10.0, 10.0])
    assert watched(found, 20 * WINDOW, error, torque) != []
    assert watched(found, 20 * WINDOW, error, torque) == []


@pytest.mark.parametrize(('error', 'expected'), [(2.9, False), (3.1, True)])
def test_from_the_share_of_the_torque_on_an_error_is_a_jump(error, expected):
    """√(short) has to pass 0.3 · 10 N·m; the window is filled many times over, so that it holds nothing else."""
    found, torque = levels(), np.array([10.0, 10.0])
    watched(found, 50 * WINDOW, np.array([0.1, 0.1]), torque)
    assert bool(watched(found, 10 * WINDOW, np.array([error, 0.1]), torque)) == expected


def test_without_a_share_nothing_is_a_jump():
    found, torque = levels(), np.array([10.0, 10.0])
    watched(found, 50 * WINDOW, np.array([0.1, 0.1]), torque)
    assert watched(found, WINDOW, np.array([100.0, 0.1]), torque, share=np.inf) == []


def test_what_does_not_count_changes_nothing_but_for_the_others():
    found = levels()
    only_first = np.array([True, False])
    watched(found, 3 * WINDOW, np.array([0.5, 0.5]), np.array([10.0, 10.0]), only_first)
    np.testing.assert_allclose(found['excitation'], [3 * WINDOW * 1e-3, 0.0])
    assert found['short'][1] == found['level'][1] == found['usual'][1] == 0.0 and found['long'][1] == 1e-4
    assert found['level'][0] == pytest.approx(100.0) and found['short'][0] == pytest.approx(0.25)


def test_a_stiffness_with_jumps_by_the_formulas(textbook):
    """Sums over the samples between two checks, usual and present level, the covariance opened where it jumps."""
    rng = np.random.default_rng(9)
    n, period, scale, hold, window, share, mu = 2, 2e-3, np.array([1e-3, 2e-3]), 0.02, 0.1, 0.3, 0.995
    estimator = StiffnessEstimator(
        n, 2, period=period, scale=scale, mu=mu, hold=hold, change_share=share, change_window=window, noise=0.2,
        initial_covariance=100.0, initial_coefficients=[[1e4, 1e9], [2e4, 0.0]],
    )  # fmt: skip
    stride, length, floor = round(0.005 / period), round(window / period), 0.2**2
    alpha = np.array([[10.0, 1.0], [40.0, 0.0]])
    P = [100.0 * np.eye(2)] * n
    one = [
        SimpleNamespace(anchor=np.inf, still=round(hold / period), fresh=True, sums=np.zeros(3), seen=0.0, short=0.0,
                        level=0.0, long=floor, usual=0.0, excited=0.0, changes=0)
        for _ in range(n)
    ]  # fmt: skip
    # one more than is evaluated, so that the map in force has the last levels
    t = np.arange(3001) * period
    phi = np.stack([1.2e-3 * np.sin(5 * t), 2e-3 * np.sin(3 * t)], axis=1) + rng.normal(0, 1e-6, (len(t), n))
    phi[1500:1600] = phi[1500]
    y = np.stack([1.2e4 * phi[:, 0] + 8e8 * phi[:, 0] ** 3, 2e4 * phi[:, 1]], axis=1) + rng.normal(0, 0.3, phi.shape)
    y[2000:, 0] *= 0.4
    phi[300, 0], y[301, 1], phi[302, 1] = np.nan, 2e9, 3.0
    allowed = rng.random(phi.shape) < 0.95
    for k in range(len(t)):
        error = estimator.update(phi[k], y[k], allowed[k])
        for j, s in enumerate(one):
            if k % stride == 0:
                sane = abs(phi[k, j]) < 1e3 * scale[j]
                if sane and abs(phi[k, j] - s.anchor) >= 0.02 * scale[j]:
                    s.anchor, s.still = phi[k, j], 0
                else:
                    s.still += stride
                s.fresh = s.still <= round(hold / period)
            active = 0.2 * scale[j] <= abs(phi[k, j]) < 1e3 * scale[j] and abs(y[k, j]) < 1e9
            active = bool(active and s.fresh and allowed[k, j])
            assert estimator.excited[j] == active
            if active:
                x = phi[k, j] / scale[j]
                P[j], alpha[j], expected, weighed = textbook(
                    np.array([x, x**3]), y[k, j], P[j], alpha[j], mu, 0.0, True
                )
                s.sums += [1.0, weighed, y[k, j] ** 2]
                assert error[j] == pytest.approx(expected, rel=1e-6, abs=1e-9)
            else:
                assert error[j] == 0.0
            if (k + 1) % stride == 0:
                count, squares, level = s.sums
                s.seen, s.excited, s.sums = s.seen + count, s.excited + period * count, np.zeros(3)
                s.short += (squares - count * s.short) / min(max(s.seen, 1.0), length)
                s.level += (level - count * s.level) / min(max(s.seen, 1.0), length)
                slow = min(count / min(max(s.seen, 1.0), 20.0 * length), 1.0)
                s.usual += slow * (s.level - s.usual)
                s.long += slow * (min(max(s.short, floor), 2.0 * s.long) - s.long)
                if count and s.seen >= length and s.short > max(share**2 * s.level, 9.0 * s.long):
                    P[j] = P[j] + (np.outer(alpha[j], alpha[j]) + np.diag((0.3 * alpha[j]) ** 2)) / floor
                    values, vectors = np.linalg.eigh(P[j] / 100.0)
                    P[j] = 100.0 * vectors @ np.diag(np.minimum(values, 1.0)) @ vectors.T
                    s.short = s.level = s.seen = 0.0
                    s.changes += 1
        np.testing.assert_array_equal(estimator.reopened, [s.changes for s in one])
    assert [s.changes for s in one] == [1, 0]
    unit = scale[:, None] ** np.array([1, 3])
    np.testing.assert_allclose(estimator.coefficients, alpha / unit, rtol=1e-6)
    np.testing.assert_allclose(estimator.covariance, [P[j] / np.outer(unit[j], unit[j]) for j in range(n)], rtol=1e-6)
    np.testing.assert_allclose(estimator.noise, [math.sqrt(s.long) for s in one], rtol=1e-6)
    np.testing.assert_allclose(estimator.excitation, [s.excited for s in one], rtol=1e-9)
    expected = [np.sqrt(np.diag(P[j]) * s.long) / unit[j] for j, s in enumerate(one)]
    np.testing.assert_allclose(estimator.standard_deviation, expected, rtol=1e-6)
    reliable = [s.excited >= 2.0 and s.long <= 0.2 * s.usual for s in one]
    np.testing.assert_array_equal(estimator.reliable, reliable)
    assert estimator.reliable[1]
    estimator.reset()
    np.testing.assert_allclose(estimator.coefficients, [[1e4, 1e9], [2e4, 0.0]], rtol=1e-12)
    assert not (estimator.reopened.any() or estimator.excitation.any() or estimator.excited.any())
    np.testing.assert_allclose(estimator.noise, 0.2, rtol=1e-12)
