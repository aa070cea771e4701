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

"""Draw the figure of docs/how-to/tune-the-estimator.md: what good and bad tuning look like.

`python bench/plot_estimator.py [file]`, ten seconds.

A simulated UR5e with 7.5 kg on the waypoint cycle of thesis chapter 6, all model errors on, friction described with α =
[0.47, 0.04], and a push of 10 N at the tool for one second.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pinocchio
from helpers import from_tests

matplotlib.use('Agg')
import matplotlib.pyplot as plt

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.simulation import Command, FlexibleJointRobot, Payload, TrajectoryPoints

ROOT = Path(__file__).parents[1]
MAKE = from_tests('estimation/conftest.py')
PERIOD, SECONDS, PUSH, JOINT = 2e-3, 52.0, (46.0, 47.0), 1
RUNS = {
    'friction_rate 0.1': {'friction_rate': (0.1, 0.1)},
    'friction_rate 1 (default)': {},
    'friction_rate 20': {'friction_rate': (20.0, 20.0)},
    'window 0.02 s': {'window': 0.02},
    'window 0.3 s': {'window': 0.3},
}


def record():
    """Return the description, the robot and its samples, pushed from PUSH[0] to PUSH[1]."""
    robot = FlexibleJointRobot(seed=1, rate=1 / PERIOD, temperature=35.0)
    robot.attach_payload(Payload(7.5, (0.0, 0.0, 0.08)))
    described = from_tests('conftest.py').described(robot)
    description = MAKE.changed(described, friction=lambda part: {**part, 'scale': [0.47, 0.04]})
    t, q = MAKE.waypoint_motion(5)
    trajectory = TrajectoryPoints(t, q, np.gradient(q, t, axis=0))
    robot.place(q[0])
    parts, model = [], robot.model.pinocchio
    for begin, end in ((0.0, PUSH[0]), PUSH, (PUSH[1], SECONDS)):
        if begin == PUSH[0]:
            J = pinocchio.computeFrameJacobian(
                model, model.createData(), robot.truth.position, model.nframes - 1, pinocchio.LOCAL_WORLD_ALIGNED
            )[:3]
            robot.set_external_torque(J.T @ (0.0, 0.0, -10.0))
        else:
            robot.set_external_torque(np.zeros(6))
        reference = trajectory.sample(np.arange(round(begin / PERIOD), round(end / PERIOD)) * PERIOD)
        parts.append(robot.run(Command.track(reference.q, reference.dq, reference.effort)))
    return (
        description,
        robot,
        {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ('q', 'theta', 'current', 'temperature')
        },
    )


def estimate(description, robot, samples, changes):
    """Return times and, per sample, α₁, external torque, contact of the joint drawn.

    Stiffness coefficients at 5 s and at the end.
    """
    if changes.get('unknown'):
        description, changes = MAKE.changed(description, stiffness=None), {}
    estimator = JointEstimator(Arm.from_description(robot.model, description), PERIOD, EstimationSettings(**changes))
    rows, curves = [], []
    for k in range(len(samples['q'])):
        if k % 500 == 0:
            estimator.set_temperature(samples['temperature'][k])
        if estimator.update(samples['q'][k], samples['current'][k], samples['theta'][k]):
            rows.append(
                (
                    k * PERIOD,
                    estimator.friction.parameters[JOINT, 0],
                    estimator.external[JOINT],
                    estimator.contact.any(),
                )
            )
        if k in (2500, len(samples['q']) - 1):
            curves.append(estimator.stiffness.coefficients[JOINT])
    return np.array(rows), curves


def main(path=None):
    description, robot, samples = record()
    runs = {name: estimate(description, robot, samples, changes)[0] for name, changes in RUNS.items()}
    _, curves = estimate(description, robot, samples, {'unknown': True})
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), constrained_layout=True)
    for name in list(RUNS)[:3]:
        axes[0, 0].plot(*runs[name][:, :2].T, lw=1, label=name)
    axes[0, 0].axhline(1.0, color='k', ls=':', label='truth')
    axes[0, 0].set(title='α₁: too slow, right, rippling', xlabel='time in s', ylabel='α₁')
    default = runs['friction_rate 1 (default)']
    axes[0, 1].plot(default[:, 0], default[:, 2], lw=1, label='shoulder lift')
    axes[0, 1].fill_between(
        default[:, 0],
        0,
        1,
        where=default[:, 3] > 0,
        transform=axes[0, 1].get_xaxis_transform(),
        alpha=0.3,
        color='r',
        label='contact',
    )
    axes[0, 1].axvspan(*PUSH, ymax=0.05, color='k', label='10 N at the tool')
    axes[0, 1].set(title='external torque: friction learnt, then a push', xlabel='time in s', ylabel='N·m')
    for name in ('window 0.02 s', 'friction_rate 1 (default)', 'window 0.3 s'):
        near = np.abs(runs[name][:, 0] - PUSH[0]) < 0.8
        axes[1, 0].plot(
            runs[name][near, 0] - PUSH[0],
            runs[name][near, 2],
            lw=1,
            label=name.replace('friction_rate 1', 'window 0.1 s'),
        )
    axes[1, 0].axvline(0.0, color='k', ls=':')
    axes[1, 0].set(
        title='window: noise against delay', xlabel='time after the push in s', ylabel='external torque in N·m'
    )
    phi = np.linspace(-4e-3, 4e-3, 100)
    truth = robot.truth.stiffness[JOINT]
    for label, curve, style in (('5 s', curves[0], '--'), (f'{SECONDS:.0f} s', curves[1], '-'), ('truth', truth, 'k:')):
        axes[1, 1].plot(1e3 * phi, curve[0] * phi + curve[1] * phi**3, style, label=label)
    axes[1, 1].set(title='stiffness, nothing described', xlabel='deformation in mrad', ylabel='torque in N·m')
    for ax in axes.flat:
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    figure.savefig(path or ROOT / 'docs' / 'images' / 'estimator.png', dpi=90)


if __name__ == '__main__':
    main(*sys.argv[1:])
