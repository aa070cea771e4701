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

"""Processor time of one step of the estimator and of the simulated robots, beside pinocchio's `rnea` of the same arm.

`python bench/bench_online.py`; a minute, on any machine: each step is timed by the processor time of its thread, five
times over, and the least counts. The arm is a chain of joints with every field of a description that costs time: two
encoders, Maxwell-slip with a map of the backlash, kinematic error, friction of load and temperature, stiffness.
"""

import sys
import time

import numpy as np
import pinocchio
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import Command, FlexibleJointRobot
from joint_dynamics.simulation.motor_side import MotorSideModel

RATE = 1000.0  # Hz
STEPS = 6000
RUNS = 5
CALLS = 3000  # of rnea
LINK = """<link name="l{k}"><inertial><mass value="{mass}"/><origin xyz="0.02 0.05 0.1"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/><origin xyz="0 0 0.2"/>
  <axis xyz="{axis}"/><limit lower="-6" upper="6" effort="150" velocity="4"/></joint>"""
FRICTION = {
    'F_C0': 6.0, 'F_S': 7.0, 'V_S': 0.1, 'F_C1': 1e-4, 'F_V1': 8.0, 'F_V2': -0.6, 'F_T1': -0.02,
    'T_0': 35.0, 'T_min': 10.0, 'T_max': 80.0,
}  # fmt: skip


def chain(n):
    """Return a robot of n joints, and its description."""
    parts = [
        LINK.format(k=k, mass=4.0 / (1 + k), parent='base' if k == 0 else f'l{k - 1}', axis=('0 0 1', '0 1 0')[k % 2])
        for k in range(n)
    ]
    robot = RobotModel.load(f'<robot name="chain"><link name="base"/>{"".join(parts)}</robot>')
    turn = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    play, error = (2e-4 * (1.5 + np.cos(turn))).tolist(), (1e-4 * np.sin(3 * turn)).tolist()
    joint = {
        'drive_gain': {'value': 10.0},
        'rotor_inertia': {'value': 1.0},
        'damping': {'value': 20.0},
        'friction': {'parameters': FRICTION, 'maxwell_slip': {'operators': 4, 'presliding': {'values': play}}},
        'stiffness': {'coefficients': [15000.0, 1e9]},
        'backlash': {'type': 'table', 'values': play},
        'kinematic_error': {'type': 'table', 'values': error},
    }
    names = list(robot.joint_names)
    return robot, DynamicsDescription({'robot': {'joint_names': names}, 'joints': dict.fromkeys(names, joint)})


def motion(robot, arm):
    """Return positions of links, currents and positions of motors of a motion with reversals."""
    t = np.arange(STEPS) / RATE
    rate = 2 * np.pi * (0.3 + 0.05 * np.arange(robot.n))
    phase = np.outer(t, rate) + np.arange(robot.n)
    q, dq, ddq = 0.5 * np.sin(phase), 0.5 * rate * np.cos(phase), -0.5 * rate**2 * np.sin(phase)
    torque = np.array([arm.rigid.inverse_dynamics(*row) for row in zip(q, dq, ddq, strict=True)])
    return q, (torque + arm.rotor_inertia * ddq + 6.0 * np.sign(dq) + 8.0 * dq) / 10.0, q + torque / 15000.0


def inverse_dynamics(model):
    """Return the processor time of one rnea, called from Python [s]."""
    data, best = model.createData(), np.inf
    q, v, a = np.random.default_rng(0).normal(size=(3, model.nv))
    for _ in range(RUNS):
        begin = time.process_time()
        for _ in range(CALLS):
            pinocchio.rnea(model, data, q, v, a)
        best = min(best, (time.process_time() - begin) / CALLS)
    return best


def timed(call, rows):
    """Return the processor time of each call [s], the first tenth left out."""
    clock, found = time.thread_time_ns, np.empty(len(rows))
    for k, row in enumerate(rows):
        begin = clock()
        call(*row)
        found[k] = clock() - begin
    return 1e-9 * found[len(rows) // 10 :]


def measure(table, name, make, rows, rnea):
    """Add the row of a step; every run does the same work at the same step, so the least of them is the step's own."""
    least = np.min([timed(make(), rows) for _ in range(RUNS)], axis=0)
    table.row(name, 1e6 * least.mean(), least.mean() / rnea, np.percentile(least, 99) / np.median(least))


def estimators(table):
    """Measure one `update` per sample, by number of joints and by inputs."""
    for n in (6, 14):
        robot, description = chain(n)
        arm = Arm.from_description(robot, description)
        q, current, theta = motion(robot, arm)
        for name, payload, two in (
            ('two encoders', False, True),
            ('with payload', True, True),
            ('one encoder', False, False),
        ):

            def make(payload=payload, two=two, arm=arm, n=n):
                estimator = JointEstimator(arm, 1 / RATE, EstimationSettings(payload=payload), motor_side=two)
                estimator.set_temperature(np.full(n, 30.0))
                return estimator.update

            rows = [(q[k], current[k], theta[k] if two else None) for k in range(STEPS)]
            measure(table, f'estimator, {n} joints, {name}', make, rows, inverse_dynamics(robot.pinocchio))


def main():
    """Measure all steps."""
    table = Table(
        'online',
        'steps',
        'Processor time of one step called from Python, beside one rnea of pinocchio for the same arm',
        {'step': '', 'µs': '.1f', 'in rnea': '.0f', '99 % / median': '.1f'},
    )
    estimators(table)
    robot, _ = chain(6)
    rows = [(k / RATE, np.full(6, 1e-3 * k), np.full(6, 1.0), np.full(6, 5.0)) for k in range(1, 4000)]
    make = lambda: MotorSideModel(robot, seed=0, temperature=25.0, heat_speed=1.0).step  # noqa: E731
    measure(table, 'gazebo_model, 6 joints', make, rows, inverse_dynamics(robot.pinocchio))
    simulated = FlexibleJointRobot(seed=1, rate=RATE)
    rows = [(Command.track(simulated.truth.position),)] * 2000
    model = simulated.model.pinocchio
    measure(
        table,
        'simulated UR5e, 1 kHz',
        lambda: FlexibleJointRobot(seed=1, rate=RATE).step,
        rows,
        inverse_dynamics(model),
    )
    table.keep()


if __name__ == '__main__':
    sys.exit(main())
