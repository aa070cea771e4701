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

"""What only the launch sets: where files go and which services are offered cannot be changed by who talks to a node."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.nodes.identifier.node import IdentifierNode

NODES = node_classes()
# By name, so that a row whose effect is changed is noticed.
READ_ONLY = {
    'estimator': {'output_folder', 'services'},
    'excitation': {'services'},
    'feedforward': {'use_description'},
    'gazebo_model': set(),
    'identifier': {'output_folder', 'services'},
    'simulator': {'services'},
}
FRAMEWORK = {'autostart'}


def test_the_table_says_which():
    assert set(NODES) == set(READ_ONLY)
    for name, node_class in NODES.items():
        rows = node_class.parameter_rows()
        assert {row.name for row in rows if row.read_only} == READ_ONLY[name] | FRAMEWORK
        # Whatever names a folder is written to.
        assert all(row.read_only for row in rows if 'folder' in row.name)
        services = {row.name for row in node_class.topic_rows() if row.direction == 'service' and not row.ends}
        offered = {row.name: row.default for row in rows}.get('services', [])
        assert {f'~/{service}' for service in offered} == services


def test_what_ends_a_motion_or_a_recording_cannot_be_withheld():
    ends = {f'{name}/{row.name}' for name, kind in NODES.items() for row in kind.topic_rows() if row.ends}
    assert ends == {'excitation/~/stop', 'identifier/~/stop_recording'}


def services_of(ros, node):
    """Our services of a node, as another process would see them."""
    found = ros.probe.get_service_names_and_types_by_node(node.get_name(), node.get_namespace())
    return {name.rpartition('/')[2] for name, types in found if types == ['std_srvs/srv/Trigger']}


@pytest.mark.parametrize(
    ('given', 'there'),
    [
        (None, {'start_recording', 'stop_recording', 'clear', 'identify'}),
        (['identify'], {'stop_recording', 'identify'}),
        ([''], {'stop_recording'}),
    ],
)
def test_a_service_that_the_launch_withholds_is_not_there(ros, hinge, tmp_path, given, there):
    parameters = {} if given is None else {'services': given}
    # A name of its own: the participant of a test before lives until its last reference goes, and of two nodes with one
    # name the graph may be asked for the one that has gone.
    name = f'/with_{len(there)}_services'
    node = ros.node(IdentifierNode, name, robot_file=hinge, output_folder=str(tmp_path / 'out'), **parameters)
    assert ros.transition(f'{name}/identifier', 'configure')
    ros.until(lambda: services_of(ros, node) >= there)
    assert services_of(ros, node) == there


def test_a_service_that_is_none_is_refused_at_the_start(ros):
    with pytest.raises(Exception, match=r'services.0.: expected one of plan, start, found'):
        ros.node(NODES['excitation'], '/x', services=['begin'])
