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

import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.recording import Recording


class Outcome:
    """Exit status and output of one command."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def error(self):
        """The one line of the command's error, the last of stderr; lines of progress may stand before it."""
        lines = [line for line in self.err.strip().splitlines() if line.startswith('joint-dynamics')]
        assert len(lines) == 1, self.err
        assert lines[0] == self.err.strip().splitlines()[-1]
        return lines[0]


@pytest.fixture
def run(capsys):
    """Call `run('identify', …)` as a shell would, in this process."""

    def call(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        return Outcome(status, *capsys.readouterr())

    return call


@pytest.fixture
def arm_file(tmp_path, ur_table):
    """The robot as an MDH table on disk."""
    path = tmp_path / 'arm.yaml'
    path.write_text(yaml.safe_dump(ur_table))
    return path


@pytest.fixture
def motion(moving_arm):
    """t, q, tau of a smooth, exciting motion."""
    return moving_arm


@pytest.fixture
def run_file(tmp_path, ur, motion):
    """The motion as a CSV file; `change(t, q, tau)` may spoil it, `columns` rename or drop columns."""

    def write(name='run.csv', change=None):
        t, q, tau = (array.copy() for array in motion)
        recording = Recording(ur.joint_names, t, q, tau=tau)
        path = tmp_path / name
        recording.save_csv(path)
        if change is not None:
            path.write_text(change(path.read_text()))
        return path

    return write
