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

"""A single joint computed backwards, from the link's motion to the current, for chapter 3 of the thesis.

A simulated robot.

Nothing here uses joint_dynamics.joint: elasticity, hysteresis and friction are written out anew.
"""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, Payload, TrajectoryPoints, play, ur5e_urdf

MOVES = {'v': np.pi, 'a': 12.0, 'distance': 2 * np.pi}


def bang_coast_bang(rng, seconds, period):
    """Acceleration (N,) of random moves, 30 to 100 % of the limits, with waits up to 1 s between them.

    Jumps smoothed over 60 ms.
    """
    samples = int(seconds / period)
    acceleration = np.zeros(samples)
    k, q = 0, 0.0
    while k < samples:
        k += int(rng.uniform(0, 1) / period)
        v, a, distance = (rng.uniform(0.3, 1.0) * MOVES[name] for name in ('v', 'a', 'distance'))
        direction = -1.0 if q > 0 else 1.0
        ramp, coast = int(v / a / period), int(max(distance / v - v / a, 0.0) / period)
        move = direction * np.concatenate([np.full(ramp, a), np.zeros(coast), np.full(ramp, -a)])
        part = move[: max(samples - k, 0)]
        acceleration[k : k + part.size] = part
        k += move.size
        q += direction * distance
    w = np.hanning(int(0.06 / period) | 1)
    w /= w.sum()
    return np.convolve(np.convolve(acceleration, w, 'same'), w, 'same')


def hysteresis(theta, width=1e-3):
    """Four spring-slider pairs by their forces, sample by sample; normalised to ±1."""
    limit = np.array([(i / 4) ** 4 * width for i in (1, 2, 3, 4)])
    stiffness = np.array([16, 9, 4, 1]) / 30.0 / limit
    bend, out = np.zeros(4), np.empty(theta.size)
    previous = theta[0]
    for k, angle in enumerate(theta):
        bend = np.clip(bend + angle - previous, -limit, limit)
        previous = angle
        out[k] = stiffness @ bend
    return out


def make_joint(seed=0, seconds=35.0, period=1e-3, stiffness=(2e4, 3e9), noise=0.5, acceleration=None, offset=0.0):
    """A base joint as in thesis chapter 3.

    3 kg·m² about a vertical axis, encoders of 2¹⁹ and 2²⁰ counts, friction of 8 N·m and viscous.

    acceleration (N,) instead of bang-coast-bang; offset N·m: constant torque of the link. Returns measured q, theta,
    motor_torque and true phi, torque, friction, dtheta, all (N,), and the constants.
    """
    rng = np.random.default_rng(seed)
    ddq = bang_coast_bang(rng, seconds, period) if acceleration is None else acceleration
    dq = np.cumsum(ddq) * period
    q = np.cumsum(dq) * period
    torque = 3.0 * ddq + offset
    k1, k3 = stiffness
    phi = torque / k1
    for _ in range(30):
        phi = phi - (k1 * phi + k3 * phi**3 - torque) / (k1 + 3 * k3 * phi**2)
    theta = q + phi
    dtheta = np.gradient(theta, period)
    H = hysteresis(theta)
    friction = H * (8.0 + np.exp(-np.abs(dtheta) / 0.1)) + 8.0 * dtheta - 0.6 * np.abs(dtheta) * dtheta
    motor = 2.5 * np.gradient(dtheta, period) + friction + torque + 20.0 * np.gradient(phi, period)
    link_count, motor_count = 2 * np.pi / 2**19, 2 * np.pi / 2**20
    return SimpleNamespace(
        time=np.arange(q.size) * period,
        period=period,
        q=np.round(q / link_count) * link_count,
        theta=np.round(theta / motor_count) * motor_count,
        motor_torque=motor + rng.normal(0, noise, q.size),
        phi=phi,
        torque=torque,
        friction=friction,
        dtheta=dtheta,
        hysteresis=H,
        stiffness=stiffness,
        inertia=2.5,
        damping=20.0,
    )


@pytest.fixture(scope='session')
def arm():
    """A rigid UR5e; where a test file needs one with friction and springs, its own `arm` is the worn one."""
    return RobotModel.load(ur5e_urdf())


@pytest.fixture(scope='session')
def joint():
    """Return `make_joint`, which computes joints."""
    return make_joint


@pytest.fixture(scope='session')
def bang_joint():
    return make_joint(seed=0)


def recursive_step(psi, y, P, alpha, forgetting, delta):
    """One step of recursive least squares with matrices: (P, α, ε, ε²/(1 + r))."""
    r = psi @ P @ psi
    error = y - psi @ alpha
    alpha = alpha + P @ psi * error / (1.0 + r)
    beta = forgetting - (1.0 - forgetting) / r
    P = P - np.outer(P @ psi, P @ psi) / (1.0 / beta + r)
    return P + delta * np.eye(len(psi)), alpha, error, error**2 / (1.0 + r)


@pytest.fixture(scope='session')
def textbook():
    """Return `recursive_step`, recursive least squares with matrices."""
    return recursive_step


def map_nrmse(coefficients, stiffness, reach):
    """NRMSE % [M3 eq 15] of the elastic torque over ±reach rad."""
    phi = np.linspace(-reach, reach, 201)
    truth = stiffness[0] * phi + stiffness[1] * phi**3
    estimate = sum(alpha * phi ** (2 * p + 1) for p, alpha in enumerate(coefficients))
    return 100.0 * (1.0 - np.linalg.norm(truth - estimate) / np.linalg.norm(truth - truth.mean()))


@pytest.fixture(scope='session')
def nrmse():
    """Return `map_nrmse`, the measure of a stiffness map."""
    return map_nrmse


# A simulated robot. Its physics is the simulation's own; here the estimator gets a model of it made from the truth, as
# identification would.

WAYPOINTS = np.deg2rad(
    [
        [-110, 0, 0, -90, 90, 0],
        [-70, -30, -90, -130, 50, 120],
        [-140, -10, -130, -40, 125, 10],
        [-45, -55, 100, -90, 45, 150],
        [-45, -90, 0, -90, 0, 0],
        [-220, -90, 0, -90, 0, 0],
    ]
)


def waypoint_motion(cycles, dwell=0.0, spacing=0.004, speed=np.pi, acceleration=2 * np.pi / 3):
    """Cycle of [M6 table 1] as (time, q): straight in joint space, at rest at every waypoint, for `dwell` s."""
    pieces, now = [], WAYPOINTS[0]
    for goal in [*WAYPOINTS[1:], WAYPOINTS[0]] * cycles:
        way = np.abs(goal - now).max()
        peak = min(speed, np.sqrt(way * acceleration))
        ramp = peak / acceleration
        total = way / peak + ramp
        t = np.arange(int(round(total / spacing))) * spacing
        up, steady, down = 0.5 * acceleration * t**2, peak * (t - ramp / 2), way - 0.5 * acceleration * (total - t) ** 2
        share = np.select([t < ramp, t < total - ramp], [up, steady], down) / way
        pieces += [now + share[:, None] * (goal - now), np.repeat(goal[None], int(dwell / spacing), axis=0)]
        now = goal
    q = np.concatenate([*pieces, now[None]])
    w = np.hanning(23)[1:-1] / np.hanning(23).sum()
    padded = np.pad(q, ((10, 10), (0, 0)), mode='edge')
    q = np.stack([np.convolve(padded[:, j], w, 'valid') for j in range(q.shape[1])], axis=1)
    return np.arange(len(q)) * spacing, q


def changed(description, **parts):
    """A copy of a description with fields of every joint's part replaced; None: taken out.

    A function: of the old value.
    """
    document = copy.deepcopy(description.document)
    for joint in document['joints'].values():
        for key, value in parts.items():
            if value is None:
                joint.pop(key, None)
            else:
                joint[key] = value(joint.get(key)) if callable(value) else value
    return DynamicsDescription(document)


@pytest.fixture(scope='session')
def tools():
    """The helpers above, for tests that simulate a robot."""
    return SimpleNamespace(waypoint_motion=waypoint_motion, changed=changed, waypoints=WAYPOINTS)


@pytest.fixture(scope='session')
def worn_description(true_description):
    """A description of the simulated UR5e with everything in it, friction worn to α = [0.9, 0.02]; no simulation."""
    return true_description(FlexibleJointRobot(seed=3, rate=500.0), scale=[0.9, 0.02])


@pytest.fixture(scope='session')
def worn_arm(worn_description):
    """The arm of that description."""
    return Arm.from_description(FlexibleJointRobot(seed=3, rate=500.0).model, worn_description)


def played(described, seed, kilograms, cycles, spacing=0.004):
    """Waypoint cycles of a simulated UR5e with a payload at 500 Hz: robot, samples, description."""
    robot = FlexibleJointRobot(seed=seed, rate=500.0, temperature=35.0)
    robot.attach_payload(Payload(kilograms, (0.0, 0.0, 0.08)))
    description = described(robot)
    time, q = waypoint_motion(cycles, spacing=spacing)
    samples = play(robot, TrajectoryPoints(time, q, np.gradient(q, time, axis=0)))
    return SimpleNamespace(robot=robot, samples=samples, description=description)


@pytest.fixture(scope='session')
def waypoint_run(true_description):
    """Seven cycles with 7.5 kg, 93 s."""
    return played(true_description, 1, 7.5, 7)


@pytest.fixture(scope='session')
def short_run(true_description):
    """Two cycles with 5 kg, every second sample, 27 s."""
    run, names = played(true_description, 3, 5.0, 2, spacing=0.008), ('time', 'q', 'theta', 'current', 'temperature')
    run.samples = SimpleNamespace(**{name: getattr(run.samples, name)[::2] for name in names})
    run.period = 4e-3
    return run
