"""Presliding from an unknown state: bounds and the best guess."""

import re

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.presliding import presliding
from joint_dynamics.joint import MaxwellSlip

WIDTH, OPERATORS = 2e-3, 4


def operators():
    return MaxwellSlip(2, WIDTH, operators=OPERATORS)


def point_to_point(rng, samples=4000, stays=8):
    """Angles (N, 2) that go from place to place, and creep within the presliding in between."""
    theta = np.zeros((samples, 2))
    length = samples // stays
    for k in range(stays):
        here = slice(k * length, (k + 1) * length)
        start = theta[max(k * length - 1, 0)]
        goal = start + rng.uniform(-0.2, 0.2, 2)
        s = np.minimum(np.linspace(0, 2, length), 1.0)[:, None]
        creep = 0.4 * WIDTH * np.sin(np.linspace(0, 6, length))[:, None] * (s == 1.0)
        theta[here] = start + (goal - start) * s**2 * (3 - 2 * s) + creep
    return theta


def true_hysteresis(theta, delta, slip):
    """H sample by sample from deformations delta (2, M): the definition, written down here."""
    width = WIDTH * slip.limits
    H = np.empty_like(theta)
    for k in range(len(theta)):
        delta = np.clip(delta + (theta[k] - theta[max(k - 1, 0)])[:, None], -width, width)
        H[k] = (slip.stiffness * delta).sum(axis=1) / WIDTH
    return H


@pytest.mark.parametrize('seed', range(10))
def test_bounds_enclose_every_first_state_and_meet_after_a_slip(seed):
    rng = np.random.default_rng(seed)
    theta, slip = point_to_point(rng), operators()
    found = presliding(theta, slip)
    for _ in range(5):
        H = true_hysteresis(theta, rng.uniform(-1, 1, (2, OPERATORS)) * WIDTH * slip.limits, slip)
        assert (found.low <= H + 1e-9).all()
        assert (found.high + 1e-9 >= H).all()
    assert found.high[0] == pytest.approx(1.0) and found.low[0] == pytest.approx(-1.0)
    slipped = np.maximum.accumulate(np.abs(theta - theta[0])) > 2 * WIDTH
    assert np.allclose(found.low[slipped], found.high[slipped], atol=1e-9)


@pytest.mark.parametrize(('steps', 'left'), [(1000, 0.04), (100, 0.25)])
def test_rest_is_predicted_where_the_encoder_resolves_presliding(steps, left):
    """The recorded motion alone predicts the friction of a creeping joint, of which the sign of its speed says
    nothing."""
    rng = np.random.default_rng(3)
    theta, slip = point_to_point(rng), operators()
    H = true_hysteresis(theta, rng.uniform(-1, 1, (2, OPERATORS)) * WIDTH * slip.limits, slip)
    # the first operator slips after WIDTH / 256: a hundredth of WIDTH does not resolve it, a thousandth does
    step = WIDTH / steps
    found = presliding(np.round(theta / step) * step, slip, step)
    speed = np.abs(np.gradient(theta, axis=0))
    rest = (speed < WIDTH / 200) & (np.arange(len(theta)) > 400)[:, None]
    assert ((found.low <= H + 1e-9) & (found.high >= H - 1e-9))[rest].all()
    assert np.sqrt(np.mean((found.expected - H)[rest] ** 2)) < left * np.sqrt(np.mean(H[rest] ** 2))


def test_a_coarse_encoder_leaves_the_whole_level():
    theta, slip = point_to_point(np.random.default_rng(4)), operators()
    found = presliding(theta, slip, 4 * WIDTH)
    assert (found.low == -1.0).all() and (found.high == 1.0).all()


def test_what_was_measured_at_the_first_sample_is_the_state():
    theta, slip = np.zeros((5, 2)), operators()
    assert presliding(theta, slip, first=[0.3, -0.6]).expected == pytest.approx(np.tile([0.3, -0.6], (5, 1)))
    assert slip.state is None


@pytest.mark.parametrize(
    ('theta', 'resolution', 'message'),
    [
        *((np.zeros(shape), 0.0, rf'theta of shape \(N, 2\), found {re.escape(str(shape))}')
          for shape in ((5,), (5, 3), (0, 2))),
        *((np.zeros((5, 2)), wrong, f'resolution of 0 rad or more, found {wrong!r}') for wrong in (-1.0, np.inf)),
    ],
)  # fmt: skip
def test_bad_input_is_named(theta, resolution, message):
    with pytest.raises(JointDynamicsError, match=message):
        presliding(theta, operators(), resolution)
