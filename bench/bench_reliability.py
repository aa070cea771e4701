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

"""Verdict on good recordings and on corrupted ones: which are refused, and which cause is named first.

`python bench/bench_reliability.py [robot …]`: of `simulated` (7R), tx40, kr300 and gen3; some minutes each. Good
recordings are windows of 70 to 100 %, with 2 % of noise, and of 60 to 70 %.
"""

import sys
from dataclasses import replace

import numpy as np
from plants import DATA, GEN3, from_tests, real, rigid_recordings
from tables import Table

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.checks import check_training

WINDOWS = 10  # good windows of each length
ROBOTS = {'tx40': ['exciting_traj'], 'kr300': ['FF_A', 'FF_B'], 'gen3': GEN3}
"""Recordings of the real robots."""


def recordings_of(robot):
    """Return model and good recordings of a robot."""
    if robot != 'simulated':
        return real(robot, *ROBOTS[robot])
    model, _, runs = rigid_recordings('none', 1)
    return model, runs[:1]


def noisy(recordings, rng):
    """Return windows of 70 to 100 %, with noise of 2 % of the torque."""
    ends = [(rng.uniform(0, 0.15) * run.duration, rng.uniform(0.85, 1) * run.duration) for run in recordings]
    parts = [run.window(*end) for run, end in zip(recordings, ends, strict=True)]
    return [
        replace(part, tau=part.tau + 0.02 * np.sqrt((part.tau**2).mean(axis=0)) * rng.normal(size=part.tau.shape))
        for part in parts
    ]


def short(recordings, rng):
    """Return windows of 60 to 70 %."""
    starts = [rng.uniform(0, 0.3) * run.duration for run in recordings]
    return [
        run.window(start, start + rng.uniform(0.6, 0.7) * run.duration)
        for run, start in zip(recordings, starts, strict=True)
    ]


def first_reason(model, recordings):
    """Return the code of the first reason against recordings; '' where there is none."""
    settings = IdentificationSettings()
    try:
        plan = filter_plan(recordings, settings)
        problem = Problem(model, [observe(run, plan) for run in recordings], rest_speed=settings.rest_speed)
        reasons = check_training(problem, recordings).reasons
    except JointDynamicsError:
        return 'refused'
    return reasons[0].code if reasons else ''


def main(robots=()):
    """Judge good and corrupted recordings of every robot."""
    if not DATA.is_dir():
        print(f'real recordings are not at {DATA}; set JOINT_DYNAMICS_DATA')
        return
    corruptions = from_tests('identification/reliability/corruptions.py').CORRUPTIONS
    table = Table(
        'reliability',
        'verdict',
        f'Good windows refused, and {len(corruptions)} corruptions with the right cause first',
        dict.fromkeys(('robot', 'good refused', 'right cause first', 'corruptions missed'), ''),
    )
    for robot in robots or ('simulated', *ROBOTS):
        model, recordings = recordings_of(robot)
        rng = np.random.default_rng(1)
        good = [draw(recordings, rng) for draw in (noisy, short) for _ in range(WINDOWS)]
        refused = sum(bool(first_reason(model, part)) for part in good)
        missed = []
        for corruption in corruptions:
            code = first_reason(*corruption.apply(model, recordings, np.random.default_rng(1)))
            if not (code in corruption.codes if corruption.codes else code):
                missed.append(f'{corruption.name} ({code or "reliable"})')
        right = len(corruptions) - len(missed)
        table.row(robot, f'{refused} of {len(good)}', f'{right} of {len(corruptions)}', '; '.join(missed) or 'none')
    table.keep()


if __name__ == '__main__':
    main(sys.argv[1:])
