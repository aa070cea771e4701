"""Settings, merging into a description, and the documents in docs/ that users copy."""
import dataclasses
import re
from pathlib import Path

import pytest
import yaml

from joint_dynamics.control.compensation import check_compensation
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.result import TestResult, Value
from joint_dynamics.identification.joint_tests.run import SETTINGS, merged_description, run_test, test_settings

DOCS = Path(__file__).parents[3] / 'docs'


def example(page):
    return yaml.safe_load(re.search(r'```yaml\n(.*?)```', (DOCS / page).read_text(encoding='utf-8'), re.DOTALL).group(1))


@pytest.mark.parametrize('test', SETTINGS)
def test_every_setting_is_documented(test):
    section = (DOCS / 'identify-joint.md').read_text(encoding='utf-8').split(f'\n## {test}\n')[1].split('\n## ')[0]
    for field in dataclasses.fields(SETTINGS[test]):
        assert f'`{field.name}`' in section, field.name


def test_the_examples_of_the_docs_are_valid():
    part = example('joint_models.md')
    description = DynamicsDescription({'robot': {'joint_names': ['joint_1']}, 'joints': {'joint_1': part}})
    assert description.friction().maxwell_slip.operators == 4
    assert description.stiffness().coefficients.shape == (1, 2)
    [first, second] = check_compensation({'joint_1': part['friction']}, example('check-compensation.md')['joints'], {})
    assert first.positive.temperature == 20
    assert second.positive.temperature == 45
    for test in SETTINGS:
        test_settings(test, example('identify-joint.md')['joint'])


@pytest.mark.parametrize(('config', 'message'), [
    ({'friction': {'model': 3}}, 'joint.friction.model: expected str'), ({'hysteresis': {'methods': 'nlr'}}, 'list of names'),
    ({'load': {'gravity_error': 1}}, 'expected bool'), ({'stiffness': 'soft'}, 'expected a mapping'), ({'friction': {'plateaus': {'size': 1}}}, 'size')])
def test_settings_name_the_field_that_is_wrong(config, message):
    with pytest.raises(JointDynamicsError, match=message):
        test_settings('friction', config)


def test_settings_take_plain_numbers_and_lists():
    settings = test_settings('hysteresis', {'hysteresis': {'settle': 1, 'methods': ['static', 'law']}})
    assert settings.settle == 1.0
    assert settings.methods == ('static', 'law')
    assert test_settings('temperature', {'temperature': {'T_0': 30}}).T_0 == 30.0
    with pytest.raises(JointDynamicsError, match='wobble'):
        test_settings('wobble', {})


def friction_result(**parameters):
    result = TestResult('friction', 'a')
    result.document = {'friction': {'parameters': parameters, 'standard_deviations': {}}}
    return result


def test_results_merge_and_keep_what_was_known():
    first = merged_description(('a', 'b'), friction_result(F_C0=5.0, F_V1=1.0), None)
    second = merged_description(('a', 'b'), friction_result(F_C1=0.01), first)
    assert second.document['joints']['a']['friction']['parameters'] == {'F_C0': 5.0, 'F_V1': 1.0, 'F_C1': 0.01}
    assert first.document['joints']['a']['friction']['parameters'] == {'F_C0': 5.0, 'F_V1': 1.0}
    slip = TestResult('hysteresis', 'a')
    for limits in ([0.5, 1.0], [0.1, 0.5, 1.0]):
        slip.document = {'friction': {'parameters': {}, 'maxwell_slip': {'operators': len(limits), 'limits': limits, 'presliding': 1e-3}}}
        second = merged_description(('a', 'b'), slip, second)
    assert second.document['joints']['a']['friction']['maxwell_slip']['operators'] == 3
    orphan = friction_result(F_C1=0.01)
    assert 'friction' not in merged_description(('a',), orphan, None).document['joints']['a']
    assert any('friction test first' in warning for warning in orphan.warnings)


def test_doubt_counts_deviations():
    result = TestResult('load', 'a', parameters={'x': Value(1.0, 0.6, ''), 'y': Value(1.0, 0.4, ''), 'z': Value(1.0, None, '')})
    result.doubt_zero(['x', 'y', 'z'], 'why')
    assert [reason.split()[0] for reason in result.reasons] == ['x']


def test_no_recording_is_refused():
    with pytest.raises(JointDynamicsError, match='at least one recording'):
        run_test('friction', [], test_settings('friction', {}))
