"""The summary of a result."""

from types import SimpleNamespace

import numpy as np

from joint_dynamics.identification.reliability.verdict import Reason


def test_the_summary_has_every_figure_under_its_name(made_result):
    """As summary.json has it: plain keys, None for what is no finite number."""
    plain = made_result()
    solution = SimpleNamespace(**{**vars(plain.solution), 'chi': np.array([1.25, 0.0])})
    found = made_result(
        validation=plain.training, solution=solution, covariance=np.diag([0.05**2, np.inf]), notes=('n',),
        reasons=[Reason('delay', 'late')], payload={'M': 1}, validity={'a': 4}, transmissions={'a': {'stiffness': 2}},
        checks={'more': 3},
    )  # fmt: skip
    fixed = {'band_hz': 10.0, 'residual_percent': 12.5, 'moving_residual_percent': 12.5, 'rms': 0.5}
    summary = found.summary()
    assert summary == {
        'method': 'wls', 'samples': 321, 'base_parameters': 2, 'columns': 2, 'condition_number': None,
        'verdict': 'not reliable', 'verdict_line': 'not reliable, because late', 'believable': False,
        'reasons': [{'code': 'delay', 'text': 'late'}], 'doubtful_parameters': ['q'], 'seconds': 1.5,
        'filters': {'f_dyn': 1.5, 'position_cutoff': 7.5, 'parallel_cutoff': 3.0, 'decimation': None, 'trim': 0.2},
        **{f'{kind}{key}': value for kind in ('training', 'validation') for key, value in (
            ('', [{'recording': 'run'}]), ('_overall_percent', 12.5), ('_moving_overall_percent', 12.5),
            ('_fixed_band', fixed),
        )},
        'residual_deviation': {'a': 0.1, 'b': 0.2},
        'parameters': [
            {'name': 'p<', 'expression': 'a & b', 'value': 1.25, 'std': 0.05, 'relative_std_percent': 4.0},
            {'name': 'q', 'expression': 'c', 'value': 0.0, 'std': None, 'relative_std_percent': None},
        ],
        'notes': ['n'], 'payload': {'M': 1}, 'validity': {'a': 4}, 'transmissions': {'a': {'stiffness': 2}}, 'more': 3,
    }  # fmt: skip
    alone = plain.summary()
    for key in ('validation_overall_percent', 'validation_moving_overall_percent', 'validation_fixed_band'):
        assert alone[key] is None
    assert not {'payload', 'transmissions'} & set(alone)
