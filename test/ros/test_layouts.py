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

"""The layouts of PlotJuggler and Foxglove show topics and fields of the nodes; neither program is needed."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

CONFIG = Path(__file__).parents[2] / 'config'
FIELDS = JointState.get_fields_and_field_types()
JOINTS = RobotModel.load(ur5e_urdf()).joint_names
FOXGLOVE = sorted((CONFIG / 'foxglove').glob('*.json'))
PLOTJUGGLER = sorted((CONFIG / 'plotjuggler').glob('*.xml'))


@pytest.fixture(scope='module')
def topics():
    """Type by full name of all that estimator and feedforward publish or hear of the robot, under their usual names."""
    found = {}
    for name in ('estimator',):
        for row in node_classes()[name].topic_rows():
            full = row.name.replace('~', f'/{name}', 1) if row.name.startswith('~') else f'/{row.name.strip("/")}'
            found[full] = row.type
    return found


def test_there_is_one_of_each_for_either_node():
    assert [path.stem for path in FOXGLOVE] == [path.stem for path in PLOTJUGGLER] == ['estimator']


@pytest.mark.parametrize('path', FOXGLOVE, ids=lambda path: path.stem)
def test_foxglove_plots_what_there_is(path, topics):
    layout = json.loads(path.read_text())
    shown = set()
    for name, panel in layout['configById'].items():
        for item in panel.get('paths', ()):
            topic, field, joint = re.fullmatch(r'(/[\w/]+)\.(\w+)\[(\d)\]', item['value']).groups()
            assert topics[topic] == 'sensor_msgs/JointState', name
            assert FIELDS[field].startswith('sequence<double>')
            assert item['label'] == f'joint {int(joint) + 1}'
            shown.add(topic)
        if name.startswith('DiagnosticSummary!'):
            assert panel['topicToRender'] in topics
    assert len(shown) >= 4
    # Every panel stands somewhere, and nothing stands there that is no panel.
    placed = re.findall(r'"([A-Z]\w+!\w+)"', json.dumps([layout['layout'], layout['configById']['Tab!joint_dynamics']]))
    assert sorted(placed) == sorted(layout['configById'])


@pytest.mark.parametrize('path', PLOTJUGGLER, ids=lambda path: path.stem)
def test_plotjuggler_plots_what_there_is_and_subscribes_to_it(path, topics):
    root = ET.parse(path).getroot()
    (selected,) = root.iter('selected_topics')
    subscribed = set(selected.get('value').split(';'))
    shown = set()
    for plot in root.iter('plot'):
        joints = []
        for curve in plot.iter('curve'):
            topic, joint, field = curve.get('name').rsplit('/', 2)
            assert topics[topic] == 'sensor_msgs/JointState'
            assert FIELDS[field].startswith('sequence<double>')
            joints.append(joint)
            shown.add(topic)
        assert joints == list(JOINTS)
    assert shown == subscribed
    for splitter in root.iter('DockSplitter'):
        areas = len(splitter.findall('DockArea'))
        assert int(splitter.get('count')) == areas == len(splitter.get('sizes').split(';'))


def test_the_estimators_layouts_show_all_that_is_asked_for():
    """Torques, external torque, α, stiffness, temperature, health."""
    for path in (CONFIG / 'foxglove' / 'estimator.json', CONFIG / 'plotjuggler' / 'estimator.xml'):
        text = path.read_text()
        for topic in (
            'joint_torques',
            'external_torques',
            'friction_torques',
            *(f'estimates/{name}' for name in ('friction_scale', 'stiffness', 'temperature', 'health')),
        ):
            assert f'/estimator/{topic}' in text
