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

"""Contacts: pushes of 10 N at the tool in every direction at random instants.

Free motion in which every contact is a false alarm.

`python bench/bench_contact.py [seed …]`, default eight seeds of other robots, payloads, temperatures and motions; some
three minutes each. After two minutes of free motion, ten more; ninety pushes on copies of the robot and its estimator,
all model errors on.
"""

import copy
import itertools
import sys

import numpy as np
import pinocchio
from helpers import from_tests
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.simulation import Command, FlexibleJointRobot, Payload, TrajectoryPoints

MAKE, DESCRIBED = from_tests('estimation/conftest.py'), from_tests('conftest.py').described
PERIOD, LEARN, MINUTES, PUSHES = 2e-3, 120.0, 10.0, 90
# Motion, payload kg, temperature °C.
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
BINS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0)


def random_moves(seed, seconds, spacing=0.004):
    """Moves of all joints to random postures, at 20 to 80 % of the speed limit.

    Waits of up to 1 s after most of them.
    """
    rng = np.random.default_rng(seed)
    low, high = np.deg2rad([-180, -120, -130, -150, -90, -150]), np.deg2rad([0, -10, 110, -40, 120, 150])
    now, pieces, total = rng.uniform(low, high), [], 0.0
    while total < seconds:
        goal = rng.uniform(low, high)
        v, a, way = np.pi * rng.uniform(0.2, 0.8), 2 * np.pi / 3 * rng.uniform(0.3, 1.0), np.abs(goal - now).max()
        peak = min(v, np.sqrt(way * a))
        ramp = peak / a
        duration = way / peak + ramp
        t = np.arange(int(round(duration / spacing))) * spacing
        share = (
            np.select(
                [t < ramp, t < duration - ramp],
                [0.5 * a * t**2, peak * (t - ramp / 2)],
                way - 0.5 * a * (duration - t) ** 2,
            )
            / way
        )
        wait = int(rng.uniform(0, 1) / spacing) if rng.uniform() < 0.6 else 0
        pieces += [now + share[:, None] * (goal - now), np.repeat(goal[None], wait, axis=0)]
        total += duration + wait * spacing
        now = goal
    q = np.concatenate([*pieces, now[None]])
    w = np.hanning(23)[1:-1] / np.hanning(23).sum()
    q = np.stack([np.convolve(column, w, 'valid') for column in np.pad(q, ((10, 10), (0, 0)), mode='edge').T], axis=1)
    return np.arange(len(q)) * spacing, q


def motion(kind, seed, seconds):
    if kind == 'random moves':
        t, q = random_moves(seed, seconds)
    else:
        slow = 0.3 if 'slow' in kind else 1.0
        dwell = {'waypoints, rests of 0.5 s': 0.5, 'waypoints, rests of 1 s': 1.0, 'waypoints, slow': 0.3}.get(
            kind, 0.0
        )
        t, q = MAKE.waypoint_motion(
            int(seconds / 13.0) + 1, dwell, speed=np.pi * slow, acceleration=2 * np.pi / 3 * slow
        )
    return TrajectoryPoints(t, q, np.gradient(q, t, axis=0))


def case(seed):
    """Return latencies [s], largest joint torques of the pushes [N·m], and the instants of false alarms [s]."""
    kind, mass, temperature = CASES[seed % len(CASES)]
    rng = np.random.default_rng(1000 + seed)
    robot = FlexibleJointRobot(seed=seed, rate=1.0 / PERIOD, temperature=temperature)
    if mass:
        robot.attach_payload(Payload(mass, (0.0, 0.0, 0.08)))
    model = robot.model.pinocchio
    estimator = JointEstimator(Arm.from_description(robot.model, DESCRIBED(robot)), PERIOD, EstimationSettings())
    trajectory = motion(kind, seed, LEARN + 60.0 * MINUTES + 60.0)
    robot.place(trajectory.sample(0.0).q[0])

    def advance(robot, estimator, start, count):
        reference = trajectory.sample(np.arange(start, start + count) * PERIOD)
        samples = robot.run(Command.track(reference.q, reference.dq, reference.effort))
        found = np.zeros(count, dtype=bool)
        for k in range(count):
            if (start + k) % 500 == 0:
                estimator.set_temperature(samples.temperature[k])
            estimator.update(samples.q[k], samples.current[k], samples.theta[k])
            found[k] = estimator.contact.any()
        return found

    begin, tick, before = int(LEARN / PERIOD), 0, False
    latency, torques, alarms = [], [], []
    instants = np.sort(begin + rng.integers(0, int(60.0 * MINUTES / PERIOD), PUSHES))
    for until in [*instants, begin + int(60.0 * MINUTES / PERIOD)]:
        while tick < until:
            count = min(until - tick, 1000)
            found = advance(robot, estimator, tick, count)
            rises = np.flatnonzero(np.diff(np.concatenate([[before], found]).astype(int)) == 1)
            alarms += [(tick + k) * PERIOD for k in rises if tick + k >= begin]
            before = found[-1]
            tick += count
        if len(latency) < PUSHES:
            pushed, watcher = copy.deepcopy(robot), copy.deepcopy(estimator)
            J = pinocchio.computeFrameJacobian(
                model, model.createData(), robot.truth.position, model.nframes - 1, pinocchio.LOCAL_WORLD_ALIGNED
            )[:3]
            direction = rng.normal(size=3)
            torque = 10.0 * direction / np.linalg.norm(direction) @ J
            pushed.set_external_torque(torque)
            seen = np.flatnonzero(advance(pushed, watcher, tick, 200))
            latency.append((seen[0] + 1) * PERIOD if seen.size else np.inf)
            torques.append(np.abs(torque).max())
    return np.array(latency), np.array(torques), alarms


def main(seeds=None):
    table = Table(
        'contact',
        'pushes',
        f'{PUSHES} pushes of 10 N at the tool, and {MINUTES:.0f} min of free motion, per robot',
        {
            'motion': '',
            'payload, kg': '.1f',
            '°C': '.0f',
            'false alarms': '',
            **dict.fromkeys(('felt within 100 ms, %', '400 ms, %'), '.1f'),
            'median, ms': '.0f',
            'of those of 3 N·m and more, within 100 ms, %': '.1f',
        },
    )
    every, felt, false = [], [], 0
    for seed in map(int, seeds or range(len(CASES))):
        latency, torque, alarms = case(seed)
        every.append(latency)
        felt.append(torque)
        false += len(alarms)
        kind, mass, temperature = CASES[seed % len(CASES)]
        table.row(f'{kind}, seed {seed}', mass, temperature, len(alarms), *figures(latency, torque))
    latency, torque = np.concatenate(every), np.concatenate(felt)
    table.row('all', None, None, false, *figures(latency, torque))
    table.keep()
    for low, high in itertools.pairwise(BINS):
        mine = (torque >= low) & (torque < high)
        if mine.any():
            print(
                f'  felt with {low:.0f} to {high:.0f} N m by the joint that feels it most:'
                f' {np.mean(latency[mine] <= 0.1):6.1%} of {mine.sum()}'
            )


def figures(latency, torque):
    """Return the shares felt in time [%], the median delay [ms], and the share of those that a joint feels well."""
    shares = [100 * np.mean(latency <= limit) for limit in (0.1, 0.4)]
    return *shares, 1e3 * np.median(latency), 100 * np.mean(latency[torque >= 3.0] <= 0.1)


if __name__ == '__main__':
    main(sys.argv[1:])
