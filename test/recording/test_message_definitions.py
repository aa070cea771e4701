"""The messages as they stand here are those of the ROS distributions, and bags may define others themselves."""

from types import SimpleNamespace

import pytest
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.recording.message_definitions import CONTROL_MSGS, STANDARD, typestore


@pytest.mark.parametrize('distribution', [Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY, Stores.LATEST])
def test_standard_messages_are_those_of_the_distribution(distribution):
    expected, found = get_typestore(distribution).fielddefs, typestore([]).fielddefs
    assert set(STANDARD) <= set(found)
    for name, fields in found.items():
        assert fields == expected[name], name


def test_a_bag_that_defines_its_messages_is_read_by_its_definition():
    text = 'std_msgs/Header header\nstring[] keys\nfloat64 further\n'
    given = MessageDefinition(MessageDefinitionFormat.MSG, text)
    store = typestore([SimpleNamespace(msgtype='control_msgs/msg/Keys', msgdef=given)])
    assert [name for name, _ in store.fielddefs['control_msgs/msg/Keys'][1]] == ['header', 'keys', 'further']


def test_a_bag_without_definitions_is_read_by_ours():
    store = typestore(
        [SimpleNamespace(msgtype='control_msgs/msg/Keys', msgdef=MessageDefinition(MessageDefinitionFormat.NONE, ''))]
    )
    assert set(CONTROL_MSGS) <= set(store.fielddefs)


def test_a_definition_in_the_bag_does_not_replace_a_standard_message():
    """As of the standard messages that one of another package holds."""
    text = f'std_msgs/Header header\nstring[] keys\n{"=" * 80}\nMSG: std_msgs/Header\nfloat64 other\n'
    given = MessageDefinition(MessageDefinitionFormat.MSG, text)
    store = typestore([SimpleNamespace(msgtype='control_msgs/msg/Keys', msgdef=given)])
    assert store.fielddefs['std_msgs/msg/Header'] == get_typestore(Stores.ROS2_JAZZY).fielddefs['std_msgs/msg/Header']
