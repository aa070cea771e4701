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

"""The C++ controller in the real controller manager, beside the trajectory controller and beside the node.

`python bench/bench_controller_manager.py [cycle tracking] [--description dynamics.yaml] [--seconds 60]`, in an
environment with ros2_control:

- `cycle`: mock hardware at 1 kHz; time of update() of every controller and deviation of the cycles, from the manager's
  own statistics, with the law and with the trajectory controller alone; time of configuring.
- `tracking`: the simulated robot of the demonstration behind topics, one motion with effort PID alone, with the node,
  and with the controller.
"""

import argparse
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from bench_control import rest_to_rest
from builtin_interfaces.msg import Duration
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tables import Table
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.arm import Arm
from joint_dynamics.calibration.client import own_domain, ros_client
from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
from joint_dynamics.control.elastic_loop import elastic_joints, law_gains
from joint_dynamics.demo.scenario import INERTIA_ERROR, tool_parameters, unknown_tool
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

HOME = np.array([0.0, -1.57, 0.6, -1.57, 0.3, 0.0])
LAW = 'feedforward_controller'
CHAINED = 'feedforward_trajectory_controller'  # through the law
PLAIN = 'joint_trajectory_controller'
EFFORT = 'effort_trajectory_controller'
BROADCASTER = 'joint_state_broadcaster'
CYCLE_RATE = 1000  # Hz
ARM_RATE = 250  # Hz, of the simulated arm behind topics
DELAY = 2  # periods that a command and a state take over topics
SPEED = 0.3  # of the simulated time, relative to real time
SEED = 0
TOPIC_HARDWARE = 'joint_state_topic_hardware_interface/JointStateTopicSystem'
TOPICS = {
    'joint_commands_topic': '/joint_commands',
    'joint_states_topic': '/hardware/joint_states',
    'trigger_joint_command_threshold': '-1',
}
TRACKING = Table(
    'controller_manager',
    'tracking',
    'One motion of 8 s on the simulated arm behind topics, 250 Hz: tracking error, mrad',
    {'controller': '', 'mean rms': '.1f', 'worst joint, rms': '.1f', 'worst': '.0f', 'rms from base to wrist': ''},
)


def with_hardware(urdf, plugin, parameters, commands):
    """Return the URDF with a ros2_control block of this hardware, at rest at HOME."""
    tree = ElementTree.fromstring(urdf)
    system = ElementTree.SubElement(tree, 'ros2_control', name='hardware', type='system')
    hardware = ElementTree.SubElement(system, 'hardware')
    ElementTree.SubElement(hardware, 'plugin').text = plugin
    for name, value in parameters.items():
        ElementTree.SubElement(hardware, 'param', name=name).text = value
    for name, position in zip(RobotModel.from_urdf(urdf).joint_names, HOME, strict=True):
        joint = ElementTree.SubElement(system, 'joint', name=name)
        for command in commands:
            ElementTree.SubElement(joint, 'command_interface', name=command)
        for state, value in (('position', position), ('velocity', 0.0), ('effort', 0.0)):
            interface = ElementTree.SubElement(joint, 'state_interface', name=state)
            ElementTree.SubElement(interface, 'param', name='initial_value').text = str(value)
    return ElementTree.tostring(tree, encoding='unicode')


class Bench:
    """Processes that end with it, and the manager's services."""

    def __init__(self, client, folder, stack, processes):
        from controller_manager_msgs import srv

        self.client, self.folder, self.stack, self.services, self.now = client, folder, stack, srv, None
        self.processes = processes
        client.listen(Clock, '/clock', self._clock, 1)

    def _clock(self, message):
        self.now = message.clock.sec + 1e-9 * message.clock.nanosec

    def start(self, name, command):
        """Start a program; it ends with the bench, by SIGINT first."""
        log = self.stack.enter_context((self.folder / f'{name}.log').open('wb'))
        process = self.processes[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

        def end():
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()

        self.stack.callback(end)

    def node(self, name, parameters, remap):
        """Start a node of this package and wait until it is active."""
        file = self.folder / f'{name}.yaml'
        file.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': {'autostart': True, **parameters}}}))
        more = [word for pair in remap.items() for word in ('-r', ':='.join(pair))]
        command = [sys.executable, '-m', f'joint_dynamics.nodes.{name}.node', '--ros-args', '--params-file', str(file)]
        self.start(name, [*command, *more])
        self.client.until_active(f'/{name}', 600.0)  # compiles first on a new machine

    def ask(self, verb, timeout, **fields):
        """Call a service of the manager, as `load_controller` of the verb Load."""
        kind = getattr(self.services, f'{verb}Controller')
        request = kind.Request(**fields)
        answer = self.client.call(kind, f'/controller_manager/{verb.lower()}_controller', request, timeout)
        if not answer.ok:
            raise JointDynamicsError(f'{verb} {fields}: expected the manager to do that, found it refused')

    def manager(self, urdf, parameters, loaded):
        """Start the controller manager with these controllers, configured and inactive; return the times of that."""
        file = self.folder / 'controllers.yaml'
        file.write_text(yaml.safe_dump(parameters))
        self.publisher = self.client.node.create_publisher(String, 'robot_description', LATCHED)
        self.publisher.publish(String(data=urdf))
        program = Path(get_package_prefix('controller_manager')) / 'lib' / 'controller_manager' / 'ros2_control_node'
        self.start('manager', [str(program), '--ros-args', '--params-file', str(file)])
        spent = {}
        for name in (BROADCASTER, *loaded):
            self.ask('Load', 180.0, name=name)
            begin = time.monotonic()
            self.ask('Configure', 180.0, name=name)
            spent[name] = time.monotonic() - begin
        return spent

    def switch(self, on, off=()):
        """Activate and deactivate controllers in one switch."""
        strict = self.services.SwitchController.Request.STRICT
        fields = {'activate_controllers': list(on), 'deactivate_controllers': list(off), 'strictness': strict}
        self.ask('Switch', 120.0, timeout=Duration(sec=30), **fields)

    def until_time(self, end):
        """Wait until the simulated clock shows `end`, s."""
        self.client.until(lambda: self.now is not None and self.now >= end, f'{end:.1f} s of the simulated time', 600.0)


def none_ended(processes):
    """Raise JointDynamicsError if a process has ended too soon."""
    for name, process in processes.items():
        if process.poll() is not None:
            raise JointDynamicsError(f'expected {name} to go on, found that it ended with {process.returncode}')


def stamps(messages):
    """Return the stamps of messages, s."""
    return np.array([message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in messages])


def motion_message(names, path, begin, step=0.05):
    """Return a path that begins after `begin` s as a message."""
    message = JointTrajectory(joint_names=list(names))
    for s in np.arange(0.0, path.end + 1e-9, step):
        q, dq, ddq = path.at(s)[:3]
        seconds, nanoseconds = divmod(round((s + begin) * 1e9), 10**9)
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=dq.tolist(),
                accelerations=ddq.tolist(),
                time_from_start=Duration(sec=seconds, nanosec=nanoseconds),
            )
        )
    return message


class Statistics:
    """Statistics of the manager, one value of each name per cycle."""

    def __init__(self, client):
        from pal_statistics_msgs.msg import StatisticsNames, StatisticsValues

        self._type, self._names, self.raw = StatisticsValues, {}, []
        topic = '/controller_manager/statistics'
        client.listen(StatisticsNames, f'{topic}/names', self._name, LATCHED)
        client.listen(StatisticsValues, f'{topic}/values', self.raw.append, QoSProfile(depth=100_000), raw=True)

    def _name(self, message):
        self._names[message.names_version] = list(message.names)

    def read(self):
        """Return the values of each name of the last version of names, (cycles,)."""
        messages = [deserialize_message(raw, self._type) for raw in self.raw]
        messages = [message for message in messages if message.names_version == messages[-1].names_version]
        values = np.array([message.values for message in messages])
        return dict(zip(self._names[messages[-1].names_version], values.T, strict=True))


def spread(values):
    """Return mean, 99.9 % and largest."""
    return values.mean(), np.percentile(values, 99.9), values.max()


def cycle(bench, robot, options):
    """Measure time of update() and cycles with the law chained, and with the trajectory controller alone."""
    table = Table(
        'controller_manager',
        'cycle',
        'Controller manager, mock hardware: time of update() and deviation of a cycle from its period, µs',
        {
            'what': '',
            'cycles': ',',
            **dict.fromkeys(('mean', '99.9 %', 'worst'), '.0f'),
            'cycles longer than 1.5 periods': ',',
            'configured in, ms': '.0f',
        },
    )
    law = {'law': 'adaptive_friction', 'description_file': options.description, 'friction_topic': ''}
    arm = Arm.from_description(robot, DynamicsDescription.load(options.description))
    parameters = controller_parameters(effort_gains(arm, 1.0 / CYCLE_RATE), plugin=law)
    urdf = with_hardware(ur5e_description(), 'mock_components/GenericSystem', {}, ('position', 'effort'))
    statistics = Statistics(bench.client)
    configured = bench.manager(urdf, parameters, (LAW, CHAINED, PLAIN))
    path = rest_to_rest([HOME, HOME + 0.2, HOME - 0.2, HOME], [2.0, 3.0, 2.0])
    bench.switch([BROADCASTER])
    for title, active, before in (('chained', (LAW, CHAINED), ()), ('alone', (PLAIN,), (LAW, CHAINED))):
        publisher = bench.client.node.create_publisher(JointTrajectory, f'/{active[-1]}/joint_trajectory', 10)
        bench.switch(active, before)
        bench.client.rest(3.0)
        statistics.raw.clear()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            publisher.publish(motion_message(robot.joint_names, path, 0.2))
            bench.client.rest(min(path.end + 1.0, max(0.1, end - time.monotonic())))
        values = statistics.read()
        # the manager's own measure; some of its messages are lost on the way
        periods = 1e6 / values[f'{active[0]}.stats/periodicity/current_value']
        off, late = np.abs(periods - 1e6 / CYCLE_RATE), int(np.sum(periods >= 1.5e6 / CYCLE_RATE))
        table.row(f'{title}: cycle, {CYCLE_RATE} Hz', len(periods), *spread(off), late, None)
        for name in active:
            spent = values[f'{name}.stats/execution_time/current_value']
            table.row(f'{title}: update() of {name}', len(spent), *spread(spent), None, 1e3 * configured[name])
    table.keep()


def law_parameters(robot, description):
    """Return the parameters of all controllers of the simulated arm."""
    arm, period = Arm.from_description(robot, DynamicsDescription.load(description)), 1.0 / ARM_RATE
    pid = law_gains(arm, period, elastic_joints(arm), DELAY * period)
    law = {
        'feedback': True,
        **{name: dict.fromkeys(robot.joint_names, value) for name, value in pid.items()},
        'law': 'adaptive_friction',
        'description_file': description,
        # a busy machine is late
        'tracking_tolerance': 1.0,
        'timeout': 0.5,
        'friction_topic': '',
    }
    parameters = controller_parameters(effort_gains(arm, period, delay=DELAY * period), plugin=law)
    for entry in parameters['/**'].values():
        entry['ros__parameters']['use_sim_time'] = True
    return parameters


def tracking(bench, robot, options, way):
    """Measure the tracking error of one motion, by effort PID alone, the node or the plugin."""
    use, names, file = [LAW, CHAINED] if way == 'plugin' else [EFFORT], robot.joint_names, bench.folder / 'robot.urdf'
    file.write_text(ur5e_description())
    simulator = {
        'publish_clock': True,
        'effort': 'torque',
        'seed': SEED,
        'inertia_error': INERTIA_ERROR,
        **tool_parameters(unknown_tool(SEED)),
        'robot_file': str(file),
        'position': HOME.tolist(),
        'real_time_factor': SPEED,
        'controller': 'joint_commands',
    }
    # the manager's description has the hardware in it, the simulator's has not
    remap = {'joint_states': 'hardware/joint_states', 'robot_description': 'hardware/robot_description'}
    bench.node('simulator', simulator, remap)
    joint_states, topic = [], f'/{use[-1]}/joint_trajectory'
    bench.client.listen(JointState, '/hardware/joint_states', joint_states.append, 10000)
    if way == 'node':
        # before the manager: between its start and the switch nothing holds the arm
        parameters = {
            'law': 'adaptive_friction', 'description_file': options.description, 'robot_file': str(file),
            'use_sim_time': True, 'timeout': 0.5, 'joint_states_effort': 'none', 'start_tolerance': 1.0,
        }  # fmt: skip
        bench.node('feedforward', parameters, {'~/joint_trajectory': topic})
        topic = '/feedforward/reference'
    urdf = with_hardware(ur5e_description(), TOPIC_HARDWARE, TOPICS, ('effort',))
    bench.manager(urdf, law_parameters(robot, options.description), use)
    bench.switch([BROADCASTER, *use])
    publisher = bench.client.node.create_publisher(JointTrajectory, topic, 10)
    bench.client.until(publisher.get_subscription_count, topic)
    bench.until_time((bench.now or 0.0) + 1.0)
    # without feedforward the arm has sagged: back to the begin of the motion first
    publisher.publish(motion_message(names, rest_to_rest([HOME, HOME], [1.5]), 0.5))
    bench.until_time(bench.now + 3.5)
    offsets = np.random.default_rng(4).uniform(-0.4, 0.4, (3, robot.n))
    path = rest_to_rest([HOME, *(HOME + offsets), HOME], [2.0] * 4)
    begin = bench.now + 0.5
    publisher.publish(motion_message(names, path, 0.5))
    bench.until_time(begin + path.end + 3.0)
    report(way, joint_states, names, path, begin)


def report(way, joint_states, names, path, begin):
    """Add the tracking error of joint states against the path, at the begin that fits best: topics have a lag."""
    if not joint_states:
        raise JointDynamicsError('expected joint states, found none')
    order = [joint_states[-1].name.index(name) for name in names]
    t, q = stamps(joint_states), np.array([np.asarray(state.position)[order] for state in joint_states])

    def error(shift):
        s = t - begin - shift
        inside = (s >= 0.0) & (s <= path.end)
        return q[inside] - path.sample(s[inside])[:, 0]

    # no later than the states still hold the whole path
    shifts = np.arange(-0.1, t[-1] - begin - path.end, 0.004)
    best = shifts[np.argmin([np.mean(error(shift) ** 2) for shift in shifts])]
    rms = 1e3 * np.sqrt(np.mean(error(best) ** 2, axis=0))
    worst = 1e3 * np.abs(error(best)).max(axis=0)
    still = 1e3 * np.sqrt(np.mean((path.sample(np.linspace(0.0, path.end, 1000))[:, 0] - HOME) ** 2, axis=0))
    if not (rms < still).all():
        joint = int(np.argmax(np.nan_to_num(rms / still, nan=np.inf)))
        raise JointDynamicsError(
            f'expected {names[joint]} on its path, found it {rms[joint]:.0f} mrad off (RMS), where one that stands'
            f' still is {still[joint]:.0f}: it left its path, or was never moved'
        )
    TRACKING.row(way, rms.mean(), rms.max(), worst.max(), ', '.join(f'{value:.1f}' for value in rms))


def measured(measure, *arguments):
    """Start the client, measure, and return whether there was a result; the logs of a failure are kept."""
    folder, processes = Path(tempfile.mkdtemp(prefix='bench_controller_manager_')), {}
    try:
        with (
            own_domain(),
            contextlib.ExitStack() as stack,
            ros_client(functools.partial(none_ended, processes)) as client,
        ):
            measure(Bench(client, folder, stack, processes), RobotModel.from_urdf(ur5e_description()), *arguments)
    except JointDynamicsError as error:
        print(f'{measure.__name__}: NO RESULT: {error}; logs: {folder}', flush=True)
        return False
    shutil.rmtree(folder)
    return True


def main(arguments=()):
    """Measure the parts named, both without a name; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', nargs='*', default=['cycle', 'tracking'], help='cycle, tracking')
    parser.add_argument('--description', default='out/demo/dynamics.yaml', type=os.path.abspath)
    parser.add_argument('--seconds', type=float, default=60.0)
    options = parser.parse_args(list(arguments))
    try:
        get_package_prefix('joint_dynamics_controllers')
    except PackageNotFoundError:
        print('not installed: joint_dynamics_controllers (ros2_control/README.md)')
        return 0
    done = [measured(cycle, options)] if 'cycle' in options.what else []
    if 'tracking' in options.what:
        ways = [measured(tracking, options, way) for way in ('pid', 'node', 'plugin')]
        if all(ways):
            TRACKING.keep()
        done += ways
    return int(not all(done))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
