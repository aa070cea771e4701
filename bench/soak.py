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

"""Hours of work over DDS: a simulated robot at 1 kHz of real time, and the nodes that follow it.

`make soak`, or `python bench/soak.py [--minutes 60] [--out out/soak] [--description dynamics.yaml]`

The robot is excited and identified as in the demonstration. Then it publishes its states in real time and plays one
motion after the other with feedforward; the estimator follows every sample, the identifier records every fifth minute.
Each minute the table has memory, threads, handles and processor time of each process, and the samples of the estimator.

Exit status 1 where a process grows by more than 20 MB, two threads or ten handles after the second minute, or an
estimate or an effort is not finite; 2 where a process ends. A slow machine is no failure.
"""

import argparse
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.calibration.client import own_domain, ros_client
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.demo import DemoSettings
from joint_dynamics.demo.robot import DemoRobot, LatestArray
from joint_dynamics.demo.stages import ADAPTIVE, ALPHA_LOWER, ALPHA_UPPER, CALIBRATION, INPUTS, DemoContext
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.messages import joint_trajectory
from joint_dynamics.python_process import terminated_like_interrupted
from joint_dynamics.terminal import Terminal

RATE = 1000.0  # Hz, of the joint states
MINUTE = 60.0  # s
PLANNING = 5.0  # s, longest planning of a trajectory on a busy machine
RECORDED = 5  # minutes from recording to recording
GROWTH = {'megabytes': 20.0, 'threads': 2, 'handles': 10}
"""Allowed growth of a process after the second minute."""


@dataclass
class Held:
    """Memory, threads and handles of a process, and its processor time [s]."""

    megabytes: float
    threads: int
    handles: int
    used: float

    @classmethod
    def of(cls, pid):
        """Read them from /proc."""
        folder = Path(f'/proc/{pid}')
        lines = dict(line.split(':', 1) for line in (folder / 'status').read_text().splitlines() if ':' in line)
        ticks = (folder / 'stat').read_text().rpartition(')')[2].split()[11:13]
        return cls(
            float(lines['VmRSS'].split()[0]) / 1024.0,
            int(lines['Threads']),
            len(os.listdir(folder / 'fd')),
            sum(map(int, ticks)) / os.sysconf('SC_CLK_TCK'),
        )


class Listener:
    """Efforts and diagnostics of the nodes."""

    def __init__(self, client):
        self.is_finite, self.samples = True, {}
        client.listen(JointTrajectory, '/simulator/joint_trajectory', self._trajectory, 10)
        client.listen(DiagnosticArray, '/diagnostics', self._diagnostics, 100)

    def _trajectory(self, message):
        self.is_finite &= all(len(point.effort) and np.isfinite(point.effort).all() for point in message.points)

    def _diagnostics(self, message):
        for status in message.status:
            if status.name == '/estimator: samples':
                self.samples = {pair.key: pair.value for pair in status.values}


def start(context):
    """Start the robot in real time, and the nodes that follow it."""
    for name in context.processes.pids:
        context.processes.stop(name)
    wall = {**INPUTS, 'use_sim_time': False}
    described = {**wall, 'description_file': str(context.folder / 'dynamics.yaml')}
    simulator = {
        'seed': context.settings.seed, 'rate': RATE, 'real_time_factor': 1.0, 'publish_clock': False,
        'position': context.work.q[0].tolist(),
    }  # fmt: skip
    estimator = {
        'friction_lower': ALPHA_LOWER, 'friction_upper': ALPHA_UPPER, 'resume': False, 'torque_rate': 50.0,
        'output_folder': str(context.folder / 'estimated'),
    }  # fmt: skip
    # a simulation that cannot keep up has a time of its own; a busy machine is late
    feedforward = {**ADAPTIVE, 'stamps': 'received', 'timeout': 0.5, 'check_compensation': False}
    remap = {
        '~/joint_trajectory': '/simulator/joint_trajectory',
        'friction_parameters': '/estimator/friction_parameters',
    }
    context.node('simulator', simulator)
    context.node('estimator', {**described, **estimator})
    context.node('feedforward', {**described, **feedforward}, remap)
    context.node('identifier', {**wall, 'output_folder': str(context.folder / 'recorded')})
    for name in ('simulator', 'estimator', 'feedforward', 'identifier'):
        context.client.until_active(f'/{name}')


def play(context, publisher):
    """Have the robot play one cycle of its work; return how long it takes, s."""
    motion = context.work
    message = joint_trajectory(context.robot.joint_names, motion.time, motion.q, motion.dq, motion.ddq)
    context.client.until(publisher.get_subscription_count, f'a subscriber of {publisher.topic_name}')
    publisher.publish(message)
    return float(motion.time[-1]) + PLANNING


def work(context, minutes):
    """Work for so many minutes; return what every process held after each, and whether all numbers were finite."""
    client, table, cycle = context.client, [], time.monotonic()
    context.robot = DemoRobot(client)
    alpha = LatestArray(client, context.robot, '/estimator/friction_parameters')
    publisher = client.node.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    listener, is_finite, began = Listener(client), True, time.monotonic()
    for number in range(1, max(round(minutes), 1) + 1):
        if number % RECORDED == 0:
            client.trigger('/identifier/start_recording')
        while time.monotonic() < began + MINUTE * number:
            if time.monotonic() >= cycle:
                cycle = time.monotonic() + play(context, publisher)
            client.rest(min(1.0, max(0.0, began + MINUTE * number - time.monotonic())))
        if number % RECORDED == 0:
            for service in ('stop_recording', 'clear'):
                client.trigger(f'/identifier/{service}')
            shutil.rmtree(context.folder / 'recorded', ignore_errors=True)
        table.append({name: Held.of(pid) for name, pid in context.processes.pids.items()})
        is_finite &= bool(alpha.last.size and np.isfinite(alpha.last).all())
        print(f'{number:4d} min  load {os.getloadavg()[0]:5.1f}  estimator: {listener.samples}')
        for name, now in table[-1].items():
            print(f'          {name:12s} {now}', flush=True)
    return table, is_finite and listener.is_finite


def soak(minutes, out, description):
    """Return the faults found, one line each."""
    logs = out / 'logs'
    logs.mkdir(parents=True, exist_ok=True)
    with (
        terminated_like_interrupted(),
        own_domain(),
        Processes(logs) as processes,
        ros_client(processes.check) as client,
    ):
        context = DemoContext(DemoSettings(), out, Terminal(), processes, client)
        if description is None:
            for stage in CALIBRATION:
                stage(context)
        else:
            shutil.copy(description, out / 'dynamics.yaml')
        start(context)
        table, is_finite = work(context, minutes)
    faults = [] if is_finite else ['an estimate or an effort is not finite']
    for name, first in table[min(1, len(table) - 1)].items():
        for kind, more in GROWTH.items():
            before, after = getattr(first, kind), getattr(table[-1][name], kind)
            if not after <= before + more:
                faults.append(f'{name} grew from {before:.0f} to {after:.0f} {kind}')
    return faults


def main():
    """Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=60.0)
    parser.add_argument('--out', type=Path, default=Path('out/soak'))
    parser.add_argument('--description', type=Path, help='of an earlier run: nothing is identified')
    options = parser.parse_args()
    try:
        faults = soak(options.minutes, options.out.absolute(), options.description)
    except JointDynamicsError as error:
        print(f'soak: {error}', file=sys.stderr)
        return 2
    print('\n'.join(faults) or 'nothing grew, everything was finite')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
