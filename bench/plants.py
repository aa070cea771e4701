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

"""Robots and motions of the benches: recordings of real robots, rigid arms with known parameters, moves between rests.

Real recordings are in `../shared/data`, or in the folder that JOINT_DYNAMICS_DATA names.
"""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pinocchio

from joint_dynamics.excitation.profiles import WAYPOINTS
from joint_dynamics.recording import Recording
from joint_dynamics.robot import PER_JOINT, RobotModel

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
GEN3 = ('RecordTrajectory_quadratic', 'RunTrajectory1', *(f'joint_{joint}_trapez' for joint in range(1, 5)))
UNSEEN_GEN3 = 'opti_traj_testing1'
ROBOT_FILES = {'tx40': 'mdh.yaml', 'kr300': 'kr300.urdf', 'gen3': 'gen3.urdf'}
RATE = 200.0  # Hz, of the recordings of the rigid arm
SPACING = 0.004  # s, between points of a motion
FRICTION = {
    'none': lambda dq, load: 0.0 * dq,
    'load': lambda dq, load: 0.15 * np.sign(dq) * np.abs(load),
    'load²': lambda dq, load: 0.02 * np.sign(dq) * load**2,
    '√speed': lambda dq, load: 3.0 * np.sign(dq) * np.sqrt(np.abs(dq)),
    'Stribeck': lambda dq, load: 2.0 * np.sign(dq) * np.exp(-np.abs(dq) / 0.3),
}
"""Friction of the rigid arm beside Coulomb and viscous [N·m], from speed and load."""


def from_tests(path: str) -> ModuleType:
    """Return the module of a file in `test/`; its classes can be pickled."""
    name = f'test_{path.removesuffix(".py").replace("/", "_")}'
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / 'test' / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


described = from_tests('described.py').described


def real(robot, *runs):
    """Return model and recordings of a real robot; `@0:3` behind a name: these seconds of it."""
    model = RobotModel.load(DATA / robot / ROBOT_FILES[robot])
    return model, [Recording.load(DATA / robot / run).select(model.joint_names) for run in runs]


def rigid_arm(rng):
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
        body = np.array([mass, *(mass * centre), xx, xy, yy, xz, yz, zz])
        rigid.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(body)
        standard[k, :10] = xx, xy, xz, yy, yz, zz, *(mass * centre), mass
    return model, rigid, standard


def rigid_recordings(friction, seed, correlation=0.0):
    """Return model, true standard parameters and three recordings of 20 s of a rigid arm; torques are pinocchio's.

    friction: of `FRICTION`, on top of Coulomb and viscous friction. correlation: of the torque noise, of 1 % of the
    torque, from sample to sample.
    """
    rng = np.random.default_rng(seed)
    model, rigid, standard = rigid_arm(rng)
    rotor, viscous, coulomb = standard[0, 10:13]
    runs, data = [], rigid.createData()
    for index in range(3):
        t = np.arange(0, 20, 1 / RATE)
        k = 2 * np.pi * 0.1 * np.arange(1, 6)
        a, b = 0.35 * rng.normal(size=(2, 5, 7))
        phase = np.outer(t, k)
        q = np.sin(phase) @ (a / k[:, None]) + np.cos(phase) @ (b / k[:, None])
        dq = np.cos(phase) @ a - np.sin(phase) @ b
        ddq = -np.sin(phase) @ (a * k[:, None]) - np.cos(phase) @ (b * k[:, None])
        load = np.array([pinocchio.rnea(rigid, data, *state) for state in zip(q, dq, ddq, strict=True)])
        tau = load + rotor * ddq + np.sign(dq) * coulomb + viscous * dq + FRICTION[friction](dq, load)
        noise = rng.normal(size=tau.shape)
        for sample in range(1, len(noise)) if correlation else ():
            noise[sample] = correlation * noise[sample - 1] + np.sqrt(1 - correlation**2) * noise[sample]
        tau += 0.01 * np.sqrt((tau**2).mean(axis=0)) * noise
        runs.append(Recording(model.joint_names, t, q, tau=tau, name=f'{friction} {index}'))
    return model, standard, runs


def move(start, goal, speed, acceleration, rest):
    """Return points every 4 ms of a straight move with trapezoidal speed, then `rest` s at the goal."""
    way = np.abs(goal - start).max()
    peak = min(speed, np.sqrt(way * acceleration))
    ramp = peak / acceleration
    total = way / peak + ramp
    t = np.arange(int(round(total / SPACING))) * SPACING
    up, down = 0.5 * acceleration * t**2, way - 0.5 * acceleration * (total - t) ** 2
    share = np.select([t < ramp, t < total - ramp], [up, peak * (t - ramp / 2)], down) / way
    return np.concatenate([start + share[:, None] * (goal - start), np.repeat(goal[None], int(rest / SPACING), axis=0)])


def smoothed(pieces):
    """Return times and points of moves one after the other, jumps of the acceleration smoothed over 80 ms."""
    w = np.hanning(23)[1:-1] / np.hanning(23).sum()
    padded = np.pad(np.concatenate(pieces), ((10, 10), (0, 0)), mode='edge')
    q = np.stack([np.convolve(column, w, 'valid') for column in padded.T], axis=1)
    return np.arange(len(q)) * SPACING, q


def waypoint_motion(cycles, rest=0.0, speed=np.pi, acceleration=2 * np.pi / 3):
    """Return times and points of the cycle of [M6 table 1], at rest at every waypoint for `rest` s."""
    through = [*np.radians(WAYPOINTS)] * cycles
    goals = [*through[1:], through[0]]
    moves = [move(start, goal, speed, acceleration, rest) for start, goal in zip(through, goals, strict=True)]
    return smoothed([*moves, through[0][None]])


def random_moves(seed, seconds):
    """Return times and points of moves to random postures at 20 to 80 % of the speed limit, most with a rest."""
    rng = np.random.default_rng(seed)
    low, high = np.deg2rad([-180, -120, -130, -150, -90, -150]), np.deg2rad([0, -10, 110, -40, 120, 150])
    now, pieces, samples = rng.uniform(low, high), [], 0
    while samples * SPACING < seconds:
        goal = rng.uniform(low, high)
        speed, acceleration = np.pi * rng.uniform(0.2, 0.8), 2 * np.pi / 3 * rng.uniform(0.3, 1.0)
        rest = rng.uniform(0, 1) if rng.uniform() < 0.6 else 0.0
        pieces.append(move(now, goal, speed, acceleration, rest))
        samples += len(pieces[-1])
        now = goal
    return smoothed([*pieces, now[None]])
