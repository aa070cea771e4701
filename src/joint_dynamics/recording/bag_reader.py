"""The reader of bags of the library rosbags, with the chunks of MCAP files taken apart in one pass.

Import only where a bag is read: rosbags takes its time.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Generator, Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Any

from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.reader import DirectoryReader
from rosbags.rosbag2.storage_mcap import ChunkInfo, McapReader, decompress

from joint_dynamics.recording.mcap_checksums import MESSAGE, PREFIX

_CHUNK = struct.Struct('<QQQI')
#: Opcode, length, channel, number, time of reception and of publication: how a message in a chunk begins.
_MESSAGE = struct.Struct('<BQHIQQ')
_OWN = _MESSAGE.size - PREFIX.size
_LATEST = 2**63 - 1


class McapChunkReader(McapReader):
    """`McapReader` of rosbags, faster where the chunks of a file follow each other in time."""

    def messages(
        self, connections: Collection[Connection], start: int | None = None, stop: int | None = None
    ) -> Generator[tuple[Connection, int, bytes], None, None]:
        """Yield connection, time of reception (ns) and CDR bytes, in the order of `McapReader.messages`.

        Parameters
        ----------
        connections
            those whose messages are wanted.
        start, stop
            ns; given, rosbags itself reads.
        """
        chunks = sorted(self.chunks, key=lambda chunk: (chunk.message_start_time, chunk.chunk_start_offset))
        in_turn = all(
            (first.message_end_time, first.chunk_start_offset) < (then.message_start_time, then.chunk_start_offset)
            for first, then in pairwise(chunks)
        )
        if not chunks or not in_turn or start is not None or stop is not None:
            yield from super().messages(connections, start, stop)
            return
        channels = {connection.id: connection for connection in connections}
        for chunk in chunks:
            yield from sorted(_messages_of(self._content(chunk), channels), key=itemgetter(1))

    def _content(self, chunk: ChunkInfo) -> bytes:
        """Return the records of a chunk; raises what rosbags raises where they do not agree with their checksum."""
        assert self.bio
        self.bio.seek(chunk.chunk_start_offset + PREFIX.size)
        *_, checksum = _CHUNK.unpack(self.bio.read(_CHUNK.size))
        self.bio.seek(chunk.chunk_start_offset + PREFIX.size + 40 + len(chunk.compression))
        stored = self.bio.read(chunk.compressed_size)
        return decompress(stored, chunk.compression, chunk.uncompressed_size, checksum)


def _messages_of(content: bytes, channels: dict[int, Connection]) -> Iterator[tuple[Connection, int, bytes]]:
    at, end = 0, len(content)
    while at < end:
        kind, length = PREFIX.unpack_from(content, at)
        after = at + PREFIX.size + length
        if not after <= end or (kind == MESSAGE and length < _OWN):
            raise ValueError(f'a record of {length} bytes at byte {at} of a chunk of {end}')
        if kind == MESSAGE:
            _, _, channel, _, received, _ = _MESSAGE.unpack_from(content, at)
            if channel in channels and received < _LATEST:
                yield channels[channel], received, content[at + _MESSAGE.size : after]
        at = after


class _Directory(DirectoryReader):
    STORAGE_PLUGINS: Mapping[str, Any] = {**DirectoryReader.STORAGE_PLUGINS, 'mcap': McapChunkReader}


class BagReader(Reader):
    """`Reader` of rosbags with `McapChunkReader` for MCAP files."""

    STORAGE_PLUGINS: Mapping[str, Any] = {**Reader.STORAGE_PLUGINS, 'dir': _Directory, '.mcap': McapChunkReader}
