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

"""Recordings as named on the command line: a path with an optional window, and short names for messages.

In a folder of recordings, recording_1, recording_2, …, none is overwritten.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from joint_dynamics.documents import check_file, number
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.bag import read_bag
from joint_dynamics.recording.bag_writer import BagWriter
from joint_dynamics.recording.common_grid import Window
from joint_dynamics.recording.csv_file import read_csv
from joint_dynamics.recording.samples import Samples


def read_samples(spec: str | Path, samples: Samples) -> Window:
    """Add the samples of a rosbag2 folder, an .mcap, .db3 or CSV file; return the window of `PATH@t0:t1`.

    Raises
    ------
    JointDynamicsError
        For any defect of the file.
    """
    path, window = parse_spec(spec)
    if not _exists(path):
        raise JointDynamicsError(
            f'{path}: expected a recording (a rosbag2 folder, a .mcap, .db3 or .csv file), found no such file'
        )
    for file in (each for each in path.iterdir() if not each.is_dir()) if path.is_dir() else (path,):
        check_file(file, str(file))
    if path.is_dir() or path.suffix in ('.mcap', '.db3'):
        read_bag(path, samples)
    elif path.suffix.lower() == '.csv':
        read_csv(path, samples)
    else:
        raise JointDynamicsError(
            f'{path}: expected a rosbag2 folder, a .mcap, .db3 or .csv file, found a file '
            f'{path.suffix or "without ending"} (rosbags-convert converts a .bag of ROS 1)'
        )
    return window


def parse_spec(spec: str | Path) -> tuple[Path, Window]:
    """Split `PATH@t0:t1` into the path and the window (s, None for an open end); a path that exists is taken as it is.

    Raises
    ------
    JointDynamicsError
        When the text after the last '@' is not a window.
    """
    text, mark, window = str(spec).rpartition('@')
    if not mark or _exists(Path(spec)):
        return Path(spec), (None, None)
    try:
        first, last = (number(end) if end.strip() else None for end in window.split(':'))
    except ValueError:
        first = last = math.nan
    if not 0.0 <= (first or 0.0) < (math.inf if last is None else last) or last == math.inf:
        raise JointDynamicsError(
            f'{spec}: expected a file, or after @ a window t0:t1 in seconds from the start, that starts before it ends'
            f' (either may be left out), found {window[:80]!r}'
        )
    return Path(text), (first, last)


def _exists(path: Path) -> bool:
    """Whether there is such a file or folder; none has a name that the system refuses, of thousands of characters."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def short_name(name: str) -> str:
    """Return the last component of a recording's path, with its window."""
    return name.rstrip('/').rpartition('/')[2] or name


def with_short_names(text: str, names: Iterable[str]) -> str:
    """Return a text with the paths of recordings replaced by short names; paths of equal short names are kept."""
    known = sorted(set(names), key=len, reverse=True)
    shared = Counter(map(short_name, known))
    for name in known:
        # a window's name contains that of its recording: the longest goes first, and an unknown one stays
        if shared[short_name(name)] == 1:
            text = text.replace(name, short_name(name))
    return text


_NAME = re.compile(r'recording_([0-9]{1,9})(?:\..*)?')


def new_recording(folder: str | Path, after: int = 0) -> tuple[int, BagWriter]:
    """Begin a recording under the first number above `after` and all existing ones; return the number and its writer.

    Raises
    ------
    JointDynamicsError
        Where the folder cannot be written.
    """
    folder = Path(folder).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = max([after, *(int(match[1]) for item in folder.iterdir() if (match := _NAME.fullmatch(item.name)))])
        while True:
            number += 1
            # whoever makes it has the number: another node may record here, too
            with contextlib.suppress(FileExistsError):
                (folder / f'recording_{number}').mkdir()
                return number, BagWriter(folder / f'recording_{number}')
    except OSError as error:
        raise JointDynamicsError(
            f'output folder {folder}: expected a folder that can be written, found: {error.strerror or error}'
        ) from None
