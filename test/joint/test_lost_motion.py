"""Lost motion: its parts fall with the load, and the place in the play follows the motor within its width."""

import numpy as np
import pytest

from joint_dynamics.joint.stiffness import LOADS, loads_of, lost_motion_share, place_in_play


def test_loads_are_shares_of_the_torque_limit():
    assert loads_of(50.0).tolist() == pytest.approx([50.0 * share for share in LOADS])
    np.testing.assert_allclose(loads_of([10.0, 200.0]), [[0.1, 0.4], [2.0, 8.0]])


def test_half_is_left_at_its_load_and_it_falls_on_either_side():
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
