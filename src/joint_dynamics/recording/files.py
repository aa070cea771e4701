"""From what a user names on the command line to aligned signals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.aligned_signals import AlignedSignals
from joint_dynamics.recording.bag import read_bag
from joint_dynamics.recording.csv_file import read_csv
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.signal_builder import SignalBuilder
from joint_dynamics.robot.limits import JointLimits

S = TypeVar('S', bound=AlignedSignals)
Window = tuple[float | None, float | None]
NUMBER = r'[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+\.'
WINDOW = re.compile(rf'({NUMBER})?:({NUMBER})?')


def read_file(
    kind: type[S],
    spec: str | Path,
    settings: RecordingSettings | Mapping[str, Any] | None = None,
    joint_names: Sequence[str] | None = None,
    limits: JointLimits | None = None,
) -> S:
    """Read a rosbag2 folder, a single .mcap or .db3 file, or a CSV file, optionally a window `PATH@t0:t1` of it.

    t0, t1 are s from the start; either end may be left out, and t1 is not in it. `settings` say which topic holds what
    (RecordingSettings, or the mapping it is made from); `joint_names` are the joints wanted, in their order (those of
    the robot), None for all found; `limits`: theirs, where known, which no value exceeds by orders of magnitude;
    `kind`: what to return.

    Raises
    ------
    JointDynamicsError
        One line naming what was expected and what was found, for whatever is wrong with the recording.
    """
    builder, window, notes = _read(spec, settings, joint_names, limits)
    return _noted(builder.aligned(kind, str(spec), window), notes)


def read_pieces(
    kind: type[S],
    spec: str | Path,
    settings: RecordingSettings | Mapping[str, Any] | None = None,
    joint_names: Sequence[str] | None = None,
    limits: JointLimits | None = None,
) -> list[S]:
    """Read the same in pieces between gaps that are too long to be bridged; see `SignalBuilder.pieces`.

    kind, spec, settings, joint_names, limits: as of `read_file`.

    Raises
    ------
    JointDynamicsError
        One line naming what was expected and what was found; where too much would be left out.
    """
    builder, window, notes = _read(spec, settings, joint_names, limits)
    first, *others = builder.pieces(kind, str(spec), window)
    return [_noted(first, notes), *others]


def _noted(recording: S, notes: tuple[str, ...]) -> S:
    return replace(recording, notes=(*recording.notes, *notes)) if notes else recording


def _read(
    spec: str | Path,
    settings: RecordingSettings | Mapping[str, Any] | None,
    joint_names: Sequence[str] | None,
    limits: JointLimits | None,
) -> tuple[SignalBuilder, Window, tuple[str, ...]]:
    path, window = parse_spec(spec)
    builder = SignalBuilder(joint_names, settings, limits)
    if not path.exists():
        raise JointDynamicsError(
            f'{path}: expected a recording (a rosbag2 folder, a .mcap, .db3 or .csv file), found no such file'
        )
    notes: tuple[str, ...] = ()
    if path.is_dir() or path.suffix in ('.mcap', '.db3'):
        notes = read_bag(path, builder)
    elif path.suffix.lower() == '.csv':
        unused = read_csv(path, builder)
        notes = (f'columns not used: {", ".join(unused)}',) if unused else ()
    else:
        ending = path.suffix or 'without ending'
        raise JointDynamicsError(
            f'{path}: expected a rosbag2 folder, a .mcap, .db3 or .csv file, found a file {ending}'
        )
    return builder, window, notes


def parse_spec(spec: str | Path) -> tuple[Path, Window]:
    """Split `PATH@t0:t1` into the path and the window (s, None for an open end); a path that exists is taken as it is.

    Raises
    ------
    JointDynamicsError
        When what follows the last '@' of an existing path is not a window.
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
