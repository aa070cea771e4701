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

"""No lifecycle request, right or wrong, alone or in a storm, ends a node or leaves it in an unrequested state."""

import gc

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode

# The lifecycle of ROS 2 (design.ros2.org/articles/node_lifecycle.html): state -> {request: state after}.
OFFERED = {
    'unconfigured': {'configure': 'inactive', 'shutdown': 'finalized'},
    'inactive': {'activate': 'active', 'cleanup': 'unconfigured', 'shutdown': 'finalized'},
    'active': {'deactivate': 'inactive', 'shutdown': 'finalized'},
    'finalized': {},
}
WAY = {'unconfigured': (), 'inactive': ('configure',), 'active': ('configure', 'activate'), 'finalized': ('shutdown',)}
LABELS = (
    'configure', 'cleanup', 'activate', 'deactivate', 'shutdown', 'create', 'destroy', 'transition_success',
    'on_activate_error', 'no such',
)  # fmt: skip
SHUTDOWN = {'unconfigured': 5, 'inactive': 6, 'active': 7}
# Those of lifecycle_msgs/Transition with their neighbours, and the largest.
NUMBERS_ASKED = (*range(12), *range(28, 36), *range(48, 56), *range(58, 66), 97, 98, 99, 255)
NUMBERS = {1: 'configure', 2: 'cleanup', 3: 'activate', 4: 'deactivate'}


class Plain(DynamicsNode):
    NAME = 'plain'
    ROBOT = False


def request(ros, node, *, label='', number=0):
    return ros.call(
        ChangeState,
        f'/{node.get_name()}/change_state',
        ChangeState.Request(transition=Transition(id=number, label=label)),
    ).success


def is_offered(state, number):
    return OFFERED[state].get(NUMBERS.get(number)) or ('finalized' if SHUTDOWN.get(state) == number else None)


@pytest.mark.parametrize('state', OFFERED)
def test_every_request_from_every_state(ros, state):
    def reached():
        node = ros.node(Plain)
        for step in WAY[state]:
            assert request(ros, node, label=step)
        return node

    for label, after in OFFERED[state].items():
        node = reached()
        assert request(ros, node, label=label)
        assert ros.state('/plain') == after
        ros.remove(node)
    node = reached()
    for label in set(LABELS) - set(OFFERED[state]):
        assert not request(ros, node, label=label)
    for number in NUMBERS_ASKED:
        if not is_offered(state, number):
            assert not request(ros, node, number=number)
    assert ros.state('/plain') == state


@pytest.mark.parametrize('kind', node_classes().values(), ids=lambda kind: kind.NAME)
def test_no_node_dies_of_a_wrong_request(ros, kind):
    node = ros.node(kind)
    for label in ('activate', 'deactivate', 'cleanup', 'no such'):
        assert not request(ros, node, label=label)
    assert not request(ros, node, number=3)
    assert ros.state(node.get_fully_qualified_name()) == 'unconfigured'


def test_a_process_lives_on(ros):
    ros.process('joint_dynamics.nodes.simulator.node', parameters={'autostart': True})
    ros.until_state('/simulator', 'active')
    assert not ros.transition('/simulator', 'activate')
    assert not ros.transition('/simulator', 'configure')
    assert ros.state('/simulator') == 'active'


def in_the_graph(probe, name):
    """Topics of DDS a node writes or reads; rclpy's own service of types outlives every node of rclpy."""
    kinds = (probe.get_publishers_info_by_topic, probe.get_subscriptions_info_by_topic)
    return {
        topic
        for topic, _ in probe.get_topic_names_and_types(no_demangle=True)
        for kind in kinds
        if any(entry.node_name == name for entry in kind(topic, no_mangle=True))
        or (f'/{name}/' in topic and kind(topic, no_mangle=True))
    } - {f'rq/{name}/get_type_descriptionRequest', f'rr/{name}/get_type_descriptionReply'}


@pytest.mark.parametrize('state', OFFERED)
def test_a_destroyed_node_leaves_nothing_in_the_graph(ros, state):
    gc.collect()
    gc.disable()  # what only the collector would take away does not count
    try:
        node = ros.node(Plain)
        for step in WAY[state]:
            assert request(ros, node, label=step)
        assert ros.state('/plain') == state
        while list(ros.probe.clients):
            ros.probe.destroy_client(next(ros.probe.clients))
        assert in_the_graph(ros.probe, 'plain')
        ros.remove(node)
        ros.until(lambda: not in_the_graph(ros.probe, 'plain'), what='nothing of /plain in the graph')
    finally:
        gc.enable()
    node.close()  # once more changes nothing
    with pytest.raises(RuntimeError, match='not initialized'):
        node.trigger_configure()
