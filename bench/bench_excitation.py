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

"""Excitation: value over time, against random motions, and what identification gains over bang-coast-bang motions."""

import resource

import numpy as np
import pinocchio
from plants import DATA
from tables import Table

from joint_dynamics.excitation import ExcitationSettings, LimitSettings, make_profile, optimise
from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.excitation.search import random_trajectory
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

INSTANTS = (2.0, 5.0, 10.0, 20.0, 30.0)  # s of searching
RANDOM = 100  # random motions
RATE = 1000.0  # Hz
POSTURE = (0.0, -1.57, 0.0, -1.57, 0.0, 0.0)


def cases():
    """Yield name, model and settings of each search."""
    ur5e = RobotModel.load(ur5e_urdf())
    yield 'UR5e, period 10 s', ur5e, ExcitationSettings(period=10.0)
    yield 'UR5e, period 20 s', ur5e, ExcitationSettings(period=20.0)
    if DATA.is_dir():
        yield 'Gen3 (7R), period 10 s', RobotModel.load(DATA / 'gen3' / 'gen3.urdf'), ExcitationSettings(period=10.0)


def processor_seconds():
    """Return the processor time of this process and those it has started [s]."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def value_against_time():
    """Search, keep the table of values over time, and return the results by name."""
    results = {}
    table = Table(
        'excitation',
        'search',
        'Condition number of the best motion after a search of some seconds',
        {'robot': '', **{f'{t:g} s': '.2f' for t in INSTANTS}, 'processor time, s': '.0f', 'searches': ''},
    )
    for name, model, settings in cases():
        model.base_parameters()
        before = processor_seconds()
        best = results[name] = optimise(model, settings)
        used = processor_seconds() - before
        row = [[value for seconds, value in best.history if seconds <= instant] for instant in INSTANTS]
        values = [within[-1] if within else None for within in row]
        table.row(name, *values, used, f'{best.finished} of {settings.starts}')
    table.keep()
    return results


def against_random(results):
    """Compare the results with random motions, each joint near its limits."""
    table = Table(
        'excitation',
        'random',
        f'Condition numbers of {RANDOM} random motions within every limit, and of the optimised one',
        {'robot': '', 'least': '.1f', 'median': '.1f', 'optimised': '.2f'},
    )
    for name, model, settings in cases():
        problem, rng = ExcitationProblem(model, settings), np.random.default_rng(1)
        drawn = [problem.assess(random_trajectory(problem, rng)).condition_number for _ in range(RANDOM)]
        table.row(name, min(drawn), np.median(drawn), results[name].condition_number)
    table.keep()


def rigid_recording(model, trajectory, parameters, rng):
    """Return a recording of the rigid model: torque noise of 2 % of the torque limits, positions to 10 µrad."""
    samples = trajectory.sample(RATE)
    tau = model.inverse_dynamics(samples.q, samples.dq, samples.ddq, parameters)
    tau += rng.standard_normal(tau.shape) * 0.02 * model.limits.effort
    return Recording(model.joint_names, samples.time, samples.q + 1e-5 * rng.standard_normal(tau.shape), tau=tau)


def identified(model, recording, truth):
    """Return mean and median over the inertial base parameters of the stated deviation and of the true error, in %.

    Parameters below 0.01 kg·m² or kg·m are left out.
    """
    settings = IdentificationSettings(selection=False, proceed=True, condition_limit=1e9)
    result = identify(model, [recording], [], settings)
    base = model.base_parameters()
    true = dict(zip(base.names, base.regroup(truth), strict=True))
    common = [k for k, name in enumerate(result.names) if name in true and name[0] in 'XYZM' and abs(true[name]) > 0.01]
    value = np.array([true[result.names[k]] for k in common])
    deviation = 100 * result.deviation[common] / np.abs(value)
    error = 100 * np.abs(result.solution.chi[common] - value) / np.abs(value)
    return np.array([deviation.mean(), np.median(deviation), error.mean(), np.median(error)])


def uneven(model, rng):
    """Return standard parameters with centres of mass up to 5 cm off those of the URDF, and tensors turned."""
    links = model.parameters.reshape(model.n, -1).copy()
    for link in links:
        body = pinocchio.Inertia.FromDynamicParameters(link[[9, 6, 7, 8, 0, 1, 3, 2, 4, 5]])
        body.lever = body.lever + rng.uniform(-0.05, 0.05, 3)
        turned = pinocchio.exp3(rng.uniform(-1, 1, 3))
        body.inertia = turned @ (body.inertia + np.diag(rng.uniform(0.2, 1, 3)) * body.mass * 0.05**2) @ turned.T
        link[[9, 6, 7, 8, 0, 1, 3, 2, 4, 5]] = body.toDynamicParameters()
    return links.ravel()


def against_bang_coast_bang(results):
    """Compare what identification gains with five bang-coast-bang motions of the same duration."""
    model = RobotModel.load(ur5e_urdf())
    rng = np.random.default_rng(5)
    truth = uneven(model, rng)
    for kind, low, high in (('Ia', 0.3, 1.5), ('Fv', 3.0, 12.0), ('Fc', 2.0, 9.0), ('off', -0.5, 0.5)):
        truth[model.columns([kind])] = rng.uniform(low, high, model.n)
    optimised = results['UR5e, period 10 s'].trajectory
    others = [
        make_profile(
            model, 'bang_coast_bang', {'duration': optimised.duration, 'seed': 100 * seed}, LimitSettings(), POSTURE
        )
        for seed in range(5)
    ]
    table = Table(
        'excitation',
        'profiles',
        f'Inertial base parameters of a rigid UR5e from {optimised.duration:g} s at 1 kHz, % of the true value',
        {
            'motion': '',
            **dict.fromkeys(('deviation, mean', 'deviation, median', 'error, mean', 'error, median'), '.2f'),
            'condition numbers': '',
        },
    )
    for name, assessments in (
        ('optimised', [(optimised, results['UR5e, period 10 s'])] * len(others)),
        ('bang-coast-bang', others),
    ):
        found = []
        for seed, (trajectory, _) in enumerate(assessments):
            recording = rigid_recording(model, trajectory, truth, np.random.default_rng(seed))
            found.append(identified(model, recording, truth))
        conditions = ', '.join(dict.fromkeys(f'{assessment.condition_number:.1f}' for _, assessment in assessments))
        table.row(name, *np.mean(found, axis=0), conditions)
    table.keep()


def main():
    """Measure all three."""
    results = value_against_time()
    against_random(results)
    against_bang_coast_bang(results)


if __name__ == '__main__':
    main()
