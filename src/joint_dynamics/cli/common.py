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

"""Shared by the commands: configuration files, robots, recordings, output folders, tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.description import summary_text, write_atomically, write_set
from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, load_pieces, load_recording
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.settings import check_keys
from joint_dynamics.terminal import Terminal

ROBOT_KEYS = ('joints', 'locked', 'mounting', 'coupling', 'parallelograms')
SECTIONS = ('robot', 'recording', 'identification', 'excitation', 'joint', 'trend')
RECORDING_HELP = 'rosbag2 folder or CSV file, optionally with a window PATH@t0:t1 in seconds from its start'


def load_config(path: str | None) -> dict[str, Any]:
    """Read a configuration file (YAML with the sections of `SECTIONS`); {} without a path.

    Raises JointDynamicsError for a file that cannot be read or has other sections.
    """
    if path is None:
        return {}
    where = f'config {path}'
    document = parse_yaml(read_text(path, where), where)
    config = dict(check_keys({} if document is None else document, SECTIONS, where))
    for key, value in config.items():
        if not isinstance(value, Mapping):
            raise JointDynamicsError(f'{where}: {key}: expected a mapping, found {value!r}')
    return config


def load_robot(path: str, config: Mapping[str, Any]) -> RobotModel:
    """Build the robot with the options of the `robot` section; say which of its joints stand though they could move."""
    model = RobotModel.load(path, **check_keys(config.get('robot', {}), ROBOT_KEYS, 'robot'))
    if model.held:
        places = ', '.join(
            f'{name} at {place:g}' if name in model.locked else name for name, place in model.held.items()
        )
        unstated = '' if set(model.held) <= set(model.locked) else ' (where not stated: as recorded, else at 0)'
        print(f'locked: {places}{unstated}', file=sys.stderr)
    return model


def load_recordings(
    specs: Iterable[str],
    config: Mapping[str, Any],
    joint_names: Sequence[str] | None,
    limits: JointLimits | None = None,
    *,
    pieces: bool = False,
) -> list[Recording]:
    """Read recordings by the `recording` section, joints by name; `limits`: of the robot, where it is known.

    pieces: those with gaps are taken in pieces between them.
    """
    settings = RecordingSettings.from_mapping(config.get('recording', {}))
    if pieces:
        return [piece for spec in specs for piece in load_pieces(spec, settings, joint_names, limits)]
    return [load_recording(spec, settings, joint_names, limits) for spec in specs]


def write_report(folder: Path, summary: Mapping[str, Any], report: Any, **files: str) -> None:
    """Write summary.json and report.html, and with them `files` (name with _ for the dot: content), as one set."""
    write_set(
        folder,
        {
            **{name.replace('_', '.'): text for name, text in files.items()},
            'report.html': report.to_html(),
            'summary.json': summary_text(summary),
        },
    )


def show_written(terminal: Terminal, folder: Path, names: Sequence[str], reliable: bool = True) -> None:
    """Show the written files; after an unreliable result, also the earlier one that stays."""
    terminal.say(f'written: {folder}/{" ".join(names)}')
    terminal.record(written=[str(folder / name) for name in names])
    if not reliable and (folder / 'dynamics.yaml').exists():
        terminal.say(f'kept: {folder}/dynamics.yaml of an earlier run')


def add_config_argument(parser: argparse.ArgumentParser) -> None:
    """Add --config."""
    parser.add_argument(
        '--config',
        metavar='FILE',
        help=f'YAML with any of the sections {", ".join(SECTIONS)} (docs/reference/configuration.md)',
    )


def exit_status(terminal: Terminal, reasons: Sequence[object], remedy: str = '') -> int:
    """Return 0, or 3 where there are reasons not to believe the result, which go to stderr in one line."""
    if not reasons:
        return 0
    terminal.problem(f'done, but not reliable: {"; ".join(map(str, reasons))}{remedy}')
    return 3


def show_verdict(terminal: Terminal, line: str, reasons: Sequence[Any]) -> None:
    """Show the verdict in one line, in colour on a terminal, and each further reason in a line of its own."""
    colour = 'red' if reasons else 'yellow' if 'not validated' in line else 'green'
    terminal.say(line, f'bold {colour}', label='verdict: ')
    terminal.record(verdict=line, reasons=[str(reason) for reason in reasons])
    for reason in reasons[1:]:
        terminal.say(str(reason), 'bold red', label='not reliable: ')


def mend_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of a configuration that mend what a summary is of, {} where none are known."""
    return {key: value for key, value in summary.get('mend', {}).items() if key in SECTIONS}


def write_mend(
    terminal: Terminal, path: str | Path, summary: Mapping[str, Any], config: Mapping[str, Any], joints: Sequence[str]
) -> None:
    """Write `config` with the corrections of a summary to a file, and show their gain.

    Corrections that `config` states already come first, and those of the summary after them.
    """
    mend = mend_of(summary)
    before = RecordingSettings.from_mapping(config.get('recording', {}))
    both = Corrections(**before.stated()).then(Corrections(**mend.get('recording', {})), joints).stated()
    kept = {key: value for key, value in config.get('recording', {}).items() if key not in before.stated()}
    whole = {**config, **{key: {**config.get(key, {}), **value} for key, value in mend.items()}}
    if both or kept:
        whole['recording'] = {**kept, **both}
    write_atomically(path, yaml.safe_dump(whole, sort_keys=False, allow_unicode=True))
    terminal.say(f'mend: {path} (--config {path})')
    left = summary['mend'].get('left_percent', {})
    if left:
        terminal.table(
            'Residual on unseen data, %',
            ['joint', 'uncorrected', 'corrected'],
            [[name, entry['before'], entry['after']] for name, entry in left.items()],
        )
