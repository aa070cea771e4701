"""Files that are written whole or not at all, alone or as a set, and what a run that was killed left behind."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError

PART = '.part'
"""Ending of what is being written.

Locked by its writer, so that what nobody locks was left behind by one that was killed.
"""
SET = '.result-'
"""Start of the name of the folder in which a set waits until it is complete."""


def prepare_folder(path: str | Path) -> Path:
    """Create a folder for output where there is none, make sure that it can be written.

    Tidy up after runs that were killed.

    Raises
    ------
    JointDynamicsError
        Before any work is done for it.
    """
    folder = Path(path).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _tidy(folder)
        trial = folder / f'.{uuid.uuid4().hex}{PART}'
        with _locked_file(trial):
            trial.unlink()
    except OSError as error:
        raise JointDynamicsError(
            f'output folder {folder}: expected a folder that can be written, found: {error.strerror or error}'
        ) from None
    return folder


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file under another name and move it into place.

    Raise JointDynamicsError where that fails, leaving the old file as it was.

    Its mode follows the umask. What was left of earlier attempts at this file is removed.
    """
    path = Path(path).expanduser()
    temporary = path.parent / f'.{path.name}.{uuid.uuid4().hex}{PART}'
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent.glob(f'.{path.name}.*{PART}'))
        with _locked_file(temporary) as descriptor:
            _write(descriptor, content)
            os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JointDynamicsError(
            f'{path}: expected a file that can be written, found: {error.strerror or error}'
        ) from None


def write_set(folder: str | Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files that belong together, name -> content, such that `folder` has all of them or those of before.

    They are written into a folder of their own first, whose renaming is the moment in which the set counts: from then
    on `current` finds them, and where the run is killed before all are in place, the next one (`prepare_folder`,
    `write_set`) moves the rest.

    Raises
    ------
    JointDynamicsError
        Where that fails, leaving the old files as they were.
    """
    folder = Path(folder).expanduser()
    name = f'{SET}{uuid.uuid4().hex}'
    waiting, complete = folder / f'{name}{PART}', folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _tidy(folder)
        for file in contents:
            if (folder / file).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / file))
        waiting.mkdir()
        with _lock(waiting):
            for file, content in contents.items():
                with _locked_file(waiting / file) as descriptor:
                    _write(descriptor, content)
            _sync_folder(waiting)
            os.replace(waiting, complete)
            _sync_folder(folder)
            _move_into_place(complete)
    except OSError as error:
        shutil.rmtree(waiting, ignore_errors=True)
        raise JointDynamicsError(
            f'{folder}: expected a folder that can be written, found: {error.strerror or error}'
        ) from None


def remove_files(folder: str | Path, names: Iterable[str]) -> None:
    """Remove those of these files that are there; raise JointDynamicsError where that fails."""
    folder = Path(folder).expanduser()
    for name in names:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise JointDynamicsError(
                f'{folder / name}: expected a file that can be removed, found: {error.strerror or error}'
            ) from None


def current(path: str | Path) -> Path:
    """Return where the content of `path` is: there, or in a complete set that a killed writer left behind."""
    path = Path(path).expanduser()
    with contextlib.suppress(OSError):
        for folder in sorted(path.parent.glob(f'{SET}*')):
            if folder.suffix != PART and (folder / path.name).is_file():
                return folder / path.name
    return path


def _move_into_place(complete: Path) -> None:
    for file in sorted(complete.iterdir()):
        os.replace(file, complete.parent / file.name)
    _sync_folder(complete.parent)
    complete.rmdir()


def _tidy(folder: Path) -> None:
    """Finish the sets that are complete and remove those that are not, of runs that are no more.

    Files half written.
    """
    for left in sorted(folder.glob(f'{SET}*')):
        with contextlib.suppress(FileNotFoundError), _lock(left) as free:
            if free and left.suffix == PART:
                shutil.rmtree(left)
            elif free:
                _move_into_place(left)
    _remove_abandoned(path for path in folder.glob(f'.*{PART}') if not path.name.startswith(SET))


def _remove_abandoned(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError), _lock(path) as free:
            if free:
                path.unlink()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or folder that is there; give whether it was free."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked_file(path: Path) -> Iterator[int]:
    """Create a file with the mode that the umask gives, and hold its lock."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: str | bytes) -> None:
    with os.fdopen(os.dup(descriptor), 'wb') as stream:
        stream.write(content.encode('utf-8') if isinstance(content, str) else content)
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
