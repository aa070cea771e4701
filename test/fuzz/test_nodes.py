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

"""Mutated messages through every callback of the nodes, mutated values through every parameter: nothing is raised."""

import importlib.util
import json
import math
from array import array
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import rclpy
from builtin_interfaces.msg import Duration, Time
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import Bool, Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.excitation import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.nodes.framework.tables import NodeParameters
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

_spec = importlib.util.spec_from_file_location('fuzz_tools', Path(__file__).with_name('conftest.py'))
tools = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tools)
pytestmark = pytest.mark.fuzz
NODES = node_classes()
ROBOT = RobotModel.from_urdf(ur5e_description())
JOINTS = list(ROBOT.joint_names)
POSTURE = np.array([0.0, -1.57, 0.6, -1.57, 0.3, 0.0])
ROWS = [(name, row) for name, node_class in NODES.items() for row in node_class.parameter_rows()]


# Parameters.


def belongs(value, row):
    """Whether a value is within its row of the table of parameters."""
    if isinstance(row.default, list):
        items, kind = value, row.element
        assert type(value) is list
    else:
        items, kind = [value], type(row.default)
    for item in items:
        assert type(item) is kind
        if kind in (int, float):
            endless = row.infinite and item == math.inf
            assert endless or math.isfinite(item)
            assert endless or row.lower is None or item >= row.lower
            assert endless or row.upper is None or item <= row.upper
        assert not row.choices or item in row.choices
    assert row.check is None or row.check(value) is None
    return True


# What ROS can carry; a list has one type.
NUMBERS = st.one_of(st.floats(), st.sampled_from([1e308, -1e308, 5e-324, math.nan, math.inf, 0.0, 1.0]))
WHOLE = st.integers(-(2**63), 2**63 - 1)
WORDS = st.one_of(st.text(st.characters(exclude_categories=['Cs']), max_size=8), st.sampled_from(['', *JOINTS, 'on']))
WORDS = WORDS.filter(lambda text: '\0' not in text)
LISTS = st.one_of(
    st.lists(st.booleans(), max_size=4),
    st.lists(WHOLE, min_size=1, max_size=4).map(lambda values: array('q', values)),
    st.lists(NUMBERS, min_size=1, max_size=7).map(lambda values: array('d', values)),
    st.lists(WORDS, max_size=7),
    st.lists(st.binary(min_size=1, max_size=1), max_size=4),
)
VALUES = st.one_of(st.booleans(), WHOLE, NUMBERS, WORDS, LISTS)


class Nodes:
    """Nodes in this process, configured and active, whose callbacks are called as the executor would."""

    def __init__(self, folder):
        joint = {
            'rotor_inertia': {'value': 0.9},
            'drive_gain': {'value': 12.0},
            'stiffness': {'coefficients': [2e4, 1e8]},
            'friction': {
                'parameters': {'F_C0': 7.0, 'F_S': 8.0, 'F_V1': 6.0},
                'maxwell_slip': {'operators': 4, 'presliding': 5e-4},
            },
        }
        described = folder / 'dynamics.yaml'
        DynamicsDescription({'robot': {'joint_names': JOINTS}, 'joints': dict.fromkeys(JOINTS, joint)}).save(described)
        waves = np.column_stack([POSTURE, np.full((6, 4), 0.02)])
        series = FourierTrajectory(JOINTS, FourierBasis(3.0, 2, 1, 0.8, True), waves)
        (folder / 'summary.json').write_text(json.dumps({'trajectory': coefficients(series)}))
        (folder / 'robot.urdf').write_text(ur5e_description())
        robot = {'robot_file': str(folder / 'robot.urdf')}
        inputs = {
            'inputs': ['joint_states', 'motor_states', 'motor_current', 'link_states', 'load_torques', 'temperatures'],
            'joint_states_effort': 'none',
            'motor_states_effort': 'none',
        }
        law = {**robot, 'description_file': str(described), 'inputs': ['joint_states', 'motor_states', 'temperatures']}
        law.update(joint_states_effort='none', motor_states_effort='none')
        wanted = {
            'identifier': ('identifier', {**robot, **inputs, 'output_folder': str(folder / 'out')}),
            'estimator': (
                'estimator',
                {**robot, **inputs, 'description_file': str(described), 'output_folder': str(folder / 'out')},
            ),
            'feedforward': ('feedforward', {**law, 'law': 'adaptive_friction'}),
            'excitation': ('excitation', {**robot, 'trajectory_file': str(folder / 'summary.json')}),
            'gazebo_model': ('gazebo_model', robot),
            'simulator': ('simulator', {'publish_clock': False}),
        }
        self.nodes = {}
        self.bad = []
        for name, (kind, parameters) in wanted.items():
            # Configured and activated here, at once.
            overrides = [Parameter(key, value=value) for key, value in {**parameters, 'autostart': False}.items()]
            node = NODES[kind](name, parameter_overrides=overrides)
            assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS, node.diagnostics.message('state')
            assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS, node.diagnostics.message('state')
            self.nodes[name] = node
            self._watch(name, node)
        # (node, topic) of every subscription there is.
        self.subscriptions = {
            (name, subscription.topic_name): subscription
            for name, node in self.nodes.items()
            for subscription in node.subscriptions
            if subscription.topic_name not in ('/clock', '/parameter_events')
        }

    def _watch(self, name, node):
        """Note every command that is not finite or over the limit."""
        for found in node.publishers if node.NAME == 'feedforward' else ():
            if not found.topic_name.endswith('/joint_trajectory'):
                continue
            send = found.publish

            def publish(message, send=send):
                efforts = np.array([point.effort for point in message.points])
                if not (np.abs(efforts) <= ROBOT.limits.effort).all():
                    self.bad.append((name, efforts))
                send(message)

            found.publish = publish

    def close(self):
        for node in self.nodes.values():
            node.close()


@pytest.fixture(scope='module')
def nodes(ros_domain, tmp_path_factory):
    rclpy.init()
    nodes = Nodes(tmp_path_factory.mktemp('nodes'))
    yield nodes
    nodes.close()
    rclpy.try_shutdown()


@tools.CASES
@given(VALUES, st.sampled_from([*JOINTS, 'none']))
@example(5e-136, 'none')  # of a real_time_factor: the simulator would next look for a due tick after 10^134 s
def test_any_value_over_ros_of_every_parameter(nodes, value, joint):
    """Set on an active node: taken with its table's type and range, or refused with a reason; never raised.

    Each case goes to every parameter of every node.
    """
    for name, row in ROWS:
        node = nodes.nodes[name]
        full = f'{row.name}.{joint}' if row.per_joint else row.name
        if not node.has_parameter(full):
            continue
        before = node.parameters[full]
        (result,) = node.set_parameters([Parameter(full, value=value)])
        after = node.parameters[full]
        if result.successful:
            assert belongs(after, row)
        else:
            assert result.reason
            assert after == before
        if after != before:
            (back,) = node.set_parameters([Parameter(full, value=before)])
            assert back.successful, back.reason
        assert isinstance(node.parameters, NodeParameters)


# Messages.

STAMPS = st.builds(Time, sec=st.one_of(st.integers(0, 2**31 - 1), st.integers(1, 3)), nanosec=st.integers(0, 10**9 - 1))
HEADERS = st.builds(Header, stamp=STAMPS)
NAMES = st.one_of(
    st.just(JOINTS), st.permutations(JOINTS), st.lists(st.one_of(st.sampled_from(JOINTS), WORDS), max_size=8)
)
ARRAYS = st.one_of(
    st.just(POSTURE.tolist()),
    st.lists(st.floats(-4, 4), min_size=6, max_size=6),
    st.lists(NUMBERS, max_size=8),
    st.lists(NUMBERS, min_size=6, max_size=6),
)
SOME = st.just([]) | ARRAYS
SECONDS = st.integers(-(2**31), 2**31 - 1)
NANOSECONDS = st.integers(0, 2**32 - 1)
TIMES = st.builds(Duration, sec=st.integers(0, 3) | SECONDS, nanosec=st.integers(0, 10**9 - 1) | NANOSECONDS)
POINTS = st.builds(
    JointTrajectoryPoint, positions=ARRAYS, velocities=SOME, accelerations=SOME, effort=SOME, time_from_start=TIMES
)
DIMENSIONS = st.builds(MultiArrayDimension, size=st.integers(0, 2**32 - 1), stride=st.integers(0, 20))
MESSAGES = {
    JointState: st.builds(JointState, header=HEADERS, name=NAMES, position=ARRAYS, velocity=SOME, effort=SOME),
    JointTrajectory: st.builds(JointTrajectory, header=HEADERS, joint_names=NAMES, points=st.lists(POINTS, max_size=4)),
    Temperature: st.builds(
        Temperature, header=st.builds(Header, stamp=STAMPS, frame_id=WORDS), temperature=NUMBERS, variance=NUMBERS
    ),
    Float64MultiArray: st.builds(
        Float64MultiArray,
        data=st.one_of(ARRAYS, st.lists(NUMBERS, min_size=12, max_size=12)),
        layout=st.builds(MultiArrayLayout, dim=st.lists(DIMENSIONS, max_size=3), data_offset=st.integers(0, 9)),
    ),
    Bool: st.builds(Bool, data=st.booleans()),
    String: st.builds(String, data=st.one_of(WORDS, st.just('stopped: '), st.just('[' * 200))),
}


def test_every_kind_of_message_is_tried(nodes):
    assert {subscription.msg_type for subscription in nodes.subscriptions.values()} <= set(MESSAGES)
    assert {name for name, _ in nodes.subscriptions} == set(nodes.nodes)


@pytest.mark.parametrize('kind', MESSAGES, ids=lambda kind: kind.__name__)
@tools.CASES
@given(data=st.data())
def test_any_message_to_every_callback(nodes, kind, data):
    """Each case goes to every callback that takes such messages."""
    messages = data.draw(st.lists(MESSAGES[kind], min_size=1, max_size=3))
    contents = [serialize_message(message) for message in messages]
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(contents[-1]))))
    contents[-1] = contents[-1] if cut is None else contents[-1][:cut]
    for (name, _), subscription in sorted(nodes.subscriptions.items(), key=itemgetter(0)):
        if subscription.msg_type is not kind:
            continue
        for message in contents if subscription.raw else messages:
            subscription.callback(message)
        # What its timers would do next.
        for timer in nodes.nodes[name].timers:
            timer.callback()
        assert not nodes.bad
