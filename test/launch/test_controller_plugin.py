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

"""The C++ controller in the real controller manager: torque, hand-over, refusals, the fallback after a failure."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

from joint_dynamics.arm import Arm
from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

_path = Path(__file__).parents[1] / 'ros2_control' / 'golden.py'
_spec = importlib.util.spec_from_file_location('golden', _path)
_spec.loader.exec_module(golden := importlib.util.module_from_spec(_spec))

try:
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTrajectoryControllerState
    from controller_manager_msgs import srv as services
except ImportError:
    services = None

PACKAGES = (
    'controller_manager',
    'joint_trajectory_controller',
    'joint_state_broadcaster',
    'joint_dynamics_controllers',
)


def installed(package):
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


MISSING = [package for package in PACKAGES if not installed(package)]
if services is None:
    MISSING.insert(0, 'control_msgs and controller_manager_msgs')
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f'not installed: {", ".join(MISSING)}')]

SENSOR = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
HOME = np.array([0.0, -1.57, 0.6, -1.57, 0.3, 0.0])
RATE = 200
LAW = 'feedforward_controller'
TRAJECTORY = 'feedforward_trajectory_controller'
FALLBACK = 'joint_trajectory_controller'
PLAIN = 'plain_trajectory_controller'
EFFORT = 'effort_trajectory_controller'
PRESETS = Path(__file__).parents[2] / 'ros2_control' / 'config'


@pytest.fixture(scope='module')
def robot():
    return RobotModel.from_urdf(ur5e_description())


@pytest.fixture(scope='module')
def description(law_document, tmp_path_factory):
    """The file with it."""
    path = tmp_path_factory.mktemp('description') / 'dynamics.yaml'
    DynamicsDescription(law_document).save(path)
    return path


def with_mock_hardware(urdf):
    """The URDF with a robot that stands still at HOME, whatever its effort is; commanded positions it follows."""
    tree = ElementTree.fromstring(urdf)
    system = ElementTree.SubElement(tree, 'ros2_control', name='mock', type='system')
    hardware = ElementTree.SubElement(system, 'hardware')
    ElementTree.SubElement(hardware, 'plugin').text = 'mock_components/GenericSystem'
    for name, position in zip(RobotModel.from_urdf(urdf).joint_names, HOME, strict=True):
        joint = ElementTree.SubElement(system, 'joint', name=name)
        for command in ('position', 'effort'):
            ElementTree.SubElement(joint, 'command_interface', name=command)
        for state, value in (('position', position), ('velocity', 0.0), ('effort', None)):
            interface = ElementTree.SubElement(joint, 'state_interface', name=state)
            if value is not None:
                ElementTree.SubElement(interface, 'param', name='initial_value').text = str(value)
    return ElementTree.tostring(tree, encoding='unicode')


class Manager:
    """A controller manager with its controllers; `states` of the law's controller as they come."""

    def __init__(self, ros, robot, *files):
        self.ros, self.robot = ros, robot
        publisher = ros.probe.create_publisher(String, 'robot_description', LATCHED)
        publisher.publish(String(data=with_mock_hardware(ur5e_description())))
        self.states = ros.listen(JointTrajectoryControllerState, f'/{LAW}/controller_state', 10000)
        node = Path(get_package_prefix('controller_manager')) / 'lib' / 'controller_manager' / 'ros2_control_node'
        given = [word for file in files for word in ('--params-file', str(file))]
        self.process = ros.start([str(node), '--ros-args', *given], 'controller manager')

    @classmethod
    def with_law(cls, ros, robot, folder, **parameters):
        """Start one with the parameters of the plugin; the rest is of `gains`."""
        file = folder / 'controllers.yaml'
        document = controller_parameters(effort_gains(Arm(robot), 1.0 / RATE), plugin=parameters)
        manager = document['/**']['controller_manager']['ros__parameters']
        manager[LAW]['fallback_controllers'] = [FALLBACK]
        file.write_text(yaml.safe_dump(document))
        made = cls(ros, robot, file)
        made.parameters = document['/**'][LAW]['ros__parameters']
        return made

    def load(self, *names):
        """Load and configure; return the names of those that would not."""
        refused = []
        for name in names:
            loaded = self.ros.call(
                services.LoadController,
                '/controller_manager/load_controller',
                services.LoadController.Request(name=name),
            )
            configured = self.ros.call(
                services.ConfigureController,
                '/controller_manager/configure_controller',
                services.ConfigureController.Request(name=name),
            )
            refused += [] if loaded.ok and configured.ok else [name]
        return refused

    def switch(self, on=(), off=()):
        request = services.SwitchController.Request(
            activate_controllers=list(on),
            deactivate_controllers=list(off),
            strictness=services.SwitchController.Request.STRICT,
            # Else the manager switches beside its loop, and what a controller leaves when it ends reaches the hardware.
            activate_asap=True,
        )
        return self.ros.call(services.SwitchController, '/controller_manager/switch_controller', request).ok

    def active(self):
        found = self.ros.call(services.ListControllers, '/controller_manager/list_controllers').controller
        return {item.name for item in found if item.state == 'active'}

    def move(self, offset, controller=TRAJECTORY, shares=(1.0, 0.0)):
        """Have a motion accepted: to HOME + offset and back, 1 s each, or to these shares of the offset."""
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = list(self.robot.joint_names)
        for seconds, share in enumerate(shares, start=1):
            goal.trajectory.points.append(
                JointTrajectoryPoint(
                    positions=(HOME + share * offset).tolist(),
                    velocities=[0.0] * 6,
                    accelerations=[0.0] * 6,
                    time_from_start=Duration(sec=seconds),
                )
            )
        client = ActionClient(self.ros.probe, FollowJointTrajectory, f'/{controller}/follow_joint_trajectory')
        self.ros.until(client.server_is_ready, what=f'the action of {controller}')
        answer = client.send_goal_async(goal)
        self.ros.until(answer.done, what=f'the answer of {controller}')
        assert answer.result().accepted


@pytest.fixture
def manager(ros, robot, tmp_path, monkeypatch):
    """Start a controller manager with the law loaded and active in its chain."""
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))

    def start(**parameters):
        made = Manager.with_law(ros, robot, tmp_path, **parameters)
        assert made.load('joint_state_broadcaster', LAW, TRAJECTORY, FALLBACK) == []
        assert made.switch(on=['joint_state_broadcaster', LAW, TRAJECTORY])
        return made

    return start


def expected_torque(states, description, friction):
    """The torque of the Python package along the references that the controller says it had."""
    document = DynamicsDescription.load(description).document
    rows = [(s.reference.positions, s.reference.velocities, s.reference.accelerations) for s in states]
    motion = np.array(rows).transpose(1, 0, 2)
    case = golden.golden_case(ur5e_description(), document, golden.GoldenOptions(friction=friction), motion)
    return np.array(case['torque'])


def outputs(states):
    return np.array([state.output.effort for state in states])


@pytest.mark.parametrize(('law', 'friction'), [('computed_torque', 'none'), ('adaptive_friction', 'hysteresis')])
def test_it_commands_the_torque_of_the_package(ros, manager, robot, description, law, friction):
    made = manager(law=law, description_file=str(description), friction_topic='', feedback=False)
    ros.until(lambda: made.states and np.isfinite(made.states[-1].reference.positions).all(), what='a reference')
    made.move(np.full(6, 0.2))

    def moved():
        reference = np.array([state.reference.positions for state in made.states])
        return np.nanmax(np.abs(reference - HOME)) > 0.15 and np.abs(reference[-1] - HOME).max() < 1e-9

    ros.until(moved, what='the motion and its end')
    followed = [state for state in made.states if np.isfinite(state.reference.positions).all()]
    expected, found = expected_torque(followed, description, friction), outputs(followed)
    settled = slice(int(1.0 * RATE), None)  # after the ramp of the activation
    assert np.abs(found[settled] - expected[settled]).max() <= 1e-9
    assert np.ptp(found[settled], axis=0).max() > 10.0


def test_a_law_that_fails_ends_at_gravity_and_in_the_fallback(ros, robot, tmp_path, monkeypatch):
    """An acceleration that is finite, but not its torque, comes by the topic that no trajectory controller checks."""
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    made = Manager.with_law(ros, robot, tmp_path, law='computed_torque', use_description=False, timeout=5.0)
    assert made.load('joint_state_broadcaster', LAW, FALLBACK) == []
    assert made.switch(on=['joint_state_broadcaster', LAW])
    holds = Arm(robot).rigid.gravity(HOME)
    source = ros.probe.create_publisher(JointTrajectoryPoint, f'/{LAW}/joint_references', SENSOR)

    def desire(acceleration):
        zeros = [0.0] * 6
        point = JointTrajectoryPoint(positions=HOME.tolist(), velocities=zeros, accelerations=[acceleration] * 6)
        source.publish(point)
        return made.states and made.states[-1].reference.accelerations[0] == acceleration

    ros.until(lambda: desire(0.0), what='a reference')
    ros.until(lambda: np.abs(outputs(made.states[-1:]) - holds).max() < 1e-9, what='gravity held')
    ros.until(lambda: desire(1e308) or FALLBACK in made.active(), what='the reference that fails')
    ros.until(lambda: FALLBACK in made.active(), what='the fallback controller')
    assert made.active() == {'joint_state_broadcaster', FALLBACK}
    assert np.abs(outputs(made.states) - holds)[-10:].max() < 1e-9
    # The controller names the joint, although it has ended.
    cause = re.compile(rf'{LAW}\]: .*({"|".join(robot.joint_names)}) is -?(inf|nan)')
    ros.until(lambda: cause.search(made.process.output), what='the cause')


def test_plain_trajectory_controller_takes_over_without_a_jump(ros, manager, robot):
    made = manager(law='computed_torque', use_description=False)
    ros.until(lambda: len(made.states) > RATE, what='the ramp')
    plain = ros.listen(JointTrajectoryControllerState, f'/{FALLBACK}/controller_state', 10000)
    assert made.switch(on=[FALLBACK], off=[TRAJECTORY, LAW])
    ros.until(lambda: len(plain) > RATE // 2, what='its states')
    for quantity in ('reference', 'feedback'):
        positions = np.array([getattr(state, quantity).positions for state in plain])
        assert np.abs(positions - HOME).max() < 1e-9
    assert made.active() == {'joint_state_broadcaster', FALLBACK}
    # And back again.
    before = len(made.states)
    assert made.switch(on=[LAW, TRAJECTORY], off=[FALLBACK])
    ros.until(lambda: len(made.states) > before + RATE, what='the ramp')
    assert outputs(made.states)[-1] == pytest.approx(Arm(robot).rigid.gravity(HOME), abs=1e-6)


@pytest.mark.parametrize(
    ('preset', 'fallback', 'gravity'),
    [('ur', 'scaled_joint_trajectory_controller', False), ('generic', FALLBACK, True)],
)
def test_a_preset_comes_up_in_its_chain(ros, robot, description, tmp_path, monkeypatch, preset, fallback, gravity):
    """As shipped, with the description from its topic; the driver's own controller is another of its kind here."""
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    text = (PRESETS / f'{preset}.yaml').read_text(encoding='utf-8')
    for k, joint in enumerate(robot.joint_names):
        text = text.replace(f'joint_{k + 1}', joint)
    (tmp_path / 'preset.yaml').write_text(text, encoding='utf-8')
    follower = {'type': 'joint_trajectory_controller/JointTrajectoryController'}
    broadcaster = {'type': 'joint_state_broadcaster/JointStateBroadcaster'}
    driver = {
        'controller_manager': {
            'ros__parameters': {'update_rate': RATE, 'joint_state_broadcaster': broadcaster, fallback: follower}
        },
        fallback: {
            'ros__parameters': {
                'joints': list(robot.joint_names),
                'command_interfaces': ['position'],
                'state_interfaces': ['position', 'velocity'],
            }
        },
    }
    (tmp_path / 'driver.yaml').write_text(yaml.safe_dump({'/**': driver}), encoding='utf-8')
    latched = ros.probe.create_publisher(String, 'dynamics_description', LATCHED)
    latched.publish(String(data=description.read_text(encoding='utf-8')))
    made = Manager(ros, robot, tmp_path / 'driver.yaml', tmp_path / 'preset.yaml')
    assert made.load('joint_state_broadcaster', fallback, LAW, TRAJECTORY) == [], made.process.output[-2000:]
    assert made.switch(on=['joint_state_broadcaster', fallback])
    assert made.switch(on=[LAW, TRAJECTORY], off=[fallback]), made.process.output[-2000:]
    ros.until(lambda: len(made.states) > RATE, what='the ramp')
    holds = Arm.from_description(robot, DynamicsDescription.load(description)).rigid.gravity(HOME)
    assert outputs(made.states)[-1] == pytest.approx(gravity * holds, abs=1e-6)
    begin = len(made.states)
    made.move(np.full(6, 0.2))

    def moved():
        # A busy machine hands over many at once.
        rows = made.states[begin:][-RATE:]
        return any(np.abs(np.asarray(state.reference.positions) - HOME).max() > 0.15 for state in rows)

    ros.until(moved, what='the motion')
    # What moves the arm comes on top.
    assert np.abs(outputs(made.states[begin:]) - gravity * holds).max() > 1.0


def test_feedforward_is_switched_without_a_step_of_torque(ros, manager, robot):
    """The effort PID takes the place of what precedes the law; the law's torque fades, and comes back."""
    made = manager(law='computed_torque', use_description=False, handover_time=1.0)
    assert made.load(PLAIN) == []
    ros.until(lambda: len(made.states) > RATE, what='the ramp')
    law = outputs(made.states)[-1]
    assert np.abs(law).max() > 10.0

    def after(on, off):
        begin = len(made.states) - 1
        assert made.switch(on=[on], off=[off])
        switched = len(made.states)
        ros.until(lambda: len(made.states) > switched + 2 * RATE, what='the hand-over')
        rows = made.states[begin:]
        stamps = np.array([state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in rows])
        return np.diff(stamps), outputs(rows)

    for on, off, end in ((PLAIN, TRAJECTORY, np.zeros(6)), (TRAJECTORY, PLAIN, law)):
        periods, found = after(on, off)
        assert LAW in made.active()
        # What fades within 1 s; the period that counts is the manager's own measure, and a message may be lost.
        allowed = np.outer(periods + 2.0 / RATE, np.abs(law)) + 1e-6
        assert (np.abs(np.diff(found, axis=0)) <= allowed).all()
        # The robot here stands still whatever its effort is: a PID without an error asks for nothing.
        assert found[-1] == pytest.approx(end, abs=1e-6)


@pytest.mark.parametrize('told', [True, False])
def test_take_over_from_an_effort_controller_holds_the_arm(ros, robot, tmp_path, monkeypatch, told):
    """A trajectory controller with effort straight to the hardware, which leaves zeros in the cycle in which it ends.

    The hardware shows the effort of each cycle in the next one.
    """
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    interface = {'effort_interface': 'effort'} if told else {}
    given = {'law': 'computed_torque', 'use_description': False, 'handover_time': 1.0}
    made = Manager.with_law(ros, robot, tmp_path, **given, **interface)
    assert made.load('joint_state_broadcaster', LAW, TRAJECTORY, FALLBACK, EFFORT) == []
    shown = ros.listen(JointState, 'joint_states', 10000)
    assert made.switch(on=['joint_state_broadcaster', EFFORT])
    holds = Arm(robot).rigid.gravity(HOME)
    # The robot here does not move: the error stays, and so does the effort, in the direction of gravity.
    made.move(0.02 * np.sign(holds), EFFORT, [1.0])

    def efforts(begin=0):
        order = [shown[-1].name.index(name) for name in robot.joint_names]
        return np.array([np.asarray(state.effort)[order] for state in shown[begin:]])

    def steady():
        if len(shown) < RATE:
            return False
        last = efforts(-RATE // 2)
        return np.isfinite(last).all() and np.ptp(last, axis=0).max() == 0.0 and np.abs(last).max() > 0.0

    ros.until(steady, what='an effort that stays')
    held, begin = efforts()[-1], len(shown) - 1
    assert made.switch(on=[LAW, TRAJECTORY], off=[EFFORT]), made.process.output[-3000:]
    ros.until(lambda: len(shown) > begin + 2 * RATE, what='the hand-over')
    found = efforts(begin)
    stamps = np.array([state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in shown[begin:]])
    steps = np.abs(np.diff(found, axis=0))
    if told:
        # What fades within 1 s, in the period before the one that shows it, by the manager's own measure.
        periods = np.diff(stamps)
        periods += np.append(1.0 / RATE, periods[:-1]) + 1.0 / RATE
        assert (steps <= np.outer(periods, np.abs(held - holds)) + 1e-6).all()
    else:
        # To gravity at once; no joint is let go in between.
        allowed = np.abs(held - holds)
        assert (steps.max(axis=0) <= allowed + 1e-6).all()
        assert (np.abs(found) >= np.minimum(np.abs(held), np.abs(holds)) - 1e-6).all()
    assert found[-1] == pytest.approx(holds, abs=1e-6)
