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

"""The mounting from tf: over DDS where tf2_msgs and tf_transformations are installed.

Its chain of frames everywhere.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from scipy.spatial.transform import Rotation

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.mounting import TF_STATIC, chain_of, mounting_from_tf
from joint_dynamics.robot import mounting_rotation

LINK = (
    '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"'
    ' iyz="0"/></inertial></link>'
)
ARM = (
    '<robot name="arm">'
    + LINK.format('foot')
    + LINK.format('arm')
    + '<joint name="one" type="revolute"><parent link="foot"/><child link="arm"/>'
    '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="50" velocity="2"/></joint></robot>'
)


class Standing(DynamicsNode):
    NAME = 'standing'
    ROBOT = True

    def configure(self):
        pass


def test_a_chain_is_followed_upwards_and_never_in_circles():
    one, two = (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)
    parents = {'foot': ('wall', one), 'wall': ('world', two), 'a': ('b', one), 'b': ('a', one)}
    assert chain_of(parents, 'world', 'foot') == [one, two]
    assert chain_of(parents, 'foot', 'foot') == []
    assert chain_of(parents, 'world', 'a') is None
    assert chain_of(parents, 'elsewhere', 'foot') is None


@pytest.fixture
def tf():
    message = pytest.importorskip('tf2_msgs.msg', reason='tf2_msgs comes with a ROS 2 installation only').TFMessage
    pytest.importorskip('tf_transformations', reason='tf_transformations comes with a ROS 2 installation only')
    return message


def transform(parent, child, rotation):
    from geometry_msgs.msg import TransformStamped

    found = TransformStamped(child_frame_id=child)
    found.header.frame_id = parent
    turn = found.transform.rotation
    turn.x, turn.y, turn.z, turn.w = map(float, rotation.as_quat())
    return found


def test_two_publishers_make_one_mounting(ros, tf, tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(ARM)
    wall, tilt = Rotation.from_euler('xyz', [np.pi / 2, 0.0, 0.3]), Rotation.from_euler('xyz', [0.1, -0.2, 0.7])
    ros.probe.create_publisher(tf, '/tf_static', TF_STATIC).publish(tf(transforms=[transform('world', 'wall', wall)]))
    ros.probe.create_publisher(tf, '/tf_static', TF_STATIC).publish(
        tf(transforms=[transform('wall', 'foot', tilt), transform('foot', 'cup', tilt)])
    )
    node = ros.node(Standing, robot_file=str(path), world_frame='world')
    assert node.trigger_configure().name == 'SUCCESS', node.diagnostics.message('state')
    expected = (wall * tilt).as_matrix()
    np.testing.assert_allclose(mounting_rotation(node.robot.mounting), expected, atol=1e-9)
    np.testing.assert_allclose(node.robot.pinocchio.gravity.linear, expected.T @ [0.0, 0.0, -9.81], atol=1e-9)
    stated = ros.node(Standing, '/b', robot_file=str(path), world_frame='world', mounting=[0.0, 0.0, 0.0])
    assert stated.trigger_configure().name == 'SUCCESS'
    assert stated.robot.mounting == [0.0, 0.0, 0.0]


def test_frames_that_do_not_meet_are_named(ros, tf):
    ros.probe.create_publisher(tf, '/tf_static', TF_STATIC).publish(
        tf(transforms=[transform('map', 'shelf', Rotation.identity())])
    )
    with pytest.raises(JointDynamicsError, match='from world to foot on /tf_static, found frames: map, shelf'):
        mounting_from_tf(ros.probe, 'world', 'foot', 3.0)


def test_without_the_packages_that_is_said(ros):
    try:
        import tf2_msgs.msg  # noqa: F401
        import tf_transformations  # noqa: F401
    except ImportError:
        with pytest.raises(JointDynamicsError, match='expected tf2_msgs and tf_transformations'):
            mounting_from_tf(ros.probe, 'world', 'foot', 0.1)
    else:
        pytest.skip('tf2_msgs and tf_transformations are installed')
