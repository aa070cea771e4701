"""Vectors of many samples are numpy's, sample by sample."""

import numpy as np

from joint_dynamics.robot.link_motion import cross, cross_components, dot, turn, turn_back


def test_products_are_those_of_numpy():
    rng = np.random.default_rng(0)
    a, b, R = rng.normal(size=(3, 20)), rng.normal(size=(3, 20)), rng.normal(size=(3, 3, 20))
    np.testing.assert_allclose(dot(a, b), np.einsum('is,is->s', a, b), atol=1e-14)
    np.testing.assert_allclose(cross(a, b), np.cross(a.T, b.T).T, atol=1e-14)
    np.testing.assert_array_equal(np.array(cross_components(tuple(a), tuple(b))), cross(a, b))
    np.testing.assert_allclose(turn(R, a), np.einsum('rcs,cs->rs', R, a), atol=1e-14)
    np.testing.assert_allclose(turn_back(R, a), np.einsum('rcs,rs->cs', R, a), atol=1e-14)


def test_columns_of_several_joints_turn_alike():
    rng = np.random.default_rng(1)
    R, v = rng.normal(size=(3, 3, 20)), rng.normal(size=(3, 4, 20))
    for k in range(4):
        np.testing.assert_array_equal(turn(R, v)[:, k], turn(R, v[:, k]))
        np.testing.assert_array_equal(turn_back(R, v)[:, k], turn_back(R, v[:, k]))
