"""Definitions of the messages in recordings, as ROS has them, and type stores made of them.

Building a store of a whole ROS distribution takes longer than reading a recording of a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from joint_dynamics.errors import JointDynamicsError

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
