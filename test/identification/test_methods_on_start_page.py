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

"""Every method on the recordings of docs/start.md."""

import subprocess
import sys
from pathlib import Path

import pytest

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'record_bags.py'


@pytest.fixture(scope='module')
def start_page(tmp_path_factory):
    """The robot, the recording for training and the one for validation."""
    folder = tmp_path_factory.mktemp('start')
    subprocess.run([sys.executable, str(EXAMPLE)], cwd=folder, check=True, capture_output=True)
    model = RobotModel.load(folder / 'robot.urdf')
    return model, *(Recording.load(folder / name, joint_names=model.joint_names) for name in ('run1', 'run2'))


@pytest.mark.parametrize('method', ['ols', 'wls', 'irls', 'i-irls'])
def test_good_recordings_are_reliable_by_every_method(start_page, method):
    model, training, validation = start_page
    result = identify(model, [training], [validation], IdentificationSettings(method=method))
    assert [reason.code for reason in result.reasons] == []
