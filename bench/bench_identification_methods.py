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

"""Residual on unseen recordings, by plain WLS and with the treatment of rests and the choice of friction terms.

Real robots, and simulated arms with one friction law each. Residuals in percent of the torque, moving joints.
"""

import sys

from plants import DATA, FRICTION, GEN3, UNSEEN_GEN3, real, rigid_recordings
from tables import Table

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.residuals import overall_residual

SEEDS = {'none': 1, 'load': 2, 'load²': 3, '√speed': 4, 'Stribeck': 5}


def cases():
    """Yield name, model, training and unseen recordings."""
    for train, test in (('@0:3', '@3:4.48'), ('@1.48:4.48', '@0:1.48')):
        model, (training, unseen) = real('tx40', f'exciting_traj{train}', f'exciting_traj{test}')
        yield f'TX40, trained on {train[1:]} s', model, [training], [unseen]
    for train, test in (('@0:7', '@7:10'), ('@3:10', '@0:3')):
        model, runs = real('kr300', *(f'FF_{run}{part}' for part in (train, test) for run in 'AB'))
        yield f'KR300, trained on {train[1:]} s', model, runs[:2], runs[2:]
    for unseen in (UNSEEN_GEN3, 'RecordTrajectory_quadratic'):
        model, runs = real('gen3', *(run for run in (*GEN3, UNSEEN_GEN3) if run != unseen), unseen)
        yield f'Gen3, unseen {unseen}', model, runs[:-1], runs[-1:]
    for friction in FRICTION:
        model, _, runs = rigid_recordings(friction, SEEDS[friction])
        yield f'simulated, further friction: {friction}', model, runs[:2], runs[2:]


def main():
    """Measure every case; without the real recordings nothing is measured."""
    if not DATA.is_dir():
        print(f'real recordings are not at {DATA}; set JOINT_DYNAMICS_DATA')
        return
    table = Table(
        'identification_methods',
        'unseen',
        'Residual torque of moving joints on unseen recordings, %',
        {'case': '', **dict.fromkeys(('plain', 'rest', 'default'), '.2f'), 'terms chosen by default': ''},
    )
    settings = (
        IdentificationSettings(selection=False, rest_speed=0.0),
        IdentificationSettings(selection=False),
        IdentificationSettings(),
    )
    for name, model, training, unseen in cases():
        results = [identify(model, training, unseen, use) for use in settings]
        chosen = ', '.join(step['term'] for step in results[-1].details.selection['chosen'])
        percents = [overall_residual(result.validation, moving=True)[1] for result in results]
        table.row(name, *percents, chosen or 'none')
    table.keep()


if __name__ == '__main__':
    sys.exit(main())
