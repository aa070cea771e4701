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

"""The folder of one calibration: its files, the steps that are done, and the commands that are run in it."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.calibration import STEPS
from joint_dynamics.calibration.terminal import Terminal
from joint_dynamics.documents import parse_json, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import prepare_folder, write_atomically
from joint_dynamics.python_process import environment, module_command

STATE = 'calibration.json'
MAX_BYTES = 10 * 1024**2
"""Of `calibration.json`."""


class CalibrationFolder:
    """See the module.

    Attributes
    ----------
    path
        absolute.
    steps
        name of a finished step -> its facts, as kept in `calibration.json`.

    Raises
    ------
    JointDynamicsError
        Where the folder holds another calibration and `resume` is false, or none and `resume` is true.
    """

    def __init__(self, path: Path, terminal: Terminal, resume: bool = False, copy: str = ''):
        self.path = path.expanduser().absolute()
        self._terminal, self._copy = terminal, copy
        self.steps: dict[str, Any] = {}
        state = self.path / STATE
        if resume:
            self.steps = self._read(state)
        elif state.exists():
            raise JointDynamicsError(
                f'calibrate: expected a new folder, found a calibration in {self.path}: --resume goes on with it, '
                'another --out begins a new one'
            )
        prepare_folder(self.path)

    @staticmethod
    def _read(state: Path) -> dict[str, Any]:
        document = parse_json(read_text(state, f'calibrate --resume {state}', MAX_BYTES), str(state), MAX_BYTES)
        if not isinstance(document, dict) or not isinstance(document.get('steps'), dict):
            raise JointDynamicsError(f'calibrate --resume: expected `steps` in {state}, found none')
        return {name: facts for name, facts in document['steps'].items() if name in STEPS}

    def finish(self, step: str, **facts: Any) -> None:
        """Keep the facts of a finished step."""
        self.steps[step] = facts
        text = json.dumps({'folder': str(self.path), 'steps': self.steps}, indent=2, ensure_ascii=False) + '\n'
        for path in (self.path / STATE, *((Path(self._copy),) if self._copy else ())):
            write_atomically(path, text)

    def write_yaml(self, name: str, document: Mapping[str, Any]) -> Path:
        """Write a YAML file of the folder, and return its path."""
        write_atomically(self.path / name, yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True))
        return self.path / name

    def command(self, *words: str, accepted: Collection[int] = (0, 3)) -> int:
        """Show and run `joint-dynamics WORDS` in the folder; return its exit status, one of `accepted`.

        Its output goes where that of this process goes. Ctrl-C reaches it too, and is its business alone.

        Raises
        ------
        JointDynamicsError
            Where it ends with another status; its own line says why.
        KeyboardInterrupt
            Where it was interrupted.
        """
        self._terminal.say(f'$ joint-dynamics {shlex.join(words)}')
        process = subprocess.Popen(
            module_command('joint_dynamics.cli.main', words), cwd=self.path, env=environment(), stdin=subprocess.DEVNULL
        )
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                continue
        if status == 130:
            raise KeyboardInterrupt
        if status not in accepted:
            raise JointDynamicsError(f'calibrate: expected {words[0]} to end with 0 or 3, found {status} (see above)')
        return status

    def summary(self, folder: str, reliable: bool = True) -> dict[str, Any]:
        """Return the `summary.json` of a command that wrote to a folder below this one."""
        name = 'summary.json' if reliable else 'summary.not_reliable.json'
        text = read_text(self.path / folder / name, f'calibrate: {name} of {folder}')
        document = parse_json(text, f'{folder}/{name}')
        assert isinstance(document, dict)
        return document
