"""A fleet whose joints wear by laws that are drawn: how soon a trend sees it, and how often it sees what is not there.

`python bench/bench_trend.py [robots] [runs] [seed]`; 20 robots with 25 runs each, seed 0, where nothing is said.
Every robot: its own plant (masses up to 5 % off the URDF, drives, friction, sensor noise of its seed), one short motion
of its own over and over, warm or cold as the day was. Two of three have one joint that wears, from a run on that is
drawn, by a law that is drawn. The trend is told the URDF and nothing else; torques are those that the drives state.
"""

import datetime
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tables import Table

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, initial_posture, record, ur5e_urdf
from joint_dynamics.trend import TrendSettings, trend

RATE = 500.0
EVERY = 2
SECONDS = 6.0
HARMONICS = 4
START = datetime.datetime(2026, 1, 5, 6, 0, tzinfo=datetime.timezone.utc)
DAYS = 7
LAWS = ('linear', 'accelerating', 'step')


def wear_law(rng, runs):
    """Return kind, first run with wear, level at the last run, and the level per run."""
    kind = LAWS[rng.integers(len(LAWS))]
    first = int(rng.integers(8, runs - 7))
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


def run_of(alarm_date):
    return (alarm_date.date() - START.date()).days // DAYS


def compare(found, truth):
    """Print what was seen of each worn joint, and what was seen that is not there."""
    print('robot     joint                law           worn from  level  seen at  delay  by')
    delays, missed, false, later = [], 0, [], 0
    for name in sorted(truth):
        worn = truth[name]
        alarms = [alarm for alarm in found.alarms if alarm.robot == name]
        if worn is None:
            false += alarms
            continue
        joint, kind, first, last = worn
        # what the reference leaves of another joint's torque may rise with it: that joint did not wear all the same
        right = [alarm for alarm in alarms if alarm.joint == joint and run_of(alarm.date) >= first]
        false += [alarm for alarm in alarms if alarm not in right]
        if right:
            seen = run_of(right[0].date)
            delays.append(seen - first)
            later += len(right) - 1
            what = ', '.join(dict.fromkeys(alarm.quantity for alarm in right))
            print(f'{name}  {joint:20s} {kind:12s} {first:10d} {last:6.2f} {seen:8d} {seen - first:6d}  {what}')
        else:
            missed += 1
            print(f'{name}  {joint:20s} {kind:12s} {first:10d} {last:6.2f}        –      –')
    series = sum(len(each.values) >= found.settings.before + found.settings.after for each in found.series)
    worn = sum(value is not None for value in truth.values())
    table = Table(
        'trend',
        'fleet',
        f'{len(found.runs)} recordings of {len(truth)} simulated robots, some with one joint that wears',
        {'figure': '', 'value': '.3g'},
    )
    table.row('worn joints', worn)
    table.row('seen', len(delays))
    table.row('runs from the first wear until it is seen, median', np.median(delays))
    table.row('most', max(delays))
    table.row('false alarms', len(false))
    table.row('series watched', series)
    table.row(
        'false alarms expected at most, by false_alarm_rate', found.settings.false_alarm_rate * len(found.runs) / 100
    )
    table.keep()
    for alarm in false:
        print(
            f'  {alarm.robot} {alarm.joint} {alarm.quantity}: {alarm.before[0]:.4g} to {alarm.after[0]:.4g},'
            f' |z| {abs(alarm.z):.2f}'
        )


def main(robots=20, runs=25, seed=0):
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        truth = make_fleet(Path(folder) / 'fleet', robots, runs, seed)
        robot = ur5e_urdf()
        print(f'{robots * runs} recordings of {robots} robots simulated, {time.process_time() - started:.0f} s of CPU')
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = trend(Path(folder) / 'fleet', TrendSettings(), robot=robot, out=Path(folder) / 'out')
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        print(
            f'{len(found.runs)} measured in {cpu:.0f} s of CPU, at most {used.ru_maxrss / 1024:.0f} MB per process;'
            f' {len(found.left_out)} left out'
        )
        compare(found, truth)
        started = time.process_time()
        again = trend(Path(folder) / 'fleet', TrendSettings(), robot=robot, out=Path(folder) / 'out')
        print(f'once more: {again.anew} measured anew, {time.process_time() - started:.1f} s of CPU')


if __name__ == '__main__':
    main(*map(int, sys.argv[1:]))
