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

"""What the parts of a description are worth to the feedforward of a simulated UR5e with springs.

Tracking and torque error.

The plant's own friction has load, Stribeck and temperature parts and hysteresis; springs (a counterbalance of the lift,
a cable at the elbow) are added to it here as torques at the drives. Each row leaves one part of the description out.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from bench_control import PAYLOAD, cycle, simulated, squares, truth_of
from tables import Table

from joint_dynamics.arm import DescribedTerms, fourier_term, spring_term
from joint_dynamics.control import create
from joint_dynamics.joint import FrictionModel
from joint_dynamics.simulation import Command

SEEDS = (0, 1, 2)


def springs_of(names):
    """A counterbalance of the lift joint and a cable at the elbow."""
    return DescribedTerms(
        ((1, fourier_term(names[1], [1]), np.array([9.0, -25.0])), (2, spring_term(names[2], [3]), np.array([4.0])))
    )


def play(robot, path, arm, springs, law='adaptive_friction'):
    """The joint PID along `path` with the law's torque beside it.

    Link error and what the feedforward left to the controller, (N, n) each.
    """
    law = create(law, arm)
    motion = path.sample(np.arange(0.0, path.end, robot.period))
    error, left = np.zeros((2, len(motion), robot.n))
    q, warm, unknown = motion[0, 0], np.full(robot.n, 25.0), np.full((robot.n, 2), np.nan)
    for k, desired in enumerate(motion):
        law.adapt(warm, unknown)
        fed = law.effort_along(motion[k : k + 1])[0]
        pull = springs.torque(q, np.zeros(robot.n), np.zeros(robot.n))
        if k == 0:
            robot.shift_integral(pull - fed)
        samples = robot.run(Command.track(desired[0], desired[1], fed - pull))
        q, warm = samples.true_q[0], samples.temperature[0]
        error[k], left[k] = q - desired[0], samples.effort[0] + pull - fed
    return error, left


def plainer(arm, **values):
    """The arm with parameters of its friction set otherwise."""
    friction = FrictionModel({**arm.friction.parameters, **values}, arm.friction.maxwell_slip)
    return replace(arm, friction=friction)


def main():
    table = Table(
        'terms',
        'parts',
        'Waypoint cycle with 7.5 kg, springs at two joints, gains known: mean squares over joints, three seeds',
        {'the law knows': '', 'tracking, rad²': '.2e', 'torque left, (N·m)²': '.2f'},
    )
    path = cycle(1)
    rows = {
        'all of the description': lambda arm: arm,
        'without its terms (springs)': lambda arm: replace(arm, terms=DescribedTerms()),
        'without load friction': lambda arm: plainer(arm, F_Cl=0.0, F_C1=0.0),
        'without payload': lambda arm: arm.carrying(np.zeros(10)),
        'rigid bodies, rotors and Coulomb and viscous friction alone': lambda arm: plainer(
            replace(arm, terms=DescribedTerms()),
            F_S=arm.friction.parameters['F_C0'],
            **dict.fromkeys(('F_Cl', 'F_C1', 'F_V2', 'F_V3', 'F_T1', 'F_T2'), 0.0),
        ),
    }
    for name, change in rows.items():
        found = []
        for seed in SEEDS:
            robot = simulated(path, PAYLOAD, seed)
            springs = springs_of(robot.joint_names)
            # Links without the load in `parameters`, the load as payload: as a description has them.
            bare = truth_of(simulated(path, None, seed)).parameters
            whole = replace(truth_of(robot), terms=springs)
            body = (whole.standard.links - replace(whole, parameters=bare).standard.links)[-1]
            arm = replace(whole, parameters=bare, payload=body)
            found.append([value.mean() for value in squares(*play(robot, path, change(arm), springs))])
        table.row(name, *np.mean(found, axis=0))
    table.keep()


if __name__ == '__main__':
    main()
