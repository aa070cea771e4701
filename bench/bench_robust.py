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

"""Price of physical consistency on recordings of real robots, and what IRLS and I-IRLS gain there over WLS."""

import os
import sys
from pathlib import Path

import numpy as np
from tables import Table

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import observe
from joint_dynamics.identification.physical.semidefinite import physical, pseudo_inertias
from joint_dynamics.identification.regression.residuals import overall_residual, predict
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel


def sets(data):
    """Yield (name, model, training, validation)."""
    model, path = RobotModel.load(data / 'tx40' / 'mdh.yaml'), data / 'tx40' / 'exciting_traj'
    yield 'TX40', model, [Recording.load(f'{path}@0:3')], [Recording.load(f'{path}@3:4.48')]
    model = RobotModel.load(data / 'kr300' / 'kr300.urdf')
    both = [Recording.load(data / 'kr300' / name) for name in ('FF_A', 'FF_B')]
    yield 'KR300', model, both, []
    model = RobotModel.load(data / 'gen3' / 'gen3.urdf')
    runs = sorted(path for path in (data / 'gen3').iterdir() if path.is_dir() and path.name != 'opti_traj_testing1')
    yield 'Gen3', model, [Recording.load(run) for run in runs], [Recording.load(data / 'gen3' / 'opti_traj_testing1')]


def percent(found):
    return overall_residual(found)[1] if found else float('nan')


def regression_percent(problem, chi):
    left, whole = 0.0, 0.0
    for block in problem.blocks():
        left += np.sum((block.tau - predict(block, chi)) ** 2)
        whole += np.sum(block.tau**2)
    return 100 * np.sqrt(left / whole)


def main(methods=('wls', 'irls', 'i-irls')):
    data = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
    if not data.is_dir():
        print(f'real recordings are not at {data}; set JOINT_DYNAMICS_DATA')
        return
    table = Table(
        'robust',
        'price',
        'Residual of each method, without and with physical bodies, %',
        {
            'robot': '',
            'method': '',
            **dict.fromkeys(('training', 'unseen', 'training, physical', 'unseen, physical'), '.2f'),
            'smallest eigenvalue of a pseudo-inertia': '.1e',
        },
    )
    for name, model, training, validation in sets(data):
        for method in methods:
            result = identify(model, training, validation, IdentificationSettings(method=method))
            estimate = physical(result.problem, result.solution)
            unseen = [observe(recording.select(model.joint_names), result.plan) for recording in validation]
            table.row(
                name,
                method,
                percent(result.training),
                percent(result.validation),
                regression_percent(result.problem, estimate.solution.chi),
                regression_percent(result.problem.on(unseen), estimate.solution.chi) if unseen else None,
                np.linalg.eigvalsh(pseudo_inertias(model.standard(estimate.standard).links)).min(),
            )
    table.keep()


if __name__ == '__main__':
    main(*([tuple(sys.argv[1:])] if len(sys.argv) > 1 else []))
