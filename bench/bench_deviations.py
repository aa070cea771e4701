"""Whether stated deviations cover.

Agreement of disjoint parts of real recordings, and of simulated ones with each other and the truth.

Share (%) of base parameters within 1 / 2 / 3 deviations; 68 / 95 / 99.7 is right. Parameters a part does not show (√VIF
above 1000) are left out.
"""

import os
import sys
from pathlib import Path

import numpy as np
from bench_identification_methods import simulated_case

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

sys.path.insert(0, str(Path(__file__).parents[1] / 'test' / 'identification'))
from conftest import TrueRobot

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
SEEDS = range(20)
SHOWN = 1e3
HALF = np.pi / 2
UR5E = [(0, 0, 0.1625), (HALF, 0, 0), (0, -0.425, 0), (0, -0.3922, 0.1333), (HALF, 0, 0.0997), (-HALF, 0, 0.0996)]
FRICTION = {
    'none': lambda dq, load: 0.0 * dq,
    'load': lambda dq, load: 0.15 * np.sign(dq) * np.abs(load),
    'root': lambda dq, load: 3.0 * np.sign(dq) * np.sqrt(np.abs(dq)),
    'Stribeck': lambda dq, load: 2.0 * np.sign(dq) * np.exp(-np.abs(dq) / 0.3),
}


def real_splits():
    """Yield (robot, model, one part, the other)."""

    def load(folder, *names):
        return [Recording.load(DATA / folder / name) for name in names]

    model = RobotModel.load(DATA / 'tx40' / 'mdh.yaml')
    quarters = [f'exciting_traj@{part}' for part in ('0:1.12', '1.12:2.24', '2.24:3.36', '3.36:')]
    for cut in ('2.24', '3', '1.48'):
        yield 'TX40', model, load('tx40', f'exciting_traj@0:{cut}'), load('tx40', f'exciting_traj@{cut}:')
    for first, second in (((0, 2), (1, 3)), ((0, 3), (1, 2))):
        yield 'TX40', model, load('tx40', *(quarters[k] for k in first)), load('tx40', *(quarters[k] for k in second))
    model = RobotModel.load(DATA / 'kr300' / 'kr300.urdf')
    for cut in '573':
        yield (
            'KR300',
            model,
            load('kr300', f'FF_A@0:{cut}', f'FF_B@0:{cut}'),
            load('kr300', f'FF_A@{cut}:', f'FF_B@{cut}:'),
        )
    yield 'KR300', model, load('kr300', 'FF_A@0:5', 'FF_B@5:'), load('kr300', 'FF_A@5:', 'FF_B@0:5')
    model = RobotModel.load(DATA / 'gen3' / 'gen3.urdf')
    joints = [f'joint_{k}_trapez' for k in (1, 2, 3, 4)]
    record, run, opti = 'RecordTrajectory_quadratic', 'RunTrajectory1', 'opti_traj_testing1'
    yield 'Gen3', model, load('gen3', opti, run), load('gen3', record, *joints)
    yield 'Gen3', model, load('gen3', record), load('gen3', opti)
    yield 'Gen3', model, load('gen3', record, run), load('gen3', opti, *joints)
    yield (
        'Gen3',
        model,
        load('gen3', f'{record}@0:2.5', f'{opti}@0:2.4'),
        load('gen3', f'{record}@2.5:', f'{opti}@2.4:'),
    )


def scores(first, second=None, truth=None):
    """Return |difference| in deviations of two results, or of one and the truth."""
    count = first.problem.base.count
    shown = first.solution.inflation[:count] < SHOWN
    other, deviation = truth, first.deviation[:count]
    if second is not None:
        shown &= second.solution.inflation[:count] < SHOWN
        other, deviation = second.solution.chi[:count], np.hypot(deviation, second.deviation[:count])
    return (np.abs(first.solution.chi[:count] - other) / deviation)[shown]


def line(name, plain, chosen):
    def shares(z):
        return ' / '.join(f'{100 * np.mean(np.concatenate(z) <= k):5.1f}' for k in (1, 2, 3))

    print(name.ljust(44), shares(plain).rjust(24), shares(chosen).rjust(24), flush=True)


def both(model, parts):
    """Return the results of every part, plain and with chosen terms."""
    return [
        [identify(model, part, settings=IdentificationSettings(selection=selection)) for part in parts]
        for selection in (False, True)
    ]


def main():
    print(''.ljust(44), 'plain'.rjust(24), 'chosen terms'.rjust(24))
    found = {}
    for robot, model, *parts in real_splits() if DATA.is_dir() else ():
        for kind, results in zip(found.setdefault(robot, ([], [])), both(model, parts), strict=True):
            kind.append(scores(*results))
    for robot, kinds in found.items():
        line(f'{robot}, disjoint parts', *kinds)
    table = {'joints': [{'alpha': alpha, 'a': a, 'd': d, 'theta': 0.0} for alpha, a, d in UR5E]}
    ur = RobotModel.from_mdh(table)
    for name, options in (
        ('white noise, 20 s', {'frequency': 0.07}),
        ('white noise, 8 s', {'duration': 8.0, 'frequency': 0.2}),
        ('noise correlated by 0.9, 20 s', {'frequency': 0.07, 'correlated': True, 'noise': 0.05}),
    ):
        kinds = [], []
        for seed in SEEDS:
            robot = TrueRobot(ur, seed=seed)
            for kind, (result,) in zip(kinds, both(ur, [[robot.record(seed, **options)]]), strict=True):
                kind.append(scores(result, truth=robot.base))
        line(f'UR5e, {name}: the truth', *kinds)
    for name, friction in FRICTION.items():
        kinds = [], []
        for seed in SEEDS:
            _, model, training, unseen = simulated_case(name, friction, seed)
            for kind, results in zip(kinds, both(model, [training[:1], unseen[:1]]), strict=True):
                kind.append(scores(*results))
        line(f'7R, further friction: {name}: two recordings', *kinds)


if __name__ == '__main__':
    main()
