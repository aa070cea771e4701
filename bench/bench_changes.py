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

"""What changed: stiffness, load, friction, a push or nothing, drawn, on simulated robots.

`nice python bench/bench_changes.py [--runs 60] [--seed 0] [--processes 2]`, some ten minutes for 60 runs; run k of seed
s is `(s, k)`. Every other robot has the methods' laws and its true description, the others drawn laws, a tool that no
model knows, and the description that `identify` wrote. After 35 to 45 s of waypoints, of moves to random postures with
rests, or of Fourier series, one thing changes; another 20 s follow (a load is put down after 15 s, 15 s more).

A joint that hardly moves or carries little cannot tell that its spring is softer. `offered` is the most that any six
seconds of motion within the 10 s after the drop hold against an unchanged spring, in units of log-likelihood: with a
the map and Φ = Σ φ̄φ̄ᵀ/σ² of the deformations, by usual errors σ, ½ (1 − factor)² aᵀΦa, less what an error may explain
that nobody knows: one constant one, the kinematic error within its deviation, the load that takes up lost motion.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pinocchio
from bench_contact import random_moves
from chain import Chain
from helpers import from_tests
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.demo.scenario import INERTIA_ERROR, unknown_tool
from joint_dynamics.estimation import EstimationSettings, JointEstimator, choose_friction_method
from joint_dynamics.estimation.change_test import BODY, SPRING
from joint_dynamics.estimation.changes import CONSTANT, CORRELATION, GAIN, UNKNOWN_LOAD, WINDOW
from joint_dynamics.simulation import (
    Command,
    FlexibleJointRobot,
    ModelErrors,
    Payload,
    TrajectoryPoints,
    plausible_drives,
)

MAKE, DESCRIBED = from_tests('estimation/conftest.py'), from_tests('conftest.py').described
LAWS = from_tests('simulation/drawn_laws.py').Laws
PERIOD, TIMELY, AFTER, CARRIED, PUSHED = 2e-3, 10.0, 20.0, 15.0, 0.3
KINDS = ('stiffness', 'load', 'stiffness', 'friction', 'stiffness', 'push', 'stiffness', 'load', 'stiffness', 'nothing')
MOTIONS = ('waypoints', 'random moves', 'Fourier')
#: Robots of a seed s that are identified, 3 s to 3 s + 2, for as many runs as there are.
IDENTIFIED = 3


def identified(seed):
    """Return what `identify` and the tests of the joints write of the robot of a seed."""
    effort = FlexibleJointRobot(rate=1.0 / PERIOD).limits.effort
    drives = LAWS.drawn(seed).drives(effort, seed, ModelErrors(inertia=INERTIA_ERROR))
    chain = Chain(seed, drives)
    chain.record()
    chain.identify()
    return chain.result.description


def robot_of(seed, drawn, kind):
    """Return a robot whose wear w is, as the kind says, a stiffness of 1 − w or a Coulomb friction of 1 + w."""
    errors = ModelErrors(inertia=INERTIA_ERROR) if drawn else ModelErrors()
    effort = FlexibleJointRobot(rate=1.0 / PERIOD).limits.effort
    drives = LAWS.drawn(seed).drives(effort, seed, errors) if drawn else plausible_drives(effort, seed, errors)
    one, none = np.ones(6), np.zeros(6)
    wear = {'wear_friction': none, 'wear_stiffness': one} if kind == 'stiffness' else {
        'wear_friction': one, 'wear_stiffness': none}  # fmt: skip
    return FlexibleJointRobot(
        seed=seed, rate=1.0 / PERIOD, errors=errors, drives=drives._replace(**wear),
    )  # fmt: skip


def push_tool(robot, force):
    """Push the origin of the last joint with a force (3,) N in the base frame, at the posture of this instant."""
    arm = robot.model.pinocchio
    data = arm.createData()
    jacobian = pinocchio.computeJointJacobian(arm, data, robot.truth.position, arm.njoints - 1)
    robot.set_external_torque(jacobian[:3].T @ (data.oMi[arm.njoints - 1].rotation.T @ force))


def motion_of(kind, rng, seconds):
    """Return the motion as TrajectoryPoints."""
    if kind == 'waypoints':
        speed = rng.uniform(1.0, np.pi)
        time, q = MAKE.waypoint_motion(int(seconds / 13.0) + 1, rng.uniform(0.0, 0.5), speed=speed)
    elif kind == 'random moves':
        time, q = random_moves(rng.integers(1 << 31), seconds)
    else:
        time, k = np.arange(0.0, seconds, 0.004), 2 * np.pi * 0.1 * np.arange(1, 6)
        size, phase = rng.uniform(0.3, 1.0, (5, 6)) / k[:, None], rng.uniform(0, 2 * np.pi, (5, 6))
        wave = np.einsum('kj,kjt->tj', size, np.sin(k[:, None, None] * time + phase[:, :, None]))
        centre, reach = np.deg2rad([-90, -65, 0, -95, 20, 0]), np.deg2rad([80, 45, 80, 50, 80, 120])
        q = centre + reach * wave / np.abs(wave).max(axis=0)
    return TrajectoryPoints(time, q, np.gradient(q, time, axis=0))


def together(first, second):
    """Return two payloads as one."""
    parts = [part for part in (first, second) if part is not None]
    mass = sum(part.mass for part in parts)
    com = sum(part.mass * np.asarray(part.com) for part in parts) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        lever = np.asarray(part.com) - com
        inertia += part.inertia + part.mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    return Payload(mass, com, inertia)


def offered(blocks, square, joint, factor):
    """Return the gain that blocks of the spring side offer a stiffness times `factor`, see above."""
    W = np.sum([block[0] for block in blocks], axis=0) * (0.008 / CORRELATION / square)
    a = blocks[0][1]
    along = a @ W[BODY:-4, -4:-1]
    prior = np.diag([UNKNOWN_LOAD**-2.0, 1.0, CONSTANT**-2.0 / square])
    information = a @ W[BODY:-4, BODY:-4] @ a - along @ np.linalg.solve(W[-4:-1, -4:-1] + prior, along)
    return 0.5 * (1.0 - factor) ** 2 * information


class Run:
    """One run: what is drawn, and what the estimator made of it.

    kind, motion, drawn, joint, size: of the change, kg or factor. named: [(s since the change, kind, joint)]. contacts:
    s since the change at which one began. resting: of these, those of a joint that has not slid since its spring broke,
    whose motor says nothing: a push does the same to it. error: share by which mass or stiffness, over the deformations
    since the change, is wrong, and its stated deviation with that of the drive gain, by s since the change. offered:
    see above.
    """

    def __init__(self, seed, number, descriptions):
        rng = np.random.default_rng([seed, number])
        self.number, self.kind, self.motion = number, KINDS[number % len(KINDS)], MOTIONS[rng.integers(3)]
        self.drawn, self.joint = bool(number // len(KINDS) % 2), int(rng.integers(5))
        which = IDENTIFIED * seed + int(rng.integers(IDENTIFIED)) if self.drawn else int(rng.integers(1 << 16))
        spans = {'stiffness': (0.6, 0.85), 'load': (0.5, 2.0), 'friction': (1.3, 1.6)}
        self.size = float(rng.uniform(*spans.get(self.kind, (10.0, 10.0))))
        self.named, self.contacts, self.resting, self.error, self.offered = [], [], [], {}, 0.0
        self._slid = self.kind != 'stiffness'
        robot = robot_of(which, self.drawn, self.kind)
        tool = unknown_tool(which) if self.drawn else None
        if tool is not None:
            robot.attach_payload(tool)
        description = descriptions[which % IDENTIFIED] if self.drawn else DESCRIBED(robot)
        gain = description.joint(robot.joint_names[self.joint])['drive_gain']
        self._gain = gain.get('std', 0.0) / gain['value']
        self._model(robot, description)
        self.begin = float(rng.uniform(35.0, 45.0))
        lasts = CARRIED + 15.0 if self.kind == 'load' else AFTER
        self.trajectory = motion_of(self.motion, rng, self.begin + lasts + 5.0)
        robot.place(self.trajectory.sample(0.0).q[0])
        com, direction = rng.uniform([-0.1, -0.1, 0.03], [0.1, 0.1, 0.12]), rng.normal(size=3)
        force = 10.0 * direction / np.linalg.norm(direction)
        wear = np.zeros(6)
        wear[self.joint] = abs(1.0 - self.size)
        put_down = robot.detach_payload if tool is None else lambda: robot.attach_payload(tool)
        acts = {
            'stiffness': [(0.0, lambda: robot.set_wear(wear))],
            'friction': [(0.0, lambda: robot.set_wear(wear))],
            'load': [(0.0, lambda: robot.attach_payload(together(tool, Payload(self.size, com)))), (CARRIED, put_down)],
            'push': [(0.0, lambda: push_tool(robot, force)), (PUSHED, lambda: robot.set_external_torque(0.0))],
            'nothing': [],
        }[self.kind]
        self._tick, self._blocks, self._felt = 0, [], -np.inf
        for when, act in acts:
            self._advance(robot, when)
            if when == 0.0:
                self.square = self.estimator.changes.square[SPRING, self.joint]
            act()
        self._advance(robot, lasts)
        del self.estimator, self.trajectory, self._robot

    def _model(self, robot, description):
        arm, settings, _ = choose_friction_method(Arm.from_description(robot.model, description), EstimationSettings())
        self.estimator, self._robot, self._bent = JointEstimator(arm, PERIOD, settings), robot, []

    def _advance(self, robot, until):
        """Go on until so many seconds after the change, and note what the estimator says."""
        e, last = self.estimator, round((self.begin + until) / PERIOD)
        while self._tick < last:
            ticks = np.arange(self._tick, min(self._tick + 500, last))
            reference = self.trajectory.sample(ticks * PERIOD)
            samples = robot.run(Command.track(reference.q, reference.dq, reference.effort))
            e.set_temperature(samples.temperature[0])
            for k, tick in enumerate(ticks):
                now, known, place = tick * PERIOD - self.begin, len(e.named), e.changes.open
                e.update(samples.q[k], samples.current[k], samples.theta[k])
                self.named += [(round(float(now), 2), one.kind, one.joint) for one in e.named[known:]]
                self._slid |= now > 0.0 and abs(e.omega[self.joint]) >= e.settings.omega_min
                if e.contact.any():
                    if now > self._felt + 0.5:
                        self.contacts.append(round(float(now), 2))
                        if now > 0.0 and not self._slid and not np.delete(e.contact, self.joint).any():
                            self.resting.append(self.contacts[-1])
                    self._felt = now
                if self.kind == 'stiffness' and 0.0 < now <= TIMELY and e.changes.open != place:
                    self._weigh(place)
                if now > 0.0 and not tick % 25:
                    self._bent.append(float(e.deformation[self.joint]))
                for after in (5.0, 8.0, 15.0):
                    if now >= after and after not in self.error:
                        self.error[after] = self._error()
            self._tick = last if not len(ticks) else int(ticks[-1]) + 1

    def _weigh(self, place):
        blocks = self.estimator.changes.blocks
        self._blocks.append((blocks.spring[place, self.joint].copy(), blocks.spring_map[place, self.joint].copy()))
        self.offered = max(self.offered, offered(self._blocks[-WINDOW:], self.square, self.joint, self.size))

    def _error(self):
        e, j = self.estimator, self.joint
        if self.kind == 'load' and e.payload is not None:
            error, stated = e.payload.mass / self.size - 1.0, e.payload.mass_deviation / self.size
        elif self.kind == 'stiffness':
            phi = np.repeat(np.array(self._bent)[:, None], 6, axis=1)
            learnt, true = e.stiffness.torque(phi)[:, j], self._robot.truth.spring_torque(phi)[:, j]
            square = sum(e.stiffness.variance(one)[j] for one in phi)
            error, stated = learnt @ true / (true @ true) - 1.0, np.sqrt(square / (learnt @ learnt))
        else:
            error, stated = np.inf, 0.0
        return float(error), float(np.hypot(stated, self._gain))

    def right(self, since=0.0):
        """Return s until the change was named, from `since` on; inf: never."""
        want = (self.kind, -1 if self.kind == 'load' else self.joint)
        return min(
            (when - since for when, *what in self.named if tuple(what) == want and when >= since), default=np.inf
        )

    @property
    def false_names(self):
        """What was named and did not change, or had not yet."""
        want = (self.kind, -1 if self.kind == 'load' else self.joint)
        return [name for name in self.named if name[1:] != want or name[0] < 0.0]

    @property
    def false_contacts(self):
        """Contacts while nothing touched the arm; a load that is not yet named, or was just put down, is one."""
        excused = {'push': [(0.0, PUSHED + 0.5)], 'load': [(0.0, TIMELY), (CARRIED, CARRIED + TIMELY)]}
        spans = excused.get(self.kind, [])
        return [t for t in self.contacts if t > -15.0 and not any(low <= t <= high for low, high in spans)]

    def __str__(self):
        drawn = 'identified' if self.drawn else 'true'
        what = f'{self.number:3d} {self.kind:9s} {drawn:10s} {self.motion:12s} joint {self.joint} {self.size:5.2f}'
        error = ' '.join(
            f'{after:.0f}s {100 * value:+.1f} ({100 * of:.1f})' for after, (value, of) in self.error.items()
        )
        felt = f'contacts {self.contacts}, resting {self.resting}'
        return f'{what}: named {self.named}, {felt}, offered {self.offered:.0f}, error % {error}'


def one(numbers):
    return Run(*numbers)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (('runs', 60), ('seed', 0), ('processes', 2), ('only', -1)):
        parser.add_argument(f'--{name}', type=int, default=default)
    use = parser.parse_args(arguments)
    numbers = range(use.runs) if use.only < 0 else [use.only]
    runs = []
    with ProcessPoolExecutor(use.processes) as pool:
        descriptions = list(pool.map(identified, range(IDENTIFIED * use.seed, IDENTIFIED * (use.seed + 1))))
        for run in pool.map(one, [(use.seed, k, descriptions) for k in numbers]):
            print(run, flush=True)
            runs.append(run)
    if use.only < 0:
        tabulate(runs)


def tabulate(runs):
    table = Table(
        'changes', 'named', f'What was named, of {len(runs)} runs',
        {
            'what changed': '', 'runs': '', 'named within 10 s': '', 'named at latest, s': '.1f',
            'within 5 % in time': '', 'within two deviations': '', 'runs with a false name': '',
            'with a false contact': '', 'not at rest': '', 'push felt': '',
        },
    )  # fmt: skip
    cases = [(kind, 0.0, [run for run in runs if run.kind == kind]) for kind in dict.fromkeys(KINDS)]
    cases.insert(1, ('stiffness, tellable', 0.0, [run for run in cases[0][2] if run.offered >= GAIN]))
    cases.insert(3, ('load put down', CARRIED, cases[2][2]))
    for name, since, these in cases:
        times = [run.right(since) for run in these]
        timely = sum(t <= TIMELY for t in times)
        after = {'stiffness': 15.0, 'load': 8.0}.get(name.partition(',')[0])
        errors = [] if after is None else [run.error[after] for run in these]
        close = sum(abs(error) <= 0.05 for error, _ in errors) if errors else None
        stated = sum(abs(error) <= 2.0 * deviation for error, deviation in errors) if errors else None
        table.row(
            name, len(these), None if name in ('push', 'nothing') else timely, max(times, default=np.nan),
            close, stated, sum(bool(run.false_names) for run in these), sum(bool(run.false_contacts) for run in these),
            sum(bool(set(run.false_contacts) - set(run.resting)) for run in these),
            sum(any(0.0 <= t <= PUSHED + 0.4 for t in run.contacts) for run in these) if name == 'push' else None,
        )  # fmt: skip
    table.keep()


if __name__ == '__main__':
    import sys

    main(sys.argv[1:])
