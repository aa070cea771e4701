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

"""Friction and payload of the online estimator on the simulated UR5e.

`python bench/bench_estimation.py`; stiffness maps are in the papers' figures, contacts in bench_contact.py.
"""

import sys

import numpy as np
from plants import described, waypoint_motion
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Payload, Sensors, TrajectoryPoints, play

RATE = 500.0  # Hz
FRICTION = {
    'all model errors': ((0.47, 0.04), {}, 0.0, 0.0),
    'no model errors': ((0.47, 0.04), {'errors': ModelErrors.none()}, 0.0, 0.0),
    'no model errors, motor encoder of 18 bits': (
        (0.47, 0.04),
        {'errors': ModelErrors.none(), 'sensors': Sensors(motor_bits=18)},
        0.0,
        0.0,
    ),
    'worn: 20 % more friction': ((1.0, 0.0), {}, 1 / 3, 0.0),
    '15 °C warmer than its sensor': ((1.0, 0.0), {}, 0.0, 15.0),
}
"""Start of α, options of the robot, wear, temperature above that of its sensor [K]."""
PAYLOADS = {1: 7.5, 2: 5.0, 3: 2.0, 4: 1.0}
"""Masses [kg] by seed."""
PLACE = (0.0, 0.0, 0.08)  # m, centre of mass of the payload in the last link


def motion(cycles):
    """Return cycles of waypoints."""
    t, q = waypoint_motion(cycles)
    return TrajectoryPoints(t, q, np.gradient(q, t, axis=0))


def estimator_of(robot, scale, **settings):
    """Return the estimator of a robot whose friction is described with α = `scale`."""
    arm = Arm.from_description(robot.model, described(robot, scale=list(scale)))
    return JointEstimator(arm, 1 / RATE, EstimationSettings(**settings))


def feed(estimator, samples, warm=0.0):
    """Give all samples to the estimator; return its friction error (N, n). Its sensor reads `warm` K too little."""
    error = np.full(samples.q.shape, np.nan)
    for k in range(len(samples.q)):
        if k % 500 == 0:
            estimator.set_temperature(samples.temperature[k] - warm)
        if estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
            error[k] = estimator.friction_error
    return error


def friction():
    """Thesis chapter 6: six cycles with 7.5 kg; the last two after 50 s, adapted against not."""
    table = Table(
        'estimation',
        'friction',
        'Torque error of the estimator after 50 s, α held at its start and adapted, means over six joints',
        {
            'simulated UR5e with 7.5 kg': '',
            'start of α': '',
            **dict.fromkeys(('not adapted', 'adapted'), '.3f'),
            'reduction, %': '.1f',
            'largest error of α1': '.3f',
        },
    )
    for name, (start, options, wear, warm) in FRICTION.items():
        robot = FlexibleJointRobot(seed=1, rate=RATE, temperature=35.0, **{'errors': ModelErrors(), **options})
        robot.attach_payload(Payload(7.5, PLACE))
        estimators = [estimator_of(robot, start, friction_rate=rate) for rate in ((0.0, 0.0), (1.0, 1.0))]
        robot.set_wear(wear)
        robot.set_temperature(35.0 + warm)
        samples, growth = play(robot, motion(6)), robot.truth.friction_growth
        held, adapted = (np.mean(feed(each, samples, warm)[25000:38250] ** 2, axis=0) for each in estimators)
        off = np.abs(estimators[1].friction.parameters[:, 0] - growth).max()
        reduction = 100 * np.mean(1 - adapted / held)
        table.row(name, f'{start[0]:g}, {start[1]:g}', held.mean(), adapted.mean(), reduction, off)
    table.keep()


def payload():
    """Payloads that the description does not have, friction 10 % wrong at the start; one waypoint cycle."""
    table = Table(
        'estimation',
        'payload',
        'Payload of the estimator after one waypoint cycle of 13 s, friction 10 % wrong at the start',
        {
            'true mass, kg': '.1f',
            **dict.fromkeys(('estimate, kg', 'stated deviation, kg'), '.3f'),
            'error, %': '.2f',
            'error of the centre, mm': '.1f',
        },
    )
    for seed, mass in PAYLOADS.items():
        robot = FlexibleJointRobot(seed=seed, rate=RATE, errors=ModelErrors(), temperature=35.0)
        estimator = estimator_of(robot, (0.9, 0.0), payload=True)
        robot.attach_payload(Payload(mass, PLACE))
        feed(estimator, play(robot, motion(1)))
        body = estimator.payload
        centre = np.linalg.norm(body.first_moments / body.mass - PLACE)
        table.row(mass, body.mass, body.mass_deviation, 100 * (body.mass / mass - 1), 1e3 * centre)
    table.keep()


def main():
    """Measure both."""
    friction()
    payload()


if __name__ == '__main__':
    sys.exit(main())
