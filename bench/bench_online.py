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

"""What one step of the estimator costs, against the inverse dynamics of the same arm.

`python bench/bench_online.py`; two minutes. All in one process, by its processor time, so that what else runs on the
machine matters little, and once more with what others did to a step taken away (`alone`); the ratio to pinocchio's
`rnea`, called from Python with arrays that are there, is what compares machines. The arm is a chain of joints with
everything a description can have that costs time: two encoders, Maxwell-slip with a map of the backlash, kinematic
error, friction of load and temperature, stiffness.
"""

import time

import numpy as np
import pinocchio
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation.motor_side import MotorSideModel

JOINTS, RATE, STEPS, BLOCK, RUNS = (2, 6, 14), 1000.0, 12000, 1000, 5
LINK = """<link name="l{k}"><inertial><mass value="{mass}"/><origin xyz="0.02 0.05 0.1"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/><origin xyz="0 0 0.2"/>
  <axis xyz="{axis}"/><limit lower="-6" upper="6" effort="150" velocity="4"/></joint>"""


def chain(n):
    """A robot of n joints, and its description."""
    parts = [
        LINK.format(k=k, mass=4.0 / (1 + k), parent='base' if k == 0 else f'l{k - 1}', axis=('0 0 1', '0 1 0')[k % 2])
        for k in range(n)
    ]
    robot = RobotModel.load(f'<robot name="chain"><link name="base"/>{"".join(parts)}</robot>')
    turn = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    play, error = (2e-4 * (1.5 + np.cos(turn))).tolist(), (1e-4 * np.sin(3 * turn)).tolist()
    friction = {'F_C0': 6.0, 'F_S': 7.0, 'V_S': 0.1, 'F_C1': 1e-4, 'F_V1': 8.0, 'F_V2': -0.6, 'F_T1': -0.02}
    joint = {
        'drive_gain': {'value': 10.0},
        'rotor_inertia': {'value': 1.0},
        'damping': {'value': 20.0},
        'friction': {
            'parameters': {**friction, 'T_0': 35.0, 'T_min': 10.0, 'T_max': 80.0},
            'maxwell_slip': {'operators': 4, 'presliding': {'values': play}},
        },
        'stiffness': {'coefficients': [15000.0, 1e9]},
        'backlash': {'type': 'table', 'values': play},
        'kinematic_error': {'type': 'table', 'values': error},
    }
    names = list(robot.joint_names)
    return robot, DynamicsDescription({'robot': {'joint_names': names}, 'joints': dict.fromkeys(names, joint)})


def motion(robot, arm, steps=STEPS):
    """Positions of links and motors, and currents, of a motion that reverses now and then."""
    t = np.arange(steps) / RATE
    phase = 2 * np.pi * np.outer(t, 0.3 + 0.05 * np.arange(robot.n)) + np.arange(robot.n)
    rate = 2 * np.pi * (0.3 + 0.05 * np.arange(robot.n))
    q, dq, ddq = 0.5 * np.sin(phase), 0.5 * rate * np.cos(phase), -0.5 * rate**2 * np.sin(phase)
    torque = np.array([arm.rigid.inverse_dynamics(*row) for row in zip(q, dq, ddq, strict=True)])
    theta = q + torque / 15000.0
    current = (torque + arm.rotor_inertia * ddq + 6.0 * np.sign(dq) + 8.0 * dq) / 10.0
    return q, theta, current


def inverse_dynamics(model, blocks=9, calls=3000):
    """Median processor time of one rnea [s]."""
    data, found = model.createData(), []
    q, v, a = np.random.default_rng(0).normal(size=(3, model.nv))
    for _ in range(blocks):
        begin = time.process_time()
        for _ in range(calls):
            pinocchio.rnea(model, data, q, v, a)
        found.append((time.process_time() - begin) / calls)
    return float(np.median(found))


def timed(call, rows):
    """Processor time of each call [s] of this thread, the first tenth of them left out."""
    clock, found = time.thread_time_ns, np.empty(len(rows))
    for k, row in enumerate(rows):
        begin = clock()
        call(*row)
        found[k] = clock() - begin
    return 1e-9 * found[len(rows) // 10 :]


def alone(make, rows):
    """Processor time of each call [s] where nothing came between: the least of some runs of the same sequence.

    Every run does the same work at the same step, so what the least of them has left is the step's own: another process
    that took the core, and the caches, is not in all of them.
    """
    return np.min([timed(make(), rows) for _ in range(RUNS)], axis=0)


TABLE = Table(
    'online',
    'steps',
    'Processor time of one step called from Python, beside one rnea of pinocchio for the same arm',
    {'step': '', 'as it comes, µs': '.1f', 'alone, µs': '.1f', 'alone / rnea': '.0f', 'alone, 99 % / median': '.1f'},
)


def line(name, make, rows, rnea):
    """One run as it comes, then the same steps alone; in processor time, by steps of one rnea [s]."""
    seconds = timed(make(), rows)
    least = alone(make, rows)
    late = np.percentile(least, 99) / np.median(least)
    TABLE.row(name, 1e6 * seconds.mean(), 1e6 * least.mean(), least.mean() / rnea, late)
    return least.mean()


def estimators():
    """One `update` per sample; what learns takes turns, so that the mean is what counts beside the slowest."""
    means = {}
    for n in JOINTS:
        robot, description = chain(n)
        arm = Arm.from_description(robot, description)
        q, theta, current = motion(robot, arm)
        rnea = inverse_dynamics(robot.pinocchio)
        for name, settings, two in (
            ('two encoders', EstimationSettings(), True),
            ('with payload', EstimationSettings(payload=True), True),
            ('one encoder', EstimationSettings(), False),
        ):

            def make(settings=settings, two=two, arm=arm, n=n):
                estimator = JointEstimator(arm, 1 / RATE, settings, motor_side=two)
                estimator.set_temperature(np.full(n, 30.0))
                return estimator.update

            rows = [(q[k], current[k], theta[k] if two else None) for k in range(STEPS)]
            means[n, name] = line(f'estimator, {n} joints, {name}', make, rows, rnea)
    print(f'  14 joints / 6 joints: {means[14, "two encoders"] / means[6, "two encoders"]:.2f}')


def motor_side():
    """One step of the model that gives Gazebo's links a motor side."""
    robot, _ = chain(6)
    rows = [(k / RATE, np.full(6, 1e-3 * k), np.full(6, 1.0), np.full(6, 5.0)) for k in range(1, 4000)]

    def make():
        return MotorSideModel(robot, seed=0, temperature=25.0, heat_speed=1.0).step

    line('gazebo_model, 6 joints', make, rows, inverse_dynamics(robot.pinocchio))


def main():
    estimators()
    motor_side()
    TABLE.keep()


if __name__ == '__main__':
    main()
