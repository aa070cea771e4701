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
from functools import cache, partial
from pathlib import Path
from typing import Any

from joint_dynamics.documents import check_file, parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import absolute, topic_regex
from joint_dynamics.recording.mcap_file import McapFile, Topic
from joint_dynamics.recording.samples import Samples

#: Message types of the inputs; the same in all distributions from Humble on. control_msgs are on no Python package
#: index; a type store of a whole distribution takes longer to build than a recording of a minute takes to read.
DEFINITIONS = {
    'std_msgs/msg/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
    'std_msgs/msg/MultiArrayDimension': 'string label\nuint32 size\nuint32 stride\n',
    'std_msgs/msg/MultiArrayLayout': 'std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n',
    'std_msgs/msg/Float64MultiArray': 'std_msgs/MultiArrayLayout layout\nfloat64[] data\n',
    'sensor_msgs/msg/JointState': (
        'std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n'
    ),
    'sensor_msgs/msg/Temperature': 'std_msgs/Header header\nfloat64 temperature\nfloat64 variance\n',
    'control_msgs/msg/InterfaceValue': 'string[] interface_names\nfloat64[] values\n',
    'control_msgs/msg/DynamicJointState': (
        'std_msgs/Header header\nstring[] joint_names\ncontrol_msgs/InterfaceValue[] interface_values\n'
    ),
    'control_msgs/msg/Keys': 'std_msgs/Header header\nstring[] keys\n',
    'control_msgs/msg/Float64Values': 'std_msgs/Header header\nfloat64[] values\n',
}


def typestore(topic: Topic | None = None) -> Any:
    """Return the rosbags type store for the messages of a topic, by its definition in the bag, else by `DEFINITIONS`.

    Bags of sqlite3 before Iron have no definitions.
    """
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    types: dict[str, Any] = {}
    if topic is not None and topic.encoding == 'ros2msg':
        types = get_types_from_msg(topic.definition, topic.kind)
    elif topic is not None and topic.encoding in ('ros2idl', 'omgidl'):
        types = get_types_from_idl(topic.definition)
    else:
        for name, text in DEFINITIONS.items():
            types |= get_types_from_msg(text, name)
    store.register({name: value for name, value in types.items() if name not in store.fielddefs})
    return store


@cache
def message_definition(kind: str) -> str:
    """Return the definition of a message type of an input (`ros2msg`), including those of its fields.

    Raises
    ------
    JointDynamicsError
        Where the type is unknown.
    """
    if kind not in DEFINITIONS:
        raise JointDynamicsError(f'{kind}: expected one of the message types {", ".join(DEFINITIONS)}, found another')
    return str(typestore().generate_msgdef(kind, ros_version=2)[0])


def read_bag(path: Path, samples: Samples) -> None:
    """Add all messages of a bag that the inputs need; `path` is a rosbag2 folder, a .mcap or a .db3 file.

    An MCAP recording without metadata.yaml, or without the end of its file, is read up to its last whole chunk, with a
    note.

    Raises
    ------
    JointDynamicsError
        When the bag cannot be read to its end, or a topic is missing, of another type, or empty.
    """
    decode = cache(lambda topic: partial(typestore(topic).deserialize_cdr, typename=topic.kind))
    is_read = cache(partial(_is_read, samples=samples))
    with _reading(path):
        bag = _opened(path)
        for topic, received, raw in bag.messages(is_read):
            samples.add_message(topic.name, decode(topic)(raw), received)
        note = bag.unfinished()
        wanted = [topic.name for topic in bag.topics.values() if is_read(topic)]
        _refuse_missing(bag.topics, samples)
        for name in () if note else (name for name in wanted if name in bag.counts):
            stated, found = bag.counts[name], samples.counts.get(name, 0)
            if type(stated) is not int or not 0 <= stated <= found:
                raise JointDynamicsError(
                    f'expected {str(stated)[:60]} messages on {name}, as is stated, found {found}: truncated or damaged'
                )
        if empty := [name for name in wanted if name not in samples.counts]:
            raise JointDynamicsError(f'expected messages on each of its topics, found none on {", ".join(empty)}')
    samples.notes += note


class _McapBag:
    """The MCAP files of one recording, in their order. `topics` are complete after reading.

    counts: messages by topic, as metadata.yaml states them; is_ended: whether the recorder wrote metadata.yaml.
    """

    def __init__(self, files: Sequence[Path], counts: Mapping[str, Any], is_ended: bool):
        self._files = [McapFile(file) for file in files]
        self.counts, self._is_ended = counts, is_ended

    @property
    def topics(self) -> dict[str, Topic]:
        """All topics by name."""
        return {name: topic for file in self._files for name, topic in file.topics.items()}

    def messages(self, is_read: Callable[[Topic], bool]) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield topic, time of reception [ns] and bytes of the messages of the topics that are read."""
        return (message for file in self._files for message in file.messages() if is_read(message[0]))

    def unfinished(self) -> list[str]:
        """Return a note on a recording that was never ended, in a list; raise for a finished one that is cut."""
        cut = [file for file in self._files if not file.ended]
        if cut and self._is_ended:
            raise JointDynamicsError(f'expected whole files, found {cut[0].path.name} without an end: truncated')
        if cut and not self.topics:
            raise JointDynamicsError('expected messages, found a recording that ends before its first whole chunk')
        return [f'never ended: {file.left_out} bytes after its last whole chunk are left out' for file in cut]


class _RosbagsBag:
    """The same of a bag that rosbags reads; it reads finished ones only."""

    def __init__(self, path: Path):
        from rosbags.rosbag2 import Reader

        self._reader = Reader(path)
        self._reader.open()
        encodings = {'MSG': 'ros2msg', 'IDL': 'ros2idl'}
        self._topics = {
            each.id: Topic(each.topic, each.msgtype, encodings.get(each.msgdef.format.name, ''), each.msgdef.data)
            for each in self._reader.connections
        }
        self.topics = {topic.name: topic for topic in self._topics.values()}
        self.counts: dict[str, Any] = {each.topic: each.msgcount for each in self._reader.connections}

    def messages(self, is_read: Callable[[Topic], bool]) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield topic, time of reception [ns] and bytes of the messages of the topics that are read."""
        with closing(self._reader) as reader:
            connections = [each for each in reader.connections if is_read(self._topics[each.id])]
            for connection, received, raw in reader.messages(connections) if connections else ():
                yield self._topics[connection.id], received, raw

    def unfinished(self) -> list[str]:
        """Return no note."""
        return []


def _opened(path: Path) -> _McapBag | _RosbagsBag:
    metadata = (path if path.is_dir() else path.parent) / 'metadata.yaml'
    if not path.is_dir():
        return _McapBag([path], {}, metadata.is_file()) if path.suffix == '.mcap' else _RosbagsBag(path)
    if not metadata.is_file():
        files = [item for item in path.iterdir() if item.suffix == '.mcap' and not item.name.startswith('.')]
        if len(files) == 1:
            return _McapBag(files, {}, False)
        there = ', '.join(sorted(item.name for item in path.iterdir())[:5]) or 'nothing'
        raise JointDynamicsError(
            f'expected metadata.yaml in a rosbag2 folder, found {there} (a recording that was not ended? '
            '`ros2 bag reindex` writes it)'
        )
    # rosbags reads it without bounds
    information = parse_yaml(read_text(metadata, metadata.name), metadata.name)['rosbag2_bagfile_information']
    files = [path / name for name in information['relative_file_paths']]
    for file in files:
        check_file(file, file.name)
    is_compressed = str(information.get('compression_mode')).lower() in ('file', 'message')
    if information['storage_identifier'] != 'mcap' or is_compressed:
        return _RosbagsBag(path)
    topics = information['topics_with_message_count']
    return _McapBag(files, {each['topic_metadata']['name']: each['message_count'] for each in topics}, True)


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
    kinds = [kind for pattern, kind in _wanted(samples) if _matches(pattern, topic.name, samples)]
    if kinds and topic.kind != kinds[0]:
        raise JointDynamicsError(f'expected {kinds[0]} on {topic.name}, found {topic.kind}')
    return bool(kinds)


def _wanted(samples: Samples) -> list[tuple[str, str]]:
    """Return the topics of all inputs, which may hold `{joint}`, with their types."""
    return [each for item in samples.inputs for each in item.topics.items()]


def _refuse_missing(available: Mapping[str, Topic], samples: Samples) -> None:
    """Raise JointDynamicsError for the first topic of an input that is not available."""
    for pattern, kind in _wanted(samples):
        if not any(_matches(pattern, name, samples) for name in available):
            listed = ', '.join(f'{topic.name} ({topic.kind})' for topic in sorted(available.values())) or 'none'
            raise JointDynamicsError(f'expected topic {absolute(pattern)} ({kind}), found {listed}')
