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

"""What physically possible bodies cost on recordings of real robots, and what IRLS and I-IRLS gain over WLS."""

import sys

import numpy as np
from plants import DATA, GEN3, UNSEEN_GEN3, real
from tables import Table

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import observe
from joint_dynamics.identification.physical.semidefinite import physical, pseudo_inertias
from joint_dynamics.identification.regression.residuals import overall_residual, predict

CASES = {'TX40': ('tx40', ['exciting_traj@0:3'], 'exciting_traj@3:4.48'), 'Gen3': ('gen3', GEN3, UNSEEN_GEN3)}


def residual(problem, chi):
    """Return the residual of parameters in percent of the torque."""
    blocks = [(block.tau, predict(block, chi)) for block in problem.blocks()]
    left = sum(np.sum((tau - predicted) ** 2) for tau, predicted in blocks)
    return 100 * np.sqrt(left / sum(np.sum(tau**2) for tau, _ in blocks))


def main():
    """Identify every robot by every method, with free and with possible bodies."""
    if not DATA.is_dir():
        print(f'real recordings are not at {DATA}; set JOINT_DYNAMICS_DATA')
        return
    table = Table(
        'robust',
        'price',
        'Residual on unseen recordings by method, without and with physical bodies, %',
        {
            'robot': '',
            'method': '',
            **dict.fromkeys(('unseen', 'unseen, physical'), '.2f'),
            'smallest eigenvalue of a pseudo-inertia': '.1e',
        },
    )
    for name, (robot, training, unseen) in CASES.items():
        model, (*seen, new) = real(robot, *training, unseen)
        for method in ('wls', 'irls', 'i-irls'):
            result = identify(model, seen, [new], IdentificationSettings(method=method))
            estimate = physical(result.problem, result.solution)
            table.row(
                name,
                method,
                overall_residual(result.validation)[1],
                residual(result.problem.on([observe(new, result.plan)]), estimate.solution.chi),
                np.linalg.eigvalsh(pseudo_inertias(model.standard(estimate.standard).links)).min(),
            )
    table.keep()


if __name__ == '__main__':
    sys.exit(main())
