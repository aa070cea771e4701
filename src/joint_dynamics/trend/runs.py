"""The runs in a folder tree: recordings and saved estimates, with robot and date."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joint_dynamics.description.result_files import NOT_RELIABLE
from joint_dynamics.description.schema import FORMAT
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
    """One recording, or one saved estimate, of a robot.

    Attributes
    ----------
    robot
        the first folder below the root; for runs in the root itself, the root's name.
    path
        of the recording or of the description.
    date
        in UTC where the run states it, otherwise as in its name.
    estimate
        whether it is a description.
    """

    robot: str
    path: Path
    date: datetime.datetime
    estimate: bool = False


def find_runs(root: str | Path, leave_out: str | Path | None = None) -> tuple[list[Run], dict[str, str]]:
    """Return the runs below a folder, by robot and date, and the paths left out with the reason.

    A run is a rosbag2 folder, an .mcap, .db3 or .csv file, or a dynamics description in YAML, other than
    `reference.yaml` and unreliable results. Its date is the last one in its path (2026-03-01, 20260301_1430), otherwise
    the start of the bag or the description's own date.

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
    for path, estimate in _candidates(root, skipped):
        parts = path.relative_to(root).parts
        try:
            date = _date_of(path, parts, estimate)
        except JointDynamicsError as error:
            left_out[str(path)] = str(error)
            continue
        runs.append(Run(parts[0] if len(parts) > 1 else root.resolve().name, path, date, estimate))
    if not runs and not left_out:
        raise JointDynamicsError(
            f'trend: expected recordings (rosbag2 folders, .mcap, .db3, .csv) or descriptions below {root}, found none'
        )
    return sorted(runs, key=lambda run: (run.robot, run.date, str(run.path))), left_out


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a folder's files, read piece by piece."""
    digest = hashlib.sha256()
    files = sorted(item for item in path.rglob('*') if item.is_file()) if path.is_dir() else [path]
    try:
        for file in files:
            digest.update(f'{file.relative_to(path)}\0{file.stat().st_size}\0'.encode())
            with file.open('rb') as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
    except OSError as error:
        raise JointDynamicsError(f'{path}: expected a run that can be read, found: {error.strerror or error}') from None
    return digest.hexdigest()


def _candidates(root: Path, skipped: Path | None) -> Iterator[tuple[Path, bool]]:
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = sorted(name for name in names if not name.startswith('.') and (here / name).resolve() != skipped)
        bags = [name for name in files if Path(name).suffix in BAGS]
        if here != root and ('metadata.yaml' in files or any(name.startswith(here.name) for name in bags)):
            names[:] = []
            yield here, False
            continue
        for name in sorted(files):
            path = here / name
            if path.suffix in BAGS or path.suffix.lower() == '.csv':
                yield path, False
            elif (
                path.suffix in ('.yaml', '.yml')
                and name != REFERENCE
                and NOT_RELIABLE not in name
                and _is_description(path)
            ):
                yield path, True


def _is_description(path: Path) -> bool:
    """Whether a YAML file says that it is a description; what cannot be read is none."""
    try:
        with path.open(encoding='utf-8', errors='replace') as stream:
            head = stream.read(4096)
    except OSError:
        return False
    return re.search(rf'^format:\s*["\']?{FORMAT}["\']?\s*$', head, re.MULTILINE) is not None


def _date_of(path: Path, parts: tuple[str, ...], estimate: bool) -> datetime.datetime:
    for part in reversed(parts):
        if matches := list(_DATE.finditer(part)):
            year, _, month, day, hour, _, minute, second = matches[-1].groups()
            try:
                return datetime.datetime(
                    int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=_UTC
                )
            except ValueError:
                continue
    date = _stated_date(path if estimate else path / 'metadata.yaml', estimate)
    if date is None or date < _EARLIEST:
        raise JointDynamicsError(
            f'{path}: expected a date, found none in its name nor in the file; put it into the name, as 2026-03-01 or'
            ' 20260301_1430'
        )
    return date


def _stated_date(path: Path, estimate: bool) -> datetime.datetime | None:
    """Return the date that a description, or the metadata of a bag, states; None where it states none."""
    if not path.is_file():
        return None
    document: Any = parse_yaml(read_text(path, str(path)), str(path))
    try:
        if not estimate:
            start = document['rosbag2_bagfile_information']['starting_time']['nanoseconds_since_epoch']
            return datetime.datetime.fromtimestamp(int(start) * 1e-9, tz=_UTC)
        date = datetime.datetime.fromisoformat(str(document['provenance']['date']))
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=_UTC)
