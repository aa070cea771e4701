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

"""MCAP files, read from beginning to end with the package mcap, whether their recorder ended them or was killed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from joint_dynamics.errors import JointDynamicsError

MAX_CHUNK = 64 * 1024**2  # bytes of a decompressed chunk; writers close one after 4 MB or earlier


class Topic(NamedTuple):
    """Name, message type (`package/msg/Name`), and the type's definition: its encoding (ros2msg, ros2idl) and text."""

    name: str
    kind: str
    encoding: str
    definition: str


class McapFile:
    """One MCAP file. The attributes are complete after `messages` has come to its end.

    Attributes
    ----------
    topics
        declared in the file, by name.
    ended
        whether the file has its end.
    left_out
        bytes after the last whole record of a file without an end.
    """

    def __init__(self, path: Path):
        self.path = path
        self.topics: dict[str, Topic] = {}
        self.ended, self.left_out = False, 0

    def messages(self) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield topic, time of reception [ns] and CDR bytes in the order of the file, up to its last whole record.

        Raises
        ------
        JointDynamicsError
            For a file other than MCAP, and where a whole chunk has a wrong checksum or cannot be read.
        """
        # Imported here: half of the start-up time of the command line otherwise.
        from mcap.records import Channel, Message, Schema

        schemas: dict[int, Schema] = {}
        channels: dict[int, Topic] = {}
        for record in self._records():
            if isinstance(record, Message):
                if record.channel_id not in channels:
                    raise self._damaged('a message of a topic that is not declared')
                yield channels[record.channel_id], record.log_time, record.data
            elif isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                schema = schemas.get(record.schema_id) or Schema(0, b'', '', '')
                topic = Topic(record.topic, schema.name, schema.encoding, schema.data.decode(errors='replace'))
                channels[record.id] = topic
                self.topics.setdefault(topic.name, topic)

    def _records(self) -> Iterator[Any]:
        """Yield the records of the file, those of a chunk one by one."""
        from mcap.exceptions import RecordLengthLimitExceeded
        from mcap.records import Chunk
        from mcap.stream_reader import CRCValidationError, StreamReader, breakup_chunk

        size = self.path.stat().st_size
        with self.path.open('rb') as stream:
            # A length stated in the file asks for no more memory than the file has bytes.
            records = StreamReader(stream, emit_chunks=True, record_size_limit=size).records
            while True:
                whole = stream.tell()
                try:
                    record = next(records, None)
                    parts = [record]
                    if isinstance(record, Chunk):
                        parts = breakup_chunk(_decompressed(record), validate_crc=True)  # type: ignore[assignment]
                except (JointDynamicsError, CRCValidationError) as error:
                    raise self._damaged(str(error)) from None
                # mcap and the decompressors have no common class for truncated and damaged content.
                except Exception as error:
                    if stream.tell() < size and not isinstance(error, RecordLengthLimitExceeded):
                        raise self._damaged(' '.join(str(error).split()) or type(error).__name__) from error
                    self.left_out = size - whole
                    return
                if record is None:
                    self.ended = True
                    return
                yield from parts

    def _damaged(self, reason: str) -> JointDynamicsError:
        return JointDynamicsError(f'expected an MCAP file, found {self.path.name} damaged: {reason}')


def _decompressed(chunk: Any) -> Any:
    """Return a chunk without compression, of at most MAX_CHUNK bytes whatever size it states."""
    if chunk.compression == 'zstd':
        import zstandard

        data = zstandard.ZstdDecompressor().stream_reader(chunk.data).read(MAX_CHUNK + 1)
    elif chunk.compression == 'lz4':
        import lz4.frame

        data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, MAX_CHUNK + 1)
    else:
        data = chunk.data
    if len(data) > MAX_CHUNK:
        raise JointDynamicsError(f'a chunk of more than {MAX_CHUNK} bytes; it states {chunk.uncompressed_size}')
    if len(data) != chunk.uncompressed_size:
        raise EOFError(f'a chunk of {len(data)} bytes; it states {chunk.uncompressed_size}')
    return dataclasses.replace(chunk, compression='', data=data)
