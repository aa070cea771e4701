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

"""rosbag2 recordings written as they come: a folder with one MCAP file, and metadata.yaml once it is ended.

The data remain readable if the process is killed: chunks, each with its checksum, are closed several times a second.
The names follow `ros2 bag record`: FOLDER/FOLDER_0.mcap.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.recording.bag import message_definition

FLUSH_EVERY = 0.2  # s between two chunks; with the time to the next look a killed process loses less than 0.5 s
VERSION = 9  # of metadata.yaml


@dataclass
class _Written:
    """Type, channel and number of messages of a topic."""

    kind: str
    channel: int
    messages: int = 0


class BagWriter:
    """Writes messages as a new rosbag2 folder.

    Parameters
    ----------
    folder
        of the recording; it must not exist, or be empty.

    Raises
    ------
    JointDynamicsError
        Where the folder cannot be written or exists. After an error of `write` or `flush` nothing more is written, and
        the file is as if the process had been killed.
    """

    def __init__(self, folder: str | Path):
        # Imported here: half of the start-up time of the command line otherwise.
        from mcap.writer import Writer

        self.folder = Path(folder)
        self.file = self.folder / f'{self.folder.name}_0.mcap'
        self._topics: dict[str, _Written] = {}
        self._received = [math.inf, 0]
        with self._writing():
            self._stream = self.file.open('xb')
            self._writer = Writer(self._stream)
            self._writer.start('ros2', 'joint_dynamics')
            self._stream.flush()
        self._flushed = time.monotonic()

    def write(self, topic: str, kind: str, received: int, data: bytes) -> None:
        """Add one message of type `kind` (`package/msg/Name`): its CDR bytes as they came, received at this time (ns).

        Raises JointDynamicsError for an unknown type.
        """
        if topic not in self._topics:
            schema = self._writer.register_schema(kind, 'ros2msg', message_definition(kind).encode())
            channel = self._writer.register_channel(topic, 'cdr', schema, {'offered_qos_profiles': ''})
            self._topics[topic] = _Written(kind, channel)
        with self._writing():
            self._writer.add_message(self._topics[topic].channel, received, data, received)
        self._topics[topic].messages += 1
        self._received = [min(self._received[0], received), max(self._received[1], received)]
        self.flush_when_due()

    def flush(self) -> None:
        """Pass all messages to the operating system, so that they survive the end of this process."""
        with self._writing():
            self._writer.flush()
        self._flushed = time.monotonic()

    def flush_when_due(self) -> None:
        """Call `flush` if the last one was more than FLUSH_EVERY ago.

        To be called regularly, so that no message has to wait for the next one.
        """
        if time.monotonic() - self._flushed > FLUSH_EVERY:
            self.flush()

    def close(self, **custom: str) -> None:
        """Write the index and metadata.yaml, with these `custom_data`.

        Raises
        ------
        JointDynamicsError
            Where that fails; the data can then be read as an unfinished recording.
        """
        with self._writing():
            self._writer.finish()
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
        text = yaml.safe_dump(self._metadata(custom), sort_keys=False, allow_unicode=True)
        write_atomically(self.folder / 'metadata.yaml', text)

    def abandon(self) -> None:
        """Close the file as it is, unfinished."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def _metadata(self, custom: Mapping[str, str]) -> dict[str, Any]:
        count = sum(written.messages for written in self._topics.values())
        first, last = self._received if count else (0, 0)
        start, duration = {'nanoseconds_since_epoch': first}, {'nanoseconds': last - first}
        topics = [
            {
                'topic_metadata': {
                    'name': topic,
                    'type': written.kind,
                    'serialization_format': 'cdr',
                    'offered_qos_profiles': [],
                    'type_description_hash': '',
                },
                'message_count': written.messages,
            }
            for topic, written in self._topics.items()
        ]
        return {
            'rosbag2_bagfile_information': {
                'version': VERSION,
                'storage_identifier': 'mcap',
                'relative_file_paths': [self.file.name],
                'duration': duration,
                'starting_time': start,
                'message_count': count,
                'topics_with_message_count': topics,
                'compression_format': '',
                'compression_mode': '',
                'files': [
                    {
                        'path': self.file.name,
                        'starting_time': {**start},
                        'duration': {**duration},
                        'message_count': count,
                    }
                ],
                'custom_data': dict(custom) or None,
                'ros_distro': os.environ.get('ROS_DISTRO', ''),
            }
        }

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        # ValueError: the file was closed after an error
        except (OSError, ValueError) as error:
            if hasattr(self, '_stream'):
                self.abandon()
            found = getattr(error, 'strerror', None) or error
            raise JointDynamicsError(
                f'{self.folder}: expected a recording that can be written, found: {found}'
            ) from None
