"""Friction described without hysteresis."""

from joint_dynamics.estimation.friction_method import REVERSAL
from joint_dynamics.identification.selection.candidate_terms import WIDTHS


def test_it_turns_over_within_the_narrowest_width_that_identification_tries():
    assert min(WIDTHS) == REVERSAL
