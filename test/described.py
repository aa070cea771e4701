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

"""The true description of a simulated robot, for tests and benches."""

import numpy as np

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import INERTIAL

DESCRIBED_FRICTION = {
    'F_C0': 'coulomb',
    'F_C1': 'coulomb_load',
    'F_Cl': 'load_linear',
    'F_S': 'static',
    'V_S': 'stribeck_speed',
    'mu': 'stribeck_shape',
    'F_V1': 'viscous',
    'F_V2': 'viscous_square',
    'F_V3': 'viscous_cubic',
    'F_T1': 'temperature_linear',
    'F_T2': 'temperature_cubic',
    'T_0': 'reference_temperature',
}
"""Parameters of the described friction, and the fields of the drives with their true values."""


def described(robot, **friction):
    """Return the description that a perfect identification of a simulated robot writes, with `friction` fields more."""
    truth, names = robot.truth, list(robot.joint_names)
    angle = np.repeat(np.linspace(0, 2 * np.pi, 360, endpoint=False)[:, None], robot.n, axis=1)
    maps = {'backlash': truth.backlash(angle), 'kinematic_error': truth.kinematic_error(angle)}
    of = {
        key: np.broadcast_to(getattr(robot.drives, name), robot.n).tolist() for key, name in DESCRIBED_FRICTION.items()
    }
    joints, standard = {}, {}
    for j, (name, row) in enumerate(zip(names, truth.parameters.reshape(robot.n, -1), strict=True)):
        standard[name] = dict(zip(INERTIAL, row[:10].tolist(), strict=True))
        joints[name] = {
            'drive_gain': {'value': float(truth.drive_gains[j])},
            'rotor_inertia': {'value': float(truth.rotor_inertia[j])},
            'damping': {'value': float(truth.damping[j])},
            'friction': {
                'parameters': {**{key: value[j] for key, value in of.items()}, 'T_min': 10.0, 'T_max': 80.0},
                'maxwell_slip': {'operators': 4, 'presliding': {'values': maps['backlash'][:, j].tolist()}},
                **friction,
            },
            'stiffness': {'coefficients': truth.stiffness[j].tolist()},
            **{key: {'type': 'table', 'values': table[:, j].tolist()} for key, table in maps.items()},
        }
    return DynamicsDescription({'robot': {'joint_names': names}, 'joints': joints, 'inertial': {'standard': standard}})
