"""Which of several better explanations are named."""

import numpy as np
import pytest

from joint_dynamics.identification.reliability.evidence import ExplanationFit
from joint_dynamics.identification.reliability.explanation import Candidate, named
from joint_dynamics.identification.reliability.thresholds import MAX_NAMED

GIVEN = ExplanationFit(np.zeros(3), np.array([0.5, 0.4]), 3, np.array([10.0, 10.0]))


def candidate(left, count, name):
    fitted = ExplanationFit(np.zeros(3), np.full(2, left**2), 3, None if count is None else np.full(2, count))
    return Candidate(GIVEN, fitted, name)


def names(candidates):
    return [one.reason for one in named(candidates)]


@pytest.mark.parametrize('white', [15.0, 200.0])
def test_mirror_images_are_named_both_however_white_their_residuals(white):
    """By their own counts the one with 200 independent samples gained twenty times the other."""
    pair = [candidate(0.05, white, 'one'), candidate(0.05, 10.0, 'other')]
    assert sorted(names(pair)) == sorted(names(pair[::-1])) == ['one', 'other']


def test_the_best_comes_first_and_what_is_far_behind_not_at_all():
    found = [candidate(0.5, 40.0, 'far'), candidate(0.06, 40.0, 'near'), candidate(0.05, 40.0, 'best')]
    assert names(found) == ['best', 'near']
    assert names([*found, candidate(0.051, None, 'uncounted')]) == ['best', 'uncounted', 'near']
    assert len(names([candidate(0.05, 40.0, str(k)) for k in range(MAX_NAMED + 2)])) == MAX_NAMED
    assert named([]) == []


def test_what_is_not_clear_by_itself_is_named_beside_its_mirror_image_alone():
    best, mirror, worse = candidate(0.05, 40.0, 'best'), candidate(0.051, None, 'mirror'), candidate(0.2, 40.0, 'worse')
    assert [one.reason for one in named([best], [mirror, worse])] == ['best', 'mirror']
    assert named([], [mirror]) == []
