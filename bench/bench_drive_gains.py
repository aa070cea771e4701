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

"""Drive gains and payload masses by WLS, TLS and mixed LS-TLS on a simulated TX40-like robot, against noise."""

import sys

import numpy as np
import pinocchio
from tables import Table

from joint_dynamics.identification.drive_gains.estimate import coupling_matrix, identify_drive_gains, with_torque
from joint_dynamics.identification.drive_gains.payload import identify_payload
from joint_dynamics.identification.observations import FilterPlan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel

HALF = np.pi / 2
TX40 = [
    (0, 0, 0, 0),
    (-HALF, 0, 0, 0),
    (0, 0.225, 0.035, 0),
    (HALF, 0, 0.225, 0),
    (-HALF, 0, 0, 0),
    (HALF, 0, 0, np.pi),
]
"""Modified Denavit-Hartenberg table: alpha [rad], a [m], d [m], theta [rad]."""
GEARS = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
GEARS[5, 4] = 32.0
GAINS = np.array([33.9, 32.4, 24.2, -9.21, 16.3, 6.79])  # N·m/A, joint side
OFF = np.array([0.95, 1.05, 1.1, 1.3, 1.15, 0.8])  # data sheet over true gains
PAYLOAD = [0.0959, -0.0143, 0.0246, 0.0929, 0.0373, 0.0603, -0.275, -0.284, 0.448, 4.59]
SMALL = [0.02, -0.002, 0.004, 0.02, 0.006, 0.012, -0.06, -0.05, 0.13, 1.686]
DRIVES = np.array(
    [
        [0.35, 7.0, 5.5, 0.3],
        [0.35, 4.5, 7.7, 0.1],
        [0.083, 1.57, 6.3, -0.2],
        [0.027, 0.73, 1.9, 0.05],
        [0.04, 0.9, 1.4, 0.02],
        [0.0097, 0.5, 1.77, 0.09],
    ]
)
"""Rotor inertia, viscous and Coulomb friction, offset of the motors, joint side."""
LINKS = ((7.0, 0.1), (6.0, 0.13), (4.5, 0.12), (1.5, 0.06), (1.0, 0.05), (0.3, 0.03))
"""Mass [kg] and size [m]."""
PLAN = FilterPlan(10.0, 50.0, 20.0, 8, 0.1)
RUNS = 20


class Robot:
    """Rigid bodies by pinocchio, friction and coupled drives written down here."""

    def __init__(self, seed=40):
        rng = np.random.default_rng(seed)
        names = ('alpha', 'a', 'd', 'theta')
        self.model = RobotModel.from_mdh(
            {'joints': [dict(zip(names, row, strict=True)) for row in TX40], 'position_coupling_R': GEARS.tolist()}
        )
        self.coupling = np.eye(6)
        self.coupling[5, 4] = 1.0
        self.standard = np.zeros((6, PER_JOINT))
        for k, (mass, size) in enumerate(LINKS):
            centre = rng.normal(scale=0.4 * size, size=3) + np.array([0.1 * (k == 1), 0, 0])
            tensor = mass * (
                size**2 * np.diag((0.6, 0.8, 0.7)) + centre @ centre * np.eye(3) - np.outer(centre, centre)
            )
            self.standard[k, :10] = (*tensor[np.triu_indices(3)], *(mass * centre), mass)

    def torque(self, q, dq, ddq, payload=None):
        """Return motor torques, joint side."""
        links = self.standard[:, :10].copy()
        if payload is not None:
            links[5] += payload
        model = self.model.pinocchio.copy()
        for k, (xx, xy, xz, yy, yz, zz, mx, my, mz, mass) in enumerate(links):
            model.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(
                np.array([mass, mx, my, mz, xx, xy, yy, xz, yz, zz])
            )
        data = model.createData()
        rigid = np.array([pinocchio.rnea(model, data, *state) for state in zip(q, dq, ddq, strict=True)])
        Ia, Fv, Fc, off = DRIVES.T
        speed, acceleration = dq @ self.coupling.T, ddq @ self.coupling.T
        return rigid @ np.linalg.inv(self.coupling) + Ia * acceleration + Fv * speed + Fc * np.sign(speed) + off

    def record(self, seed, payload=None, *, noise=0.05, duration=16.0, rate=400.0, counts=2**17):
        """Return a recording of positions and currents, whose noise is `noise` times each one's rms below 20 Hz."""
        rng = np.random.default_rng(seed)
        t = np.arange(0, duration, 1 / rate)
        k = 2 * np.pi * 0.125 * np.arange(1, 6)[:, None]
        phase = t[:, None] * k.T
        a, b = 0.7 * rng.normal(size=(2, 5, 6)) * np.array([1.0, 0.9, 1.1, 1.3, 1.3, 1.6])
        q = np.sin(phase) @ (a / k) + np.cos(phase) @ (b / k) + rng.uniform(-0.5, 0.5, 6)
        dq = np.cos(phase) @ a - np.sin(phase) @ b
        ddq = -np.sin(phase) @ (a * k) - np.cos(phase) @ (b * k)
        current = self.torque(q, dq, ddq, payload) / GAINS
        white = rng.normal(size=current.shape)
        low = np.fft.rfftfreq(len(t), 1 / rate) < 20.0
        white = np.fft.irfft(np.fft.rfft(white, axis=0) * low[:, None], n=len(t), axis=0)
        current = current + noise * np.sqrt((current**2).mean(axis=0)) * white / white.std(axis=0)
        step = 2 * np.pi / counts
        return Recording(self.model.joint_names, t, np.round(q / step) * step, current=current, name=f'run {seed}')


def run(robot, seed, noise, known):
    """Return errors of gains by solver, stated deviations, and errors of two other payloads, in %."""
    names = robot.model.joint_names
    prior = dict(zip(names, GAINS * OFF, strict=True))
    unloaded, loaded = robot.record(4 * seed, noise=noise), robot.record(4 * seed + 1, PAYLOAD, noise=noise)
    found = identify_drive_gains(robot.model, [unloaded], [loaded], known, PLAN, prior=prior)
    masses = []
    for other, body in ((4 * seed + 2, PAYLOAD), (4 * seed + 3, SMALL)):
        torque = with_torque(robot.model, robot.record(other, body, noise=noise), found.by_joint)
        problem = Problem(robot.model, [observe(torque, PLAN)])
        masses.append(100 * (identify_payload(problem, found.chi, problem.observations).mass / body[-1] - 1))
    errors = {solver: 100 * (gains / GAINS - 1) for solver, gains in found.by_solver.items()}
    return errors, 100 * found.deviation / np.abs(found.gains), masses


def main():
    """Measure by noise, with the mass or all parameters of the payload known."""
    robot = Robot()
    assert np.allclose(coupling_matrix(robot.model), robot.coupling)
    weighed, every = {'M': PAYLOAD[-1]}, dict(zip(INERTIAL, PAYLOAD, strict=True))
    table = Table(
        'drive_gains',
        'errors',
        'Errors of drive gains and payload masses of a simulated TX40-like robot, %',
        {
            'known part of the payload': '',
            'noise, % of rms current': '.0f',
            **dict.fromkeys(('WLS, rms', 'TLS, rms', 'mixed, rms', 'mixed, largest'), '.2f'),
            'within two deviations': '.0f',
            'payload mass, rms': '.2f',
        },
    )
    for known, label in ((weighed, 'mass'), (every, 'all ten parameters')):
        for noise in (0.02, 0.05, 0.12):
            results = [run(robot, seed, noise, known) for seed in range(RUNS)]
            errors = {solver: np.array([result[0][solver] for result in results]) for solver in results[0][0]}
            stated = np.array([result[1] for result in results])
            table.row(
                label,
                100 * noise,
                *(np.sqrt(np.mean(errors[solver] ** 2)) for solver in ('wls', 'tls', 'mixed')),
                np.abs(errors['mixed']).max(),
                100 * np.mean(np.abs(errors['mixed']) < 2 * stated),
                np.sqrt(np.mean(np.square([result[2] for result in results]))),
            )
    table.keep()


if __name__ == '__main__':
    sys.exit(main())
