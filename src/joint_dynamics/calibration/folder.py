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

"""The folder of one calibration: reads and writes its files, keeps its finished steps and runs commands in it."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.calibration import STEPS, CalibrationSettings
from joint_dynamics.documents import parse_json, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import prepare_folder, write_atomically
from joint_dynamics.python_process import environment, module_command
from joint_dynamics.terminal import Terminal

STATE = 'calibration.json'
MAX_BYTES = 10 * 1024**2  # largest size of `calibration.json`


class CalibrationFolder:
    """Files, settings and finished steps of one calibration, saved in `calibration.json` at every change.

    Attributes
    ----------
    path
        absolute.
    settings
        present settings; `--resume` continues with them.
    steps
        name of a finished step -> its facts.

    Raises
    ------
    JointDynamicsError
        For a folder with a calibration where `resume` is false, and for one without where `resume` is true.
    """

    def __init__(self, path: Path, terminal: Terminal, given: Mapping[str, Any], resume: bool = False):
        self.path = path.expanduser().absolute()
        self._terminal = terminal
        self.steps: dict[str, Any] = {}
        state = self.path / STATE
        stored: dict[str, Any] = {}
        if resume:
            stored, self.steps = self._read(state)
        elif state.exists():
            raise JointDynamicsError(
                f'calibrate: expected a new folder, found a calibration in {self.path}: --resume continues it, '
                'another --out begins a new one'
            )
        try:
            self.settings = CalibrationSettings(**{**stored, **given})
        except TypeError as error:
            raise JointDynamicsError(f'calibrate --resume: expected `settings` in {state}, found {error}') from None
        prepare_folder(self.path / 'logs')
        self._save()

    @staticmethod
    def _read(state: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        document = parse_json(read_text(state, f'calibrate --resume {state}', MAX_BYTES), str(state), MAX_BYTES)
        content = document if isinstance(document, dict) else {}
        settings, steps = content.get('settings'), content.get('steps')
        if not isinstance(settings, dict) or not isinstance(steps, dict):
            raise JointDynamicsError(f'calibrate --resume: expected `settings` and `steps` in {state}, found others')
        return settings, {name: facts for name, facts in steps.items() if name in STEPS}

    def change(self, **settings: Any) -> None:
        """Change settings of the calibration."""
        self.settings = replace(self.settings, **settings)
        self._save()

    def finish(self, step: str, **facts: Any) -> None:
        """Save a step as finished, with its facts."""
        self.steps[step] = facts
        self._save()

    def _save(self) -> None:
        state = {'folder': str(self.path), 'settings': asdict(self.settings), 'steps': self.steps}
        write_atomically(self.path / STATE, json.dumps(state, indent=2, ensure_ascii=False) + '\n')
        self._terminal.record(**state)

    def write_yaml(self, name: str, document: Mapping[str, Any]) -> Path:
        """Write a YAML file of the folder, and return its path."""
        write_atomically(self.path / name, yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True))
        return self.path / name

    def command(self, *words: str, accepted: Collection[int] = (0, 3)) -> int:
        """Show and run `joint-dynamics WORDS` in the folder; return its exit status, one of `accepted`.

        Its standard output goes to `logs/commands.txt`; its progress and problems are shown. Ctrl-C reaches the command
        too: this method waits until the command has ended by itself.

        Raises
        ------
        JointDynamicsError
            For another status; the command has printed the cause.
        KeyboardInterrupt
            When the command was interrupted (status 130).
        """
        words = (*words, *(('--quiet',) if self._terminal.quiet else ()))
        line = f'$ joint-dynamics {shlex.join(words)}'
        self._terminal.say(line)
        with (self.path / 'logs' / 'commands.txt').open('a', encoding='utf-8') as results:
            print(line, file=results, flush=True)
            process = subprocess.Popen(
                module_command('joint_dynamics.cli.main', words),
                cwd=self.path,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=results,
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

    def document(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file that a command wrote below this folder, such as `summary.json`."""
        document = parse_json(read_text(self.path / name, f'calibrate: {name}'), name)
        assert isinstance(document, dict)
        return document
