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
