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

"""Feedforward laws on the simulated UR5e, with the true parameters of the law's own model.

`python bench/bench_control.py [adaptation flexibility]`; hysteresis against friction by sgn is in the papers' figures.
"""

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.control import Path, create
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.excitation import LimitSettings
from joint_dynamics.excitation.profiles import WAYPOINTS, make_profile
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.simulation import Command, FlexibleJointRobot, ModelErrors, Payload

BLOCK = 50  # samples for which temperature and α of the law are held
POINTS = np.radians(WAYPOINTS)
PAYLOAD = (7.5, (0.0, 0.0, 0.04))  # kg, m
START = (0.47, 0.04)  # α of [M6]
ERRORS = ModelErrors(drive_gain=0.0, drive_gain_per_kelvin=0.0)  # drive gains known
SEEDS = range(3)


def rest_to_rest(points, durations, pause=0.0):
    """Return a smooth motion through points, at rest (for `pause` s) at each."""
    q, t = [points[0]], [0.0]
    for point, duration in zip(points[1:], durations, strict=True):
        for target, step in ((point, duration), (point, pause)):
            if step:
                q.append(target)
                t.append(t[-1] + step)
    zero = np.zeros((len(t), len(q[0])))
    return Path(t, q, zero, zero)


def cycle(repeats, speed=np.pi, acceleration=np.pi / 3, points=None):
    """Return the waypoint cycle of [M6 table 1], every move a polynomial of seventh degree.

    At half the paper's acceleration: in its first posture, 7.5 kg at full reach, the simulated shoulder is near its
    torque limit.
    """
    through = POINTS[:points]
    points = [through[k % len(through)] for k in range(repeats * len(through) + 1)]
    ways = [np.abs(b - a).max() for a, b in pairwise(points)]
    return rest_to_rest(points, [max(2.1875 * way / speed, np.sqrt(7.5132 * way / acceleration)) for way in ways])


def reversals(up=10.0, down=5.0, duration=2.0, pause=0.3, count=9, first=0.0):
    """Return a motion of the shoulder from the vertical (or `first` degrees off it) to the horizontal [M6 fig 8]."""
    points = [np.array([0, -np.pi / 2 + np.radians(first), 0, -np.pi / 2, 0, 0.0])]
    for _ in range(count):
        for step in (up, -down):
            points.append(points[-1] + np.eye(6)[1] * np.radians(step))
    return rest_to_rest(points, [duration] * (2 * count), pause)


def truth_of(robot):
    """Return the arm that a perfect identification of the model's structure gives; effects beyond it are missing."""
    truth, drives, n = robot.truth, robot.truth.drives, robot.n
    turn = np.repeat(np.linspace(0, 2 * np.pi, 720, endpoint=False)[:, None], n, axis=1)
    backlash, error = (
        PeriodicMap.stack([PeriodicMap(values) for values in table(turn).T])
        for table in (truth.backlash, truth.kinematic_error)
    )
    friction = FrictionModel(
        {
            'F_C0': drives.coulomb,
            'F_C1': drives.coulomb_load,
            'F_S': drives.static,
            'V_S': drives.stribeck_speed,
            'mu': drives.stribeck_shape,
            'F_V1': drives.viscous,
            'F_V2': drives.viscous_square,
            'F_V3': drives.viscous_cubic,
            'F_T1': drives.temperature_linear,
            'F_T2': drives.temperature_cubic,
            'T_0': 35.0,
            'T_min': 10.0,
            'T_max': 80.0,
        },
        MaxwellSlip(n, backlash, kinematic_error=error),
    )
    return Arm(
        robot.model,
        truth.parameters,
        drives.rotor_inertia,
        drives.nominal_gain,
        friction,
        None,
        TorsionalStiffness(truth.stiffness),
        drives.damping,
        error,
    )


def estimator_of(robot, arm, alpha):
    known = replace(arm, friction_scale=np.broadcast_to(alpha, (robot.n, 2)))
    return JointEstimator(known, robot.period, effort='torque')


def play(robot, path, law=None, alpha=(1.0, 0.0), adapt=False, side='link', arm=None, **parameters):
    """Run the joint PID along `path` beside a law; return link error, measured and fed torque (N, n), and α (n, 2)."""
    arm = arm or truth_of(robot)
    motion = path.sample(np.arange(0.0, path.end, robot.period))
    law = None if law is None else create(law, arm, **parameters)
    estimator = estimator_of(robot, arm, alpha) if adapt else None
    scale = np.tile(alpha, (robot.n, 1))
    error, measured, fed = np.zeros((3, len(motion), robot.n))
    warm = np.full(robot.n, 25.0)
    for first in range(0, len(motion), BLOCK):
        part = slice(first, first + BLOCK)
        q, dq = motion[part, 0], motion[part, 1]
        if law is not None:
            law.adapt(warm, scale)
            fed[part] = law.effort_along(motion[part])
            if side != 'link':
                theta, dtheta, _ = law.motor_motion(motion[part]).swapaxes(0, 1)
                if side == 'speed':
                    fed[part] += robot._control.kd * (dtheta - dq)
                else:
                    q, dq = theta, dtheta
            if first == 0:
                robot.shift_integral(-fed[0])
        samples = robot.run(Command.track(q, dq, fed[part]))
        error[part], measured[part] = samples.true_q - motion[part, 0], samples.effort
        warm = samples.temperature[-1]
        if estimator is not None:
            estimator.set_temperature(warm)
            for k in range(len(q)):
                if estimator.update(samples.q[k], samples.effort[k], samples.theta[k]):
                    scale = estimator.friction.parameters
    return error, measured, fed, scale


def simulated(path, payload=PAYLOAD, seed=1, errors=ERRORS, **options):
    robot = FlexibleJointRobot(seed=seed, position=path.at(0.0)[0], errors=errors, rate=500.0, **options)
    if payload:
        robot.attach_payload(Payload(*payload))
        # at rest under its load, which would drop in otherwise
        robot.place(path.at(0.0)[0])
    return robot


def reduction(before, after):
    """Return the reduction in percent, mean of the joints' ratios."""
    return 100 * (1 - np.mean(after / before))


def squares(error, missing, rows=slice(None)):
    """Return mean squares (n,) of the tracking error and of the torque left to the controller."""
    return np.mean(error[rows] ** 2, axis=0), np.mean(missing[rows] ** 2, axis=0)


def adapted(make_path, start=START, cycles=3, **options):
    """Return squares of one cycle with α held at `start`, of the last of `cycles` with the estimator, and its α."""
    one, all_ = make_path(1), make_path(cycles)
    error, measured, fed, _ = play(simulated(one, **options), one, 'adaptive_friction', start)
    before = squares(error, measured - fed)
    error, measured, fed, alpha = play(simulated(all_, **options), all_, 'adaptive_friction', start, adapt=True)
    return before, squares(error, measured - fed, slice(len(error) * (cycles - 1) // cycles, None)), alpha


def adaptation():
    """Measure friction held and adapted, by start of α, payload and smoothness of the motion; all model errors."""
    table = Table(
        'control',
        'adaptation',
        'Waypoint cycle, friction α held at its start and adapted: mean squares of the torque of the PID and of the '
        'tracking error',
        {
            'case': '',
            **dict.fromkeys(('torque held, (N·m)²', 'adapted, (N·m)²'), '.2f'),
            'reduction, %': '.1f',
            **dict.fromkeys(('tracking held, rad²', 'adapted, rad²'), '.2e'),
            'its reduction, %': '.1f',
        },
    )
    light = {'payload': (4.0, PAYLOAD[1])}
    cases = {
        **{f'7.5 kg, α from {start:g}, 0; seed {seed}': (cycle, (start, 0.0), {'seed': seed})
           for start in (0.5, 1.5) for seed in SEEDS},
        '4 kg, seventh degree, π/3 rad/s²': (cycle, START, light),
        '4 kg, seventh degree, 2π/3 rad/s²': (lambda k: cycle(k, acceleration=2 * np.pi / 3), START, light),
        '4 kg, trapezoidal speeds, 2π/3 rad/s²': (trapezoids, START, light),
    }  # fmt: skip
    for name, (path, start, options) in cases.items():
        (e0, t0), (e1, t1), _ = adapted(path, start, errors=ModelErrors(), **options)
        table.row(name, t0.mean(), t1.mean(), reduction(t0, t1), e0.mean(), e1.mean(), reduction(e0, e1))
    table.keep()


def trapezoids(repeats):
    """Return the cycle with trapezoidal speeds, as an industrial controller plans it: the acceleration jumps."""
    model = FlexibleJointRobot(seed=0).model
    samples = make_profile(model, 'waypoints', {}, LimitSettings(), None)[0].sample(50.0)
    count = len(samples.time) - 1
    rows = np.append(np.tile(np.arange(count), repeats), 0)
    return Path(
        samples.time[1] * np.arange(rows.size), samples.q[rows], samples.dq[rows], samples.ddq[rows], smooth=False
    )


def against_sgn(path, seed):
    """Return mean squares of tracking and torque with friction by sgn, and with hysteresis."""
    rows = []
    for law, kind in (('computed_torque', 'static'), ('adaptive_friction', 'hysteresis')):
        error, measured, fed, _ = play(simulated(path, seed=seed), path, law, friction=kind)
        rows.append(squares(error, measured - fed))
    return rows


def fast_move():
    """Return a fast move of all joints and back."""
    home = np.array([0, -1.2, 1.4, -1.7, -1.5, 0.3])
    return rest_to_rest([home, home + np.array([1.0, 0.6, -0.8, 0.7, 0.7, 0.8]), home], [0.8, 0.8], 0.5)


def soft_drives(path, seed=1):
    """Return drives with transmissions five times softer than plausible."""
    stiff = simulated(path, None, seed=seed).drives
    return stiff._replace(
        stiffness=stiff.stiffness / 5, stiffness_cubic=stiff.stiffness_cubic / 5, damping=stiff.damping / np.sqrt(5)
    )


def soft(path, law, feedback, seed, side=None):
    """Return the tracking error (N, n) with soft transmissions and the robot's position loop on the `feedback` side.

    side: of the references; `speed`: those of the link, with the motor's speed on top. A loop on the link side has half
    the default bandwidth, with which such soft joints would oscillate.
    """
    side = side or ('motor' if law == 'flexible_joint' and feedback == 'motor' else 'link')
    gains = {}
    if feedback == 'link':
        hard = simulated(path, None, seed)._control
        gains = {'kp': hard.kp / 4, 'ki': hard.ki / 8, 'kd': hard.kd / 2}
    return play(
        simulated(path, None, seed, drives=soft_drives(path, seed), feedback=feedback, gains=gains),
        path,
        law,
        side=side,
    )[0]


def flexibility():
    """Compare laws at soft transmissions."""
    table = Table(
        'control',
        'flexibility',
        'A fast move (2.6 rad/s, 11 rad/s²), transmissions five times softer: rms error of the links, mrad',
        {
            "robot's position loop": '',
            'robot': '',
            **dict.fromkeys(('rigid law', 'flexible_joint, torque alone', 'flexible_joint'), '.2f'),
        },
    )
    path = fast_move()
    for feedback, best in (('motor', 'motor'), ('link', 'speed')):
        for seed in SEEDS:
            errors = (
                1e3 * np.sqrt(np.mean(soft(path, law, feedback, seed, side) ** 2))
                for law, side in (('adaptive_friction', 'link'), ('flexible_joint', 'link'), ('flexible_joint', best))
            )
            table.row(f'on the {feedback} side', f'seed {seed}', *errors)
    table.keep()


PARTS = (adaptation, flexibility)


def main(names=()):
    """Measure all parts, or those named."""
    for part in PARTS:
        if not names or part.__name__ in names:
            part()


if __name__ == '__main__':
    main(sys.argv[1:])
