"""Choices of terms that other blocks of time would have led to."""

import numpy as np
import pytest
from scipy.stats import norm

from joint_dynamics.identification.selection.held_out import HeldOutLoss
from joint_dynamics.identification.selection.resampling import DRAWS, Candidate, Round, Tried, resampled_choices

BLOCKS = 60


@pytest.mark.parametrize('scale', [1e-3, 1.0, 1e3])
@pytest.mark.parametrize('least', [0.5, 2.0, 4.0])
def test_a_term_is_chosen_as_often_as_its_gain_exceeds_its_errors(scale, least):
    """A gain of two standard errors, of which `least` are asked: as often as a normal variable exceeds the difference.

    In any unit of the loss. 200 draws scatter by 3.5 %; the error of 60 blocks drawn anew by another tenth.
    """
    wave = np.sin(np.arange(BLOCKS) * 2.4)
    wave = (wave - wave.mean()) / wave.std()
    gain = 0.01 * (2.0 / np.sqrt(BLOCKS) + wave)
    before = HeldOutLoss(np.full((1, 1, BLOCKS), scale), np.zeros((0, 1, BLOCKS)))
    after = HeldOutLoss(scale * (1.0 - gain)[None, None], np.zeros((0, 1, BLOCKS)))
    tried = Tried(Candidate('law', (7,), min_errors=least, min_gain=1e-12), 0.1, after)
    found = resampled_choices([Round(before, [tried], None)], {})
    share = sum(choice.probability for choice in found if choice.ridges == {7: 0.1})
    expected = norm.sf(least - 2.0)
    assert share == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / DRAWS) + 0.05)
    assert not [choice for choice in found if choice.ridges != {7: 0.1}]
