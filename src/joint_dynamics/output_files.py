"""Files that are written whole or not at all, alone or as a set.

What is being written waits in a folder that was made for it, within the one it is written to. Nothing that was there
before is read or moved, whatever its name: it may be a link to somebody else's, a pipe, or planted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError

STAGING = '.joint_dynamics-'
"""Start of the name of the folder that files wait in.

Locked by its writer, so that what nobody locks was left behind by one that was killed.
"""


def prepare_folder(path: str | Path) -> Path:
    """Create a folder for output where there is none, make sure that it can be written.

    Remove what runs that were killed left behind.

    Raises
    ------
    JointDynamicsError
        Before any work is done for it.
    """
    folder = Path(path).expanduser()
    try:
        with _staging(folder):
            pass
    except OSError as error:
        raise _not_written(f'output folder {folder}', 'folder', error) from None
    return folder


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file elsewhere and move it into place; its mode follows the umask.

    Raise JointDynamicsError where that fails, leaving the old file as it was.
    """
    path = Path(path).expanduser()
    try:
        _write_set(path.parent, {path.name: content})
    except OSError as error:
        raise _not_written(path, 'file', error) from None


def write_set(folder: str | Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files that belong together, name -> content, such that no two of different runs are there at any time.

    Once all are written, the old ones but the first are removed and the new ones moved into place, the first before the
    others: a run that is killed meanwhile leaves the first, whole, and of the others those of the same run or none.

    Raises
    ------
    JointDynamicsError
        Where that fails, leaving the old files as they were unless it is the moving that fails.
    """
    folder = Path(folder).expanduser()
    try:
        _write_set(folder, contents)
    except OSError as error:
        raise _not_written(folder, 'folder', error) from None


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


def _write_set(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    with _staging(folder) as waiting:
        for name, content in contents.items():
            if (folder / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))
            _write(waiting, name, content)
        for name in list(contents)[1:]:
            (folder / name).unlink(missing_ok=True)
        for name in contents:
            os.replace(name, folder / name, src_dir_fd=waiting)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(folder: int, name: str, content: str | bytes) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
    with os.fdopen(descriptor, 'wb') as stream:
        stream.write(content.encode('utf-8') if isinstance(content, str) else content)
        stream.flush()
        os.fsync(descriptor)


@contextlib.contextmanager
def _staging(folder: Path) -> Iterator[int]:
    """Make a folder to wait in, for this process alone; give its descriptor and remove it in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f'{STAGING}*'):
        # a link, a file, being written, or removed meanwhile
        with contextlib.suppress(OSError), _locked(left, fcntl.LOCK_EX | fcntl.LOCK_NB) as descriptor:
            if os.fstat(descriptor).st_uid == os.geteuid():
                _remove(left, descriptor)
    with contextlib.ExitStack() as stack:
        while True:
            waiting = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
            # until it is locked, another process that tidies up takes it for abandoned
            with contextlib.suppress(FileNotFoundError):
                descriptor = stack.enter_context(_locked(waiting, fcntl.LOCK_EX))
                if waiting.exists():
                    break
        stack.callback(_remove, waiting, descriptor)
        yield descriptor


@contextlib.contextmanager
def _locked(folder: Path, lock: int) -> Iterator[int]:
    """Open and lock a folder, no link to one; OSError where it is none."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, lock)
        yield descriptor
    finally:
        os.close(descriptor)


def _remove(folder: Path, descriptor: int) -> None:
    for name in os.listdir(descriptor):
        os.unlink(name, dir_fd=descriptor)
    folder.rmdir()


def _not_written(what: str | Path, kind: str, error: OSError) -> JointDynamicsError:
    return JointDynamicsError(f'{what}: expected a {kind} that can be written, found: {error.strerror or error}')
