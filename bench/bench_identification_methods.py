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

"""By how much each group of candidate terms lowers the residual on unseen recordings.

Real robots, and simulated arms with friction of several kinds.

`plain`: WLS with Coulomb and viscous friction, all rows alike. `rest`: the same, a stay at rest as one row. Then every
term alone on top of that, for all joints, at a ridge of 0.1. `default`: what `identify` chooses by held-out training
data. Residuals in percent of the torque, moving samples. `bench_identification_methods.py unseen` leaves out every term
alone.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pinocchio
from bench_reliability import GEN3
from tables import Table

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.residuals import overall_residual
from joint_dynamics.identification.selection.candidate_terms import menu
from joint_dynamics.recording import Recording
from joint_dynamics.robot import PER_JOINT, RobotModel

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
RATE = 200.0


def real_cases():
    """Yield (name, model, training, unseen)."""

    def load(*parts):
        return Recording.load(DATA.joinpath(*parts[:-1]) / parts[-1])

    tx40 = RobotModel.load(DATA / 'tx40' / 'mdh.yaml')
    for train, test in (('@0:3', '@3:4.48'), ('@1.48:4.48', '@0:1.48')):
        yield (
            f'TX40, trained on {train[1:]} s',
            tx40,
            [load('tx40', f'exciting_traj{train}')],
            [load('tx40', f'exciting_traj{test}')],
        )
    kr300 = RobotModel.load(DATA / 'kr300' / 'kr300.urdf')
    for train, test in (('@0:7', '@7:10'), ('@3:10', '@0:3')):
        yield (
            f'KR300, trained on {train[1:]} s',
            kr300,
            [load('kr300', f'FF_{run}{train}') for run in 'AB'],
            [load('kr300', f'FF_{run}{test}') for run in 'AB'],
        )
    gen3 = RobotModel.load(DATA / 'gen3' / 'gen3.urdf')
    runs = [*GEN3, 'opti_traj_testing1']
    for unseen in ('opti_traj_testing1', 'RecordTrajectory_quadratic'):
        yield (
            f'Gen3, unseen {unseen}',
            gen3,
            [load('gen3', name) for name in runs if name != unseen],
            [load('gen3', unseen)],
        )


def simulated_robot(rng):
    """Return a 7R arm of 0.33 m links: model, bodies as pinocchio has them, true standard parameters (7, PER_JOINT)."""
    half = np.pi / 2
    turns, lengths = (0, -half, half, -half, half, -half, half), (0.33, 0, 0.33, 0, 0.33, 0, 0.1)
    table = [{'alpha': alpha, 'a': 0.0, 'd': d, 'theta': 0.0} for alpha, d in zip(turns, lengths, strict=True)]
    model = RobotModel.from_mdh({'joints': table})
    rigid, standard = model.pinocchio.copy(), np.zeros((7, PER_JOINT))
    standard[:, 10:13] = 0.2, 3.0, 2.0
    for k, mass in enumerate((4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 0.7)):
        centre = rng.normal(scale=0.06, size=3)
        tensor = mass * (
            0.01 * np.diag(rng.uniform(0.6, 1.0, 3)) + centre @ centre * np.eye(3) - np.outer(centre, centre)
        )
        (xx, xy, xz), (_, yy, yz), (*_, zz) = tensor
        rigid.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(
            np.array([mass, *(mass * centre), xx, xy, yy, xz, yz, zz])
        )
        standard[k, :10] = xx, xy, xz, yy, yz, zz, *(mass * centre), mass
    return model, rigid, standard


def simulated_case(name, friction, seed):
    """Return that arm's name, model, two recordings and one to predict; torques are pinocchio's.

    With `friction(dq, load)` on top of Coulomb and viscous.
    """
    rng = np.random.default_rng(seed)
    model, rigid, standard = simulated_robot(rng)
    rotor, viscous, coulomb = standard[0, 10:13]
    runs = []
    for index in range(3):
        t = np.arange(0, 20, 1 / RATE)
        k = 2 * np.pi * 0.1 * np.arange(1, 6)
        a, b = 0.35 * rng.normal(size=(2, 5, 7))
        phase = np.outer(t, k)
        q = np.sin(phase) @ (a / k[:, None]) + np.cos(phase) @ (b / k[:, None])
        dq = np.cos(phase) @ a - np.sin(phase) @ b
        ddq = -np.sin(phase) @ (a * k[:, None]) - np.cos(phase) @ (b * k[:, None])
        data = rigid.createData()
        load = np.array([pinocchio.rnea(rigid, data, *state) for state in zip(q, dq, ddq, strict=True)])
        tau = load + rotor * ddq + np.sign(dq) * coulomb + viscous * dq + friction(dq, load)
        tau += rng.normal(size=tau.shape) * 0.01 * np.sqrt((tau**2).mean(axis=0))
        runs.append(Recording(model.joint_names, t, q, tau=tau, name=f'{name} {index}'))
    return f'simulated, {name}', model, runs[:2], runs[2:]


def simulated_cases():
    """Yield simulated arms."""
    yield simulated_case('no further friction', lambda dq, load: 0.0 * dq, 1)
    yield simulated_case('load', lambda dq, load: 0.15 * np.sign(dq) * np.abs(load), 2)
    yield simulated_case('load²', lambda dq, load: 0.02 * np.sign(dq) * load**2, 3)
    yield simulated_case('√speed', lambda dq, load: 3.0 * np.sign(dq) * np.sqrt(np.abs(dq)), 4)
    yield simulated_case('Stribeck', lambda dq, load: 2.0 * np.sign(dq) * np.exp(-np.abs(dq) / 0.3), 5)


def unseen_percent(model, training, unseen, settings):
    """Return (moving residual percent, result) on unseen recordings."""
    result = identify(model, training, unseen, settings)
    return overall_residual(result.validation, moving=True)[1], result


def main(parts=()):
    """Measure; parts: `['unseen']` alone, or all."""
    cases = ([*real_cases()] if DATA.is_dir() else []) + [*simulated_cases()]
    if not DATA.is_dir():
        print(f'real recordings are not at {DATA}')
    names = [group.name for group in menu(['joint'], None) if not group.single]
    table = Table(
        'identification_methods',
        'unseen',
        'Torque of moving joints that is left unexplained on recordings not trained on, %',
        {'case': '', **dict.fromkeys(('plain', 'rest', 'default'), '.2f'), 'terms chosen by default': ''},
    )
    alone = Table(
        'identification_methods',
        'alone',
        'The same with one further term for all joints, and nothing chosen, %',
        {'case': '', **dict.fromkeys(names, '.2f')},
    )
    for name, model, training, unseen in cases:
        plain = IdentificationSettings(selection=False)
        percents = [
            unseen_percent(model, training, unseen, IdentificationSettings(selection=False, rest_speed=0.0))[0],
            unseen_percent(model, training, unseen, plain)[0],
        ]
        terms = []
        for group in menu(model.joint_names, None):
            if not group.single and parts != ['unseen']:
                settings = IdentificationSettings(selection=False, terms=group.terms)
                terms.append(unseen_percent(model, training, unseen, settings)[0])
        value, result = unseen_percent(model, training, unseen, IdentificationSettings())
        chosen = ', '.join(step['term'] for step in result.details.selection['chosen'])
        if terms:
            alone.row(name, *terms)
        table.row(name, *percents, value, chosen or 'none')
    if DATA.is_dir():
        table.keep()
        if alone.rows:
            alone.keep()


if __name__ == '__main__':
    main(sys.argv[1:])
