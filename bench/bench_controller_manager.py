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

"""The C++ controller in the real controller manager, beside the trajectory controller alone and beside the node.

`python bench/bench_controller_manager.py cycle [--rate 1000] [--seconds 60]`: mock hardware; time of update() of every
controller and lateness of the cycles, from the manager's own statistics, with the chain and with the trajectory
controller alone; time of configuring.

`python bench/bench_controller_manager.py tracking [--rate 250] [--factor 0.3]`: the simulated robot of the
demonstration behind topic-based hardware, one motion three times: effort PID alone, with the node, with the controller.

`python bench/bench_controller_manager.py handover [--rate 250] [--factor 0.3]`: the same robot, standing under its own
weight; feedforward switched off and on again by the preceding controller, and off by deactivating the controller.

All want `--description`, as the demonstration or `identify` wrote it, and an environment with ros2_control.
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
from rclpy.qos import QoSProfile, ReliabilityPolicy
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
THROUGH = 'plain_trajectory_controller'
BROADCASTER = 'joint_state_broadcaster'
DELAY = 2
"""Periods that a command and a state take over topics, [gains]."""
RATES = {'cycle': 1000, 'tracking': 250, 'handover': 250}
"""Updates of the controllers where `--rate` is not given, Hz."""


CYCLE = Table(
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
HANDOVER = Table(
    'controller_manager',
    'handover',
    'Feedforward switched off and on, simulated arm at rest',
    {'switch': '', 'largest change of torque in a period, N·m': '.2f', 'moved, mrad': '.1f', 'fastest, rad/s': '.2f'},
)
TRACKING = Table(
    'controller_manager',
    'tracking',
    'One motion of 8 s on the simulated arm behind topics, 250 Hz: tracking error, mrad',
    {'controller': '', 'mean rms': '.1f', 'worst joint, rms': '.1f', 'worst': '.0f', 'rms from base to wrist': ''},
)


def with_hardware(urdf, plugin, parameters, commands):
    """The URDF with a ros2_control block of this hardware, which stands at HOME."""
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
        """Start a program; it ends with the bench."""
        log = self.stack.enter_context((self.folder / f'{name}.log').open('wb'))
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.stack.callback(self.end, process)
        self.processes[name] = process
        return process

    @staticmethod
    def end(process):
        """End a process, by SIGINT first."""
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()

    def node(self, name, parameters, remap=None):
        """Start a node of this package and wait until it is active."""
        file = self.folder / f'{name}.yaml'
        file.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': {'autostart': True, **parameters}}}))
        more = [word for pair in (remap or {}).items() for word in ('-r', ':='.join(pair))]
        command = [sys.executable, '-m', f'joint_dynamics.nodes.{name}.node', '--ros-args', '--params-file', str(file)]
        process = self.start(name, [*command, *more])
        # A machine that is new to the simulator or the law compiles first.
        self.client.until_active(f'/{name}', 600.0)
        return process

    def manager(self, urdf, parameters, loaded):
        """Start the controller manager with these controllers, configured and not active; return the times of that."""
        file = self.folder / 'controllers.yaml'
        file.write_text(yaml.safe_dump(parameters))
        self.publisher = self.client.node.create_publisher(String, 'robot_description', LATCHED)
        self.publisher.publish(String(data=urdf))
        program = Path(get_package_prefix('controller_manager')) / 'lib' / 'controller_manager' / 'ros2_control_node'
        self.start('manager', [str(program), '--ros-args', '--params-file', str(file)])
        spent = {}
        for name in (BROADCASTER, *loaded):
            for verb in ('Load', 'Configure'):
                begin = time.monotonic()
                kind = getattr(self.services, f'{verb}Controller')
                answer = self.client.call(
                    kind, f'/controller_manager/{verb.lower()}_controller', kind.Request(name=name), 180.0
                )
                if not answer.ok:
                    raise JointDynamicsError(f'{verb} {name}: expected the manager to do that, found it refused')
                spent[name] = time.monotonic() - begin
        return spent

    def switch(self, on, off=()):
        """Activate and deactivate controllers in one switch."""
        kind = self.services.SwitchController
        request = kind.Request(
            activate_controllers=list(on), deactivate_controllers=list(off), strictness=kind.Request.STRICT
        )
        request.timeout = Duration(sec=30)
        answer = self.client.call(kind, '/controller_manager/switch_controller', request, 120.0)
        if not answer.ok:
            raise JointDynamicsError(f'switch to {", ".join(on)}: expected it done, found: {answer.message}')

    def until_time(self, end):
        """Wait until the simulated clock shows `end`, s."""
        self.client.until(lambda: self.now is not None and self.now >= end, f'{end:.1f} s of the simulated time', 600.0)


def none_ended(processes):
    """Raise JointDynamicsError where a process has ended that is to go on: nothing is left to wait for."""
    for name, process in processes.items():
        if process.poll() is not None:
            raise JointDynamicsError(f'expected {name} to go on, found that it ended with {process.returncode}')


def stamps(states):
    return np.array([state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in states])


def motion_message(names, path, begin, step=0.05):
    message = JointTrajectory(joint_names=list(names))
    for s in np.arange(0.0, path.end + 1e-9, step):
        q, dq, ddq = path.at(s)[:3]
        at = round((s + begin) * 1e9)
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=dq.tolist(),
                accelerations=ddq.tolist(),
                time_from_start=Duration(sec=at // 10**9, nanosec=at % 10**9),
            )
        )
    return message


class Statistics:
    """Statistics of the manager, one value of each name per cycle, kept as they came and read afterwards."""

    def __init__(self, client):
        from pal_statistics_msgs.msg import StatisticsNames, StatisticsValues

        self._type, self.names, self._raw = StatisticsValues, {}, []
        topic = '/controller_manager/statistics'
        client.listen(StatisticsNames, f'{topic}/names', self._name, LATCHED)
        # A reliable reader that lags blocks the manager's publisher, and ends the manager.
        best_effort = QoSProfile(depth=100_000, reliability=ReliabilityPolicy.BEST_EFFORT)
        client.listen(StatisticsValues, f'{topic}/values', self._raw.append, best_effort, raw=True)

    def _name(self, message):
        self.names[message.names_version] = list(message.names)

    def clear(self):
        """Drop what has come so far."""
        self._raw.clear()

    def read(self):
        """Return the values of each name of the last version of names, (cycles,)."""
        messages = [deserialize_message(raw, self._type) for raw in self._raw]
        messages = [message for message in messages if message.names_version == messages[-1].names_version]
        values = np.array([message.values for message in messages])
        return dict(zip(self.names[messages[-1].names_version], values.T, strict=True))


def cycle(bench, robot, options):
    """Time of update() and lateness of cycles with the law chained, and with the trajectory controller alone."""
    law = {'law': options.law, 'description_file': options.description, 'friction_topic': ''}
    arm = Arm.from_description(robot, DynamicsDescription.load(options.description))
    parameters = controller_parameters(effort_gains(arm, 1.0 / options.rate), plugin=law)
    urdf = with_hardware(ur5e_description(), 'mock_components/GenericSystem', {}, ('position', 'effort'))
    statistics = Statistics(bench.client)
    configured = bench.manager(urdf, parameters, (LAW, CHAINED, PLAIN))
    path = rest_to_rest([HOME, HOME + 0.2, HOME - 0.2, HOME], [2.0, 3.0, 2.0])
    before = ()
    for title, active in (('chained', (LAW, CHAINED)), ('alone', (PLAIN,))):
        topic = f'/{active[-1]}/joint_trajectory'
        publisher = bench.client.node.create_publisher(JointTrajectory, topic, 10)
        bench.switch([*([] if before else [BROADCASTER]), *active], before)
        before = active
        bench.client.rest(3.0)
        statistics.clear()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            publisher.publish(motion_message(robot.joint_names, path, 0.2))
            bench.client.rest(min(path.end + 1.0, max(0.1, end - time.monotonic())))
        values = statistics.read()
        # By the manager's own measure: between the messages that arrive here some are lost.
        periods = 1e6 / finite(values[f'{active[0]}.stats/periodicity/current_value'])
        off, late = np.abs(periods - 1e6 / options.rate), int(np.sum(periods >= 1.5e6 / options.rate))
        CYCLE.row(f'{title}: cycle, {options.rate} Hz', len(periods), *spread(off), late, None)
        for name in active:
            spent = finite(values[f'{name}.stats/execution_time/current_value'])
            CYCLE.row(f'{title}: update() of {name}', len(spent), *spread(spent), None, 1e3 * configured[name])


def finite(values):
    """Without the cycles before the first update of a controller, in which its statistics are not numbers."""
    return values[np.isfinite(values)]


def spread(values):
    """Mean, 99.9 % and largest."""
    return values.mean(), np.percentile(values, 99.9), values.max()


def tracking(bench, robot, options):
    """Measure tracking errors: effort PID alone, the node, the plugin."""
    description = options.description
    arm = Arm.from_description(robot, DynamicsDescription.load(description))
    period = 1.0 / options.rate
    gains = effort_gains(arm, period, delay=DELAY * period)
    names = robot.joint_names
    if options.gains is None:
        own = law_gains(arm, period, elastic_joints(arm), DELAY * period)
        print(f"the law's PID: {own}", flush=True)
    else:
        own = dict(zip(('kp', 'kd'), options.gains, strict=True))
    pid = {'feedback': True, **{name: dict.fromkeys(names, value) for name, value in own.items()}}
    given = {'law': options.law, 'description_file': description}
    if options.rigid:
        given = {'law': 'computed_torque', 'use_description': False}
    if options.what == 'handover' and options.effort_interface:
        given['effort_interface'] = options.effort_interface
    patient = {'tracking_tolerance': 1.0, 'timeout': 0.5, 'friction_topic': ''}  # a busy machine is late
    parameters = controller_parameters(gains, plugin={**pid, **given, **patient})
    for entry in parameters['/**'].values():
        entry['ros__parameters']['use_sim_time'] = True
    hardware = {
        'joint_commands_topic': '/joint_commands',
        'joint_states_topic': '/hardware/joint_states',
        'trigger_joint_command_threshold': '-1',
    }
    plugin = 'joint_state_topic_hardware_interface/JointStateTopicSystem'
    urdf = with_hardware(ur5e_description(), plugin, hardware, ('effort',))
    file = bench.folder / 'robot.urdf'
    file.write_text(ur5e_description())
    bench.node(
        'simulator',
        {
            'publish_clock': True,
            'effort': 'torque',
            'seed': options.seed,
            'inertia_error': INERTIA_ERROR,
            **tool_parameters(unknown_tool(options.seed)),
            'robot_file': str(file),
            'position': HOME.tolist(),
            'real_time_factor': options.factor,
            'controller': 'joint_commands',
        },
        # The manager's description has the hardware in it; whoever hears both takes the one that comes last.
        {'joint_states': 'hardware/joint_states', 'robot_description': 'hardware/robot_description'},
    )
    if options.what == 'handover':
        bench.manager(urdf, parameters, (LAW, CHAINED, THROUGH, EFFORT))
        handover(bench, names)
        return
    use = {'pid': [EFFORT], 'node': [EFFORT], 'plugin': [LAW, CHAINED]}[options.way]
    topic = f'/{use[-1]}/joint_trajectory'
    joint_states = []
    bench.client.listen(JointState, '/hardware/joint_states', joint_states.append, 10000)
    if options.way == 'node':
        topic = '/feedforward/reference'
        node = {**given, 'use_sim_time': True, 'timeout': 0.5, 'joint_states_effort': 'none', 'start_tolerance': 1.0}
        # Before the manager: between its start and the switch nobody holds the arm.
        bench.node(
            'feedforward', {**node, 'robot_file': str(file)}, {'~/joint_trajectory': f'/{EFFORT}/joint_trajectory'}
        )
    bench.manager(urdf, parameters, tuple(use))
    bench.switch([BROADCASTER, *use])
    publisher = bench.client.node.create_publisher(JointTrajectory, topic, 10)
    bench.client.until(publisher.get_subscription_count, topic)
    bench.until_time((bench.now or 0.0) + 1.0)
    # Without feedforward the arm has sagged; what is compared begins where the motion does.
    publisher.publish(motion_message(names, rest_to_rest([HOME, HOME], [1.5]), 0.5))
    bench.until_time(bench.now + 3.5)
    offsets = np.random.default_rng(4).uniform(-0.4, 0.4, (3, robot.n))
    path = rest_to_rest([HOME, *(HOME + offsets), HOME], [2.0] * 4)
    lead = 0.5
    publisher.publish(motion_message(names, path, lead))
    sent = bench.now
    bench.until_time(sent + lead + path.end + 3.0)
    report(options.way, joint_states, names, path, sent + lead)


def handover(bench, names):
    """Measure what happens to torque and arm when feedforward goes and comes."""
    joint_states, commands = [], []
    bench.client.listen(JointState, '/hardware/joint_states', joint_states.append, 10000)
    bench.client.listen(JointState, '/joint_commands', commands.append, 10000)
    bench.switch([BROADCASTER, LAW, CHAINED])
    bench.until_time((bench.now or 0.0) + 3.0)
    for title, on, off in (
        ('feedforward off, effort PID through the plugin', [THROUGH], [CHAINED]),
        ('feedforward on again', [CHAINED], [THROUGH]),
        ('plugin off, effort PID to the hardware', [EFFORT], [CHAINED, LAW]),
        ('plugin on again', [LAW, CHAINED], [EFFORT]),
    ):
        before, commanded = len(joint_states), len(commands) - 1
        bench.switch(on, off)
        bench.until_time(bench.now + 5.0)
        order = [joint_states[-1].name.index(name) for name in names]
        q, dq = (
            np.array([np.asarray(getattr(state, field))[order] for state in joint_states[before - 1 :]])
            for field in ('position', 'velocity')
        )
        order = [commands[-1].name.index(name) for name in names]
        tau = np.array([np.asarray(command.effort)[order] for command in commands[commanded:]])
        HANDOVER.row(title, np.abs(np.diff(tau, axis=0)).max(), 1e3 * np.abs(q - q[0]).max(), np.abs(dq).max())


def report(way, joint_states, names, path, begin):
    """Tracking error of the measured states against the path, at the begin that fits best: it came by a topic."""
    if not joint_states:
        raise JointDynamicsError('expected joint states, found none')
    order = [joint_states[-1].name.index(name) for name in names]
    t = stamps(joint_states)
    q = np.array([np.asarray(state.position)[order] for state in joint_states])

    def error(shift):
        s = t - begin - shift
        inside = (s >= 0.0) & (s <= path.end)
        return q[inside] - path.sample(s[inside])[:, 0]

    # As late as the states still hold all of it.
    shifts = np.arange(-0.1, t[-1] - begin - path.end, 0.004)
    best = shifts[np.argmin([np.mean(error(shift) ** 2) for shift in shifts])]
    rms = 1e3 * np.sqrt(np.mean(error(best) ** 2, axis=0))
    worst = 1e3 * np.abs(error(best)).max(axis=0)
    # No worse than an arm that had not moved: else it left its path, and what it did then is no tracking error.
    still = 1e3 * np.sqrt(np.mean((path.sample(np.linspace(0.0, path.end, 1000))[:, 0] - HOME) ** 2, axis=0))
    if not (rms < still).all():
        joint = int(np.argmax(np.nan_to_num(rms / still, nan=np.inf)))
        raise JointDynamicsError(
            f'expected {names[joint]} on its path, found it {rms[joint]:.0f} mrad off (RMS), where one that stands'
            f' still is {still[joint]:.0f}: it left its path, or was never moved'
        )
    TRACKING.row(way, rms.mean(), rms.max(), worst.max(), ', '.join(f'{value:.1f}' for value in rms))


def measured(options):
    """Measure one of the three and keep its table; return whether every way of it had a result."""
    options.rate = options.rate or RATES[options.what]
    robot = RobotModel.from_urdf(ur5e_description())
    ways = (options.way or ['pid', 'node', 'plugin']) if options.what == 'tracking' else ['']
    failed = False
    for options.way in ways:
        folder, processes = Path(tempfile.mkdtemp(prefix='bench_controller_manager_')), {}
        try:
            with (
                own_domain(),
                contextlib.ExitStack() as stack,
                ros_client(functools.partial(none_ended, processes)) as client,
            ):
                {'cycle': cycle, 'tracking': tracking, 'handover': tracking}[options.what](
                    Bench(client, folder, stack, processes), robot, options
                )
        except JointDynamicsError as error:
            failed = True
            print(f'{options.way or options.what}: NO RESULT: {error}; logs: {folder}', flush=True)
        else:
            shutil.rmtree(folder)
    if not failed:
        {'cycle': CYCLE, 'handover': HANDOVER, 'tracking': TRACKING}[options.what].keep()
    return not failed


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', nargs='?', choices=tuple(RATES), help='all three where it is not given')
    parser.add_argument('--description', default='out/demo/dynamics.yaml', type=os.path.abspath)
    parser.add_argument('--law', default='adaptive_friction')
    parser.add_argument('--rate', type=int, default=None)
    parser.add_argument('--seconds', type=float, default=60.0)
    parser.add_argument('--factor', type=float, default=0.3)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--effort-interface', default='effort', help="of the plugin, handover; '' for none")
    parser.add_argument('--rigid', action='store_true', help='the plugin knows the URDF alone, tracking and handover')
    parser.add_argument('--gains', type=float, nargs=2, metavar=('KP', 'KD'), help="of the law's PID, 1/s² and 1/s")
    parser.add_argument('--way', choices=('pid', 'node', 'plugin'), action='append')
    options = parser.parse_args(list(arguments))
    try:
        get_package_prefix('joint_dynamics_controllers')
    except PackageNotFoundError:
        print('not installed: joint_dynamics_controllers (ros2_control/README.md)')
        return 0
    os.environ.setdefault('VIRTUAL_ENV', sys.prefix)
    done = [
        measured(argparse.Namespace(**{**vars(options), 'what': what}))
        for what in ([options.what] if options.what else RATES)
    ]
    return int(not all(done))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
