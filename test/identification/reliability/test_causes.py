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

"""Several faults at once are found one after the other, and what mends them is proved and written."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.identification.reliability import causes
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel


@pytest.fixture(scope='module')
def arm(ur_table, true_robot_of):
    model = RobotModel.from_mdh(ur_table)
    recording = true_robot_of(model).record(1, duration=20.0, rate=100.0)
    return model, replace(recording, dq=np.gradient(recording.q, recording.period, axis=0))


@pytest.fixture
def check(checked):
    return lambda model, recording: checked(model, [recording])


def turned(tau, *joints):
    return tau * np.where(np.isin(np.arange(tau.shape[1]), joints), -1.0, 1.0)


@pytest.mark.parametrize('measured', [True, False])
def test_two_signs_and_the_time_are_found_one_after_the_other(arm, measured, check):
    """With measured speeds the time comes first, told by them alone; without it is found by the torques."""
    model, recording = arm
    names = model.joint_names
    bad = replace(
        recording, time=recording.time / 5.0, tau=turned(recording.tau, 1, 3), dq=recording.dq if measured else None
    )
    found = check(model, bad)
    mend = found.summary['mend']['recording']
    assert mend['torque_sign'] == {names[1]: -1.0, names[3]: -1.0}
    assert mend['time_scale'] == pytest.approx(5.0, rel=0.03) and set(mend) == {'torque_sign', 'time_scale'}
    codes = [reason.code for reason in found.reasons]
    assert set(codes) == {'time_scale', 'torque_sign'}
    if measured:
        assert codes[0] == 'time_scale' and 'lasted 20 s, its stamps say 4 s' in found.reasons[0].text
    for entry in found.summary['mend']['left_percent'].values():
        assert entry['after'] < 10 and entry['after'] < entry['before']


def test_speeds_correct_the_time_of_a_slow_motion(arm, true_robot_of, check):
    model, _ = arm
    slow = true_robot_of(model).record(1, duration=60.0, rate=50.0, frequency=0.01, noise=0.02)
    slow = replace(slow, dq=np.gradient(slow.q, slow.period, axis=0), time=3.0 * slow.time)
    checked = check(model, slow)
    assert checked.summary['mend']['recording']['time_scale'] == pytest.approx(1 / 3, rel=0.01)
    assert len(checked.reasons) == 1 and 'lasted 60 s, its stamps say 180 s' in checked.reasons[0].text


@pytest.mark.parametrize(
    ('before', 'after', 'proved'),
    [
        ([1.0, 1.0, 1.0, 1.0, 1.0], [0.8, 0.7, 0.9, 0.8, 0.8], True),
        ([1.0, 1.0, 1.0, 1.0, 1.0], [0.9, 1.2, 0.1, 1.4, 0.8], False),
        ([20.0, 1.0, 1.0, 1.0, 1.0], [14.0, 0.8, 0.9, 0.8, 0.7], True),
    ],
)
def test_correction_is_proved_if_steadily_better(before, after, proved):
    """Residual power in five folds; one fold with twenty times the power of the others hides none of them."""
    assert causes.proves(np.array(before)[:, None], np.array(after)[:, None]) is proved


def test_encoder_spikes_are_named_before_a_sign_that_is_inferred(arm, check):
    model, recording = arm
    rng, q = np.random.default_rng(0), recording.q.copy()
    for j in range(model.n):
        q[rng.integers(10, len(q) - 10, 8), j] += 0.5 * rng.choice([-1, 1], 8)
    found = check(model, replace(recording, q=q, dq=None, tau=turned(recording.tau, 1)))
    assert list(dict.fromkeys(reason.code for reason in found.reasons)) == ['spikes', 'torque_sign']


def test_stuck_torque_is_not_called_unrelated(arm, check):
    model, recording = arm
    tau, third = recording.tau.copy(), recording.samples // 3
    tau[third : 2 * third, 1] = tau[third, 1]
    reasons = check(model, replace(recording, tau=tau, dq=None)).reasons
    assert reasons[0].code == 'stuck' and reasons[0].joints == (model.joint_names[1],)
    assert not {reason.code for reason in reasons} & {'torque_unrelated', 'residual'}


def test_degrees_by_speeds_and_by_torques_are_one_reason(arm, true_robot_of, check):
    model, _ = arm
    recording = true_robot_of(model).record(1, duration=20.0, rate=200.0, frequency=0.3)
    degrees = replace(recording, q=np.rad2deg(recording.q))
    assert [reason.code for reason in faults(degrees)] == ['degrees']
    reasons = check(model, degrees).reasons
    assert [reason.code for reason in reasons] == ['degrees'] and 'position_scale' in reasons[0].mend['recording']


def test_what_unseen_data_do_not_prove_is_noted(arm, monkeypatch, check):
    """Each correction by itself; where none is proved the recording is refused by none."""
    model, recording = arm
    bad = replace(recording, tau=turned(recording.tau, 2), time=2 * recording.time, dq=None)
    both = [reason.code for reason in check(model, bad).reasons]
    assert sorted(both) == ['time_scale', 'torque_sign']
    for proved in ({'time_scale'}, set()):

        def shares(given, other, mend, proved=proved):
            better = set(mend.stated()) <= proved
            return np.full((5, model.n), 0.5), np.full((5, model.n), 0.1 if better else 0.9)

        monkeypatch.setattr(causes, 'held_out', shares)
        found = check(model, bad)
        assert {reason.code for reason in found.reasons if reason.code in both} == proved
        assert any(f'the torque of {model.joint_names[2]} has the opposite sign' in note for note in found.notes)


def test_the_doctor_writes_a_configuration_by_which_it_is_well(arm, ur_table, tmp_path):
    model, recording = arm
    names = model.joint_names
    robot, path, mend = tmp_path / 'robot.yaml', tmp_path / 'run.csv', tmp_path / 'mend.yaml'
    robot.write_text(yaml.safe_dump(ur_table))
    Recording(names, recording.time / 3.0, recording.q, recording.dq, tau=turned(recording.tau, 2)).save_csv(path)
    given = tmp_path / 'given.yaml'
    given.write_text(yaml.safe_dump({'recording': {'max_gap': 0.5}, 'identification': {'selection': False}}))
    arguments = ['doctor', str(path), '--robot', str(robot)]
    assert main([*arguments, '--config', str(given), '--mend', str(mend)]) == 3
    written = yaml.safe_load(mend.read_text())
    assert written['identification'] == {'selection': False} and written['recording']['max_gap'] == 0.5
    assert written['recording']['torque_sign'] == {names[2]: -1.0}
    assert written['recording']['time_scale'] == pytest.approx(3.0, rel=0.01)
    assert main([*arguments, '--config', str(mend)]) == 0
    out = tmp_path / 'out'
    assert main(['identify', *arguments[1:], '--config', str(mend), '--no-report', '--out', str(out)]) == 0
    assert main(['identify', *arguments[1:], '--config', str(given), '--no-report', '--out', str(out)]) == 3
    assert yaml.safe_load((out / 'mend.yaml').read_text()) == written


def test_one_recording_at_a_time_is_mended(tmp_path, capsys):
    assert main(['doctor', 'a.csv', 'b.csv', '--robot', 'r.urdf', '--mend', str(tmp_path / 'mend.yaml')]) == 2
