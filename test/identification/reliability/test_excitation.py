"""A motion that does not excite the robot enough."""

from types import SimpleNamespace

import numpy as np

from joint_dynamics.identification.reliability.coverage import (
    excitation_reasons,
    poorly_determined_parameters,
    relative_deviation_percent,
)


def test_a_poor_excitation_is_said_with_what_is_not_determined_and_what_never_moves():
    solution = SimpleNamespace(condition_number=1234.5, inflation=np.array([31.0, 1.0, 400.0, 30.0]))
    names = ['p', 'q', 'r', 's']
    assert poorly_determined_parameters(names, solution) == ['r', 'p']
    assert poorly_determined_parameters(names, solution, 10.0) == ['r', 'p', 's']
    for still, unmoved in (((), '300; '), (('a',), '; a never moves;'), (('a', 'b'), '; a, b never move;')):
        (reason,) = excitation_reasons(names, solution, 300.0, still)
        assert reason.code == 'excitation'
        for part in (
            '1.23e+03, expected at most 300',
            'not well determined: r, p;',
            unmoved,
            '`joint-dynamics excite`',
        ):
            assert part in reason.text
    solution.inflation = np.ones(4)
    for number, said in ((np.inf, 'infinite'), (np.nan, 'infinite'), (300.5, '300')):
        solution.condition_number = number
        (reason,) = excitation_reasons(names, solution, 300.0)
        assert f'condition number {said}, expected at most 300;' in reason.text and 'determined' not in reason.text
    solution.condition_number = 300.0
    assert excitation_reasons(names, solution, 300.0, ('a',)) == []


def test_deviations_in_percent_of_the_parameters():
    found = relative_deviation_percent(np.array([2.0, -4.0, 0.0]), np.array([0.5, 0.5, 0.0]))
    np.testing.assert_array_equal(found, [25.0, 12.5, np.inf])
