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

"""Contacts: pushes of 10 N at the tool in every direction at random instants, and false alarms of free motion.

`python bench/bench_contact.py [seed …]`, by default eight seeds of other robots, payloads, temperatures and motions;
some three minutes each. After two minutes of free motion, ten more; the pushes act on copies of the robot and its
estimator. All model errors are on.
"""

import copy
import sys

import numpy as np
import pinocchio
from plants import described, random_moves, waypoint_motion
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.simulation import Command, FlexibleJointRobot, Payload, TrajectoryPoints

PERIOD = 2e-3  # s
LEARN = 120.0  # s of free motion at first
MINUTES = 10.0  # min of free motion with pushes
PUSHES = 90
BLOCK = 1000  # samples simulated together
LASTS = 200  # samples of a push
CLEAR = 3.0  # N·m, joint torque above which a push is clear
CASES = (
    ('waypoints', 0.0, 20.0),
    ('waypoints, rests of 0.5 s', 5.0, 35.0),
    ('random moves', 7.5, 50.0),
    ('waypoints, slow', 2.0, 30.0),
    ('random moves', 5.0, 25.0),
    ('waypoints, rests of 1 s', 7.5, 40.0),
    ('waypoints, rests of 0.5 s', 0.0, 35.0),
    ('random moves', 5.0, 45.0),
)
"""Motion, payload [kg], temperature [°C]."""
RESTS = {'waypoints, rests of 0.5 s': 0.5, 'waypoints, rests of 1 s': 1.0, 'waypoints, slow': 0.3}


def motion(kind, seed, seconds):
    """Return the motion of a case."""
    if kind == 'random moves':
        t, q = random_moves(seed, seconds)
    else:
        pace = 0.3 if 'slow' in kind else 1.0
        t, q = waypoint_motion(int(seconds / 13.0) + 1, RESTS.get(kind, 0.0), np.pi * pace, 2 * np.pi / 3 * pace)
    return TrajectoryPoints(t, q, np.gradient(q, t, axis=0))


def advance(robot, estimator, trajectory, start, count):
    """Play `count` samples of the motion and return whether the estimator reports a contact, (count,)."""
    reference = trajectory.sample(np.arange(start, start + count) * PERIOD)
    samples = robot.run(Command.track(reference.q, reference.dq, reference.effort))
    found = np.zeros(count, dtype=bool)
    for k in range(count):
        if (start + k) % 500 == 0:
            estimator.set_temperature(samples.temperature[k])
        estimator.update(samples.q[k], samples.current[k], samples.theta[k])
        found[k] = estimator.contact.any()
    return found


def case(seed):
    """Return latencies [s], largest joint torques of the pushes [N·m], and the number of false alarms."""
    kind, mass, temperature = CASES[seed % len(CASES)]
    rng = np.random.default_rng(1000 + seed)
    robot = FlexibleJointRobot(seed=seed, rate=1.0 / PERIOD, temperature=temperature)
    if mass:
        robot.attach_payload(Payload(mass, (0.0, 0.0, 0.08)))
    model = robot.model.pinocchio
    estimator = JointEstimator(Arm.from_description(robot.model, described(robot)), PERIOD, EstimationSettings())
    trajectory = motion(kind, seed, LEARN + 60.0 * MINUTES + 60.0)
    robot.place(trajectory.sample(0.0).q[0])
    begin, end = (round(time / PERIOD) for time in (LEARN, LEARN + 60.0 * MINUTES))
    instants, tick, before = np.sort(rng.integers(begin, end, PUSHES)), 0, False
    latency, torques, alarms = [], [], 0
    for until in [*instants, end]:
        while tick < until:
            count = min(until - tick, BLOCK)
            found = advance(robot, estimator, trajectory, tick, count)
            starts = found & ~np.concatenate([[before], found[:-1]])
            alarms += int(starts[max(begin - tick, 0) :].sum())
            before, tick = found[-1], tick + count
        if until < end:
            pushed, watcher = copy.deepcopy(robot), copy.deepcopy(estimator)
            jacobian = pinocchio.computeFrameJacobian(
                model, model.createData(), robot.truth.position, model.nframes - 1, pinocchio.LOCAL_WORLD_ALIGNED
            )[:3]
            direction = rng.normal(size=3)
            torque = 10.0 * direction / np.linalg.norm(direction) @ jacobian
            pushed.set_external_torque(torque)
            seen = np.flatnonzero(advance(pushed, watcher, trajectory, tick, LASTS))
            latency.append((seen[0] + 1) * PERIOD if seen.size else np.inf)
            torques.append(np.abs(torque).max())
    return np.array(latency), np.array(torques), alarms


def figures(latency, torque):
    """Return the shares detected in time [%], the median delay [ms], and the share of clear pushes in time [%]."""
    shares = [100 * np.mean(latency <= limit) for limit in (0.1, 0.4)]
    return *shares, 1e3 * np.median(latency), 100 * np.mean(latency[torque >= CLEAR] <= 0.1)


def main(seeds=()):
    """Measure every seed."""
    table = Table(
        'contact',
        'pushes',
        f'{PUSHES} pushes of 10 N at the tool, and {MINUTES:.0f} min of free motion, per robot',
        {
            'motion': '',
            'payload, kg': '.1f',
            '°C': '.0f',
            'false alarms': '',
            **dict.fromkeys(('detected within 100 ms, %', 'within 400 ms, %'), '.1f'),
            'median delay, ms': '.0f',
            'of pushes above 3 N·m, within 100 ms, %': '.1f',
        },
    )
    found = []
    for seed in seeds or range(len(CASES)):
        latency, torque, alarms = case(seed)
        found.append((latency, torque, alarms))
        kind, mass, temperature = CASES[seed % len(CASES)]
        table.row(f'{kind}, seed {seed}', mass, temperature, alarms, *figures(latency, torque))
    latencies, torques, alarms = zip(*found, strict=True)
    table.row('all', None, None, sum(alarms), *figures(np.concatenate(latencies), np.concatenate(torques)))
    table.keep()


if __name__ == '__main__':
    main([int(word) for word in sys.argv[1:]])
