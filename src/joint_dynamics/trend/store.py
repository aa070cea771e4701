"""What has been measured, one small file per run, so that it is not done again.

The name is a digest of all that the result follows from: the content of the recording, what it is compared with, the
settings, and the version that measured it. A run that is moved or renamed is known again; one that is changed is not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from joint_dynamics.description import write_atomically
from joint_dynamics.documents import parse_json, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.trend.measure import FORMAT
from joint_dynamics.version import __version__


def key_of(task: Mapping[str, Any], contents: list[str]) -> str:
    """Return the key of a task; contents: digest of the content of each of its paths."""
    rest = {name: value for name, value in task.items() if name not in ('paths', 'name', 'robot')}
    text = json.dumps([FORMAT, __version__, contents, rest], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Store:
    """Outcomes by key in a folder; without a folder nothing is kept."""

    def __init__(self, folder: Path | None):
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the outcome, None where there is none or it cannot be read."""
        if self.folder is None:
            return None
        with contextlib.suppress(JointDynamicsError):
            path = self._path(key)
            if path.is_file():
                found = parse_json(read_text(path, str(path)), str(path))
                return found if isinstance(found, dict) else None
        return None

    def put(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Keep an outcome, whole or not at all; one that was lost with its process is tried again next time."""
        if self.folder is not None and not outcome.get('lost'):
            write_atomically(self._path(key), json.dumps(outcome, allow_nan=False) + '\n')

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f'{key}.json'
