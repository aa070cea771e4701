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

"""A fleet whose joints wear by laws that are drawn: which worn joints have a significant slope, and which others.

`python bench/bench_trend.py [robots] [runs] [seed]`; 12 robots with 16 runs each, seed 0, where nothing is said.
Every robot: its own plant (masses up to 5 % off the URDF, drives, friction, sensor noise of its seed), one short motion
of its own over and over, warm or cold as the day was. Two of three have one joint that wears, from a run on that is
drawn, by a law that is drawn. The reference is identified from the first three runs; torques are those that the drives
state.
"""

import datetime
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tables import Table

from joint_dynamics.identification import identify
from joint_dynamics.recording import load_recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, initial_posture, record, ur5e_urdf
from joint_dynamics.trend import trend
from joint_dynamics.trend.measure import work

RATE = 500.0
EVERY = 2
SECONDS = 6.0
HARMONICS = 4
START = datetime.datetime(2026, 1, 5, 6, 0, tzinfo=datetime.timezone.utc)
DAYS = 7
REFERENCE_RUNS = 3
LAWS = ('linear', 'accelerating', 'step')


def wear_law(rng, runs):
    """Return kind, first run with wear, level at the last run, and the level per run."""
    kind = LAWS[rng.integers(len(LAWS))]
    first = int(rng.integers(4, runs - 4))
    last = float(rng.uniform(0.3, 1.0))
    share = np.clip((np.arange(runs) - first + 1) / (runs - first), 0.0, 1.0)
    level = last * {'linear': share, 'accelerating': share**2, 'step': (share > 0) * 1.0}[kind]
    return kind, first, last, level


def motion(rng, model):
    """Return the points of a periodic motion about the home posture, speeds up to about 1.5 rad/s."""
    t = np.arange(0.0, SECONDS, 0.01)
    k = 2.0 * np.pi / SECONDS * np.arange(1, HARMONICS + 1)
    a, b = 0.35 * rng.normal(size=(2, HARMONICS, model.n))
    sine, cosine = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    k = k[:, None]
    q = initial_posture(model) + sine @ (a / k) - cosine @ (b / k)
    return TrajectoryPoints(t, q, cosine @ a + sine @ b, -sine @ (a * k) + cosine @ (b * k))


def make_fleet(folder, robots, runs, seed):
    """Write the recordings; return {robot: None or (joint, kind, first worn run, level at the last)}."""
    model = RobotModel.load(ur5e_urdf())
    truth = {}
    for r in range(robots):
        rng = np.random.default_rng([seed, r])
        robot = FlexibleJointRobot(model, seed=1000 * seed + r, rate=RATE)
        name = f'robot_{r:02d}'
        points = motion(rng, model)
        joint = int(rng.integers(model.n))
        worn = rng.random() < 2 / 3
        kind, first, last, level = wear_law(rng, runs)
        truth[name] = (model.joint_names[joint], kind, first, last) if worn else None
        for k in range(runs):
            if worn:
                robot.set_wear(np.where(np.arange(model.n) == joint, level[k], 0.0))
            robot.set_temperature(float(rng.uniform(22.0, 34.0)))
            robot.place(points.q[0])
            date = START + datetime.timedelta(days=DAYS * k)
            path = folder / name / f'{date:%Y-%m-%d}.csv'
            path.parent.mkdir(parents=True, exist_ok=True)
            record(robot, points, every=EVERY, torque=True).save_csv(path)
    return truth


def identify_references(folder):
    """Write the reference of every robot, identified from its first runs."""
    model = RobotModel.load(ur5e_urdf())
    for robot in sorted(folder.iterdir()):
        first = [
            load_recording(path, joint_names=model.joint_names) for path in sorted(robot.glob('*.csv'))[:REFERENCE_RUNS]
        ]
        identify(model, first).description.save(robot / 'reference.yaml')


def compare(found, truth):
    """Print which worn joints have a significant slope, and which joints have one that did not wear."""
    significant = {}
    for series in found.significant:
        significant.setdefault((series.robot, series.joint), []).append(series.quantity)
    worn = {(name, joint): law for name, each in truth.items() if each for joint, *law in [each]}
    for (name, joint), (kind, first, last) in sorted(worn.items()):
        quantities = ', '.join(significant.get((name, joint), [])) or 'not seen'
        print(f'{name}  {joint:20s} {kind:12s} from run {first:2d}, {last:.2f}: {quantities}')
    healthy = {name for name, each in truth.items() if each is None}
    table = Table(
        'trend',
        'fleet',
        f'{len(found.runs)} recordings of {len(truth)} simulated robots, some with one joint that wears',
        {'figure': '', 'value': '.3g'},
    )
    table.row('worn joints', len(worn))
    table.row('worn joints with a significant slope', sum(place in significant for place in worn))
    table.row(
        'other joints of robots that wear, with a significant slope',
        sum(place not in worn and place[0] not in healthy for place in significant),
    )
    table.row('robots that do not wear', len(healthy))
    table.row(
        'robots that do not wear, with a significant slope', len({name for name, _ in significant if name in healthy})
    )
    table.keep()


def main(robots=12, runs=16, seed=0):
    with tempfile.TemporaryDirectory() as folder:
        fleet = Path(folder) / 'fleet'
        truth = make_fleet(fleet, robots, runs, seed)
        identify_references(fleet)
        # in this process: one process for each run would import everything for each run
        found = trend(fleet, execute=lambda tasks: map(work, tasks))
        print(
            f'{len(found.runs)} measured, {len(found.left_out)} left out; {time.process_time():.0f} s of processor time'
        )
        compare(found, truth)


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
