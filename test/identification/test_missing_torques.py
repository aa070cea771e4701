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

"""Recordings without the torque of some joints."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.recordings import without_torque_of
from joint_dynamics.identification.validate import judge_description
from joint_dynamics.recording import Recording


@pytest.fixture(scope='module')
def missing(true_robot):
    return true_robot.model.joint_names[-2:]


@pytest.fixture(scope='module')
def partial(true_robot, missing):
    """Two recordings with the torque of the first four joints alone."""
    model = true_robot.model.standing(without_torque=missing)
    return [without_torque_of(model, true_robot.record(seed, duration=16.0, rate=200.0)) for seed in (7, 8)]


@pytest.fixture(scope='module')
def result(true_robot, partial):
    return identify(true_robot.model, partial[:1], partial[1:], IdentificationSettings(selection=False))


def test_csv_file_may_have_the_torque_of_some_joints(true_robot, missing, tmp_path):
    whole = true_robot.record(7, duration=2.0, rate=100.0)
    names = [f'{column}{k}' for column in ('q', 'tau') for k in range(1, 7)][:-2]
    data = np.column_stack([whole.time, whole.q, whole.tau[:, :4]])
    np.savetxt(tmp_path / 'run.csv', data, delimiter=',', header=','.join(['time', *names]), comments='')
    recording = Recording.load(tmp_path / 'run.csv', joint_names=whole.joint_names)
    assert recording.without_torque == missing
    np.testing.assert_allclose(recording.tau[:, :4], whole.tau[:, :4])
    recording.save_csv(tmp_path / 'again.csv')
    again = Recording.load(tmp_path / 'again.csv', joint_names=whole.joint_names)
    assert again.without_torque == missing and np.array_equal(again.tau, recording.tau)


def test_setting_leaves_a_torque_out(true_robot, missing, tmp_path):
    whole = true_robot.record(7, duration=2.0, rate=100.0)
    whole.save_csv(tmp_path / 'run.csv')
    stated = {'without_torque': [missing[1]]}
    recording = Recording.load(tmp_path / 'run.csv', stated, whole.joint_names)
    assert recording.without_torque == (missing[1],)
    assert any(missing[1] in note for note in recording.notes)
    with pytest.raises(JointDynamicsError, match='elsewhere'):
        Recording.load(tmp_path / 'run.csv', {'without_torque': ['elsewhere']}, whole.joint_names)


def test_torque_that_is_nowhere_a_number_is_missing(true_robot, missing, tmp_path):
    whole = true_robot.record(7, duration=2.0, rate=100.0)
    whole.save_csv(tmp_path / 'run.csv')
    rows = (tmp_path / 'run.csv').read_text().splitlines()
    rows[1:] = [row.rpartition(',')[0] + ',nan' for row in rows[1:]]
    (tmp_path / 'run.csv').write_text('\n'.join(rows))
    assert Recording.load(tmp_path / 'run.csv', joint_names=whole.joint_names).without_torque == (missing[1],)


def test_rows_with_torque_identify_what_they_determine(true_robot, result, missing):
    base = true_robot.model.standing(without_torque=missing).base_parameters()
    assert result.names == base.names
    assert not {'Fc_5', 'Fv_6', 'Ia_6'} & set(result.names)
    # Each within five of its deviations of the truth: 50 parameters exceed that once in 30,000 runs.
    error = np.abs(result.solution.chi - base.regroup(true_robot.standard.ravel()))
    assert (error < 5 * result.deviation).all()
    assert result.reasons == []


def test_result_and_description_name_joints_without_torque(result, missing):
    description = DynamicsDescription.from_yaml(result.description.to_yaml())
    assert description.without_torque == missing
    summary = result.summary()
    assert all(name in summary['uses']['feedforward'] for name in missing)
    assert all(summary['joints'][name]['state'] == 'weak' for name in missing)
    assert np.isnan(result.validation[0].residual_percent()[0][-2:]).all()


def test_validation_judges_only_described_torques(true_robot, result, missing):
    whole = true_robot.record(9, duration=16.0, rate=200.0)
    judged = judge_description(result.description, [whole])
    assert judged.reasons == [] and judged.fits[0].without_torque == missing
    assert any(all(name in note for name in missing) for note in judged.notes)


def test_torque_of_another_joint_is_not_exchanged_for_none(true_robot, partial, missing):
    first = true_robot.model.joint_names[0]
    turned = partial[0].tau * np.where(np.array(true_robot.model.joint_names) == first, -1.0, 1.0)
    reasons = identify(true_robot.model, [replace(partial[0], tau=turned)]).reasons
    assert reasons[0].code == 'torque_sign' and reasons[0].joints == (first,)


@pytest.mark.parametrize('method', ['tls', 'i-irls'])
def test_methods_that_need_every_torque_refuse(true_robot, partial, missing, method):
    with pytest.raises(JointDynamicsError, match=missing[0]):
        identify(true_robot.model, partial, settings=IdentificationSettings(method=method))
