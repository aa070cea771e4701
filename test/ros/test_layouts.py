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

"""The layouts of PlotJuggler and Foxglove show topics and fields of the estimator; the programs are not needed."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from joint_dynamics.nodes.estimator.node import EstimatorNode
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

CONFIG = Path(__file__).parents[2] / 'config'
TOPICS = {row.name.replace('~', '/estimator', 1): row.type for row in EstimatorNode.topic_rows()}
FIELDS = JointState.get_fields_and_field_types()


def test_foxglove_plots_what_there_is():
    panels = json.loads((CONFIG / 'foxglove' / 'estimator.json').read_text())['configById']
    paths = [item['value'] for panel in panels.values() for item in panel.get('paths', ())]
    shown = [re.fullmatch(r'(/[\w/]+)\.(\w+)\[(\d)\]', path).groups() for path in paths]
    assert len({topic for topic, *_ in shown}) >= 4
    for topic, field, _ in shown:
        assert TOPICS[topic] == 'sensor_msgs/JointState'
        assert FIELDS[field].startswith('sequence<double>')


def test_plotjuggler_plots_what_there_is_and_subscribes_to_it():
    root = ET.parse(CONFIG / 'plotjuggler' / 'estimator.xml').getroot()
    (selected,) = root.iter('selected_topics')
    joints, shown = RobotModel.load(ur5e_urdf()).joint_names, set()
    for plot in root.iter('plot'):
        curves = [curve.get('name').rsplit('/', 2) for curve in plot.iter('curve')]
        assert [joint for _, joint, _ in curves] == list(joints)
        for topic, _, field in curves:
            assert TOPICS[topic] == 'sensor_msgs/JointState'
            assert FIELDS[field].startswith('sequence<double>')
            shown.add(topic)
    assert shown == set(selected.get('value').split(';'))
