"""Rows at rest."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from joint_dynamics.identification.preparation.observations import Observation, find_rest


def test_stays_are_rows_below_the_speed_for_more_than_half_of_what_the_filter_saw():
    dtheta = np.array([[0, 0, 1, 0, 0, 0, 1, 1, 0.009, 0.01], [1] * 10], dtype=float).T
    nothing = np.zeros_like(dtheta)
    observation = Observation('run', np.arange(10.0), *[nothing] * 4, dtheta, nothing, nothing, None, None)
    rest = find_rest(observation)
    assert rest.resting[0].tolist() == [True, True, False, True, True, True, False, False, True, False]
    two, three = 2**-0.5, 3**-0.5
    np.testing.assert_allclose(rest.scale[0], [two, two, 1, three, three, three, 1, 1, 1, 1])
    assert not rest.resting[1].any() and (rest.scale[1] == 1).all()
    assert find_rest(observation, speed=2.0).resting.all()
    # a filter that takes every second sample as the mean of itself and the one before
    pairs = SimpleNamespace(apply=lambda still: 0.5 * (still[::2] + still[1::2]), kept=np.arange(0, 10, 2))
    assert find_rest(replace(observation, decimator=pairs)).resting[0].tolist() == [True, False, True, False, False]
