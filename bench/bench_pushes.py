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

"""Pushes on two arms in MuJoCo: none may pass for a broken spring.

`python bench/bench_pushes.py [pushes of each arm]`, default 130; some six minutes of one core each. Every seven seconds
10 N push the last link in a random direction for 0.3 to 1.2 s, during random moves, many of them slow.
"""

import sys

import numpy as np
from mujoco_arm import PERIOD, MujocoArm
from tables import Table

from joint_dynamics.estimation import EstimationSettings, JointEstimator, choose_friction_method

ARMS = (('ur5e', 3), ('elbow', 4))  # name, seed
LEARN = 60.0  # s of free motion at first
SPACING = 7.0  # s from push to push
FORCE = 10.0  # N
IN_TIME = 0.1  # s within which a push is felt
WRONG = 0.2  # relative error of a stiffness that counts as wrong; the description has none


def run(name, seed, pushes):
    """Return of an arm: pushes felt in time, false names by kind, pushes after which a stiffness was wrong."""
    robot, rng = MujocoArm(name, seed), np.random.default_rng([seed, 11])
    arm, use, _ = choose_friction_method(robot.arm(), EstimationSettings())
    estimator = JointEstimator(arm, PERIOD, use, effort='torque')
    path = robot.moves(rng, LEARN + pushes * SPACING + 10.0)
    robot.place(path[0, 0])
    begins = LEARN + SPACING * np.arange(pushes) + rng.uniform(0.0, 2.0, pushes)
    first = np.round(begins / PERIOD).astype(int)
    last = first + np.round(rng.uniform(0.3, 1.2, pushes) / PERIOD).astype(int)
    forces = rng.normal(size=(pushes, 3))
    forces *= FORCE / np.linalg.norm(forces, axis=1)[:, None]
    phi = np.linspace(5e-5, 1e-3, 20)[:, None] * np.ones(robot.robot.n)
    felt, wrong, names, known, push = np.zeros(pushes, bool), np.zeros(pushes, bool), [], [], -1
    for k in range(round((LEARN + pushes * SPACING + 5.0) / PERIOD)):
        if push + 1 < pushes and k == first[push + 1]:
            push += 1
            robot.push(forces[push])
        if push >= 0 and k == last[push]:
            robot.push(np.zeros(3))
        estimator.update(*robot.sample(*path[k]))
        names += [one.kind for one in estimator.named if one not in known]
        known = list(estimator.named)
        if push >= 0:
            felt[push] |= bool(estimator.contact.any()) and k - first[push] <= IN_TIME / PERIOD
            if k % 10 == 0:
                factor = np.mean(estimator.stiffness.torque(phi) / (phi * robot.stiffness), axis=0)
                wrong[push] |= bool((np.abs(factor - 1.0) > WRONG).any())
    return felt, names, wrong


def main(arguments=()):
    pushes = int(arguments[0]) if arguments else 130
    table = Table(
        'pushes', 'names', f'{pushes} pushes of {FORCE:.0f} N for 0.3 to 1.2 s on each of two arms in MuJoCo',
        {'arm': '', 'felt within 100 ms, %': '.1f', 'named a softer spring': '', 'a load': '', 'friction': '',
         'stiffness wrong by 20 %': ''},
    )  # fmt: skip
    for name, seed in ARMS:
        felt, names, wrong = run(name, seed, pushes)
        counts = [names.count(kind) for kind in ('stiffness', 'load', 'friction')]
        table.row(name, 100.0 * felt.mean(), *counts, int(wrong.sum()))
    table.keep()


if __name__ == '__main__':
    main(sys.argv[1:])
