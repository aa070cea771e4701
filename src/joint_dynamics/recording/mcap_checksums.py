"""Checksums of MCAP files (mcap.dev/spec).

Which parts of a file they cover, whether they agree, and how they get into one.

rosbags checks those of the chunks that it reads, and writes none; this module knows the rest: of the summary (index,
statistics, schemas), of attachments and of the data section.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from joint_dynamics.errors import JointDynamicsError

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, MESSAGE, CHUNK, ATTACHMENT, DATA_END = 0x01, 0x02, 0x05, 0x06, 0x09, 0x0F
BLOCK = 1 << 20
#: Opcode and length of a record; start of a chunk up to its checksum.
PREFIX, _CHUNK = struct.Struct('<BQ'), struct.Struct('<QQQI')


@dataclass(frozen=True)
class Checksums:
    """What of a file its checksums cover.

    Attributes
    ----------
    messages
        whether all messages are covered, by their chunks or by the whole data section.
    summary
        whether the summary is covered.

    """

    messages: bool
    summary: bool


@dataclass(frozen=True)
class _Record:
    """Opcode, offset of the content and its length in bytes."""

    kind: int
    start: int
    length: int


def check_checksums(path: Path) -> Checksums:
    """Check the checksums of the summary, the attachments and the data section of a finished file.

    Tell what is covered.

    Those of the chunks are looked up, not checked: who reads a chunk has to decompress it in any case.

    Raises
    ------
    JointDynamicsError
        One that names the part that does not agree, or a file that is no finished MCAP file.
    """
    try:
        with path.open('rb') as file:
            return _check(path, file)
    except (OSError, struct.error) as error:
        raise JointDynamicsError(
            f'{path}: expected an MCAP file, found one that is truncated, damaged or something else: {error}'
        ) from None


def add_checksums(path: Path) -> None:
    """Write the checksums of chunks, attachments and the summary of a finished file into it, where it has none.

    The checksum of the data section is left out: the implementations do not agree where it begins, and chunks are
    covered.

    Raises
    ------
    JointDynamicsError
        As `check_checksums`.
    """
    try:
        with path.open('r+b') as file:
            records = list(_records(path, file))
            for record in records:
                if record.kind == CHUNK:
                    _add_to_chunk(file, record)
                elif record.kind == ATTACHMENT:
                    _put(file, record.start + record.length - 4, _crc_of(file, record.start, record.length - 4))
            footer = records[-1]
            begin, _ = _summary(file, footer)
            _put(file, footer.start + 16, _crc_of(file, begin, footer.start + 16 - begin))
            file.flush()
            os.fsync(file.fileno())
    except (OSError, struct.error) as error:
        raise JointDynamicsError(f'{path}: expected a file that can be given checksums, found: {error}') from None


def _check(path: Path, file: BinaryIO) -> Checksums:
    records = list(_records(path, file))
    covered, whole = True, False
    for record in records:
        if record.kind == CHUNK:
            file.seek(record.start)
            covered = covered and _CHUNK.unpack(file.read(_CHUNK.size))[3] != 0
        elif record.kind == MESSAGE:
            covered = False
        elif record.kind == ATTACHMENT:
            stated = _u32(file, record.start + record.length - 4)
            if stated and stated != _crc_of(file, record.start, record.length - 4):
                raise _damaged(path, 'an attachment')
        elif record.kind == DATA_END:
            stated = _u32(file, record.start)
            end = record.start - PREFIX.size
            # from the start of the file, after the magic bytes, or after the header: all three are in use
            begins = (0, len(MAGIC), *[item.start + item.length for item in records[:1] if item.kind == HEADER])
            whole = bool(stated)
            if whole and stated not in (_crc_of(file, begin, end - begin) for begin in begins):
                raise _damaged(path, 'the data section')
    footer = records[-1]
    begin, stated = _summary(file, footer)
    if stated and stated != _crc_of(file, begin, footer.start + 16 - begin):
        raise _damaged(path, 'the summary')
    return Checksums(covered or whole, bool(stated))


def _records(path: Path, file: BinaryIO) -> Iterator[_Record]:
    """Yield all records at the top level, the footer last.

    Raises JointDynamicsError where they do not fill the file.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    position = len(MAGIC)
    if file.read(position) != MAGIC:
        raise JointDynamicsError(f'{path}: expected an MCAP file, found other magic bytes at its start')
    while True:
        file.seek(position)
        kind, length = PREFIX.unpack(file.read(PREFIX.size))
        start = position + PREFIX.size
        position = start + length
        if (
            position > size - len(MAGIC)
            or (kind in (CHUNK, ATTACHMENT, FOOTER) and length < 20)
            or (kind == DATA_END and length < 4)
        ):
            raise JointDynamicsError(
                f'{path}: expected whole records, found one at byte {start} that does not fit into the file: '
                f'truncated or damaged'
            )
        yield _Record(kind, start, length)
        if kind == FOOTER:
            break
    if position != size - len(MAGIC):
        raise JointDynamicsError(f'{path}: expected nothing after the footer, found further bytes: damaged')


def _summary(file: BinaryIO, footer: _Record) -> tuple[int, int]:
    """Return where what the footer's checksum covers begins, and that checksum."""
    file.seek(footer.start)
    summary, _, stated = struct.unpack('<QQI', file.read(20))
    return min(summary, footer.start) or footer.start - PREFIX.size, stated


def _add_to_chunk(file: BinaryIO, record: _Record) -> None:
    file.seek(record.start)
    _, _, size, stated = _CHUNK.unpack(file.read(_CHUNK.size))
    if stated:
        return
    (length,) = struct.unpack('<I', file.read(4))
    compression = file.read(length).decode()
    (length,) = struct.unpack('<Q', file.read(8))
    content = file.read(length)
    if compression:
        from rosbags.rosbag2.storage_mcap import decompress

        content = decompress(content, compression, size, 0)
    _put(file, record.start + _CHUNK.size - 4, crc32(content))


def _u32(file: BinaryIO, position: int) -> int:
    file.seek(position)
    return int(struct.unpack('<I', file.read(4))[0])


def _put(file: BinaryIO, position: int, value: int) -> None:
    file.seek(position)
    file.write(struct.pack('<I', value))


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


def _damaged(path: Path, part: str) -> JointDynamicsError:
    return JointDynamicsError(
        f'{path}: expected the checksum of {part} to agree with its content, found that it is damaged'
    )
