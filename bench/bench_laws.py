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

"""The whole chain in one process over robots with drawn laws, which are not those that the methods assume.

`python bench/bench_laws.py [seed …]`; without arguments seeds 0 to 2. Every robot: masses and inertias up to 20 % off
the URDF, an unknown tool, drives, laws and data sheet of its seed.
"""

import sys

import numpy as np
from chain import Chain
from plants import from_tests
from tables import Table

from joint_dynamics.demo.scenario import INERTIA_ERROR
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ModelErrors, ur5e_urdf

SEEDS = range(3)
COLUMNS = {
    'base parameters within 2 deviations [%]': 'coverage_percent',
    'work, moving joints: residual [%]': 'work_residual_percent',
    'stiffness map as described, NRMSE [%]': 'stiffness_described_nrmse',
    'stiffness map after the work, NRMSE [%]': 'stiffness_nrmse',
    'friction error as identified [%]': 'friction_identified_percent',
    'friction error as adapted [%]': 'friction_adapted_percent',
    'tracking rms, PID alone [mrad]': 'tracking_none_mrad',
    'tracking rms, static friction fed forward [mrad]': 'tracking_static_mrad',
    'tracking rms, adaptive [mrad]': 'tracking_adaptive_mrad',
    'false contacts, share of time [%]': 'contact_percent',
    'worn: stiffness map after the work, NRMSE [%]': 'worn_stiffness_nrmse',
    'worn: torque MSE, adapted over not adapted [%]': 'worn_torque_left_percent',
    'worn: tracking MSE, adapted over not adapted [%]': 'worn_tracking_left_percent',
}


def drawn_drives(seed):
    """Return drives of the UR5e under laws that are drawn from a seed."""
    effort = RobotModel.load(ur5e_urdf()).limits.effort
    laws = from_tests('simulation/drawn_laws.py').Laws
    return laws.drawn(seed).drives(effort, seed, ModelErrors(inertia=INERTIA_ERROR))


def main(seeds=()):
    """Run the chain of every seed."""
    kept, refused = [], 0
    for seed in seeds or SEEDS:
        try:
            kept.append(Chain(seed, drawn_drives(seed)).run().figures())
        except JointDynamicsError as error:
            refused += 1
            print(f'seed {seed}: refused: {error}', flush=True)
    table = Table(
        'laws',
        'chain',
        f'The whole chain over {len(kept)} simulated UR5e with drawn laws ({refused} refused)',
        {'figure': '', 'mean': '.2f', 'worst robot': '.2f', 'best robot': '.2f'},
    )
    for words, key in COLUMNS.items():
        values = [float(np.mean(figures[key])) for figures in kept]
        ends = min(values), max(values)
        table.row(words, np.mean(values), *(ends if 'NRMSE' in words or 'within' in words else ends[::-1]))
    table.keep()


if __name__ == '__main__':
    main([int(word) for word in sys.argv[1:]])
