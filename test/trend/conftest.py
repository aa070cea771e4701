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

"""A robot of two links whose friction is known, and recordings of it over time."""

import datetime

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription, identity_of
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel, StandardParameters

COULOMB = np.array([4.0, 2.0])
VISCOUS = np.array([3.0, 1.5])
NOISE = 0.3
START = datetime.date(2026, 1, 5)


class Fleet:
    """Two links in a vertical plane; torques by their inverse dynamics, with friction as told and white noise."""

    def __init__(self):
        rows = [
            {'alpha': np.pi / 2, 'a': 0.0, 'd': 0.1, 'theta': 0.0},
            {'alpha': 0.0, 'a': 0.4, 'd': 0.0, 'theta': 0.3},
        ]
        self.model = RobotModel.from_mdh({'joints': rows})
        standard = StandardParameters.zeros(2)
        standard.links[0] = (0.05, 0, 0, 0.05, 0, 0.04, 0, 0.1, 0, 4.0)
        standard.links[1] = (0.01, 0, 0, 0.3, 0, 0.3, 0.6, 0, 0, 2.0)
        standard.rotor_inertia[:] = 0.5, 0.3
        self.standard = standard

    @property
    def names(self):
        return self.model.joint_names

    def description(self):
        joints = {
            name: {
                'rotor_inertia': {'value': float(self.standard.rotor_inertia[k])},
                'friction': {'parameters': {'F_C0': float(COULOMB[k]), 'F_V1': float(VISCOUS[k]), 'offset': 0.0}},
            }
            for k, name in enumerate(self.names)
        }
        identity = {'joint_names': list(self.names), 'identity': identity_of(self.model)}
        links = {name: self.standard.link_document(k) for k, name in enumerate(self.names)}
        document = {
            'robot': {**identity, **self.model.kinematics()},
            'joints': joints,
            'inertial': {'standard': links},
            'provenance': {'filters': {'f_dyn': 10.0, 'position_cutoff': 50.0, 'parallel_cutoff': 20.0}},
        }
        return DynamicsDescription(document)

    def record(self, seed, coulomb=0.0, viscous=0.0, seconds=4.0, rate=200.0):
        """One run; coulomb [N·m] and viscous [N·m·s/rad] (n,) or a number are added to the friction."""
        rng = np.random.default_rng(seed)
        t = np.arange(0.0, seconds, 1.0 / rate)
        k = 2 * np.pi * np.array([0.5, 1.25, 1.75])[:, None]
        a, b = np.random.default_rng(7).normal(size=(2, 3, 2)) * 0.8
        sine, cosine = np.sin(t[:, None] * k.T), np.cos(t[:, None] * k.T)
        q, dq, ddq = sine @ (a / k) - cosine @ (b / k), cosine @ a + sine @ b, -sine @ (a * k) + cosine @ (b * k)
        tau = self.model.inverse_dynamics(q, dq, ddq, self.standard.values)
        tau += (COULOMB + coulomb) * np.sign(dq) + (VISCOUS + viscous) * dq
        return Recording(self.names, t, q, tau=tau + rng.normal(scale=NOISE, size=tau.shape), name=f'run {seed}')

    def write(self, folder, levels, robot='arm_1', first_seed=0):
        """Weekly recordings of a robot, `levels` N·m of further Coulomb friction in its first joint each."""
        place = folder / robot
        place.mkdir(parents=True, exist_ok=True)
        for k, level in enumerate(levels):
            date = START + datetime.timedelta(days=7 * k)
            self.record(first_seed + k, coulomb=np.array([level, 0.0])).save_csv(place / f'run_{date}.csv')


@pytest.fixture(scope='session')
def fleet():
    return Fleet()


@pytest.fixture(scope='session')
def worn_folder(fleet, tmp_path_factory):
    """Two robots of six runs with their reference: one as new, one that wears.

    The Coulomb friction of its first joint grows by 0.5 N·m a week.
    """
    folder = tmp_path_factory.mktemp('fleet')
    fleet.write(folder, [0.0] * 6, 'arm_1')
    fleet.write(folder, [0.5 * week for week in range(6)], 'arm_2', first_seed=100)
    for robot in ('arm_1', 'arm_2'):
        fleet.description().save(folder / robot / 'reference.yaml')
    return folder
