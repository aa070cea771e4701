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

"""Small recordings of a made-up three-joint arm, as duck-typed messages and as bags written with rosbags."""

from types import SimpleNamespace

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from joint_dynamics.recording.bag import DEFINITIONS

START = 1_700_000_000_000_000_000
NAMES = ('shoulder', 'elbow', 'wrist')


@pytest.fixture(scope='session')
def store():
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {}
    for name, text in DEFINITIONS.items():
        types.update(get_types_from_msg(text, name))
    store.register(types)
    return store


class Motion:
    """Smooth, known motion of three joints: what every recording here is made of."""

    names = NAMES
    start = START

    @staticmethod
    def stamps(rate=200.0, seconds=2.0):
        return START + np.rint(np.arange(int(rate * seconds) + 1) / rate * 1e9).astype(np.int64)

    @staticmethod
    def q(stamps):
        t = (np.asarray(stamps) - START)[..., None] * 1e-9
        return np.array([0.5, -1.0, 0.1]) + np.array([1.0, 0.6, 0.3]) * np.sin(
            2 * np.pi * np.array([0.5, 0.8, 1.1]) * t
        )

    @staticmethod
    def dq(stamps):
        t, w = (np.asarray(stamps) - START)[..., None] * 1e-9, 2 * np.pi * np.array([0.5, 0.8, 1.1])
        return np.array([1.0, 0.6, 0.3]) * w * np.cos(w * t)

    @staticmethod
    def tau(stamps):
        return 20.0 * np.cos(Motion.q(stamps)) + np.array([1.0, 2.0, 3.0])


@pytest.fixture(scope='session')
def motion():
    return Motion


def header(stamp, frame=''):
    return SimpleNamespace(stamp=SimpleNamespace(sec=int(stamp // 10**9), nanosec=int(stamp % 10**9)), frame_id=frame)


JOINT_STATE = 'sensor_msgs/msg/JointState'


class Messages:
    """Messages by attribute, as bags and DDS both give them; `kind` is their type."""

    @staticmethod
    def joint_state(stamp, names, position=(), velocity=(), effort=()):
        return SimpleNamespace(
            kind=JOINT_STATE,
            header=header(stamp),
            name=list(names),
            position=np.array(position, float),
            velocity=np.array(velocity, float),
            effort=np.array(effort, float),
        )

    @staticmethod
    def temperature(stamp, frame, value):
        kind = 'sensor_msgs/msg/Temperature'
        return SimpleNamespace(kind=kind, header=header(stamp, frame), temperature=float(value), variance=0.0)

    @staticmethod
    def array(values):
        layout, data = SimpleNamespace(dim=[], data_offset=0), np.array(values, float)
        return SimpleNamespace(kind='std_msgs/msg/Float64MultiArray', layout=layout, data=data)

    @staticmethod
    def dynamic(stamp, joints, interfaces, values):
        return SimpleNamespace(
            kind='control_msgs/msg/DynamicJointState',
            header=header(stamp),
            joint_names=list(joints),
            interface_values=[
                SimpleNamespace(interface_names=list(names), values=np.array(row, float))
                for names, row in zip(interfaces, values, strict=True)
            ],
        )

    @staticmethod
    def keys(stamp, keys):
        return SimpleNamespace(kind='control_msgs/msg/Keys', header=header(stamp), keys=list(keys))

    @staticmethod
    def values(stamp, values):
        return SimpleNamespace(
            kind='control_msgs/msg/Float64Values', header=header(stamp), values=np.array(values, float)
        )

    @staticmethod
    def rows(topic, stamps, make):
        """(topic, type, received, message) of the message that `make` gives for each stamp, received at that time."""
        made = [(stamp, make(stamp)) for stamp in stamps.tolist()]
        return [(topic, message.kind, stamp, message) for stamp, message in made]


@pytest.fixture(scope='session')
def messages():
    return Messages


def typed(store, kind, value):
    """Make a rosbags message of this type from a duck-typed one."""
    values = {}
    for field, (node, detail) in store.fielddefs[kind][1]:
        item = getattr(value, field)
        if node.name == 'NAME':
            item = typed(store, detail, item)
        elif node.name == 'SEQUENCE' and detail[0][0].name == 'NAME':
            item = [typed(store, detail[0][1], part) for part in item]
        values[field] = item
    return store.types[kind](**values)


@pytest.fixture(scope='session')
def write_bag(store):
    """write_bag(path, [(topic, type, received_ns, message), …], storage, compression, empty topics) -> path."""

    def write(path, rows, storage='MCAP', compression=None, empty=()):
        writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage])
        if compression:
            writer.set_compression(CompressionMode[compression], CompressionFormat.ZSTD)
        with writer:
            connections = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in empty}
            for topic, kind, received, message in rows:
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, kind, typestore=store)
                writer.write(connections[topic], int(received), store.serialize_cdr(typed(store, kind, message), kind))
        return path

    return write


@pytest.fixture(scope='session')
def joint_state_rows(motion, messages):
    """Rows of /joint_states with position, velocity and torque, for the stamps given."""

    def rows(stamps=None, topic='/joint_states', names=NAMES, late=1_000_000):
        columns = [NAMES.index(name) for name in names]

        def message(stamp):
            return messages.joint_state(stamp, names, *(of(stamp)[columns] for of in (motion.q, motion.dq, motion.tau)))

        made = messages.rows(topic, motion.stamps() if stamps is None else stamps, message)
        return [(topic, kind, stamp + late, message) for topic, kind, stamp, message in made]

    return rows


@pytest.fixture(scope='session')
def encoded(store):
    """encoded(rows) -> (topic, type, time of reception, CDR bytes) each, made by rosbags."""

    def rows_of(rows):
        return [
            (topic, kind, int(received), bytes(store.serialize_cdr(typed(store, kind, message), kind)))
            for topic, kind, received, message in rows
        ]

    return rows_of


@pytest.fixture(scope='session')
def raw_rows(encoded, joint_state_rows, messages, motion):
    """Encoded rows of /joint_states, with one temperature among them."""
    rows = joint_state_rows()
    warm = messages.temperature(motion.start, 'elbow', 31.5)
    rows.insert(7, ('/elbow/temperature', warm.kind, rows[7][2], warm))
    return encoded(rows)


@pytest.fixture
def feed():
    """Feed rows into a RecordingBuilder, as a bag or a node would."""

    def into(builder, rows):
        for topic, _, received, message in rows:
            builder.add_message(topic, message, int(received))
        return builder

    return into
