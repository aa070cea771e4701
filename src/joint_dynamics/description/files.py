"""Files that are written whole or not at all."""
from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError


def prepare_folder(path: str | Path) -> Path:
    """Create a folder for output where there is none, and make sure that it can be written.

    Raises JointDynamicsError before any work is done for it.
    """
    folder = Path(path).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise JointDynamicsError(f'output folder {folder}: expected a folder that can be written, found: {error.strerror or error}') from None
    return folder


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file under another name and move it into place; raise JointDynamicsError where that fails, leaving the old file as it was."""
    path = Path(path).expanduser()
    data = content.encode('utf-8') if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f'.{path.name}.', delete=False) as stream:
            temporary = stream.name
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise JointDynamicsError(f'{path}: expected a file that can be written, found: {error.strerror or error}') from None
