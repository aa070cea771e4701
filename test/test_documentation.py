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

"""Every node has a page in docs/, and every parameter, topic and service of it stands there or on that of all nodes."""

from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from joint_dynamics.nodes.framework.documentation import filled, node_classes, shared_rows

DOCS = Path(__file__).parents[1] / 'docs'
NODES = node_classes()


@pytest.mark.parametrize('name', NODES)
def test_parameters_and_topics_of_a_node_are_documented(name):
    page = (DOCS / 'reference' / 'nodes' / f'{name}.md').read_text(encoding='utf-8')
    assert page == filled(page, NODES[name]), 'run: python -m joint_dynamics.nodes.framework.documentation docs'


def test_rows_of_several_nodes_stand_once():
    page = (DOCS / 'reference' / 'nodes.md').read_text(encoding='utf-8')
    assert page == filled(page), 'run: python -m joint_dynamics.nodes.framework.documentation docs'
    parameters, topics = shared_rows()
    assert 'autostart' in [row.name for row in parameters]
    assert '/diagnostics' in [row.name for row in topics]


@pytest.mark.parametrize('name', NODES)
def test_every_row_of_a_table_is_complete(name):
    rows = NODES[name].parameter_rows()
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert row.description
        assert row.value(row.default) == row.default
        assert not row.description.endswith('.')
    for topic in NODES[name].topic_rows():
        assert topic.description
        assert topic.type.count('/') == 1
