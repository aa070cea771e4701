"""What the commands share: configuration files, robots, recordings, output folders, tables."""
from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.description import prepare_folder, write_atomically
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, load_recording
from joint_dynamics.recording.settings import RecordingSettings
from joint_dynamics.robot import RobotModel

ROBOT_KEYS = ('joints', 'locked', 'mounting', 'coupling')
SECTIONS = ('robot', 'recording', 'identification', 'excitation', 'joint')


def load_config(path: str | None) -> dict[str, Any]:
    """Read a configuration file (YAML with the sections of `SECTIONS`); {} without a path. Raises JointDynamicsError."""
    if path is None:
        return {}
    try:
        config = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
    except OSError as error:
        raise JointDynamicsError(f'config {path}: expected a readable file, found: {error.strerror or error}') from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise JointDynamicsError(f'config {path}: expected YAML, found: {str(error).splitlines()[0]}') from None
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise JointDynamicsError(f'config {path}: expected a mapping with {", ".join(SECTIONS)}, found {type(config).__name__}')
    for key, value in config.items():
        if key not in SECTIONS:
            raise JointDynamicsError(f'config {path}: {key}: expected one of {", ".join(SECTIONS)}')
        if not isinstance(value, Mapping):
            raise JointDynamicsError(f'config {path}: {key}: expected a mapping, found {value!r}')
    return dict(config)


def load_robot(path: str, config: Mapping[str, Any]) -> RobotModel:
    """Build the robot with the `robot` section's joints, locked, mounting, coupling."""
    options = dict(config.get('robot', {}))
    unknown = sorted(set(options) - set(ROBOT_KEYS))
    if unknown:
        raise JointDynamicsError(f'robot.{unknown[0]}: expected one of {", ".join(ROBOT_KEYS)}')
    return RobotModel.load(path, **options)


def load_recordings(specs: Iterable[str], config: Mapping[str, Any], joint_names: Sequence[str] | None) -> list[Recording]:
    """Read recordings by the `recording` section, joints by name."""
    settings = RecordingSettings.from_mapping(config.get('recording', {}))
    return [load_recording(spec, settings, joint_names) for spec in specs]


def output_folder(path: str) -> Path:
    """Return the folder, created and tried, before any work is done."""
    return prepare_folder(path)


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write summary.json; NaN and infinity never get there."""
    write_atomically(folder / 'summary.json', json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False) + '\n')


def add_config_argument(parser: argparse.ArgumentParser) -> None:
    """Add --config."""
    parser.add_argument('--config', metavar='FILE', help=f'YAML with any of the sections {", ".join(SECTIONS)} (docs/configuration.md)')


def show_verdict(line: str, reasons: Sequence[Any]) -> None:
    """Print the verdict in one line, in colour on a terminal, and each further reason in a line of its own."""
    from rich.console import Console
    from rich.text import Text
    console = Console(soft_wrap=True)
    console.print(Text.assemble('verdict: ', (line, 'bold red' if reasons else 'bold green')))
    for reason in reasons[1:]:
        console.print(Text.assemble(('not reliable: ', 'bold red'), str(reason)))


def show_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table to the terminal."""
    from rich.console import Console
    from rich.table import Table
    table = Table(title=title, title_justify='left', header_style='bold')
    for k, header in enumerate(headers):
        table.add_column(header, justify='left' if k == 0 else 'right', overflow='fold')
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    console = Console()
    # Piped into a file there is no width to respect, and a folded table is hard to read back.
    console = console if console.is_terminal else Console(width=160)
    console.print(table)


def _text(value: Any) -> str:
    if value is None:
        return '–'
    if isinstance(value, (str, bool)):
        return str(value)
    return '–' if value != value else f'{float(value):.4g}'
