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

import numpy as np
import pytest
import yaml

from joint_dynamics.recording import Recording


def test_doctor_lists_what_is_there_and_what_works(run):
    done = run('doctor')
    assert done.status == 0
    for word in ('numpy', 'pinocchio', 'rclpy', 'launch_pytest', 'rclpy over DDS'):
        assert word in done.out


def test_recording_is_checked_and_its_use_named(run, arm_file, true_arm_csv, tmp_path):
    robot, recording = str(arm_file), tmp_path / 'run.csv'
    recording.write_text(true_arm_csv)
    good = run('doctor', recording, '--robot', robot)
    assert good.status == 0, good.error
    for words in ('nothing wrong found', 'can be identified: ', 'cannot be: stiffness'):
        assert words in good.out
    for arguments, words in (
        ((recording,), 'expected --robot FILE'),
        (('--robot', robot), 'expected a RECORDING'),
        (('nowhere', '--robot', robot), 'nowhere'),
    ):
        refused = run('doctor', *arguments)
        assert refused.status == 2
        assert words in refused.error


def test_of_a_good_recording_nothing_is_to_be_mended(run, arm_file, run_file, tmp_path):
    mend = tmp_path / 'mend.yaml'
    done = run('doctor', run_file(), '--robot', arm_file, '--mend', mend)
    assert done.status == 0 and not mend.exists()
    assert done.out.endswith('nothing wrong found\nnothing written: nothing to correct\n')


def test_gaps_that_stamps_too_far_apart_make_hide_nothing(run, arm_file, ur, motion, tmp_path):
    """A gap of 16 ms at 500 Hz is bridged, one of 80 ms at 100 Hz is not; without speeds nothing tells them apart."""
    t, q, tau = motion
    fine = np.arange(t[0], t[-1], 0.002)
    q, tau = (np.stack([np.interp(fine, t, x) for x in array.T], axis=1) for array in (q, tau))
    path, mend, half = tmp_path / 'run.csv', tmp_path / 'mend.yaml', len(fine) // 2
    for dq, status in ((None, 2), (np.gradient(q, fine, axis=0), 3)):
        Recording(ur.joint_names, 5 * fine, q, dq, tau=tau).save_csv(path)
        lines = path.read_text().splitlines()
        path.write_text('\n'.join([*lines[:half], *lines[half + 7 :]]))
        done = run('doctor', path, '--robot', arm_file, '--mend', mend)
        assert done.status == status, done.err
        assert 'found a gap of 0.08 s' in done.err if dq is None else 'its stamps say' in done.out
    assert yaml.safe_load(mend.read_text())['recording']['time_scale'] == pytest.approx(0.2, rel=0.01)
    # by which the gap is none, either
    again = run('doctor', path, '--robot', arm_file, '--config', mend)
    assert again.status != 2 and 'its stamps say' not in again.out
