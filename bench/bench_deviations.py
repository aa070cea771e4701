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

"""Whether stated deviations cover.

Agreement of disjoint parts of real recordings, and of simulated ones with each other and the truth.

Share (%) of base parameters within 1 / 2 / 3 deviations. Against the truth 68 / 95 / 99.7 is right. Two estimates whose
deviations are right agree more often: each is stretched for the few degrees of freedom of its own scatter (`agreeing`).
Parameters a part does not show (√VIF above 1000) are left out, and where the robot has a law of speed besides, its
Coulomb and viscous friction against the truth, which another law does not have. Environment: SEEDS, how many (20);
ONLY, beginnings of the cases' names, separated by commas.
"""

import os
from itertools import combinations
from pathlib import Path

import numpy as np
from bench_identification_methods import simulated_case, simulated_robot
from helpers import from_tests
from scipy.special import ndtri, stdtrit
from tables import Table

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
SEEDS = range(int(os.environ.get('SEEDS', '20')))
ONLY = tuple(os.environ.get('ONLY', '').split(','))
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


def agreeing(freedom=6.0, draws=1_000_000):
    """Return the shares (%) of two right estimates within 1, 2, 3 deviations, which have so many degrees of freedom."""
    rng = np.random.default_rng(0)
    own = (rng.chisquare(freedom, draws) / freedom for _ in range(2))
    stretch = stdtrit(freedom, 0.975) / ndtri(0.975)
    z = np.abs(rng.normal(size=draws)) * np.sqrt(2) / (stretch * np.sqrt(sum(own)))
    return [100 * np.mean(z <= k) for k in (1, 2, 3)]


def scores(first, second=None, truth=None, without=()):
    """Return |difference| in deviations of two results, or of one and the truth; without: beginnings of names."""
    count = first.problem.base.count
    shown = first.solution.inflation[:count] < SHOWN
    other, deviation = truth, first.deviation[:count]
    shown &= np.array([not name.startswith(tuple(without)) for name in first.names[:count]])
    if second is not None:
        shown &= second.solution.inflation[:count] < SHOWN
        other, deviation = second.solution.chi[:count], np.hypot(deviation, second.deviation[:count])
    return (np.abs(first.solution.chi[:count] - other) / deviation)[shown]


TABLE = Table(
    'deviations',
    'coverage',
    'Base parameters within 1 / 2 / 3 stated deviations, %: of the truth, or of what another recording gives',
    {'compared': '', 'Coulomb and viscous friction': '', 'with chosen terms': ''},
)


def shares(z):
    return ' / '.join(f'{100 * np.mean(np.concatenate(z) <= k):.1f}' for k in (1, 2, 3))


def line(name, plain, chosen):
    TABLE.row(name, shares(plain), shares(chosen))


def both(model, parts):
    """Return the results of every part, plain and with chosen terms."""
    return [
        [identify(model, part, settings=IdentificationSettings(selection=selection)) for part in parts]
        for selection in (False, True)
    ]


def main():
    TABLE.row('two right estimates', *2 * [' / '.join(f'{share:.1f}' for share in agreeing())])
    found = {}
    for robot, model, *parts in real_splits() if DATA.is_dir() else ():
        if not robot.startswith(ONLY):
            continue
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
        for seed in SEEDS if 'UR5e'.startswith(ONLY) else ():
            robot = from_tests('identification/conftest.py').TrueRobot(ur, seed=seed)
            for kind, (result,) in zip(kinds, both(ur, [[robot.record(seed, **options)]]), strict=True):
                kind.append(scores(result, truth=robot.base))
        if kinds[0]:
            line(f'UR5e, {name}: the truth', *kinds)
    for name, friction in FRICTION.items():
        if not f'7R {name}'.startswith(ONLY):
            continue
        halves, true = ([], []), ([], [])
        without = ('Fv', 'Fc') if name in ('root', 'Stribeck') else ()
        for seed in SEEDS:
            _, model, training, unseen = simulated_case(name, friction, seed)
            base = model.base_parameters().regroup(simulated_robot(np.random.default_rng(seed))[2].ravel())
            both_kinds = both(model, [[run] for run in (*training, *unseen)])
            for half, truth, results in zip(halves, true, both_kinds, strict=True):
                half += [scores(*pair) for pair in combinations(results, 2)]
                truth += [scores(result, truth=base, without=without) for result in results]
        line(f'7R, further friction: {name}: two recordings', *halves)
        line(f'7R, further friction: {name}: the truth', *true)
    TABLE.keep()


if __name__ == '__main__':
    main()
