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

"""Drive gains and payload by WLS and TLS [G tables I to VIII], on a simulated TX40 with known gains."""

from __future__ import annotations

import numpy as np
from bench_drive_gains import GAINS, OFF, PAYLOAD, PLAN, SMALL, Robot

from joint_dynamics.identification.drive_gains.estimate import identify_drive_gains, with_torque
from joint_dynamics.identification.drive_gains.payload import identify_payload
from joint_dynamics.identification.observations import observe
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.robot import INERTIAL

SEEDS = range(5)
NOISE = 0.03  # of each current's rms
CASES = {'ten': dict(zip(INERTIAL, PAYLOAD, strict=True)), 'mass': {'M': PAYLOAD[-1]}}


def measure(seed: int) -> dict[str, float]:
    """Return the errors in percent of one pair of recordings, and of payloads in two others."""
    robot = Robot()
    names = robot.model.joint_names
    prior = dict(zip(names, GAINS * OFF, strict=True))
    unloaded, loaded = robot.record(4 * seed, noise=NOISE), robot.record(4 * seed + 1, PAYLOAD, noise=NOISE)
    others = {'large': (4 * seed + 2, PAYLOAD), 'small': (4 * seed + 3, SMALL)}
    others = {name: (robot.record(one, body, noise=NOISE), body[-1]) for name, (one, body) in others.items()}
    gains = {'prior': GAINS * OFF}
    for case, known in CASES.items():
        found = identify_drive_gains(robot.model, [unloaded], [loaded], known, PLAN, prior=prior)
        gains |= {f'{solver}_{case}': values for solver, values in found.by_solver.items()}
    figures = {f'gains_{case}': float(np.mean(np.abs(100 * (by / GAINS - 1)))) for case, by in gains.items()}
    for case, by in gains.items():
        by_joint = dict(zip(names, map(float, by), strict=True))
        bare = Problem(robot.model, [observe(with_torque(robot.model, unloaded, by_joint), PLAN)])
        chi = wls(triangulate(bare.blocks())).chi
        for payload, (recording, mass) in others.items():
            seen = Problem(robot.model, [observe(with_torque(robot.model, recording, by_joint), PLAN)])
            estimate = identify_payload(seen, chi, seen.observations).mass
            figures[f'{payload}_{case}'] = float(abs(100 * (estimate / mass - 1)))
    return figures
