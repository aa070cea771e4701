"""What a joint test gives back, in plain numbers."""

import numpy as np
import pytest

from joint_dynamics.identification.joint_tests.result import JointTestResult, Value, friction_document, nrmse_percent


def test_results_in_plain_numbers():
    y = np.array([1.0, 2.0, 4.0])
    assert nrmse_percent(y, y) == 100.0
    assert nrmse_percent(y, np.full(3, y.mean())) == pytest.approx(0.0)
    assert nrmse_percent(y, y + np.array([0.1, -0.2, 0.2])) == pytest.approx(
        100 * (1 - 0.3 / np.linalg.norm(y - y.mean()))
    )
    assert nrmse_percent(np.ones(3), np.zeros(3)) == float('-inf')
    values = {'a': Value(-2.0, 0.5, 'N·m'), 'b': Value(0.0, 1.0, 's'), 'c': Value(1.0, None, '')}
    assert [item.relative_std_percent for item in values.values()] == [25.0, None, None]
    result = JointTestResult('friction', 'j', values, {'rows': 7})
    assert result.reliable
    result.flag_insignificant(['a', 'b', 'c'], 'too short')
    result.flag_insignificant(('a',), 'no reversal', deviations=3.9)
    result.flag_insignificant(('a',), 'no reversal', deviations=4.1)
    assert result.reasons == [
        'b = 0 ± 1 s cannot be told from zero: too short',
        'a = -2 ± 0.5 N·m cannot be told from zero: no reversal',
    ]
    result.warnings.append('w')
    assert not result.reliable
    row = {'name': 'a', 'value': -2.0, 'std': 0.5, 'relative_std_percent': 25.0, 'unit': 'N·m'}
    summary = result.summary()
    assert summary['parameters'][0] == row and len(summary.pop('parameters')) == 3
    assert summary == {
        'test': 'friction', 'joint': 'j', 'verdict': 'not reliable', 'believable': False, 'warnings': ['w'],
        'reasons': result.reasons, 'rows': 7,
    }  # fmt: skip
    assert JointTestResult('x', 'j').summary()['verdict'] == 'reliable'
    kept = {'parameters': {'a': -2.0, 'b': 0.0, 'c': 1.0}, 'standard_deviations': {'a': 0.5, 'b': 1.0}}
    assert friction_document(values, method='motion') == {'friction': {**kept, 'method': 'motion'}}
