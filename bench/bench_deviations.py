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

"""Coverage of stated deviations: disjoint parts of real recordings, and simulated arms against the truth.

Share (%) of base parameters within 1 / 2 / 3 deviations. Against the truth 68 / 95 / 99.7 is right. Two estimates with
right deviations agree more often, because each deviation is stretched for its few degrees of freedom (`agreeing`).
Parameters with √VIF above 1000 are left out, and Coulomb and viscous friction where the true law of speed is another.
Environment: SEEDS, number of simulated arms per law (20).
"""

import os
import sys
from itertools import combinations

import numpy as np
from plants import DATA, real, rigid_recordings
from scipy.special import ndtri, stdtrit
from tables import Table

from joint_dynamics.identification import IdentificationSettings, identify

SEEDS = range(int(os.environ.get('SEEDS', '20')))
MAX_INFLATION = 1e3  # √VIF above which the data do not show a parameter
LAWS = {
    'no further friction': ('none', 0.0, ()),
    'no further friction, noise correlated by 0.9': ('none', 0.9, ()),
    'load': ('load', 0.0, ()),
    '√speed': ('√speed', 0.0, ('Fv', 'Fc')),
    'Stribeck': ('Stribeck', 0.0, ('Fv', 'Fc')),
}
"""Further friction of the simulated arm, correlation of the noise, parameters without a true value."""
QUARTERS = [f'exciting_traj@{part}' for part in ('0:1.12', '1.12:2.24', '2.24:3.36', '3.36:')]
OPTIMAL = 'opti_traj_testing1'
SQUARE = 'RecordTrajectory_quadratic'
TRAPEZOIDS = [f'joint_{k}_trapez' for k in (1, 2, 3, 4)]
SPLITS = {
    'tx40': (
        *(([f'exciting_traj@0:{cut}'], [f'exciting_traj@{cut}:']) for cut in ('2.24', '3', '1.48')),
        (QUARTERS[::2], QUARTERS[1::2]),
        (QUARTERS[::3], QUARTERS[1:3]),
    ),
    'kr300': (
        *(([f'FF_A@0:{cut}', f'FF_B@0:{cut}'], [f'FF_A@{cut}:', f'FF_B@{cut}:']) for cut in '573'),
        (['FF_A@0:5', 'FF_B@5:'], ['FF_A@5:', 'FF_B@0:5']),
    ),
    'gen3': (
        ([OPTIMAL, 'RunTrajectory1'], [SQUARE, *TRAPEZOIDS]),
        ([SQUARE], [OPTIMAL]),
        ([SQUARE, 'RunTrajectory1'], [OPTIMAL, *TRAPEZOIDS]),
        ([f'{SQUARE}@0:2.5', f'{OPTIMAL}@0:2.4'], [f'{SQUARE}@2.5:', f'{OPTIMAL}@2.4:']),
    ),
}
"""Disjoint parts of the recordings of each real robot."""


def agreeing(freedom=6.0, draws=1_000_000):
    """Return the shares (%) of two right estimates within 1, 2, 3 deviations of so many degrees of freedom each."""
    rng = np.random.default_rng(0)
    squares = sum(rng.chisquare(freedom, draws) / freedom for _ in range(2))
    stretch = stdtrit(freedom, 0.975) / ndtri(0.975)
    return np.abs(rng.normal(size=draws)) * np.sqrt(2) / (stretch * np.sqrt(squares))


def scores(first, second=None, truth=None, without=()):
    """Return |difference| in deviations of two results, or of one and the truth; without: beginnings of names."""
    count = first.problem.base.count
    shown = first.solution.inflation[:count] < MAX_INFLATION
    shown &= np.array([not name.startswith(without) for name in first.names[:count]])
    other, deviation = truth, first.deviation[:count]
    if second is not None:
        shown &= second.solution.inflation[:count] < MAX_INFLATION
        other, deviation = second.solution.chi[:count], np.hypot(deviation, second.deviation[:count])
    return (np.abs(first.solution.chi[:count] - other) / deviation)[shown]


def shares(z):
    """Return the shares within 1 / 2 / 3 deviations as text."""
    return ' / '.join(f'{100 * np.mean(np.concatenate(z) <= k):.1f}' for k in (1, 2, 3))


def both(model, parts):
    """Return the results of every part, plain and with chosen terms."""
    return [
        [identify(model, part, settings=IdentificationSettings(selection=selection)) for part in parts]
        for selection in (False, True)
    ]


def main():
    """Compare real recordings with one another, and simulated ones with one another and the truth."""
    table = Table(
        'deviations',
        'coverage',
        'Base parameters within 1 / 2 / 3 stated deviations of the truth or of another recording, %',
        {'compared': '', 'Coulomb and viscous friction': '', 'with chosen terms': ''},
    )
    table.row('two correct estimates (drawn)', *2 * [shares([agreeing()])])
    for robot, splits in SPLITS.items() if DATA.is_dir() else ():
        kinds = [], []
        for parts in splits:
            runs = [real(robot, *part) for part in parts]
            for kind, results in zip(kinds, both(runs[0][0], [part for _, part in runs]), strict=True):
                kind.append(scores(*results))
        table.row(f'{robot.upper().replace("GEN", "Gen")}, disjoint parts', *map(shares, kinds))
    for name, (friction, correlation, without) in LAWS.items():
        pairs, truths = ([], []), ([], [])
        for seed in SEEDS:
            model, standard, runs = rigid_recordings(friction, seed, correlation)
            truth = model.base_parameters().regroup(standard.ravel())
            for pair, true, results in zip(pairs, truths, both(model, [[run] for run in runs]), strict=True):
                pair += [scores(*two) for two in combinations(results, 2)]
                true += [scores(result, truth=truth, without=without) for result in results]
        table.row(f'simulated, {name}: two recordings', *map(shares, pairs))
        table.row(f'simulated, {name}: the truth', *map(shares, truths))
    table.keep()


if __name__ == '__main__':
    sys.exit(main())
