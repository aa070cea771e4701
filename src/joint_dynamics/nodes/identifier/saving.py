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

"""Recordings of a node on disk, beside those in memory: written as they come.

Where that fails, one line says so and the node goes on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.diagnostics import ERROR
from joint_dynamics.recording import BagWriter, new_recording
from joint_dynamics.recording.inputs import KEYS

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode


class Saving:
    """The recording that is written, at most one; a failure is an error in the diagnostics, under `recording`."""

    def __init__(self, node: DynamicsNode):
        self._node = node
        self._writer: BagWriter | None = None
        self._cut = ''
        # Names of interfaces come once, before any recording, which cannot be read without them.
        self._latched: dict[str, tuple[str, bytes]] = {}

    def begin(self, folder: Path, after: int, now: int) -> int:
        """Begin a recording at this time (ns); return its number, above `after` and all in the folder.

        Raises
        ------
        JointDynamicsError
            Where it cannot be written.
        """
        number, self._writer = new_recording(folder, after)
        self._cut = ''
        self._node.diagnostics.clear('recording')
        for topic, (kind, data) in self._latched.items():
            self.write(topic, kind, data, now)
        return number

    def write(self, topic: str, kind: str, data: bytes, received: int) -> None:
        """Write the bytes of a message of type `kind`, received at this time (ns), where anything is being written."""
        if kind == KEYS:
            self._latched[topic] = kind, data
        if self._writer is not None:
            try:
                self._writer.write(topic, kind, received, data)
            except JointDynamicsError as error:
                self._fail(f'{error}; it continues in memory only')

    def end(self) -> str:
        """End the recording; return what to say of it."""
        if self._writer is not None:
            folder = self._writer.folder
            try:
                if not self._writer.file.is_file():
                    raise JointDynamicsError(f'{folder}: expected the recording there, found it deleted meanwhile')
                self._writer.close()
            except JointDynamicsError as error:
                self._fail(str(error))
        if self._writer is None:
            return f'; cut on disk: {self._cut}' * bool(self._cut)
        self._writer = None
        return f'; saved as {folder}'

    def poll(self) -> None:
        """Write messages that have waited long enough; to be called several times a second."""
        if self._writer is not None:
            try:
                self._writer.flush_when_due()
            except JointDynamicsError as error:
                self._fail(f'{error}; it continues in memory only')

    def _fail(self, line: str) -> None:
        if self._writer is not None:
            self._writer.abandon()
            self._writer, self._cut = None, line
        self._node.diagnostics.set('recording', ERROR, line)
        self._node.get_logger().error(line)
