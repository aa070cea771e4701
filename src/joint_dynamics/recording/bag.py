"""rosbag2 recordings, read with the library rosbags: no ROS installation is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import TEMPERATURE, absolute, topic_regex
from joint_dynamics.recording.mcap_checksums import check_checksums
from joint_dynamics.recording.message_blocks import TopicBlocks
from joint_dynamics.recording.message_definitions import typestore
from joint_dynamics.recording.signal_builder import SignalBuilder
from joint_dynamics.recording.unfinished import bytes_left_out, stored_messages, unfinished_file

ZSTD = b'\x28\xb5\x2f\xfd'


def read_bag(path: Path, builder: SignalBuilder) -> tuple[str, ...]:
    """Add all messages of a bag that the builder's inputs want; `path` is a rosbag2 folder, a .mcap or a .db3 file.

    Return notes.

    A recording with MCAP storage that was never ended (no metadata.yaml, or no end of the file) is read up to its last
    whole chunk, and a note says so.

    Raises
    ------
    JointDynamicsError
        When the bag cannot be read to its end, or a topic is missing, of another type, or empty.
    """
    # Imported here: half of the start-up time of the command line otherwise.
    from joint_dynamics.recording.bag_reader import BagReader

    with _reading(path):
        unfinished = unfinished_file(path)
    if unfinished is not None:
        return _read_unfinished(path, unfinished, builder)
    if path.is_dir() and not (path / 'metadata.yaml').is_file():
        found = ', '.join(sorted(item.name for item in path.iterdir())[:5]) or 'nothing'
        raise JointDynamicsError(
            f'{path}: expected metadata.yaml in a rosbag2 folder, found {found} (a recording that was not ended? '
            '`ros2 bag reindex` writes it)'
        )
    builder.unprotected = _check_file(path)
    with _reading(path):
        reader = BagReader(path)
        reader.open()
    try:
        for connection in reader.connections:
            if not isinstance(connection.topic, str) or not isinstance(connection.msgtype, str):
                raise JointDynamicsError(
                    f'{path}: expected name and type of every topic as text in metadata.yaml, found '
                    f'{str(connection.topic)[:60]!r} of {str(connection.msgtype)[:60]!r}'
                )
        available = {connection.topic: connection.msgtype for connection in reader.connections}
        wanted = choose_topics(path, available, builder)
        connections = [connection for connection in reader.connections if connection.topic in wanted]
        for connection in connections:
            if (
                isinstance(connection.msgcount, bool)
                or not isinstance(connection.msgcount, int)
                or not 0 <= connection.msgcount < 2**63
            ):
                raise JointDynamicsError(
                    f'{path}: expected a number of messages on {connection.topic} in metadata.yaml, '
                    f'found {str(connection.msgcount)[:60]!r}'
                )
        empty = [topic for topic in wanted if not sum(item.msgcount for item in connections if item.topic == topic)]
        if empty:
            raise JointDynamicsError(
                f'{path}: expected messages on each of its topics, found none on {", ".join(empty)}'
            )
        with _reading(path):
            store = typestore(connections)
            blocks = {item.topic: TopicBlocks(builder, item.topic, item.msgtype, store) for item in connections}
            try:
                for connection, received, raw in reader.messages(connections):
                    if raw.startswith(ZSTD):
                        raise JointDynamicsError(
                            'expected the folder of a recording with messages compressed one by one, found its file: '
                            'only metadata.yaml says how'
                        )
                    blocks[connection.topic].add(received, raw)
                for block in blocks.values():
                    block.flush()
            except JointDynamicsError as error:
                raise JointDynamicsError(f'{path}: {error}') from None
        for topic, block in blocks.items():
            stated = sum(item.msgcount for item in connections if item.topic == topic)
            if block.messages < stated:
                raise JointDynamicsError(
                    f'{path}: expected {stated} messages on {topic}, as is stated, found {block.messages}: truncated '
                    'or damaged'
                )
        return unread_temperatures(available, builder)
    finally:
        with _reading(path):
            reader.close()


def _read_unfinished(path: Path, file: Path, builder: SignalBuilder) -> tuple[str, ...]:
    """Add the messages of an MCAP file without index, with what else a reader of bags looks at; return the notes."""
    from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

    formats = {
        'ros2msg': MessageDefinitionFormat.MSG,
        'ros2idl': MessageDefinitionFormat.IDL,
        'omgidl': MessageDefinitionFormat.IDL,
    }
    connections: dict[str, SimpleNamespace] = {}
    first, last = None, 0
    with _reading(path):
        for stored in stored_messages(file):
            first, last = stored.received if first is None else min(first, stored.received), max(last, stored.received)
            if stored.topic not in connections:
                encoding, text = stored.definition
                definition = MessageDefinition(formats.get(encoding, MessageDefinitionFormat.NONE), text)
                connections[stored.topic] = SimpleNamespace(msgtype=stored.kind, msgdef=definition)
        available = {topic: item.msgtype for topic, item in connections.items()}
        wanted = choose_topics(path, available, builder)
        store = typestore([connections[topic] for topic in wanted])
        blocks = {topic: TopicBlocks(builder, topic, connections[topic].msgtype, store) for topic in wanted}
        for stored in stored_messages(file):
            if stored.topic in wanted:
                blocks[stored.topic].add(stored.received, stored.data)
        for block in blocks.values():
            block.flush()
        left = bytes_left_out(file)
    return (
        f'never ended: read {(last - (first or 0)) * 1e-9:.2f} s, up to its last whole chunk ({left} bytes after it'
        ' left out)',
        *unread_temperatures(available, builder),
    )


def _check_file(path: Path) -> str:
    """Check metadata.yaml and the checksums of MCAP files.

    Return what to say of values that are odd where there are none.
    """
    files = [path]
    if path.is_dir():
        # rosbags reads it without bounds
        parse_yaml(read_text(path / 'metadata.yaml', f'{path}: metadata.yaml'), f'{path}: metadata.yaml')
        files = sorted(item for item in path.iterdir() if item.suffix in ('.mcap', '.db3'))
    for file in files:
        if not file.is_file():
            raise JointDynamicsError(f'{path}: expected a file, found that {file.name} is none')
    if files and all(
        file.suffix == '.mcap' and file.stat().st_size and check_checksums(file).messages for file in files
    ):
        return ''
    return '; the file has no checksums that would tell whether it is damaged'


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever the bag library raises on damaged data into one line; it has no common class for that."""
    try:
        yield
    except JointDynamicsError:
        raise
    except Exception as error:
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise JointDynamicsError(
            f'{path}: expected a rosbag2 recording, found a file that is truncated, damaged or something else: {reason}'
        ) from error


def choose_topics(path: Path, available: dict[str, str], builder: SignalBuilder) -> set[str]:
    """Return the topics to read; raise when one that an input wants is not there, or of another type."""
    wanted: set[str] = set()
    listed = ', '.join(f'{topic} ({kind})' for topic, kind in sorted(available.items())) or 'none'
    for item in builder.inputs:
        for pattern, kind in item.topics.items():
            matches = {
                topic: match for topic in available if (match := topic_regex(pattern).fullmatch(absolute(topic)))
            }
            if '{joint}' in pattern and builder.joint_names is not None:
                matches = {
                    topic: match
                    for topic, match in matches.items()
                    if builder.settings.names.get(match['joint'], match['joint']) in builder.joint_names
                }
            if not matches:
                raise JointDynamicsError(f'{path}: expected topic {absolute(pattern)} ({kind}), found {listed}')
            for topic in matches:
                if available[topic] != kind:
                    raise JointDynamicsError(f'{path}: expected {kind} on {topic}, found {available[topic]}')
                wanted.add(topic)
    return wanted


def unread_temperatures(available: Mapping[str, str], builder: SignalBuilder) -> tuple[str, ...]:
    """Return a note of the temperatures among the topics `available` (topic: type) that no setting reads, if any.

    Friction follows them; the note names the setting that reads them.
    """
    patterns = [topic_regex(pattern) for item in builder.inputs for pattern in item.topics]
    unread = sorted(
        absolute(topic)
        for topic, kind in available.items()
        if kind == TEMPERATURE and not any(pattern.fullmatch(absolute(topic)) for pattern in patterns)
    )
    if not unread:
        return ()
    listed = ', '.join(unread[:3]) + (f' and {len(unread) - 3} more' if len(unread) > 3 else '')
    pattern = _common_pattern([topic.split('/') for topic in unread], builder)
    setting = pattern or f'[{", ".join(unread)}]'
    return (f'temperatures on {listed} are not used: `temperatures: {setting}` under `recording:` reads them',)


def _common_pattern(paths: list[list[str]], builder: SignalBuilder) -> str | None:
    """Return the one topic with {joint} that all of these are, split at their slashes, None where there is none."""
    if len({len(path) for path in paths}) != 1:
        return None
    names = set(builder.joint_names or ())
    for place, elements in enumerate(zip(*paths, strict=True)):
        others = {(*path[:place], *path[place + 1 :]) for path in paths}
        known = names & {builder.settings.names.get(element, element) for element in elements}
        if len(others) == 1 and (known or (not names and len(paths) > 1)):
            return '/'.join([*paths[0][:place], '{joint}', *paths[0][place + 1 :]])
    return None
