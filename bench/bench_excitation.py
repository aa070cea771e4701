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

"""Excitation: value against time, against random motions, and what identification gains over bang-coast-bang."""

import os
import resource
import time
from pathlib import Path

import numpy as np
import pinocchio
from tables import Table

from joint_dynamics.excitation import ExcitationSettings, FourierTrajectory, LimitSettings, make_profile, optimise
from joint_dynamics.excitation.collision import Clearance
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.problem import ExcitationProblem
from joint_dynamics.excitation.search import random_trajectory
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, TrajectoryPoints, record, ur5e_urdf

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
INSTANTS = (1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0)
RANDOM = 100
SAMPLES = 20_001  # of a motion, for comparison with its stated margins
RATE = 1000.0
POSTURE = (0.0, -1.57, 0.0, -1.57, 0.0, 0.0)


def cases():
    ur5e = RobotModel.load(ur5e_urdf())
    yield 'UR5e, period 10 s', ur5e, ExcitationSettings(period=10.0), 6.0
    yield 'UR5e, period 20 s', ur5e, ExcitationSettings(period=20.0), 6.0
    gen3 = DATA / 'gen3' / 'gen3.urdf'
    if gen3.exists():
        yield 'Gen3 (7R), period 10 s', RobotModel.load(gen3), ExcitationSettings(period=10.0), 8.0
    else:
        print(f'{gen3} is not there: the 7R arm is left out')


def plain_random(problem, rng):
    """A random motion without any thought.

    Coefficients uniform in the box of each joint, the whole shrunk until it keeps every limit.
    """
    limits, basis = problem.limits, problem.basis
    while True:
        mean = limits.middle + rng.uniform(-1, 1, problem.model.n) * limits.half_range
        waves = rng.uniform(-1, 1, (problem.model.n, basis.count - 1)) * problem._scale[:, 1:]
        found = problem.feasible(
            FourierTrajectory(problem.model.joint_names, basis, np.column_stack([mean, waves])),
            tuple(0.9 ** np.arange(30)),
        )
        if found is not None:
            return found


def processor_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def value_against_time():
    results = {}
    table = Table(
        'excitation',
        'search',
        'Condition number of the best motion found within so many seconds',
        {'robot': '', **{f'{t:g} s': '.2f' for t in INSTANTS}, 'processor time, s': '.0f', 'searches': ''},
    )
    for name, model, settings, _ in cases():
        model.base_parameters()
        before = processor_seconds()
        best = results[name] = optimise(model, settings)
        used = processor_seconds() - before
        row = [[value for seconds, value in best.history if seconds <= instant] for instant in INSTANTS]
        values = [within[-1] if within else None for within in row]
        table.row(name, *values, used, f'{best.finished} of {settings.starts}')
    table.keep()
    return results


def margins_against_samples(results):
    """Processor time of the margins, and how far they are below the smallest margin of many samples."""
    table = Table(
        'excitation',
        'margins',
        f'Smallest margins of the motions, as a fraction of the limit: stated, and of {SAMPLES:,} samples',
        {'robot': '', 'limit': '', 'stated': '.5f', 'sampled': '.5f', 'processor time, ms': '.1f'},
    )
    for name, model, settings, _ in cases():
        problem, trajectory = ExcitationProblem(model, settings), results[name].trajectory.without_repetition()
        parts = np.array_split(np.linspace(0.0, trajectory.duration, SAMPLES), 20)
        for one in problem.constraints:
            began = time.process_time()
            stated = one.margin(model, trajectory)
            used = time.process_time() - began
            motions = [RobotMotion(model, *trajectory.motion(part)) for part in parts]
            if isinstance(one, Clearance):
                sampled = min(one.distances(motion).min() for motion in motions) / one.clearance - 1
            else:
                sampled = one.scale * min(one.smallest(motion) for motion in motions)
            table.row(name, one.kind, stated, sampled, 1e3 * used)
    table.keep()


def against_random(results):
    table = Table(
        'excitation',
        'random',
        f'Condition numbers of {RANDOM} random motions that keep every limit, and of the optimised one',
        {'robot': '', 'random motions': '', 'least': '.1f', 'median': '.1f', 'optimised': '.2f'},
    )
    for name, model, settings, _ in cases():
        problem = ExcitationProblem(model, settings)
        for kind, draw in (('plain', plain_random), ('each joint near its limits', random_trajectory)):
            rng = np.random.default_rng(1)
            drawn = [problem.assess(draw(problem, rng)).condition_number for _ in range(RANDOM)]
            table.row(name, kind, min(drawn), np.median(drawn), results[name].condition_number)
    table.keep()


def rigid_recording(model, trajectory, parameters, rng):
    """A robot that is exactly the rigid model.

    Torque noise of 2 % of what each joint may give, positions to 10 µrad.
    """
    samples = trajectory.sample(RATE)
    tau = model.inverse_dynamics(samples.q, samples.dq, samples.ddq, parameters)
    tau += rng.standard_normal(tau.shape) * 0.02 * model.limits.effort
    return Recording(model.joint_names, samples.time, samples.q + 1e-5 * rng.standard_normal(tau.shape), tau=tau)


def flexible_recording(model, trajectory, seed):
    """The package's simulated robot: flexible joints, hysteresis, load-dependent friction, heat, quantised sensors."""
    samples = trajectory.sample(200.0)
    robot = FlexibleJointRobot(model, seed=seed, errors=ModelErrors.none())
    return (
        record(robot, TrajectoryPoints(samples.time, samples.q, samples.dq, samples.ddq), torque=True),
        robot.truth.parameters,
    )


def identified(model, recording, truth):
    """Mean and median over the inertial base parameters of the stated deviation and of the true error.

    Percent of the true value.

    Those below 0.01 kg·m² or kg·m are left out: percent of nearly nothing say nothing.
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
    """Standard parameters of a robot whose links are not as even as in a URDF.

    Centres of mass up to 5 cm off, tensors turned.
    """
    links = model.parameters.reshape(model.n, -1).copy()
    for link in links:
        body = pinocchio.Inertia.FromDynamicParameters(link[[9, 6, 7, 8, 0, 1, 3, 2, 4, 5]])
        body.lever = body.lever + rng.uniform(-0.05, 0.05, 3)
        turned = pinocchio.exp3(rng.uniform(-1, 1, 3))
        body.inertia = turned @ (body.inertia + np.diag(rng.uniform(0.2, 1, 3)) * body.mass * 0.05**2) @ turned.T
        link[[9, 6, 7, 8, 0, 1, 3, 2, 4, 5]] = body.toDynamicParameters()
    return links.ravel()


def against_bang_coast_bang(results):
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
        f'Inertial base parameters of a UR5e identified from {optimised.duration:g} s at 1 kHz, % of the true value',
        {
            'robot': '',
            'motion': '',
            **dict.fromkeys(('deviation, mean', 'deviation, median', 'error, mean', 'error, median'), '.2f'),
            'condition numbers': '',
        },
    )
    conditions = {
        'optimised': f'{results["UR5e, period 10 s"].condition_number:.1f}',
        'bang-coast-bang': ', '.join(f'{assessment.condition_number:.1f}' for _, assessment in others),
    }
    for kind in ('rigid, 2 % torque noise', 'simulated UR5e'):
        for name, trajectories in (
            ('optimised', [optimised] * len(others)),
            ('bang-coast-bang', [trajectory for trajectory, _ in others]),
        ):
            found = []
            for seed, trajectory in enumerate(trajectories):
                if kind.startswith('rigid'):
                    found.append(
                        identified(model, rigid_recording(model, trajectory, truth, np.random.default_rng(seed)), truth)
                    )
                else:
                    found.append(identified(model, *flexible_recording(model, trajectory, seed)))
            table.row(kind, name, *np.mean(found, axis=0), conditions[name])
    table.keep()


def main():
    results = value_against_time()
    margins_against_samples(results)
    against_random(results)
    against_bang_coast_bang(results)


if __name__ == '__main__':
    main()
