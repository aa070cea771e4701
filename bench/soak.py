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

"""Hours of work over DDS: a simulated robot at 1 kHz of the wall, and the nodes that follow it.

`make soak`, or `python bench/soak.py [--minutes 60] [--rate 1000] [--out out/soak]
[--description dynamics.yaml]`

The robot is excited and identified as in the demonstration. From then on it does not wait for anybody: it publishes its
states at the rate, plays one motion after the other with the effort of feedforward, the estimator follows it sample by
sample, the identifier records every fifth minute. Once a minute the table says for each process what it holds (memory,
threads, handles) and how much of a core it took, how many states were published and trajectories filled, and how many
samples the estimator bridged.

Exit status 1 where a process grows by more than 20 MB, two threads or ten handles after the second minute, or an
estimate or an effort is not finite; 2 where a process ends. A machine that is too slow is no failure: the table says
what it does then.
"""

import argparse
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.experimental import EventsExecutor
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.calibration.client import own_domain, ros_client
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.demo import DemoSettings
from joint_dynamics.demo.robot import DemoRobot, LatestArray
from joint_dynamics.demo.stages import ADAPTIVE, ALPHA_LOWER, ALPHA_UPPER, CALIBRATION, INPUTS, DemoContext
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.tables import SENSOR
from joint_dynamics.nodes.interfaces.messages import joint_trajectory
from joint_dynamics.python_process import terminated_like_interrupted
from joint_dynamics.terminal import Terminal

GROWTH, MORE_THREADS, MORE_HANDLES = 20.0, 2, 10
MINUTE = 60.0
PLANNING = 5.0  # s, longest planning of a trajectory on a busy machine
RECORDED = 5


def held(pid):
    """Memory [MB], threads and handles of a process, and the processor time [s] it has used."""
    folder = Path(f'/proc/{pid}')
    lines = dict(line.split(':', 1) for line in (folder / 'status').read_text().splitlines() if ':' in line)
    used = (folder / 'stat').read_text().rpartition(')')[2].split()
    return (
        float(lines['VmRSS'].split()[0]) / 1024.0,
        int(lines['Threads']),
        len(os.listdir(folder / 'fd')),
        (int(used[11]) + int(used[12])) / os.sysconf('SC_CLK_TCK'),
    )


class Listener:
    """Counts what goes over the wires, as bytes and in a thread of its own: it must not be the slowest."""

    def __init__(self):
        node = rclpy.create_node('soak_listener')
        self.states = self.trajectories = 0
        self.wrong, self.status = '', {}
        node.create_subscription(JointState, '/joint_states', self._state, SENSOR, raw=True)
        node.create_subscription(JointTrajectory, '/simulator/joint_trajectory', self._trajectory, 10)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnostics, 100)
        executor = EventsExecutor()
        executor.add_node(node)
        self._ends = threading.Event()

        def spin():
            while not self._ends.is_set():
                executor.spin_once(timeout_sec=0.1)

        self._thread = threading.Thread(target=spin, daemon=True)
        self._thread.start()

    def close(self):
        """End the thread, before the context is shut down."""
        self._ends.set()
        self._thread.join()

    def _state(self, data):
        self.states += 1

    def _trajectory(self, message):
        self.trajectories += 1
        if not all(np.isfinite(point.effort).all() and len(point.effort) for point in message.points):
            self.wrong = 'an effort of a trajectory is missing or not finite'

    def _diagnostics(self, message):
        for status in message.status:
            self.status[status.name] = status

    def minute(self):
        """Return and forget the counts of the last minute."""
        counts = self.states, self.trajectories
        self.states = self.trajectories = 0
        return counts


def start(context, rate):
    """Start the robot anew, by the clock of the wall, and the nodes that follow it."""
    for name in context.processes.pids:
        context.processes.stop(name)
    description = str(context.folder / 'dynamics.yaml')
    wall = {**INPUTS, 'use_sim_time': False}
    context.node(
        'simulator',
        {
            'seed': context.settings.seed,
            'rate': rate,
            'real_time_factor': 1.0,
            'publish_clock': False,
            'position': context.work.q[0].tolist(),
        },
    )
    context.node(
        'estimator',
        {
            **wall,
            'description_file': description,
            'friction_lower': ALPHA_LOWER,
            'friction_upper': ALPHA_UPPER,
            'resume': False,
            'torque_rate': 50.0,
            'output_folder': str(context.folder / 'estimated'),
        },
    )
    context.node(
        'feedforward',
        {
            **wall,
            **ADAPTIVE,
            'description_file': description,
            # A simulation that cannot keep up has a time of its own.
            'stamps': 'received',
            # Longer than on a robot, so that the law is at work on a busy machine, too.
            'timeout': 0.5,
            'check_compensation': False,
        },
        {'~/joint_trajectory': '/simulator/joint_trajectory', 'friction_parameters': '/estimator/friction_parameters'},
    )
    context.node('identifier', {**wall, 'output_folder': str(context.folder / 'recorded')})
    for name in ('simulator', 'estimator', 'feedforward', 'identifier'):
        context.client.until_active(f'/{name}')


def play(context, publisher):
    """Have the robot play one cycle of its work with the effort of feedforward; return how long it takes, s."""
    motion = context.work
    message = joint_trajectory(context.robot.joint_names, motion.time, motion.q, motion.dq, motion.ddq)
    context.client.until(publisher.get_subscription_count, f'somebody to take {publisher.topic_name}')
    publisher.publish(message)
    return float(motion.time[-1]) + PLANNING


def last_of(table):
    """Return the last estimate of a table, and keep no other."""
    return table.last


def soak(minutes, rate, out, description=None):
    """Return what is wrong, one line each."""
    logs = out / 'logs'
    logs.mkdir(parents=True, exist_ok=True)
    wrong, table = [], []
    with (
        terminated_like_interrupted(),
        own_domain(),
        Processes(logs) as processes,
        ros_client(processes.check) as client,
    ):
        context = DemoContext(DemoSettings(speed=1.0), out, Terminal(), processes, client)
        if description is None:
            for stage in CALIBRATION:
                stage(context)
        else:
            shutil.copy(description, out / 'dynamics.yaml')
        start(context, rate)
        context.robot = DemoRobot(client)
        alpha = LatestArray(client, context.robot, '/estimator/friction_parameters')
        publisher = client.node.create_publisher(JointTrajectory, '/feedforward/reference', 10)
        listener = Listener()
        began = cycle = time.monotonic()
        before = {name: held(pid) for name, pid in processes.pids.items()}
        listener.minute()
        while time.monotonic() - began < MINUTE * minutes:
            number = len(table) + 1
            if number % RECORDED == 0:
                client.trigger('/identifier/start_recording')
            end = began + MINUTE * number
            while time.monotonic() < end:
                if time.monotonic() >= cycle:
                    cycle = time.monotonic() + play(context, publisher)
                client.rest(min(1.0, max(0.0, end - time.monotonic())))
            if number % RECORDED == 0:
                client.trigger('/identifier/stop_recording')
                client.trigger('/identifier/clear')
                shutil.rmtree(context.folder / 'recorded', ignore_errors=True)
            now = {name: held(pid) for name, pid in processes.pids.items()}
            table.append(now)
            show(number, listener, now, before)
            before = now
            if not np.isfinite(last_of(alpha)).all():
                wrong.append(f'minute {number}: an estimate is not finite')
            wrong += [listener.wrong] if listener.wrong else []
            listener.wrong = ''
        listener.close()
    settled = table[min(1, len(table) - 1)]
    for name, first in settled.items():
        for what, k, more in (('MB', 0, GROWTH), ('threads', 1, MORE_THREADS), ('handles', 2, MORE_HANDLES)):
            if table[-1][name][k] > first[k] + more:
                wrong.append(f'{name} grew from {first[k]:.0f} to {table[-1][name][k]:.0f} {what}')
    return wrong


def show(number, listener, now, before):
    """Print what happened in one minute."""
    states, trajectories = listener.minute()
    samples = listener.status.get('/estimator: samples')
    values = {pair.key: pair.value for pair in samples.values} if samples else {}
    print(
        f'{number:4d} min  load {os.getloadavg()[0]:5.1f}  {states / MINUTE:7.1f} states/s  {trajectories} trajectories'
        f'  estimator: {values.get("given", "?")} samples, {values.get("bridged", "?")} bridged,'
        f' {values.get("gaps", "?")} gaps'
    )
    for name, (memory, threads, handles, used) in now.items():
        share = (used - before[name][3]) / MINUTE if name in before else float('nan')
        print(
            f'          {name:12s} {memory:6.1f} MB  {threads:3d} threads  {handles:3d} handles  {share:4.0%} of a core'
        )
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=60.0)
    parser.add_argument('--rate', type=float, default=1000.0)
    parser.add_argument('--out', type=Path, default=Path('out/soak'))
    parser.add_argument('--description', type=Path, help='of an earlier run: nothing is identified')
    options = parser.parse_args()
    try:
        wrong = soak(options.minutes, options.rate, options.out.absolute(), options.description)
    except JointDynamicsError as error:
        print(f'soak: {error}', file=sys.stderr)
        return 2
    print('\n'.join(wrong) or 'nothing grew, everything was finite')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
