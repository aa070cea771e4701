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

"""Speed of the simulated robot.

Six joints on one core, against real time, against the same plant without compilation, and at start.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pinocchio
from tables import Table

from joint_dynamics.simulation import Command, FlexibleJointRobot, TrajectoryPoints, play

SECONDS = 10.0
START = """
import time
begin = time.perf_counter()
from joint_dynamics.simulation import Command, FlexibleJointRobot
imported = time.perf_counter()
robot = FlexibleJointRobot()
robot.step()
print(imported - begin, time.perf_counter() - imported)
"""
INTERPRETED = """
import time
import numpy as np
from joint_dynamics.simulation import Command, FlexibleJointRobot
robot = FlexibleJointRobot()
begin = time.perf_counter()
robot.run(Command.track(np.tile(robot.truth.position, (10, 1))))
print((time.perf_counter() - begin) / 10)
"""


def motion(robot, seconds=SECONDS):
    t = np.arange(0.0, seconds, 0.01)
    w = 0.8 + 0.2 * np.arange(robot.n)
    c, s = np.cos(np.outer(t, w)), np.sin(np.outer(t, w))
    return TrajectoryPoints(t, robot.truth.position + 0.5 * (1 - c), 0.5 * w * s, 0.5 * w**2 * c)


def fresh(code, **environment):
    """Numbers a fresh process prints."""
    done = subprocess.run(
        [sys.executable, '-c', code], env={**os.environ, **environment}, check=True, capture_output=True, text=True
    )
    return [float(word) for word in done.stdout.split()]


def real_time_factor(rate):
    """Median over three runs, and the relative error of the energy balance of the last."""
    factors = []
    for _ in range(3):
        robot = FlexibleJointRobot(seed=1, rate=rate)
        trajectory = motion(robot)
        robot.step()
        robot.place(robot.truth.position)
        begin = time.process_time()
        play(robot, trajectory)
        factors.append(SECONDS / (time.process_time() - begin))
    energy = robot.energy
    return statistics.median(factors), abs(energy.error) / energy.throughput


def single_step():
    robot = FlexibleJointRobot(seed=1)
    command = Command.track(robot.truth.position)
    robot.step(command)
    begin = time.process_time()
    for _ in range(2000):
        robot.step(command)
    return (time.process_time() - begin) / 2000


def floor_without_compilation():
    """Sixteen evaluations of nothing but pinocchio's forward dynamics, called from Python.

    What a tick of four Runge-Kutta steps needs at least.
    """
    model = FlexibleJointRobot().model.pinocchio
    data = model.createData()
    q, v, tau = np.random.default_rng(0).normal(size=(3, model.nv))
    begin = time.process_time()
    for _ in range(16000):
        pinocchio.aba(model, data, q, v, tau)
    return (time.process_time() - begin) / 1000


def main():
    table = Table(
        'simulation',
        'speed',
        'Simulated UR5e on one core, processor time',
        {'what': '', 'µs per tick': '.1f', 'times real time': '.1f', 'energy balance off, of the throughput': '.1e'},
    )
    for rate in (500.0, 1000.0):
        factor, error = real_time_factor(rate)
        table.row(f'{rate:.0f} Hz', 1e6 / rate / factor, factor, error)
    table.row('1000 Hz, step by step', 1e6 * single_step(), None, None)
    table.row("pinocchio's forward dynamics alone, 16 evaluations", 1e6 * floor_without_compilation(), None, None)
    table.row('1000 Hz, not compiled', 1e6 * fresh(INTERPRETED, NUMBA_DISABLE_JIT='1')[0], None, None)
    table.keep()
    with tempfile.TemporaryDirectory() as cache:
        cold = fresh(START, NUMBA_CACHE_DIR=cache)
        warm = fresh(START, NUMBA_CACHE_DIR=cache)
    print(
        f'  start: import {warm[0]:.2f} s; robot and first tick {warm[1]:.2f} s, {cold[1]:.1f} s the first time on a'
        ' machine (compiles)'
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
