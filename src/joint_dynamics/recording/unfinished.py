"""Recordings that were never ended (the process killed, the disk full).

Read up to their last whole chunk, without an index.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.mcap_checksums import CHUNK, FOOTER, HEADER, MAGIC, MESSAGE, PREFIX

CHANNEL, SCHEMA = 0x04, 0x03
_LONGEST_HEADER = 1000


class StoredMessage(NamedTuple):
    """One message of an MCAP file.

    Topic, type, encoding and text of its definition, time of reception in ns, CDR bytes.
    """

    topic: str
    kind: str
    definition: tuple[str, str]
    received: int
    data: bytes


def unfinished_file(path: Path) -> Path | None:
    """Return the MCAP file of a recording that was never ended.

    A folder without metadata.yaml, or a file alone without an end; else None.
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


def stored_messages(path: Path) -> Iterator[StoredMessage]:
    """Yield the messages of an MCAP file in the order they were written.

    Up to the end or the last record that is whole.

    Raises
    ------
    JointDynamicsError
        For what is no MCAP file, and where a chunk that is whole does not agree with its checksum or cannot be read.
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
            return breakup_chunk(Chunk.read(stream), validate_crc=True)
        if kind == MESSAGE:
            return [Message.read(stream, len(content))]
        return [Schema.read(stream) if kind == SCHEMA else Channel.read(stream)]

    for kind, content in _whole_records(path):
        try:
            records = records_of(kind, content)
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
                text = schema.data.decode(errors='replace')
                yield StoredMessage(channel.topic, schema.name, (schema.encoding, text), record.log_time, record.data)


def library_of(path: Path) -> str:
    """Return who wrote an MCAP file, as its header says; empty where that cannot be read."""
    from mcap.data_stream import ReadDataStream
    from mcap.records import Header

    with path.open('rb') as file:
        start = file.read(len(MAGIC) + PREFIX.size)
        if len(start) < len(MAGIC) + PREFIX.size or start[: len(MAGIC)] != MAGIC or start[len(MAGIC)] != HEADER:
            return ''
        try:
            return Header.read(ReadDataStream(BytesIO(file.read(_LONGEST_HEADER)))).library
        except Exception:  # as in `stored_messages`
            return ''


def bytes_left_out(path: Path) -> int:
    """Return how many bytes at the end of a file are no whole record."""
    size, end = path.stat().st_size, len(MAGIC)
    with path.open('rb') as file:
        file.seek(end)
        while len(prefix := file.read(PREFIX.size)) == PREFIX.size:
            kind, length = PREFIX.unpack(prefix)
            if kind == FOOTER:
                return 0
            if end + PREFIX.size + length > size:
                break
            end += PREFIX.size + length
            file.seek(end)
    return size - end


def _whole_records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of the schemas, channels, messages and chunks at the top level that are whole."""
    size = path.stat().st_size
    with path.open('rb') as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise JointDynamicsError(f'{path}: expected an MCAP file, found other magic bytes at its start')
        while len(prefix := file.read(PREFIX.size)) == PREFIX.size:
            kind, length = PREFIX.unpack(prefix)
            if kind == FOOTER or file.tell() + length > size:
                return
            if kind in (SCHEMA, CHANNEL, MESSAGE, CHUNK):
                yield kind, file.read(length)
            else:
                file.seek(length, os.SEEK_CUR)
