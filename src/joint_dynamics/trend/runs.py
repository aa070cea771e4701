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

"""The runs in a folder tree: recordings with robot and date."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError

REFERENCE = 'reference.yaml'
"""Name of a description that the runs of a robot are compared with, in the robot's folder."""
BAGS = ('.mcap', '.db3')
_DATE = re.compile(
    r'(?<!\d)(20\d\d)([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])'
    r'(?:[-_T ]?([01]\d|2[0-3])([-_.:h]?)([0-5]\d)(?:\6([0-5]\d))?)?(?!\d)'
)
_EARLIEST = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
"""A clock before it does not show the date: simulated time, or a computer that never had the time."""
_UTC = datetime.timezone.utc


@dataclass(frozen=True)
class Run:
    """One recording of a robot.

    Attributes
    ----------
    robot
        the first folder below the root; for runs in the root itself, the root's name.
    path
        of the recording.
    date
        in UTC where the run states it, otherwise as in its name.
    """

    robot: str
    path: Path
    date: datetime.datetime


def find_runs(root: str | Path, leave_out: str | Path | None = None) -> tuple[list[Run], dict[str, str]]:
    """Return the runs below a folder, by robot and date, and the paths left out with the reason.

    A run is a rosbag2 folder, or an .mcap, .db3 or .csv file. Its date is the last one in its path (2026-03-01,
    20260301_1430), otherwise the start of the bag.

    Parameters
    ----------
    root
        the folder.
    leave_out
        a folder below it to ignore, such as that of the results.

    Raises
    ------
    JointDynamicsError
        Where the folder does not exist or contains no run.
    """
    root = Path(root).expanduser()
    if not root.is_dir():
        raise JointDynamicsError(f'trend: expected a folder of runs, found no folder {root}')
    runs: list[Run] = []
    left_out: dict[str, str] = {}
    skipped = None if leave_out is None else Path(leave_out).expanduser().resolve()
    for path in _candidates(root, skipped):
        parts = path.relative_to(root).parts
        try:
            date = _date_of(path, parts)
        except JointDynamicsError as error:
            left_out[str(path)] = str(error)
            continue
        runs.append(Run(parts[0] if len(parts) > 1 else root.resolve().name, path, date))
    if not runs and not left_out:
        raise JointDynamicsError(
            f'trend: expected recordings (rosbag2 folders, .mcap, .db3, .csv) below {root}, found none'
        )
    return sorted(runs, key=lambda run: (run.robot, run.date, str(run.path))), left_out


def _candidates(root: Path, skipped: Path | None) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = sorted(name for name in names if not name.startswith('.') and (here / name).resolve() != skipped)
        bags = [name for name in files if Path(name).suffix in BAGS]
        if here != root and ('metadata.yaml' in files or any(name.startswith(here.name) for name in bags)):
            names[:] = []
            yield here
        else:
            yield from (here / name for name in sorted(files) if name in bags or name.lower().endswith('.csv'))


def _date_of(path: Path, parts: tuple[str, ...]) -> datetime.datetime:
    for part in reversed(parts):
        if matches := list(_DATE.finditer(part)):
            year, _, month, day, hour, _, minute, second = matches[-1].groups()
            try:
                return datetime.datetime(
                    int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=_UTC
                )
            except ValueError:
                continue
    date = _start_of_bag(path / 'metadata.yaml')
    if date is None or date < _EARLIEST:
        raise JointDynamicsError(
            f'{path}: expected a date, found none in its name nor in the file; put it into the name, as 2026-03-01 or'
            ' 20260301_1430'
        )
    return date


def _start_of_bag(path: Path) -> datetime.datetime | None:
    """Return the date that the metadata of a bag states; None where it states none."""
    if not path.is_file():
        return None
    document: Any = parse_yaml(read_text(path, str(path)), str(path))
    try:
        start = document['rosbag2_bagfile_information']['starting_time']['nanoseconds_since_epoch']
        return datetime.datetime.fromtimestamp(int(start) * 1e-9, tz=_UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
