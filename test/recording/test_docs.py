"""The examples of docs/reference/recordings.md are settings; those for the robots at hand read their recordings."""

import re
from pathlib import Path

import numpy as np
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


def test_the_example_of_universal_robots(tmp_path, write_bag, messages):
    names = settings('Universal Robots')['arrays'][0]['joints']
    stamps = 1_700_000_000_000_000_000 + np.arange(501) * 2_000_000
    rows = [
        (
            '/joint_states',
            'sensor_msgs/msg/JointState',
            stamp,
            messages.joint_state(
                stamp, sorted(names), np.sin(stamp * 1e-9 + np.arange(6)), effort=np.cos(stamp * 1e-9 + np.arange(6))
            ),
        )
        for stamp in stamps.tolist()
    ]
    rows += [
        ('/rtde/joint_temperatures', 'std_msgs/msg/Float64MultiArray', stamp, messages.array(30 + np.arange(6)))
        for stamp in stamps[::50].tolist()
    ]
    recording = load_recording(
        write_bag(tmp_path / 'ur', sorted(rows, key=lambda row: row[2])), settings('Universal Robots'), names
    )
    assert recording.quantities == ('q', 'current', 'temperature')
    np.testing.assert_allclose(recording.temperature[-1], 30 + np.arange(6))
