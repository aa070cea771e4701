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

"""What the commands share: configuration files, robots, recordings, output folders, tables."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

ROBOT_KEYS = ('joints', 'locked', 'mounting', 'coupling', 'parallelograms')
SECTIONS = ('robot', 'recording', 'identification', 'excitation', 'joint', 'trend')
RECORDING_HELP = 'rosbag2 folder or CSV file, optionally with a window PATH@t0:t1 in seconds from its start'


def load_config(path: str | None) -> dict[str, Any]:
    """Read a configuration file (YAML with the sections of `SECTIONS`); {} without a path.

    Raises JointDynamicsError for a file that cannot be read or has other sections.
    """
    if path is None:
        return {}
    config = parse_yaml(read_text(path, f'config {path}'), f'config {path}')
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise JointDynamicsError(
            f'config {path}: expected a mapping with {", ".join(SECTIONS)}, found {type(config).__name__}'
        )
    for key, value in config.items():
        if key not in SECTIONS:
            raise JointDynamicsError(f'config {path}: expected the keys {", ".join(SECTIONS)}, found {key!r}')
        if not isinstance(value, Mapping):
            raise JointDynamicsError(f'config {path}: {key}: expected a mapping, found {value!r}')
    return dict(config)


def load_robot(path: str, config: Mapping[str, Any]) -> RobotModel:
    """Build the robot with the options of the `robot` section; say which of its joints stand though they could move."""
    options = dict(config.get('robot', {}))
    unknown = sorted(set(options) - set(ROBOT_KEYS), key=str)
    if unknown:
        raise JointDynamicsError(f'robot: expected the keys {", ".join(ROBOT_KEYS)}, found {unknown[0]!r}')
    model = RobotModel.load(path, **options)
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


def show_written(folder: Path, names: Sequence[str], reliable: bool = True) -> None:
    """Print what was written; where it is not reliable, also what that left alone."""
    print(f'written: {folder}/{" ".join(names)}')
    if not reliable and (folder / 'dynamics.yaml').exists():
        print(f'kept: {folder}/dynamics.yaml of an earlier run')


def add_config_argument(parser: argparse.ArgumentParser) -> None:
    """Add --config."""
    parser.add_argument(
        '--config',
        metavar='FILE',
        help=f'YAML with any of the sections {", ".join(SECTIONS)} (docs/reference/configuration.md)',
    )


@contextlib.contextmanager
def progress_display(first: str) -> Iterator[Callable[[str], None]]:
    """Give a function that shows a line: beside a spinner on a terminal, elsewhere one after the other on stderr."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(first) as status:
            yield status.update
    else:
        yield lambda line: print(line, file=sys.stderr, flush=True)


def exit_status(command: str, reasons: Sequence[object], remedy: str = '') -> int:
    """Return 0, or 3 where there are reasons not to believe the result, which go to stderr in one line."""
    if not reasons:
        return 0
    print(f'joint-dynamics {command}: done, but not reliable: {"; ".join(map(str, reasons))}{remedy}', file=sys.stderr)
    return 3


def show_verdict(line: str, reasons: Sequence[Any]) -> None:
    """Print the verdict in one line, in colour on a terminal, and each further reason in a line of its own."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True)
    colour = 'red' if reasons else 'yellow' if 'not validated' in line else 'green'
    console.print(Text.assemble('verdict: ', (line, f'bold {colour}')))
    show_reasons(console, 'not reliable', reasons, first=1)


def show_reasons(console: Any, kind: str, reasons: Sequence[Any], first: int = 0) -> None:
    """Print reasons from the `first` on, a line each."""
    from rich.text import Text

    for index, reason in enumerate(reasons):
        if index >= first:
            console.print(Text.assemble((f'{kind}: ', 'bold red'), str(reason)))


def mend_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of a configuration that mend what a summary is of, {} where none are known."""
    return {key: value for key, value in summary.get('mend', {}).items() if key in SECTIONS}


def write_mend(path: str | Path, summary: Mapping[str, Any], config: Mapping[str, Any], joints: Sequence[str]) -> None:
    """Write `config` with the corrections of a summary to a file, and print what they gain.

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
    print(f'mend: {path} (--config {path})')
    left = summary['mend'].get('left_percent', {})
    if left:
        show_table(
            'Left over of data that took no part, %',
            ['joint', 'as it is', 'mended'],
            [[name, entry['before'], entry['after']] for name, entry in left.items()],
        )


#: Characters from which on a name without spaces goes below a table that is too wide for it.
UNBROKEN_LENGTH = 24


def show_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table to the terminal, so that no number is cut and no path is broken.

    A few rows too wide for it are printed as columns; names of files that are still too wide stand below, by number.
    """
    from rich.console import Console
    from rich.table import Table

    cells = [list(headers), *([_text(value) for value in row] for row in rows)]
    # Piped into a file there is no width to respect, and a folded table is hard to read back.
    # And a cell is a value, not markup: brackets in the name of a joint are brackets.
    console = Console(markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(160, _width(cells))
    if _width(cells) > console.width and len(cells) <= len(headers):
        cells = [list(row) for row in zip(*cells, strict=True)]
    below: list[str] = []
    if _width(cells) > console.width:
        cells = [[_moved(cell, below) for cell in row] for row in cells]
    # not the table's own title, which is folded to the width of the table
    console.print(title, style='table.title', highlight=False, soft_wrap=True)
    table = Table(header_style='bold')
    for k, header in enumerate(cells[0]):
        table.add_column(header, justify='left' if k == 0 else 'right', overflow='fold')
    for row in cells[1:]:
        table.add_row(*row)
    console.print(table)
    for number, text in enumerate(below, start=1):
        console.print(f'({number}) {text}', soft_wrap=True, highlight=False)


def _width(cells: Sequence[Sequence[str]]) -> int:
    """Return the characters that a table needs, its lines included."""
    return sum(max(map(len, column)) + 3 for column in zip(*cells, strict=True)) + 1


def _moved(cell: str, below: list[str]) -> str:
    """Return a cell, or the number under which it stands below where it is the long name of a file or recording."""
    if len(cell) <= UNBROKEN_LENGTH or ' ' in cell or not ('/' in cell or '@' in cell or '_' in cell):
        return cell
    if cell not in below:
        below.append(cell)
    return f'({below.index(cell) + 1})'


def _text(value: Any) -> str:
    if value is None:
        return '–'
    if isinstance(value, (str, bool)):
        return str(value)
    return '–' if value != value else f'{float(value):.4g}'
