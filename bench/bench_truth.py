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

"""Identified parameters beside the truth of simulated robots with plain friction.

`python bench/bench_truth.py [seed …]`; by default seeds 0 to 5. Every robot: masses and inertias up to 20 % off the
URDF, an unknown tool, flexible joints; Coulomb and viscous friction, no presliding and no other error, so that Fc and
Fv have true values and no further term is right. Robots with other laws: bench_laws.py.

Columns: share (%) of the parameters of bodies and rotors within 1 / 2 / 3 stated deviations (68 / 95 / 99.7 is right);
the same of Fc and Fv; relative rms error of the torque of bodies and rotors during unseen work; the chosen terms.
"""

import sys

import numpy as np
from chain import exciting_motion
from tables import Table

from joint_dynamics.demo import scenario
from joint_dynamics.demo.scenario import INERTIA_ERROR, unknown_tool
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, TrajectoryPoints, play, recording_of, ur5e_urdf
from joint_dynamics.simulation.drives import plausible_drives

SEEDS = range(6)
NO_OTHER_ERROR = {
    'drive_gain': 0.0,
    'drive_gain_per_kelvin': 0.0,
    'torque_ripple': 0.0,
    'gear_ripple': 0.0,
    'friction_direction': 0.0,
    'friction_position': 0.0,
    'load_linear': 0.0,
    'smooth_hysteresis': False,
    'current_lag': 0.0,
    'temperature_lag': 0.0,
}
NEARLY_NONE = 0.02  # share of the plausible backlash and kinematic error of a plain robot: it slips within 10 µrad


def plain_robot(seed, position):
    """Return a robot whose friction is Coulomb and viscous, nothing else; its drive gains are as stated."""
    errors = ModelErrors(inertia=INERTIA_ERROR, **NO_OTHER_ERROR)
    drives = plausible_drives(RobotModel.load(ur5e_urdf()).limits.effort, seed, errors)
    nothing = np.zeros_like(drives.coulomb)
    drives = drives.with_backlash(NEARLY_NONE * drives.backlash)._replace(
        kinematic_error=NEARLY_NONE * drives.kinematic_error,
        static=drives.coulomb,
        viscous_square=nothing,
        viscous_cubic=nothing,
        coulomb_load=nothing,
        temperature_linear=nothing,
        temperature_cubic=nothing,
    )
    robot = FlexibleJointRobot(seed=seed, rate=500.0, errors=errors, drives=drives, position=position)
    robot.attach_payload(unknown_tool(seed))
    robot.place(position)
    return robot


def identified(robot, model):
    """Excite, move at constant speeds, identify; return the result and the work that was not trained on."""
    work = scenario.cycle()
    recordings = []
    points = exciting_motion().trajectory.sample(100.0)
    for name, motion in (('exciting', points), ('speeds', scenario.constant_speeds(work.q[0])), ('work', work)):
        samples = play(robot, TrajectoryPoints(motion.time, motion.q, motion.dq, motion.ddq), hold=0.5)
        recordings.append(recording_of(samples, name=name))
    sheet = dict(zip(robot.joint_names, map(float, robot.nominal_gains), strict=True))
    settings = IdentificationSettings(drive_gains=sheet, drive_gain_deviation=0.0)
    return identify(model, recordings[:2], recordings[2:], settings), work


def compared(result, truth, model, work):
    """Return errors in deviations, of bodies and of friction, and torque errors [%], of all and of the worst joint."""
    base = result.problem.base
    chi, deviation = result.solution.chi[: base.count], result.deviation[: base.count]
    true = base.regroup(truth.parameters)
    z = (chi - true) / deviation
    friction = np.array([name.startswith(('Fv_', 'Fc_')) for name in base.names])
    offset = np.array([name.startswith('off_') for name in base.names])
    bodies = ~friction & ~offset
    states = (work.q, work.dq, work.ddq)
    W = np.array([model.regressor(*(s[k] for s in states))[:, base.independent] for k in range(0, len(work.q), 5)])
    wrong, needed = W[:, :, bodies] @ (chi - true)[bodies], W[:, :, bodies] @ true[bodies]
    by_joint = np.linalg.norm(wrong, axis=0) / np.linalg.norm(needed, axis=0)
    return z[bodies], z[friction], 100 * np.linalg.norm(wrong) / np.linalg.norm(needed), 100 * by_joint.max()


def shares(z):
    """Return the share within 1 / 2 / 3 deviations."""
    return ' / '.join(f'{100 * np.mean(np.abs(z) <= k):3.0f}' for k in (1, 2, 3))


def main(seeds=()):
    """Compare every robot with its truth."""
    model, start = RobotModel.load(ur5e_urdf()), scenario.cycle().q[0]
    table = Table(
        'truth',
        'parameters',
        'True parameters of a simulated UR5e within 1 / 2 / 3 stated deviations, %',
        {
            'robot': '',
            'bodies and rotors': '',
            'Coulomb and viscous friction': '',
            'torque error of bodies and rotors, %': '.2f',
            'worst joint, %': '.1f',
            'terms chosen': '',
        },
    )
    every = []
    for seed in seeds or SEEDS:
        robot = plain_robot(seed, start)
        result, work = identified(robot, model)
        bodies, friction, total, worst = found = compared(result, robot.truth, model, work)
        every.append(found)
        terms = ', '.join(sorted({step['term'] for step in result.details.selection['chosen']}))
        table.row(f'seed {seed}', shares(bodies), shares(friction), total, worst, terms or 'none')
        for reason in result.reasons:
            print(f'    NOT RELIABLE: {reason}')
    bodies, friction, total, worst = zip(*every, strict=True)
    all_shares = shares(np.concatenate(bodies)), shares(np.concatenate(friction))
    table.row('all', *all_shares, np.mean(total), np.mean(worst), None)
    table.keep()


if __name__ == '__main__':
    main([int(word) for word in sys.argv[1:]])
