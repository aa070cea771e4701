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

"""MCAP files record by record (mcap.dev/spec): their checksums, and the readable part of unfinished files.

rosbags verifies the checksums of the chunks that it reads; the package mcap those of chunks, and of the data section as
one of three writers computes it. Those of the summary (index, statistics, schemas), of attachments, and of the data
section of any writer are verified here.
"""

from __future__ import annotations

import dataclasses
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from joint_dynamics.errors import JointDynamicsError

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, ATTACHMENT, DATA_END = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x09, 0x0F
BLOCK = 1 << 20
#: Opcode and length of a record; start of a chunk up to its checksum.
PREFIX, _CHUNK = struct.Struct('<BQ'), struct.Struct('<QQQI')
#: Bytes of the shortest content that a checksum can be read from.
_SHORTEST = {CHUNK: 28, ATTACHMENT: 20, FOOTER: 20, DATA_END: 4}
_LONGEST_HEADER = 1000
MAX_CHUNK = 64 * 1024**2  # bytes of a chunk when decompressed; writers close one after 4 MB or earlier


@dataclass(frozen=True)
class _Record:
    """Opcode, offset of the content and its length in bytes."""

    kind: int
    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


class StoredMessage(NamedTuple):
    """One message of an MCAP file.

    Topic, type, encoding and text of its definition, time of reception in ns, and CDR bytes.
    """

    topic: str
    kind: str
    definition: tuple[str, str]
    received: int
    data: bytes


def check_checksums(path: Path) -> bool:
    """Check the checksums of the summary, the attachments and the data section of a finished file.

    Return whether all messages are covered by a checksum, of their chunk or of the whole data section. Checksums of
    chunks are only looked for, not verified: readers verify them when they decompress a chunk.

    Raises
    ------
    JointDynamicsError
        For a wrong checksum, naming the part, and for a file that is not a finished MCAP file.
    """
    try:
        with path.open('rb') as file:
            return _check(path, file)
    except OSError as error:
        raise JointDynamicsError(
            f'{path}: expected an MCAP file, found one that is truncated, damaged or something else: {error}'
        ) from None


def _check(path: Path, file: BinaryIO) -> bool:
    records = list(_records(path, file))
    footer = records[-1] if records else _Record(0, len(MAGIC) + PREFIX.size, 0)
    short = [record for record in records if record.length < _SHORTEST.get(record.kind, 0)]
    size = file.seek(0, os.SEEK_END)
    if short or footer.kind != FOOTER or footer.end > size - len(MAGIC):
        wrong = short[0].start if short else footer.start if footer.kind in (0, FOOTER) else footer.end + PREFIX.size
        raise JointDynamicsError(
            f'{path}: expected whole records, found one at byte {wrong} that does not fit into the file: '
            f'truncated or damaged'
        )
    if footer.end != size - len(MAGIC):
        raise JointDynamicsError(f'{path}: expected nothing after the footer, found further bytes: damaged')
    chunks, whole = True, False
    for record in records:
        if record.kind == CHUNK:
            file.seek(record.start)
            chunks = chunks and _CHUNK.unpack(file.read(_CHUNK.size))[3] != 0
        elif record.kind == MESSAGE:
            chunks = False
        elif record.kind == ATTACHMENT:
            _agree(path, file, record.end - 4, [record.start], 'an attachment')
        elif record.kind == DATA_END:
            # from the start of the file, after the magic bytes, or after the header: all three are in use
            begins = [0, len(MAGIC), *[item.end for item in records[:1] if item.kind == HEADER]]
            whole = _agree(path, file, record.start, begins, 'the data section', record.start - PREFIX.size)
    file.seek(footer.start)
    (summary,) = struct.unpack('<Q', file.read(8))
    _agree(path, file, footer.start + 16, [min(summary, footer.start) or footer.start - PREFIX.size], 'the summary')
    return chunks or whole


def _agree(path: Path, file: BinaryIO, place: int, begins: list[int], part: str, end: int | None = None) -> bool:
    """Return whether a checksum is stated at `place`; raise where it is that of no stretch from `begins` to `end`."""
    file.seek(place)
    (stated,) = struct.unpack('<I', file.read(4))
    end = place if end is None else end
    if stated and all(stated != _crc_of(file, begin, end - begin) for begin in begins):
        raise JointDynamicsError(
            f'{path}: expected the checksum of {part} to agree with its content, found that it is damaged'
        )
    return bool(stated)


def unfinished_file(path: Path) -> Path | None:
    """Return the MCAP file of an unfinished recording, None for a finished one.

    Unfinished is a folder without metadata.yaml, or a single file without an end.
    """
    if path.is_dir():
        files = [item for item in path.iterdir() if item.suffix == '.mcap' and not item.name.startswith('.')]
        return files[0] if len(files) == 1 and files[0].is_file() and not (path / 'metadata.yaml').is_file() else None
    if path.suffix != '.mcap' or not path.is_file() or (path.parent / 'metadata.yaml').is_file():
        return None
    with path.open('rb') as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(MAGIC)))
        ended = file.read() == MAGIC and size > len(MAGIC)
    return None if ended or not size else path


def unfinished_bag(path: Path) -> UnfinishedBag | None:
    """Return an unfinished recording, None for a finished one.

    Raises
    ------
    JointDynamicsError
        As `stored_messages`.
    """
    file = unfinished_file(path)
    return None if file is None else UnfinishedBag(file)


class UnfinishedBag:
    """An MCAP file without an end, with the part of a rosbags reader's interface that `bag.read_bag` uses.

    Attributes
    ----------
    connections
        with the topic, the type, its definition and the number of messages.
    note
        which part of the file was read, and which not.
    """

    def __init__(self, file: Path):
        from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

        formats = {
            'ros2msg': MessageDefinitionFormat.MSG,
            'ros2idl': MessageDefinitionFormat.IDL,
            'omgidl': MessageDefinitionFormat.IDL,
        }
        self._file = file
        by_topic: dict[str, SimpleNamespace] = {}
        first = last = 0
        for stored in stored_messages(file):
            if not by_topic:
                first = last = stored.received
            first, last = min(first, stored.received), max(last, stored.received)
            if stored.topic not in by_topic:
                encoding, text = stored.definition
                definition = MessageDefinition(formats.get(encoding, MessageDefinitionFormat.NONE), text)
                by_topic[stored.topic] = SimpleNamespace(
                    topic=stored.topic, msgtype=stored.kind, msgdef=definition, msgcount=0
                )
            by_topic[stored.topic].msgcount += 1
        if not by_topic:
            raise JointDynamicsError(
                f'{file}: expected messages, found a recording that ends before its first whole chunk'
            )
        self.connections = list(by_topic.values())
        self.note = (
            f'never ended: read {(last - first) * 1e-9:.2f} s, up to its last whole chunk ({bytes_left_out(file)} '
            'bytes after it left out)'
        )

    def messages(self, connections: list[Any]) -> Iterator[tuple[Any, int, bytes]]:
        """Yield connection, time of reception (ns) and CDR bytes of the messages of these connections."""
        by_topic = {connection.topic: connection for connection in connections}
        for stored in stored_messages(self._file):
            if stored.topic in by_topic:
                yield by_topic[stored.topic], stored.received, stored.data

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""


def stored_messages(path: Path) -> Iterator[StoredMessage]:
    """Yield the messages of an MCAP file in the order in which they were written, up to the last complete record.

    Raises
    ------
    JointDynamicsError
        For a file that is not MCAP, and where a complete chunk has a wrong checksum or cannot be read.
    """
    # Imported here: half of the start-up time of the command line otherwise.
    from mcap.data_stream import ReadDataStream
    from mcap.records import Channel, Chunk, McapRecord, Message, Schema
    from mcap.stream_reader import breakup_chunk

    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}

    def records_of(kind: int, content: bytes) -> list[McapRecord]:
        stream = ReadDataStream(BytesIO(content))
        if kind == CHUNK:
            return breakup_chunk(_decompressed(Chunk.read(stream)), validate_crc=True)
        if kind == MESSAGE:
            return [Message.read(stream, len(content))]
        return [Schema.read(stream) if kind == SCHEMA else Channel.read(stream)]

    with path.open('rb') as file:
        for whole in _records(path, file):
            if whole.kind not in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                continue
            file.seek(whole.start)
            try:
                records = records_of(whole.kind, file.read(whole.length))
            # mcap and the decompressors have no common class for what damaged content makes them raise.
            except Exception as error:
                raise JointDynamicsError(
                    f'{path}: expected an MCAP file, found a damaged one: '
                    f'{" ".join(str(error).split()) or type(error).__name__}'
                ) from error
            for record in records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message):
                    channel = channels.get(record.channel_id)
                    schema = None if channel is None else schemas.get(channel.schema_id)
                    if channel is None or schema is None:
                        raise JointDynamicsError(
                            f'{path}: expected topics that are declared, found a message of another: damaged'
                        )
                    definition = schema.encoding, schema.data.decode(errors='replace')
                    yield StoredMessage(channel.topic, schema.name, definition, record.log_time, record.data)


def _decompressed(chunk: Any) -> Any:
    """Return a chunk without compression; the size that it claims is no reason to ask for as much memory."""
    if chunk.compression == 'zstd':
        import zstandard

        data = zstandard.ZstdDecompressor().stream_reader(chunk.data).read(MAX_CHUNK + 1)
    elif chunk.compression == 'lz4':
        import lz4.frame

        data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, MAX_CHUNK + 1)
    else:
        data = chunk.data
    if len(data) > MAX_CHUNK or len(data) != chunk.uncompressed_size:
        raise JointDynamicsError(
            f'a chunk that claims {chunk.uncompressed_size} bytes and has {len(data)}, of at most {MAX_CHUNK}'
        )
    return dataclasses.replace(chunk, compression='', data=data)


def library_of(path: Path) -> str:
    """Return the library that wrote an MCAP file, as stated in its header; empty where that cannot be read."""
    from mcap.data_stream import ReadDataStream
    from mcap.records import Header

    with path.open('rb') as file:
        try:
            first = next(_records(path, file))
            file.seek(first.start)
            content = BytesIO(file.read(min(first.length, _LONGEST_HEADER)))
            return Header.read(ReadDataStream(content)).library if first.kind == HEADER else ''
        except Exception:  # as in `stored_messages`
            return ''


def bytes_left_out(path: Path) -> int:
    """Return the number of bytes of an incomplete record at the end of a file."""
    end = len(MAGIC)
    with path.open('rb') as file:
        for record in _records(path, file):
            if record.kind == FOOTER:
                return 0
            end = record.end
        return file.seek(0, os.SEEK_END) - end


def _records(path: Path, file: BinaryIO) -> Iterator[_Record]:
    """Yield the records at the top level that are whole, up to the footer."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        raise JointDynamicsError(f'{path}: expected an MCAP file, found other magic bytes at its start')
    at = len(MAGIC)
    while at + PREFIX.size <= size:
        file.seek(at)
        kind, length = PREFIX.unpack(file.read(PREFIX.size))
        record = _Record(kind, at + PREFIX.size, length)
        if record.end > size:
            return
        yield record
        if record.kind == FOOTER:
            return
        at = record.end


def _crc_of(file: BinaryIO, start: int, length: int) -> int:
    file.seek(start)
    value = 0
    while length > 0:
        block = file.read(min(BLOCK, length))
        if not block:
            break
        value = crc32(block, value)
        length -= len(block)
    return value
