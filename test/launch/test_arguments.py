"""Every argument of every launch file is described, and stands in docs/launch.md."""
from pathlib import Path

import pytest

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.launch_description_sources import PythonLaunchDescriptionSource

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob('launch/*.launch.py'))


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_arguments_are_documented(path):
    page = (ROOT / 'docs' / 'launch.md').read_text(encoding='utf-8')
    assert f'`{path.name}`' in page
    description = PythonLaunchDescriptionSource(str(path)).get_launch_description(LaunchContext())
    arguments = [entity for entity in description.entities if isinstance(entity, DeclareLaunchArgument)]
    assert arguments
    for argument in arguments:
        assert argument.description != 'no description given'
        assert f'| `{argument.name}` |' in page
