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

"""rosbag2 recordings, read with the library rosbags (no ROS installation is needed), and definitions of their messages.

Building a type store of a whole ROS distribution takes longer than reading a recording of a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import JOINT_STATE, TEMPERATURE, absolute, topic_regex
from joint_dynamics.recording.joint_state_bytes import JointStateReader
from joint_dynamics.recording.mcap_file import check_checksums, unfinished_bag
from joint_dynamics.recording.samples import Samples

#: The same in all distributions from Humble on.
STANDARD = {
    'std_msgs/msg/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
    'std_msgs/msg/MultiArrayDimension': 'string label\nuint32 size\nuint32 stride\n',
    'std_msgs/msg/MultiArrayLayout': 'std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n',
    'std_msgs/msg/Float64MultiArray': 'std_msgs/MultiArrayLayout layout\nfloat64[] data\n',
    'sensor_msgs/msg/JointState': (
        'std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n'
    ),
    'sensor_msgs/msg/Temperature': 'std_msgs/Header header\nfloat64 temperature\nfloat64 variance\n',
}
#: On no Python package index; bags without message definitions (sqlite3 before Iron) are read with these.
CONTROL_MSGS = {
    'control_msgs/msg/InterfaceValue': 'string[] interface_names\nfloat64[] values\n',
    'control_msgs/msg/DynamicJointState': (
        'std_msgs/Header header\nstring[] joint_names\ncontrol_msgs/InterfaceValue[] interface_values\n'
    ),
    'control_msgs/msg/Keys': 'std_msgs/Header header\nstring[] keys\n',
    'control_msgs/msg/Float64Values': 'std_msgs/Header header\nfloat64[] values\n',
}
ZSTD = b'\x28\xb5\x2f\xfd'


def typestore(connections: Sequence[Any]) -> Any:
    """Return the rosbags type store for these connections.

    Standard messages, and others as the bag defines them, or as `CONTROL_MSGS` does where it defines none.
    """
    from rosbags.interfaces import MessageDefinitionFormat
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    types: dict[str, Any] = {}
    for name, text in STANDARD.items():
        types |= get_types_from_msg(text, name)
    for connection in connections:
        definition, defined = connection.msgdef, {}
        if connection.msgtype in types:
            continue
        if definition.format == MessageDefinitionFormat.MSG:
            defined = get_types_from_msg(definition.data, connection.msgtype)
        elif definition.format == MessageDefinitionFormat.IDL:
            defined = get_types_from_idl(definition.data)
        else:
            for name, text in CONTROL_MSGS.items():
                defined |= get_types_from_msg(text, name)
        types = defined | types
    store.register({name: value for name, value in types.items() if name not in store.fielddefs})
    return store


@lru_cache
def message_definition(kind: str) -> tuple[str, str]:
    """Return encoding and text of the definition of a message type, including those of its fields.

    Raises
    ------
    JointDynamicsError
        Where the type is unknown.
    """
    store = _all_types()
    if kind not in store.fielddefs:
        raise JointDynamicsError(
            f'{kind}: expected a message type of the common packages or control_msgs, found another'
        )
    return 'ros2msg', store.generate_msgdef(kind, ros_version=2)[0]


@lru_cache
def type_hash(kind: str) -> str:
    """Return the hash of a message type (REP 2016), empty where it is unknown."""
    store = _all_types()
    return store.hash_rihs01(kind) if kind in store.fielddefs else ''


@lru_cache
def _all_types() -> Any:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    types: dict[str, Any] = {}
    for name, text in CONTROL_MSGS.items():
        types.update(get_types_from_msg(text, name))
    store.register(types)
    return store


def read_bag(path: Path, samples: Samples) -> None:
    """Add all messages of a bag that the inputs need; `path` is a rosbag2 folder, a .mcap or a .db3 file.

    A recording with MCAP storage that was never ended (no metadata.yaml, or no end of the file) is read up to its last
    whole chunk, with a note that says so.

    Raises
    ------
    JointDynamicsError
        When the bag cannot be read to its end, or a topic is missing, of another type, or empty.
    """
    with ExitStack() as stack:
        with _reading(path):
            bag = _opened(path, samples)
            stack.callback(bag.close)
        for connection in bag.connections:
            if not isinstance(connection.topic, str) or not isinstance(connection.msgtype, str):
                raise JointDynamicsError(
                    f'{path}: expected name and type of every topic as text in metadata.yaml, found '
                    f'{str(connection.topic)[:60]!r} of {str(connection.msgtype)[:60]!r}'
                )
        available = {connection.topic: connection.msgtype for connection in bag.connections}
        wanted = choose_topics(path, available, samples)
        connections = [connection for connection in bag.connections if connection.topic in wanted]
        stated = dict.fromkeys(wanted, 0)
        for connection in connections:
            count = connection.msgcount
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**63:
                raise JointDynamicsError(
                    f'{path}: expected a number of messages on {connection.topic} in metadata.yaml, '
                    f'found {str(count)[:60]!r}'
                )
            stated[connection.topic] += count
        empty = [topic for topic in wanted if not stated[topic]]
        if empty:
            raise JointDynamicsError(
                f'{path}: expected messages on each of its topics, found none on {", ".join(empty)}'
            )
        with _reading(path):
            read = _read(path, bag, connections, samples)
        for topic, count in stated.items():
            if not read[topic] >= count:
                raise JointDynamicsError(
                    f'{path}: expected {count} messages on {topic}, as is stated, found {read[topic]}: truncated '
                    'or damaged'
                )
        samples.notes += _unread_temperatures(available, samples)


def _opened(path: Path, samples: Samples) -> Any:
    """Return the bag, open: what rosbags reads, or one that was never ended."""
    # Imported here: half of the start-up time of the command line otherwise.
    from rosbags.rosbag2 import Reader

    unfinished = unfinished_bag(path)
    if unfinished is not None:
        samples.notes.append(unfinished.note)
        return unfinished
    if path.is_dir() and not (path / 'metadata.yaml').is_file():
        there = ', '.join(sorted(item.name for item in path.iterdir())[:5]) or 'nothing'
        raise JointDynamicsError(
            f'{path}: expected metadata.yaml in a rosbag2 folder, found {there} (a recording that was not ended? '
            '`ros2 bag reindex` writes it)'
        )
    if not _covered_by_checksums(path):
        samples.unprotected = '; the file has no checksums that would tell whether it is damaged'
    reader = Reader(path)
    reader.open()
    return reader


def _read(path: Path, bag: Any, connections: list[Any], samples: Samples) -> dict[str, int]:
    """Hand the messages of the connections on; return how many there were by topic."""
    store = typestore(connections)
    readers = {item.topic: JointStateReader() for item in connections if item.msgtype == JOINT_STATE}
    counts = {item.topic: 0 for item in connections}
    try:
        for connection, received, raw in bag.messages(connections):
            if raw.startswith(ZSTD):
                raise JointDynamicsError(
                    'expected the folder of a recording with messages compressed one by one, found its file: '
                    'only metadata.yaml says how'
                )
            topic = connection.topic
            message: Any = readers[topic].read(raw) if topic in readers else None
            if message is None:
                message = store.deserialize_cdr(raw, connection.msgtype)
            samples.add_message(topic, message, received)
            counts[topic] += 1
    except JointDynamicsError as error:
        raise JointDynamicsError(f'{path}: {error}') from None
    return counts


def _covered_by_checksums(path: Path) -> bool:
    """Check metadata.yaml and the checksums of MCAP files; return whether these cover all messages."""
    files = [path]
    if path.is_dir():
        # rosbags reads it without bounds
        parse_yaml(read_text(path / 'metadata.yaml', f'{path}: metadata.yaml'), f'{path}: metadata.yaml')
        files = sorted(item for item in path.iterdir() if item.suffix in ('.mcap', '.db3'))
    for file in files:
        if not file.is_file():
            raise JointDynamicsError(f'{path}: expected a file, found that {file.name} is none')
    return bool(files) and all(
        file.suffix == '.mcap' and file.stat().st_size and check_checksums(file) for file in files
    )


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


def choose_topics(path: Path, available: Mapping[str, str], samples: Samples) -> set[str]:
    """Return the topics to read.

    Raises JointDynamicsError when one that an input needs is missing or of another type.
    """
    wanted: set[str] = set()
    listed = ', '.join(f'{topic} ({kind})' for topic, kind in sorted(available.items())) or 'none'
    for item in samples.inputs:
        for pattern, kind in item.topics.items():
            matches = {
                topic: match for topic in available if (match := topic_regex(pattern).fullmatch(absolute(topic)))
            }
            if '{joint}' in pattern and samples.joint_names is not None:
                matches = {
                    topic: match
                    for topic, match in matches.items()
                    if samples.settings.names.get(match['joint'], match['joint']) in samples.joint_names
                }
            if not matches:
                raise JointDynamicsError(f'{path}: expected topic {absolute(pattern)} ({kind}), found {listed}')
            for topic in matches:
                if available[topic] != kind:
                    raise JointDynamicsError(f'{path}: expected {kind} on {topic}, found {available[topic]}')
                wanted.add(topic)
    return wanted


def _unread_temperatures(available: Mapping[str, str], samples: Samples) -> list[str]:
    """Return a note of the temperatures among the topics `available` (topic: type) that no setting reads, if any.

    Friction follows them; the note names the setting that reads them.
    """
    patterns = [topic_regex(pattern) for item in samples.inputs for pattern in item.topics]
    unread = sorted(
        absolute(topic)
        for topic, kind in available.items()
        if kind == TEMPERATURE and not any(pattern.fullmatch(absolute(topic)) for pattern in patterns)
    )
    if not unread:
        return []
    listed = ', '.join(unread[:3]) + (f' and {len(unread) - 3} more' if len(unread) > 3 else '')
    pattern = _common_pattern([topic.split('/') for topic in unread], samples)
    setting = pattern or f'[{", ".join(unread)}]'
    return [f'temperatures on {listed} are not used: `temperatures: {setting}` under `recording:` reads them']


def _common_pattern(paths: list[list[str]], samples: Samples) -> str | None:
    """Return the one topic with {joint} that all of these are, split at their slashes, None where there is none."""
    if len({len(path) for path in paths}) != 1:
        return None
    names = set(samples.joint_names or ())
    for place, elements in enumerate(zip(*paths, strict=True)):
        others = {(*path[:place], *path[place + 1 :]) for path in paths}
        known = names & {samples.settings.names.get(element, element) for element in elements}
        if len(others) == 1 and (known or (not names and len(paths) > 1)):
            return '/'.join([*paths[0][:place], '{joint}', *paths[0][place + 1 :]])
    return None
