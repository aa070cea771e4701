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

"""Files that are written whole or not at all, alone or as a set.

New files are written to a temporary folder within the target folder, then moved into place.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError

STAGING = '.joint_dynamics-'  # start of the name of a temporary folder; a process killed while writing leaves one


def prepare_folder(path: str | Path) -> Path:
    """Create a folder for output where there is none, and check that it can be written.

    Raises
    ------
    JointDynamicsError
        Before any work is done for it.
    """
    folder = Path(path).expanduser()
    _write(folder, {}, f'output folder {folder}: expected a folder')
    return folder


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Replace a file as a whole; its mode follows the umask.

    Raise JointDynamicsError where that fails, leaving the old file as it was.
    """
    path = Path(path).expanduser()
    _write(path.parent, {path.name: content}, f'{path}: expected a file')


def write_set(folder: str | Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files that belong together, name -> content; files of two runs never stand side by side.

    The old files except the first are removed, then the new ones moved into place, the first one first. A process
    killed in between leaves the first file, and of the others those of the same run or none.

    Raises
    ------
    JointDynamicsError
        Where that fails, leaving the old files as they were unless the moving itself fails.
    """
    folder = Path(folder).expanduser()
    _write(folder, contents, f'{folder}: expected a folder')


def remove_files(folder: str | Path, names: Iterable[str]) -> None:
    """Remove those of these files that are there; raise JointDynamicsError where that fails."""
    for name in names:
        path = Path(folder).expanduser() / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise JointDynamicsError(
                f'{path}: expected a file that can be removed, found: {error.strerror or error}'
            ) from None


def _write(folder: Path, contents: Mapping[str, str | bytes], expected: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=STAGING, dir=folder) as waiting:
            for name, content in contents.items():
                if (folder / name).is_dir():
                    raise IsADirectoryError(f'{folder / name} is a folder')
                with open(os.path.join(waiting, name), 'xb') as stream:
                    stream.write(content.encode('utf-8') if isinstance(content, str) else content)
                    stream.flush()
                    os.fsync(stream.fileno())
            for name in list(contents)[1:]:
                (folder / name).unlink(missing_ok=True)
            for name in contents:
                os.replace(os.path.join(waiting, name), folder / name)
        descriptor = os.open(folder, os.O_RDONLY)  # the moves reach the disk with the folder
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JointDynamicsError(f'{expected} that can be written, found: {error.strerror or error}') from None
