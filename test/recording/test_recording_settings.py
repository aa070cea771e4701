"""The examples of docs/reference/recordings.md are settings; those for the robots at hand read their recordings."""

import re
from pathlib import Path

import pytest
import yaml

from joint_dynamics.recording import RecordingSettings, load_recording

PAGE = (Path(__file__).parents[2] / 'docs' / 'reference' / 'recordings.md').read_text(encoding='utf-8')
EXAMPLES = dict(re.findall(r'^### (\w+ \w+)[^\n]*\n.*?```yaml\n(.*?)```', PAGE, re.MULTILINE | re.DOTALL))


def settings(title):
    return yaml.safe_load(EXAMPLES[title])['recording']


def test_there_are_examples():
    assert set(EXAMPLES) == {'Universal Robots', 'Kinova Gen3', 'Stäubli TX40', 'Second encoders'}


@pytest.mark.parametrize('title', EXAMPLES)
def test_examples_are_settings(title):
    assert RecordingSettings.from_mapping(settings(title)).inputs()


def test_every_setting_is_documented():
    keys = {
        key
        for row in re.findall(r'^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|', PAGE, re.MULTILINE)
        for key in re.findall(r'\w+', row)
    }
    assert set(RecordingSettings.__dataclass_fields__) - {'motor_side'} <= keys


@pytest.mark.parametrize(
    ('title', 'path', 'quantities'),
    [
        ('Kinova Gen3', 'gen3/RunTrajectory1', ('q', 'dq', 'tau', 'current', 'temperature')),
        ('Stäubli TX40', 'tx40/exciting_traj', ('q', 'tau', 'theta')),
        ('Second encoders', 'kr300/FF_A', ('q', 'dq', 'tau', 'theta', 'dtheta')),
    ],
)
def test_examples_read_the_recordings_they_are_for(data, title, path, quantities):
    assert load_recording(data / path, settings(title)).quantities == quantities
