# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What a result offers to the programmer: predictions, and a short face in an interpreter."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify, predict_torque, validate_description
from joint_dynamics.identification.observations import observe
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording import Recording


@pytest.fixture(scope='module')
def found(true_robot):
    runs = [true_robot.record(seed, duration=8.0, rate=200.0) for seed in (1, 2)]
    return (
        identify(true_robot.model, runs[:1], runs[1:], IdentificationSettings(method='wls', selection=False)),
        runs[1],
    )


def test_prediction_is_the_torque_that_validation_compares(found):
    """Its samples between the trimmed ends, filtered as validation filters them, are validation's predicted torque."""
    result, recording = found
    predicted = result.predict(recording)
    assert predicted.shape == recording.q.shape
    (fit,) = validate_description(result.description, [recording], result.settings)
    observation = observe(recording, result.plan)
    inner = predicted[int(round(result.plan.trim * recording.rate)) :][: len(observation.time)]
    np.testing.assert_allclose(
        observation.decimator.apply(inner), fit.predicted, rtol=1e-9, atol=1e-9 * np.abs(fit.tau).max()
    )


def test_prediction_meets_the_noise_free_torque(found, true_robot):
    """Within the noise of the recordings (2 %), away from the ends and from reversals.

    Where the sign of a filtered speed is late.
    """
    result, _ = found
    t, q, dq, ddq = true_robot.motion(np.random.default_rng(7), 8.0, 200.0)
    truth = true_robot.torque(q, dq, ddq)
    error = result.predict(Recording(true_robot.model.joint_names, t, q)) - truth
    inner = (np.abs(dq) > 0.1).all(axis=1) & (t > 0.5) & (t < 7.5)
    assert np.linalg.norm(error[inner]) < 0.02 * np.linalg.norm(truth[inner])


def test_measured_torque_takes_no_part(found):
    result, recording = found
    expected = result.predict(recording)
    np.testing.assert_array_equal(result.predict(replace(recording, tau=None)), expected)
    np.testing.assert_array_equal(result.predict(replace(recording, tau=None, current=0 * recording.q + 3.0)), expected)
    np.testing.assert_array_equal(result.predict(recording.select(recording.joint_names[::-1])), expected)
    np.testing.assert_array_equal(predict_torque(result.description, recording, result.settings), expected)


def test_description_states_values_with_deviations(found):
    result, _ = found
    document = result.description.document
    names = list(result.names)
    for k, joint in enumerate(result.problem.model.joint_names, start=1):
        friction = document['joints'][joint]['friction']
        assert friction['method'] == 'robot identification'
        for field, name in (('F_C0', f'Fc_{k}'), ('F_V1', f'Fv_{k}'), ('offset', f'off_{k}')):
            column = names.index(name)
            assert friction['parameters'][field] == pytest.approx(result.solution.chi[column])
            assert friction['standard_deviations'][field] == pytest.approx(result.deviation[column])
        rotor = document['joints'][joint]['rotor_inertia']
        if f'Ia_{k}' in names:
            column = names.index(f'Ia_{k}')
            assert rotor == {
                'value': pytest.approx(result.solution.chi[column]),
                'std': pytest.approx(result.deviation[column]),
            }
        else:
            assert set(rotor) == {'value', 'identifiable'} and rotor['identifiable'] is False
    assert any(f'Ia_{k}' in names for k in range(1, 7))


def test_description_states_base_parameters_with_deviations(found):
    result, _ = found
    count = result.problem.base.count
    base = result.description.document['inertial']['base']
    for entry, name, value, std in zip(base, result.names[:count], result.solution.chi, result.deviation, strict=False):
        assert (entry['name'], entry['value']) == (name, pytest.approx(value))
        assert entry['std'] == pytest.approx(std)


def test_without_a_recording_there_is_nothing_to_validate(found):
    result, _ = found
    with pytest.raises(JointDynamicsError, match=r'^validate: expected at least one recording, found none$'):
        validate_description(result.description, [])


def test_what_cannot_be_predicted_is_said(found):
    result, recording = found
    with pytest.raises(JointDynamicsError, match='not found: joint_4'):
        result.predict(recording.select(recording.joint_names[:3]))
    with pytest.raises(JointDynamicsError, match=r'expected at least [\d.]+ s'):
        result.predict(recording.window(0, 0.02))


def test_the_description_says_where_it_comes_from(found):
    """Residuals of all recordings as one, of all samples and of those in motion."""
    result, recording = found
    provenance = result.description.document['provenance']
    [fit] = result.training
    error, moving = fit.tau - fit.predicted, np.abs(fit.dq) > fit.moving_speed
    assert 0 < moving.sum() < moving.size
    assert provenance['residual_percent'] == pytest.approx(100 * np.linalg.norm(error) / np.linalg.norm(fit.tau))
    assert provenance['moving_residual_percent'] == pytest.approx(
        100 * np.linalg.norm(error[moving]) / np.linalg.norm(fit.tau[moving])
    )
    [unseen] = result.validation
    assert provenance['validation'] == {recording.name: pytest.approx(unseen.residual_percent()[1])}
    assert (provenance['method'], provenance['recordings']) == ('wls', [fit.name])
    assert provenance['believable'] == (not result.reasons)
    assert provenance['condition_number'] == pytest.approx(result.solution.condition_number)
    assert provenance['filters'] == {name: pytest.approx(value) for name, value in vars(result.plan).items()}


def test_the_summary_has_every_figure_under_its_name(made_result):
    """As in summary.json: plain keys, None in place of numbers that are not finite."""
    plain = made_result()
    solution = replace(plain.solution, chi=np.array([1.25, 0.0]))
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
