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

`nice python bench/bench_changes.py [--runs 20] [--seed 0] [--processes 1]`, half a minute a run; run k of seed s is
`(s, k)`. In runs of a seed twenty by twenty, the first ten have the methods' laws and a true description; the others
drawn laws, an unknown tool, and an identified description. After 35 to 45 s of waypoints, moves to random postures with
rests, or Fourier series, one thing changes; another 20 s follow. A load is put down after 15 s, 15 s more follow.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pinocchio
from bench_laws import drawn_drives
from chain import Chain
from plants import described, random_moves, waypoint_motion
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.demo.scenario import INERTIA_ERROR, unknown_tool
from joint_dynamics.estimation import JointEstimator
from joint_dynamics.simulation import (
    Command,
    FlexibleJointRobot,
    ModelErrors,
    Payload,
    TrajectoryPoints,
    plausible_drives,
)

PERIOD = 2e-3  # s
BLOCK = 500  # samples simulated together
TIMELY = 10.0  # s within which a change has to be reported
AFTER = 20.0  # s of motion after a change
CARRIED = 15.0  # s for which a load is carried
PUSHED = 0.3  # s of a push
PUSH = 10.0  # N
FELT = 0.4  # s after a push within which its contact counts
KINDS = ('stiffness', 'load', 'stiffness', 'friction', 'stiffness', 'push', 'stiffness', 'load', 'stiffness', 'nothing')
MOTIONS = ('waypoints', 'random moves', 'Fourier')
SIZES = {'stiffness': (0.6, 0.85), 'load': (0.5, 2.0), 'friction': (1.3, 1.6)}
"""Range of the factor, or of the mass [kg]."""
JUDGED = {'stiffness': 15.0, 'load': 8.0}
"""Seconds after the change at which its estimated size is compared."""
IDENTIFIED = 3  # drawn robots of a seed s, 3 s to 3 s + 2, for as many runs as there are


def identified(seed):
    """Return the identified description of the drawn robot of a seed."""
    chain = Chain(seed, drawn_drives(seed))
    chain.record()
    chain.identify()
    return chain.result.description


def robot_of(seed, drawn, kind):
    """Return a robot whose wear w is, as the kind says, a stiffness of 1 − w or a Coulomb friction of 1 + w."""
    errors = ModelErrors(inertia=INERTIA_ERROR) if drawn else ModelErrors()
    effort = FlexibleJointRobot(rate=1.0 / PERIOD).limits.effort
    drives = drawn_drives(seed) if drawn else plausible_drives(effort, seed, errors)
    softer = float(kind == 'stiffness')
    wear = {'wear_friction': np.full(6, 1.0 - softer), 'wear_stiffness': np.full(6, softer)}
    return FlexibleJointRobot(seed=seed, rate=1.0 / PERIOD, errors=errors, drives=drives._replace(**wear))


def push_tool(robot, force):
    """Push the origin of the last joint with a force (3,) N in the base frame, at the present posture."""
    arm = robot.model.pinocchio
    data = arm.createData()
    jacobian = pinocchio.computeJointJacobian(arm, data, robot.truth.position, arm.njoints - 1)
    robot.set_external_torque(jacobian[:3].T @ (data.oMi[arm.njoints - 1].rotation.T @ force))


def motion_of(kind, rng, seconds):
    """Return the motion as TrajectoryPoints."""
    if kind == 'waypoints':
        speed = rng.uniform(1.0, np.pi)
        time, q = waypoint_motion(int(seconds / 13.0) + 1, rng.uniform(0.0, 0.5), speed=speed)
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
    """Return two payloads, the first of which may be None, as one."""
    parts = [part for part in (first, second) if part is not None]
    mass = sum(part.mass for part in parts)
    com = sum(part.mass * np.asarray(part.com) for part in parts) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        lever = np.asarray(part.com) - com
        inertia += part.inertia + part.mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    return Payload(mass, com, inertia)


class Run:
    """One run: the change drawn, and the reports of the estimator.

    Attributes
    ----------
    kind, motion, is_drawn, joint, size
        of the change; size in kg or as a factor.
    named
        [(s since the change, kind, joint)].
    contacts
        s since the change at which one began.
    error
        relative error of the mass or of the stiffness over the deformations since the change, and its stated deviation
        with that of the drive gain.
    """

    def __init__(self, seed, number, descriptions):
        rng = np.random.default_rng([seed, number])
        self.number, self.kind, self.motion = number, KINDS[number % len(KINDS)], MOTIONS[rng.integers(3)]
        self.is_drawn, self.joint = bool(number // len(KINDS) % 2), int(rng.integers(5))
        which = IDENTIFIED * seed + int(rng.integers(IDENTIFIED)) if self.is_drawn else int(rng.integers(1 << 16))
        self.size = float(rng.uniform(*SIZES.get(self.kind, (PUSH, PUSH))))
        self.named, self.contacts, self.error = [], [], (np.inf, 0.0)
        robot = robot_of(which, self.is_drawn, self.kind)
        tool = unknown_tool(which) if self.is_drawn else None
        if tool is not None:
            robot.attach_payload(tool)
        description = descriptions[which % IDENTIFIED] if self.is_drawn else described(robot)
        gain = description.joint(robot.joint_names[self.joint])['drive_gain']
        self._gain_deviation = gain.get('std', 0.0) / gain['value']
        self._estimator, self._robot = JointEstimator(Arm.from_description(robot.model, description), PERIOD), robot
        self._begin, lasts = float(rng.uniform(35.0, 45.0)), CARRIED + 15.0 if self.kind == 'load' else AFTER
        self._trajectory = motion_of(self.motion, rng, self._begin + lasts + 5.0)
        robot.place(self._trajectory.sample(0.0).q[0])
        self._tick, self._bent, self._contact = 0, [], -np.inf
        for when, act in self._acts(rng, tool):
            self._advance(when)
            act()
        self._advance(lasts)
        del self._estimator, self._trajectory, self._robot

    def _acts(self, rng, tool):
        """Return the acts on the robot, [(s since the change, function)]."""
        robot, com = self._robot, rng.uniform([-0.1, -0.1, 0.03], [0.1, 0.1, 0.12])
        direction, wear = rng.normal(size=3), np.zeros(6)
        force = PUSH * direction / np.linalg.norm(direction)
        wear[self.joint] = abs(1.0 - self.size)
        put_down = lambda tool=tool: robot.attach_payload(tool)  # noqa: E731
        return {
            'stiffness': [(0.0, lambda: robot.set_wear(wear))],
            'friction': [(0.0, lambda: robot.set_wear(wear))],
            'load': [(0.0, lambda: robot.attach_payload(together(tool, Payload(self.size, com)))), (CARRIED, put_down)],
            'push': [(0.0, lambda: push_tool(robot, force)), (PUSHED, lambda: robot.set_external_torque(0.0))],
            'nothing': [],
        }[self.kind]

    def _advance(self, until):
        """Go on until so many seconds after the change, and note the reports of the estimator."""
        e, last, judged = self._estimator, round((self._begin + until) / PERIOD), JUDGED.get(self.kind, np.inf)
        while self._tick < last:
            ticks = np.arange(self._tick, min(self._tick + BLOCK, last))
            reference = self._trajectory.sample(ticks * PERIOD)
            samples = self._robot.run(Command.track(reference.q, reference.dq, reference.effort))
            e.set_temperature(samples.temperature[0])
            for k, tick in enumerate(ticks):
                now, known = round(float(tick * PERIOD - self._begin), 3), len(e.named)
                e.update(samples.q[k], samples.current[k], samples.theta[k])
                self.named += [(now, one.kind, one.joint) for one in e.named[known:]]
                if e.contact.any():
                    self.contacts += [now] if now > self._contact + 0.5 else []
                    self._contact = now
                if now > 0.0 and not tick % 25:
                    self._bent.append(float(e.deformation[self.joint]))
                if now >= judged and self.error[0] == np.inf:
                    self.error = self._size_error()
            self._tick = int(ticks[-1]) + 1

    def _size_error(self):
        e, j, error, deviation = self._estimator, self.joint, np.inf, 0.0
        if self.kind == 'load' and e.payload is not None:
            error, deviation = e.payload.mass / self.size - 1.0, e.payload.mass_deviation / self.size
        elif self.kind == 'stiffness':
            phi = np.repeat(np.array(self._bent)[:, None], 6, axis=1)
            learnt, true = e.stiffness.torque(phi)[:, j], self._robot.truth.spring_torque(phi)[:, j]
            variance = sum(e.stiffness.variance(one)[j] for one in phi)
            error, deviation = learnt @ true / (true @ true) - 1.0, np.sqrt(variance / (learnt @ learnt))
        return float(error), float(np.hypot(deviation, self._gain_deviation))

    @property
    def _change(self):
        return self.kind, -1 if self.kind == 'load' else self.joint

    def delay(self, since=0.0):
        """Return s from `since` until the change was reported; inf: never."""
        return min(
            (when - since for when, *what in self.named if (*what,) == self._change and when >= since), default=np.inf
        )

    @property
    def has_false_name(self):
        """Whether a change was reported that did not happen, or not yet."""
        return any((*what,) != self._change or when < 0.0 for when, *what in self.named)

    @property
    def has_false_contact(self):
        """Whether a contact was reported without a push or a load just taken or put down."""
        excused = {'push': [(0.0, PUSHED + 0.5)], 'load': [(0.0, TIMELY), (CARRIED, CARRIED + TIMELY)]}
        spans = excused.get(self.kind, [])
        return any(t > -15.0 and not any(low <= t <= high for low, high in spans) for t in self.contacts)

    def __str__(self):
        what = f'{self.number:3d} {self.kind:9s} {"drawn" if self.is_drawn else "true":5s} {self.motion:12s}'
        error, deviation = self.error
        return (
            f'{what} joint {self.joint} {self.size:5.2f}: named {self.named}, contacts {self.contacts}, '
            f'error {100 * error:+.1f} % ({100 * deviation:.1f})'
        )


def one(arguments):
    """Return a run; processes of a pool can be given it."""
    return Run(*arguments)


def tabulate(runs):
    """Count the reports by kind of change, and keep the table."""
    counts = (
        'runs', 'reported within 10 s', 'within 5 % in time', 'within two deviations', 'with a false report',
        'with a false contact', 'push detected',
    )  # fmt: skip
    table = Table(
        'changes', 'named', f'Changes reported, of {len(runs)} runs', dict.fromkeys(('what changed', *counts), '')
    )
    for kind in dict.fromkeys(KINDS):
        these = [run for run in runs if run.kind == kind]
        sized, is_named = kind in JUDGED, kind not in ('push', 'nothing')
        table.row(
            kind,
            len(these),
            sum(run.delay() <= TIMELY for run in these) if is_named else None,
            sum(abs(run.error[0]) <= 0.05 for run in these) if sized else None,
            sum(abs(run.error[0]) <= 2.0 * run.error[1] for run in these) if sized else None,
            sum(run.has_false_name for run in these),
            sum(run.has_false_contact for run in these),
            sum(any(0.0 <= t <= PUSHED + FELT for t in run.contacts) for run in these) if kind == 'push' else None,
        )
        if kind == 'load':
            put_down = sum(run.delay(CARRIED) <= TIMELY for run in these)
            table.row('load put down', len(these), put_down, None, None, None, None, None)
    table.keep()


def main(arguments=()):
    """Measure all runs of a seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (('runs', 20), ('seed', 0), ('processes', 1)):
        parser.add_argument(f'--{name}', type=int, default=default)
    use = parser.parse_args(arguments)
    runs, drawn = [], use.runs > len(KINDS)
    with ProcessPoolExecutor(use.processes) as pool:
        seeds = range(IDENTIFIED * use.seed, IDENTIFIED * (use.seed + 1)) if drawn else ()
        descriptions = list(pool.map(identified, seeds))
        for run in pool.map(one, [(use.seed, k, descriptions) for k in range(use.runs)]):
            print(run, flush=True)
            runs.append(run)
    tabulate(runs)


if __name__ == '__main__':
    main(sys.argv[1:])
