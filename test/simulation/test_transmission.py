"""The transmission: maps over one turn; presliding hysteresis, its shape and memory, and the law of the papers."""

from itertools import pairwise

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.simulation.transmission import (
    drag,
    evaluate,
    four_operators,
    fourier_tables,
    hysteresis,
    locate,
    lookup,
    operators,
    smooth_operators,
    travel_tables,
)

SHAPES = {'smooth': smooth_operators(), 'four': four_operators()}


def walk(path, shape, start=0.0):
    radius, weight = shape
    play = np.full(radius.size, start)
    H = []
    for x in path:
        H.append(hysteresis(x, play, radius, weight))
        drag(x, play, radius)
    return np.array(H)


@pytest.mark.parametrize('name', SHAPES)
def test_steady_slip_gives_exactly_one(name):
    for sign in (1, -1):
        H = walk(sign * np.linspace(0, 3, 500), SHAPES[name])
        assert H[-1] == pytest.approx(sign, abs=1e-12)
        assert np.abs(H).max() <= 1 + 1e-12


@pytest.mark.parametrize('name', SHAPES)
def test_the_branch_after_a_reversal_is_the_virgin_curve_doubled(name):
    x = np.linspace(0, 2, 801)
    virgin = walk(x / 2, SHAPES[name])
    back = walk(np.concatenate([np.linspace(0, 3, 50), 3 - x]), SHAPES[name])[50:]
    np.testing.assert_allclose(back, 1 - 2 * virgin, atol=1e-12)


@pytest.mark.parametrize('name', SHAPES)
def test_it_depends_on_the_turning_points_alone(name):
    rng = np.random.default_rng(1)
    turns = np.cumsum(rng.normal(scale=0.5, size=40))
    coarse = walk(turns, SHAPES[name])
    fine = walk(np.concatenate([[turns[0]], *[np.linspace(a, b, 37)[1:] for a, b in pairwise(turns)]]), SHAPES[name])
    np.testing.assert_allclose(fine[::36], coarse, atol=1e-12)


def test_four_operators_are_the_papers_with_a_constant_backlash():
    width = 7e-4
    theta = np.cumsum(np.random.default_rng(3).normal(scale=1e-4, size=3000))
    reference = MaxwellSlip(presliding=width)
    expected = [reference.step(angle) for angle in theta]
    rate, table = travel_tables(fourier_tables([width], [[0.0]], [[0.0]]))
    x = rate[0] * theta + evaluate(table[0], theta)
    mine = walk(x, SHAPES['four'], start=x[0])
    # The initial stick positions differ until every element has slipped once.
    slipped = np.argmax(np.maximum.accumulate(theta) - np.minimum.accumulate(theta) > 2 * width)
    assert 0 < slipped < 2500
    np.testing.assert_allclose(mine[slipped:], np.asarray(expected)[slipped:], atol=1e-9)


@pytest.mark.parametrize(
    ('nodes', 'heights'), [([0.5, 1.0], [0.2, 1.0]), ([0.5, 0.4, 1.0], [0.5, 0.6, 1.0]), ([0.5, 0.9], [0.7, 1.0])]
)
def test_a_curve_that_is_no_hysteresis_is_refused(nodes, heights):
    with pytest.raises(JointDynamicsError, match='hysteresis: expected'):
        operators(nodes, heights)


def test_travel_is_the_integral_of_the_reciprocal_width():
    width = fourier_tables([5e-4], [[1e-4, 5e-5]], [[-1e-4, 0.0]])
    rate, table = travel_tables(width)
    theta = np.linspace(-8, 8, 2001)
    x = rate[0] * theta + evaluate(table[0], theta)
    expected = np.concatenate([[0.0], np.cumsum(np.diff(theta) / evaluate(width[0], (theta[1:] + theta[:-1]) / 2))])
    np.testing.assert_allclose(x - x[0], expected, rtol=1e-4, atol=0.5)
    np.testing.assert_allclose(np.gradient(x, theta)[1:-1] * evaluate(width[0], theta[1:-1]), 1.0, atol=1e-4)


def test_a_map_repeats_every_turn_and_its_slope_is_its_derivative():
    table = fourier_tables([0.1], [[0.3, -0.2, 0.05]], [[0.1, 0.0, 0.04]])[0]
    angle = np.random.default_rng(4).uniform(-20, 20, 200)
    exact = 0.1 + sum(
        c * np.cos(k * angle) + s * np.sin(k * angle) for k, c, s in ((1, 0.3, 0.1), (2, -0.2, 0.0), (3, 0.05, 0.04))
    )
    np.testing.assert_allclose(evaluate(table, angle), exact, atol=1e-9)
    np.testing.assert_allclose(evaluate(table, angle + 6 * np.pi), evaluate(table, angle), atol=1e-12)
    h = 1e-6
    for a in angle[:50]:
        slope = lookup(table, 0, *locate(table.shape[0], a))[1]
        ahead, behind = (lookup(table, 0, *locate(table.shape[0], a + d))[0] for d in (h, -h))
        assert slope == pytest.approx((ahead - behind) / (2 * h), abs=1e-7)


@pytest.mark.parametrize('angle', [0.0, 1.0, -1e-300, -1e-18, -1e-9, 2 * np.pi, -2 * np.pi, 1e6, -1e6, np.nan, np.inf])
def test_every_angle_lies_in_the_table(angle):
    for nodes in (1, 360, 720):
        low, high, s = locate(nodes, angle)
        assert 0 <= low < nodes
        assert high == (low + 1) % nodes
        if np.isfinite(angle):
            # Rounding of the angle in turns, and of the difference to the node.
            turn = (low + s) / nodes - angle / (2 * np.pi)
            assert abs(turn - np.rint(turn)) <= 4e-16 * max(1.0, abs(angle))


def test_a_backlash_that_vanishes_is_refused():
    with pytest.raises(JointDynamicsError, match='backlash map: expected values > 0'):
        travel_tables(fourier_tables([1e-4], [[2e-4]], [[0.0]]))
