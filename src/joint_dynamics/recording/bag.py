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

"""rosbag2 recordings, read without a ROS installation, and definitions of their messages.

MCAP files are read with the package mcap, SQLite databases and bags compressed by file or message with rosbags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from joint_dynamics.documents import check_file, parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import JOINT_STATE, TEMPERATURE, absolute, topic_regex
from joint_dynamics.recording.joint_state_bytes import JointStateReader
from joint_dynamics.recording.mcap_file import McapFile, Topic
from joint_dynamics.recording.samples import Samples

#: The same in all distributions from Humble on. A type store of a whole distribution takes longer to build than a
#: recording of a minute takes to read.
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


def typestore(topic: Topic) -> Any:
    """Return the rosbags type store for the messages of one topic.

    Standard messages are known; others follow the topic's own definition, or `CONTROL_MSGS` where it has none.
    """
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    types: dict[str, Any] = {}
    for name, text in STANDARD.items():
        types |= get_types_from_msg(text, name)
    if topic.kind not in types:
        defined: dict[str, Any] = {}
        if topic.encoding == 'ros2msg':
            defined = get_types_from_msg(topic.definition, topic.kind)
        elif topic.encoding in ('ros2idl', 'omgidl'):
            defined = get_types_from_idl(topic.definition)
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
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    types: dict[str, Any] = {}
    for name, text in CONTROL_MSGS.items():
        types |= get_types_from_msg(text, name)
    store.register(types)
    if kind not in store.fielddefs:
        raise JointDynamicsError(
            f'{kind}: expected a message type of the common packages or control_msgs, found another'
        )
    return 'ros2msg', store.generate_msgdef(kind, ros_version=2)[0]


def read_bag(path: Path, samples: Samples) -> None:
    """Add all messages of a bag that the inputs need; `path` is a rosbag2 folder, a .mcap or a .db3 file.

    An MCAP recording without metadata.yaml, or without the end of its file, is read up to its last whole chunk, with a
    note.

    Raises
    ------
    JointDynamicsError
        When the bag cannot be read to its end, or a topic is missing, of another type, or empty.
    """
    decoders: dict[str, Callable[[bytes], Any]] = {}
    counts: dict[str, int] = {}
    with _reading(path):
        bag = _opened(path)
        for topic, received, raw in bag.messages(lambda topic: _is_read(topic, samples)):
            if raw.startswith(ZSTD):
                raise JointDynamicsError(
                    'expected the folder of a recording with messages compressed one by one, found its file: '
                    'only metadata.yaml says how'
                )
            if topic.name not in decoders:
                decoders[topic.name], counts[topic.name] = _decoder(topic), 0
            samples.add_message(topic.name, decoders[topic.name](raw), received)
            counts[topic.name] += 1
        note = bag.unfinished()
        wanted = [name for name, topic in bag.topics.items() if _is_read(topic, samples)]
        _refuse_missing(bag.topics, samples)
        for name, stated in {} if note else bag.counts.items():
            is_number = type(stated) is int and stated >= 0
            if not is_number or not (name not in wanted or counts.get(name, 0) >= stated):
                raise JointDynamicsError(
                    f'expected {str(stated)[:60]} messages on {name}, as is stated, found {counts.get(name, 0)}: '
                    'truncated or damaged'
                )
        if empty := [name for name in wanted if name not in counts]:
            raise JointDynamicsError(f'expected messages on each of its topics, found none on {", ".join(empty)}')
    samples.notes += [*note, *_unread_temperatures(bag.topics, samples)]


class _McapBag:
    """The MCAP files of one recording. `topics` and `counts` are complete after reading.

    Parameters
    ----------
    files
        in their order.
    counts
        messages by topic, from metadata.yaml; None: from the file.
    is_ended
        whether the recorder ended the recording; None: the file says so.
    """

    def __init__(self, files: Sequence[Path], counts: Mapping[str, Any] | None, is_ended: bool | None):
        self._files = [McapFile(file) for file in files]
        self._counts, self._is_ended = counts, is_ended

    @property
    def topics(self) -> dict[str, Topic]:
        """All topics by name."""
        return {name: topic for file in self._files for name, topic in file.topics.items()}

    @property
    def counts(self) -> Mapping[str, Any]:
        """Stated numbers of messages by topic."""
        return self._files[0].counts if self._counts is None else self._counts

    def messages(self, is_read: Callable[[Topic], bool]) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield topic, time of reception [ns] and bytes of the messages of the topics that are read."""
        chosen: dict[Topic, bool] = {}
        for file in self._files:
            for topic, received, raw in file.messages():
                if topic not in chosen:
                    chosen[topic] = is_read(topic)
                if chosen[topic]:
                    yield topic, received, raw

    def unfinished(self) -> list[str]:
        """Return a note on a recording that was never ended, in a list; raise for a finished one that is cut."""
        cut = [file for file in self._files if not file.ended]
        if cut and self._is_ended:
            raise JointDynamicsError(f'expected whole files, found {cut[0].path.name} without an end: truncated')
        if not cut and self._is_ended is not False:
            return []
        if not self.topics:
            raise JointDynamicsError('expected messages, found a recording that ends before its first whole chunk')
        left_out = sum(file.left_out for file in cut)
        return [f'never ended: read up to its last whole chunk ({left_out} bytes after it left out)']


class _RosbagsBag:
    """The same of a bag that rosbags reads."""

    def __init__(self, path: Path):
        from rosbags.interfaces import MessageDefinitionFormat as Format
        from rosbags.rosbag2 import Reader

        self._reader = Reader(path)
        self._reader.open()
        encodings = {Format.MSG: 'ros2msg', Format.IDL: 'ros2idl', Format.NONE: ''}
        self._topics = {
            each.id: Topic(each.topic, each.msgtype, encodings[each.msgdef.format], each.msgdef.data)
            for each in self._reader.connections
        }
        self.topics = {topic.name: topic for topic in self._topics.values()}
        self.counts: dict[str, Any] = {each.topic: each.msgcount for each in self._reader.connections}

    def messages(self, is_read: Callable[[Topic], bool]) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield topic, time of reception [ns] and bytes of the messages of the topics that are read."""
        with closing(self._reader) as reader:
            connections = [each for each in reader.connections if is_read(self._topics[each.id])]
            for connection, received, raw in reader.messages(connections) if connections else ():
                yield self._topics[connection.id], received, bytes(raw)

    def unfinished(self) -> list[str]:
        """Return no note: rosbags reads finished bags only."""
        return []


def _opened(path: Path) -> _McapBag | _RosbagsBag:
    has_metadata = ((path if path.is_dir() else path.parent) / 'metadata.yaml').is_file()
    if not path.is_dir():
        return _McapBag([path], None, has_metadata or None) if path.suffix == '.mcap' else _RosbagsBag(path)
    if not has_metadata:
        files = [item for item in path.iterdir() if item.suffix == '.mcap' and not item.name.startswith('.')]
        if len(files) == 1:
            return _McapBag(files, None, False)
        there = ', '.join(sorted(item.name for item in path.iterdir())[:5]) or 'nothing'
        raise JointDynamicsError(
            f'expected metadata.yaml in a rosbag2 folder, found {there} (a recording that was not ended? '
            '`ros2 bag reindex` writes it)'
        )
    # rosbags reads it without bounds
    document = parse_yaml(read_text(path / 'metadata.yaml', 'metadata.yaml'), 'metadata.yaml')
    information = document['rosbag2_bagfile_information']
    files = [path / name for name in information['relative_file_paths']]
    for file in files:
        check_file(file, file.name)
    mode = str(information.get('compression_mode', '')).lower()
    if information['storage_identifier'] != 'mcap' or mode in ('file', 'message'):
        return _RosbagsBag(path)
    topics = information['topics_with_message_count']
    counts = {str(each['topic_metadata']['name']): each['message_count'] for each in topics}
    return _McapBag(files, counts, True)


def _decoder(topic: Topic) -> Callable[[bytes], Any]:
    """Return a function that makes a message of its bytes."""
    store, reader = typestore(topic), JointStateReader()

    def decode(raw: bytes) -> Any:
        message: Any = reader.read(raw) if topic.kind == JOINT_STATE else None
        return store.deserialize_cdr(raw, topic.kind) if message is None else message

    return decode


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors into one line with the path; the libraries have no common class for damaged data."""
    try:
        yield
    except JointDynamicsError as error:
        raise JointDynamicsError(f'{path}: {error}') from None
    except Exception as error:
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise JointDynamicsError(
            f'{path}: expected a rosbag2 recording, found a file that is truncated, damaged or something else: {reason}'
        ) from error


def _matches(pattern: str, topic: str, samples: Samples) -> bool:
    """Return whether a topic is one of a pattern's, of a requested joint."""
    match = topic_regex(pattern).fullmatch(absolute(topic))
    if match is None or '{joint}' not in pattern or samples.joint_names is None:
        return match is not None
    return samples.settings.names.get(match['joint'], match['joint']) in samples.joint_names


def _is_read(topic: Topic, samples: Samples) -> bool:
    """Return whether an input needs a topic; raise JointDynamicsError where it has another type than expected."""
    for item in samples.inputs:
        for pattern, kind in item.topics.items():
            if _matches(pattern, topic.name, samples):
                if topic.kind != kind:
                    raise JointDynamicsError(f'expected {kind} on {topic.name}, found {topic.kind}')
                return True
    return False


def _refuse_missing(available: Mapping[str, Topic], samples: Samples) -> None:
    """Raise JointDynamicsError for the first topic of an input that is not available."""
    for item in samples.inputs:
        for pattern, kind in item.topics.items():
            if not any(_matches(pattern, name, samples) for name in available):
                listed = ', '.join(f'{topic.name} ({topic.kind})' for topic in sorted(available.values())) or 'none'
                raise JointDynamicsError(f'expected topic {absolute(pattern)} ({kind}), found {listed}')


def _unread_temperatures(available: Mapping[str, Topic], samples: Samples) -> list[str]:
    """Return a note on temperatures without a setting that reads them, in a list; friction depends on them."""
    patterns = [topic_regex(pattern) for item in samples.inputs for pattern in item.topics]
    unread = sorted(
        absolute(name)
        for name, topic in available.items()
        if topic.kind == TEMPERATURE and not any(pattern.fullmatch(absolute(name)) for pattern in patterns)
    )
    if not unread:
        return []
    return [f'temperatures are not used: `temperatures: [{", ".join(unread)}]` under `recording:` reads them']
