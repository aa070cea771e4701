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

"""The whole chain in one process over robots whose laws are drawn: how much of it depends on what the methods assume.

`python bench/bench_laws.py [seed …]`; without arguments seeds 0 to 7, then seed 0 under the methods' own laws.
Every robot: masses and inertias up to 20 % off the URDF, a tool that no model knows, drives, laws and data sheet of its
seed (docs/reference/nodes/simulator.md).
"""

import sys
import time

import numpy as np
from chain import Chain
from helpers import from_tests
from tables import Table

from joint_dynamics.demo.scenario import INERTIA_ERROR
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ModelErrors, ur5e_urdf

SEEDS = tuple(range(8))
LAWS = from_tests('simulation/drawn_laws.py').Laws
COLUMNS = (
    ('base parameters within 2 deviations [%]', 'coverage_percent', '{:.0f}'),
    ('work, moving joints: residual [%]', 'work_residual_percent', '{:.2f}'),
    ('stiffness map as described, NRMSE [%]', 'stiffness_described_nrmse', '{:.1f}'),
    ('after the work', 'stiffness_nrmse', '{:.1f}'),
    ('friction off as identified [%]', 'friction_identified_percent', '{:.1f}'),
    ('adapted', 'friction_adapted_percent', '{:.1f}'),
    ('tracking rms, PID alone [mrad]', 'tracking_none_mrad', '{:.2f}'),
    ('static friction fed forward', 'tracking_static_mrad', '{:.2f}'),
    ('adaptive', 'tracking_adaptive_mrad', '{:.2f}'),
    ('torque left, static [N·m]', 'torque_static', '{:.2f}'),
    ('adaptive', 'torque_adaptive', '{:.2f}'),
    ('false contacts, share of time [%]', 'contact_percent', '{:.2f}'),
    ('worn: stiffness map after the work, NRMSE [%]', 'worn_stiffness_nrmse', '{:.1f}'),
    ('worn: torque MSE that adaptation leaves [%]', 'worn_torque_left_percent', '{:.0f}'),
    ('worn: tracking MSE that adaptation leaves [%]', 'worn_tracking_left_percent', '{:.0f}'),
)


def show(label, figures):
    print(label)
    for words, key, form in COLUMNS:
        value = np.asarray(figures[key], dtype=float)
        joints = '' if value.ndim == 0 else '   joints ' + ' '.join(form.format(x) for x in value)
        print(f'  {words:44s} {form.format(value.mean()):>7s}{joints}')


def main(seeds=SEEDS):
    kept, refused = [], 0
    effort = RobotModel.load(ur5e_urdf()).limits.effort
    for seed, own_laws in [*((seed, False) for seed in seeds), (0, True)]:
        begin = time.perf_counter()
        try:
            laws = LAWS() if own_laws else LAWS.drawn(seed)
            drives = laws.drives(effort, seed, ModelErrors(inertia=INERTIA_ERROR))
            figures = Chain(seed, drives).run().figures()
        except JointDynamicsError as error:
            refused += 1
            print(f'seed {seed}: refused: {error}', flush=True)
            continue
        show(f'seed {seed} ({time.perf_counter() - begin:.0f} s), {laws}', figures)
        if not own_laws:
            kept.append(figures)
    table = Table(
        'laws',
        'chain',
        f'The whole chain over {len(kept)} simulated UR5e whose laws are drawn ({refused} refused)',
        {'figure': '', 'mean': '.2f', 'worst robot': '.2f', 'best robot': '.2f'},
    )
    for words, key, _ in COLUMNS:
        values = [float(np.mean(figures[key])) for figures in kept]
        low, high = (min, max) if 'NRMSE' in words or 'after the work' in words or 'within' in words else (max, min)
        table.row(words, np.mean(values), low(values), high(values))
    table.keep()


if __name__ == '__main__':
    main(tuple(int(word) for word in sys.argv[1:]) or SEEDS)
