"""What the verdict says: good recordings accepted, corrupted ones named, on simulated arms and (where they are there) real ones."""
import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.preparation.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

ROOT = Path(__file__).parents[1]
SEEDS = 20
GEN3 = (
    'RecordTrajectory_quadratic', 'RunTrajectory1', 'joint_1_trapez', 'joint_2_trapez', 'joint_3_trapez', 'joint_4_trapez',
)
HALF = np.pi / 2
UR = ((0, 0, 0.1625), (HALF, 0, 0), (0, -0.425, 0), (0, -0.3922, 0.1333), (HALF, 0, 0.0997), (-HALF, 0, 0.0996))
PA10 = ((0, 0, 0.317), (-HALF, 0, 0), (HALF, 0, 0.45), (-HALF, 0, 0), (HALF, 0, 0.48), (-HALF, 0, 0), (HALF, 0, 0.07))


def module(name, path):
    spec = importlib.util.spec_from_file_location(name, ROOT / 'test' / 'identification' / path)
    found = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def cases(data, true_robot):
    """Yield (name, model, recordings, seed -> good recordings)."""
    for name, rows in (('ur', UR), ('7r', PA10)):
        table = {'joints': [dict(zip(('alpha', 'a', 'd'), row, strict=True), theta=0.0) for row in rows]}
        model = RobotModel.from_mdh(table)
        robot = true_robot(model)
        yield name, model, [robot.record(1, rate=200.0)], lambda seed, robot=robot: [robot.record(100 + seed, rate=200.0)]
    for name, file, runs in (('tx40', 'mdh.yaml', ('exciting_traj',)), ('kr300', 'kr300.urdf', ('FF_A', 'FF_B')),
                             ('gen3', 'gen3.urdf', GEN3)):
        if not (data / name).is_dir():
            continue
        model = RobotModel.load(data / name / file)
        recordings = [Recording.load(data / name / run).select(model.joint_names) for run in runs]
        yield name, model, recordings, lambda seed, recordings=recordings: windows(recordings, seed)


def windows(recordings, seed):
    """Return windows of 70 to 100 %, with noise of 2 % of the torque."""
    rng = np.random.default_rng(seed)
    parts = [run.window(rng.uniform(0, 0.15) * run.duration, rng.uniform(0.85, 1) * run.duration) for run in recordings]
    return [replace(part, tau=part.tau + 0.02 * np.sqrt((part.tau**2).mean(axis=0)) * rng.normal(size=part.tau.shape))
            for part in parts]


def codes(model, recordings):
    settings = IdentificationSettings()
    try:
        plan = filter_plan(recordings, settings)
        problem = Problem(model, [observe(run, plan) for run in recordings], rest_speed=settings.rest_speed)
        return list(dict.fromkeys(reason.code for reason in check_training(problem, recordings).reasons))
    except JointDynamicsError:
        return ['refused']


def main():
    data = Path(os.environ.get('JOINT_DYNAMICS_DATA') or ROOT.parent / 'shared' / 'data')
    corruptions = module('bench_corruptions', 'reliability/corruptions.py').CORRUPTIONS
    true_robot = module('bench_true_robot', 'conftest.py').TrueRobot
    rates = []
    for name, model, recordings, good in cases(data, true_robot):
        print(f'\n-- {name}: as it is: {codes(model, recordings) or "reliable"}')
        named = 0
        for corruption in corruptions:
            said = codes(*corruption.apply(model, recordings, np.random.default_rng(1)))
            right = bool(set(said) & set(corruption.codes)) if corruption.codes else bool(said)
            named += right
            print(f'{"" if right else "MISSED":7s}{corruption.name:36s}{", ".join(said) or "reliable"}', flush=True)
        alarms = sum(bool(codes(model, good(seed))) for seed in range(SEEDS))
        rates.append((name, named, alarms))
    print(f'\n{"robot":8s}{"named":>12s}{"false alarms":>16s}')
    for name, named, alarms in rates:
        print(f'{name:8s}{named:>5d} of {len(corruptions)}{alarms:>10d} of {SEEDS}')


if __name__ == '__main__':
    main()
