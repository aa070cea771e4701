"""Recordings as named on the command line: a path with an optional window, and short names for messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.aligned import Window
from joint_dynamics.recording.bag import read_bag
from joint_dynamics.recording.csv_file import read_csv
from joint_dynamics.recording.samples import Samples

NUMBER = r'[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\.'
WINDOW = re.compile(rf'({NUMBER})?:({NUMBER})?')


def read_samples(spec: str | Path, samples: Samples) -> Window:
    """Add the samples of a rosbag2 folder, an .mcap, .db3 or CSV file; return the window of `PATH@t0:t1`.

    Raises
    ------
    JointDynamicsError
        For any defect of the file: what was expected and what was found.
    """
    path, window = parse_spec(spec)
    if not path.exists():
        raise JointDynamicsError(
            f'{path}: expected a recording (a rosbag2 folder, a .mcap, .db3 or .csv file), found no such file'
        )
    if path.is_dir() or path.suffix in ('.mcap', '.db3'):
        read_bag(path, samples)
    elif path.suffix.lower() == '.csv':
        read_csv(path, samples)
    else:
        ending = path.suffix or 'without ending'
        raise JointDynamicsError(
            f'{path}: expected a rosbag2 folder, a .mcap, .db3 or .csv file, found a file {ending}'
        )
    return window


def parse_spec(spec: str | Path) -> tuple[Path, Window]:
    """Split `PATH@t0:t1` into the path and the window (s, None for an open end); a path that exists is taken as it is.

    Raises
    ------
    JointDynamicsError
        When the text after the last '@' of an existing path is not a window.
    """
    path = Path(spec)
    text, mark, window = str(spec).rpartition('@')
    if not mark or path.exists():
        return path, (None, None)
    match = WINDOW.fullmatch(window.strip())
    if match:
        t0, t1 = (None if end is None else float(end) for end in match.groups())
        if t0 is not None and t1 is not None and not t0 < t1:
            raise JointDynamicsError(f'{spec}: expected a window t0:t1 that starts before it ends, found {t0:g}:{t1:g}')
        return Path(text), (t0, t1)
    if Path(text).exists():
        raise JointDynamicsError(
            f'{spec}: expected a window t0:t1 after @, in seconds from the start (either may be left out), '
            f'found {window!r}'
        )
    return path, (None, None)


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
