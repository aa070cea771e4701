"""A result in one line and in a notebook."""

from types import SimpleNamespace

import numpy as np

from joint_dynamics.identification.display import as_html, summary_line
from joint_dynamics.identification.reliability.verdict import Reason

WITH_BANDS = '12.5 % below 3 Hz (12.5 %, 0.5 N·m RMS below 10 Hz)'


def test_a_result_in_one_line(made_result):
    (fit,) = made_result().training
    still = SimpleNamespace(**{**vars(fit), 'tau': np.zeros((3, 1))})
    late = Reason('delay', 'late')
    for changes, parts in (
        ({}, ('wls: 2 base parameters from 321 samples', f'training residual {WITH_BANDS}', ', reliable')),
        ({'names': 'pqr', 'validation': [fit]}, ('parameters and 1 further', f'validation residual {WITH_BANDS}')),
        ({'training': [still], 'reasons': [late, late]}, ('training without torque', 'not reliable for 2 reasons')),
    ):  # fmt: skip
        line = summary_line(made_result(**changes))
        assert [part for part in parts if part not in line] == []


def test_a_notebook_shows_reasons_residuals_and_parameters_as_text(made_result):
    page = as_html(made_result(reasons=[Reason('delay', 'x < y')], validation=made_result().training))
    cells = [row.split('</td><td>') for row in page.split('<tr><td>')[1:]]
    assert [(row[0], row[1].partition('</td>')[0]) for row in cells[:2]] == [
        (f'run &lt;1&gt; ({kind})', WITH_BANDS) for kind in ('training', 'validation')
    ]
    assert [row[:4] for row in cells[2:]] == [['p&lt;', '1.2346', '0.012', '1'], ['q', '-2', '0.5', '25']]
    assert '<li>x &lt; y</li>' in page and 'a &amp; b</td>' in page and 'not reliable for 1 reason<' in page
