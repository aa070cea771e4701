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

"""The simulated robot: the plant with sensors and a joint controller, one control tick after the other.

`Pace` says how many ticks are due: at most the requested rate, never too far ahead of its followers, and without gaps.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import declarations
from joint_dynamics.simulation import engine
from joint_dynamics.simulation.drives import Drives
from joint_dynamics.simulation.plant import Plant
from joint_dynamics.simulation.rigid_body import Links, Workspace, mass_and_bias
from joint_dynamics.simulation.simulation_settings import GAINS, SimulationSettings
from joint_dynamics.simulation.trajectory import ROWS, Command, Samples

#: A backlog of this much wall time is given up: simulated time runs slower then, it does not jump.
BACKLOG = 0.1


def ur5e_urdf() -> Path:
    """Return the path of the UR5e's URDF that ships with the package."""
    return Path(__file__).with_name('ur5e.urdf')


def ur5e_description(prefix: str = '') -> str:
    """Return the UR5e's URDF as text, with `prefix` before link and joint names, as `tf_prefix` of robot drivers."""
    text = ur5e_urdf().read_text(encoding='utf-8')
    return re.sub(r'<(link|joint) name="|(parent|child) link="', lambda match: match.group(0) + prefix, text)


def joint_controller(drives: Drives, largest: FloatArray, settings: SimulationSettings) -> engine.Control:
    """Return the controller: gains of a double pole at 4 Hz for the largest inertia, where none are given.

    largest: (n,) kg·m², largest inertia of the links about each joint, see `largest_inertia`.
    """
    n, sensors = len(largest), settings.sensors
    inertia = largest + drives.rotor_inertia
    # Stiffer than the double pole where the rotor dominates; the integral takes 1/5 s.
    kp = 25.0**2 * inertia + 55.0**2 * drives.rotor_inertia
    default = {'kp': kp, 'ki': 5.0 * kp, 'kd': 2.0 * np.sqrt(kp * inertia)}
    stated = ({**default, **settings.gains}[name] for name in GAINS)
    kp, ki, kd = (np.broadcast_to(np.asarray(gain, dtype=float), (n,)).copy() for gain in stated)
    motor = 2.0 * np.pi / 2.0**sensors.motor_bits / drives.gear_ratio if sensors.motor_bits else np.zeros(n)
    link = np.full(n, 2.0 * np.pi / 2.0**sensors.link_bits if sensors.link_bits else 0.0)
    return engine.Control(kp, ki, kd, settings.feedback == 'motor', link, motor, sensors.speed_bandwidth)


def largest_inertia(links: Links, work: Workspace, n: int) -> FloatArray:
    """Return the largest inertia of the links about each joint, over sampled postures (n,) [kg·m²]."""
    largest = np.zeros(n)
    for q in np.random.default_rng(7).uniform(-np.pi, np.pi, (24, n)):
        mass_and_bias(links, q, np.zeros(n), work)
        largest = np.maximum(largest, np.diag(work.M))
    return largest


#: Where a UR stands at first, rad: clear of itself and of the floor.
HOME = (0.0, -1.2, 1.4, -1.7, -1.5, 0.3)


def initial_posture(model: RobotModel) -> FloatArray:
    """Return the posture (n,) [rad] at which a simulation begins: a UR's home; otherwise 0 or the nearest limit."""
    if model.n == 6 and model.joint_names[0].endswith('shoulder_pan_joint'):
        return np.array(HOME)
    return np.clip(np.zeros(model.n), model.limits.lower, model.limits.upper)


class FlexibleJointRobot(Plant):
    """A robot of n flexible joints with known truth; deterministic for a seed.

    Parameters
    ----------
    source
        a URDF (path or text, with inertials and torque limits), a `RobotModel`, or None for the UR5e.
    settings
        `SimulationSettings`; None: the defaults.
    drives
        constants of the drives; None: `plausible_drives`.
    options
        settings by name, which replace those of `settings` (None: left as they are), as `seed=1`; others are passed to
        `RobotModel.load`, such as `mounting` or `joints`.

    Attributes
    ----------
    ticks
        control ticks done.

    Raises
    ------
    JointDynamicsError
        For invalid arguments.
    """

    def __init__(
        self,
        source: str | Path | RobotModel | None = None,
        settings: SimulationSettings | None = None,
        *,
        drives: Drives | None = None,
        **options: Any,
    ):
        gone = {'dynamics', 'floor', 'laws'} & set(options)
        if gone:
            raise JointDynamicsError(
                f'simulation: expected no {", ".join(sorted(gone))} (since 0.3.0): the links are computed'
                ' here alone, and other laws are given as drives'
            )
        stated = {name: options.pop(name) for name in declarations(SimulationSettings) if name in options}
        settings = (settings or SimulationSettings()).replaced(
            **{name: value for name, value in stated.items() if value is not None}
        )
        model = source if isinstance(source, RobotModel) else RobotModel.load(source or ur5e_urdf(), **options)
        if model.parameters is None:
            raise JointDynamicsError('simulation: expected a robot with inertials, found a description without')
        super().__init__(model, settings, drives)
        self.rate, self.sensors, self.heat_speed = settings.rate, settings.sensors, settings.heat_speed
        self.ambient = settings.temperature if settings.ambient is None else settings.ambient
        self._control = joint_controller(self.drives, largest_inertia(self._own, self._work, self.n), settings)
        self._rng = np.random.default_rng([settings.seed, 0x5E])
        self.ticks = 0
        self._last: Command | None = None
        self.place(initial_posture(model) if settings.position is None else settings.position)

    @property
    def time(self) -> float:
        """Simulated time, s: whole ticks, never skipped."""
        return self.ticks * self.period

    def compile(self) -> None:
        """Compile all functions of a tick, unless cached on this machine; nothing moves."""
        self._advance(Command.torque(np.empty((0, self.n))))

    def _advance(self, command: Command) -> tuple[int, FloatArray]:
        """Run a tick per row of `command`; return the ticks done and the measurements (ticks, rows, n)."""
        out = np.empty((len(command.effort), len(ROWS), self.n))
        done = engine.run(
            self._links, self._plant, self._state, self._control, command.mode, command.q, command.dq, command.effort,
            self.period, self._substeps, self.ambient, self.heat_speed, self._work, out,
        )  # fmt: skip
        return done, out

    def step(self, command: Command | None = None) -> Samples:
        """Run one tick under `command` (default: the last one, at first to stand still), return one-row `Samples`."""
        if command is not None:
            self._last = command
        elif self._last is None:
            self._last = Command.track(self._state.motion[0].copy())
        return self.run(self._last)

    def run(self, command: Command) -> Samples:
        """Run one tick per row of `command` and return the `Samples` measured at the start of each.

        Raises
        ------
        JointDynamicsError
            Where the motion becomes infinite or NaN.
        """
        command = command.checked(self.n)
        start, (done, out) = self.ticks, self._advance(command)
        ticks = len(out)
        self.ticks += done
        if done < ticks:
            raise JointDynamicsError(
                f'simulation: expected stable gains, found a motion that is not finite at {self.time:.3f} s'
            )
        noise = self._rng.standard_normal((ticks, 2, self.n))
        out[:, 4] += self.sensors.current_noise * self.drives.max_current * noise[:, 0]
        out[:, 5] += self.sensors.temperature_noise * noise[:, 1]
        if self.sensors.temperature_step > 0.0:
            out[:, 5] = np.rint(out[:, 5] / self.sensors.temperature_step) * self.sensors.temperature_step
        time = (start + np.arange(ticks, dtype=float)) * self.period
        return Samples(self.joint_names, time, self.drives.nominal_gain, out)


class Pace:
    """Gives the number of ticks to run now.

    Parameters
    ----------
    period
        of a tick, s.
    factor
        simulated seconds per second of wall time; 0: as fast as possible.
    batch
        largest number of ticks at once.
    max_lead
        largest lead of simulated time over the slowest follower, s.

    Attributes
    ----------
    followers
        simulated time up to which each follower has finished, s.
    waiting_for
        the slowest follower, while the simulation waits for it.
    """

    def __init__(self, period: float, *, factor: float = 1.0, batch: int = 10, max_lead: float = 0.1):
        self._period, self._batch, self.max_lead = period, batch, max_lead
        self.followers: dict[str, float] = {}
        self._anchor: tuple[float, int] | None = None
        self._window: tuple[float, int] | None = None
        self.factor = factor
        self.achieved = math.nan
        self.waiting_for = ''

    @property
    def factor(self) -> float:
        """Simulated seconds per second of wall time; 0: as fast as possible."""
        return self._factor

    @factor.setter
    def factor(self, value: float) -> None:
        if not 0.0 <= value < math.inf:
            raise JointDynamicsError(f'pace: expected a real time factor >= 0, found {value}')
        self._factor = value
        self._anchor = None

    def followed(self, name: str, time: float) -> None:
        """Note that follower `name` has finished everything up to simulated `time` [s]."""
        self.followers[name] = max(time, self.followers.get(name, -math.inf))

    def forget(self, name: str) -> None:
        """No longer wait for follower `name`."""
        self.followers.pop(name, None)

    def restart(self) -> None:
        """Restart the count of wall time, as after a pause."""
        self._anchor = self._window = None

    def due(self, wall: float, ticks: int) -> int:
        """Return how many ticks to run at wall time `wall` [s] after `ticks` done, at most a batch."""
        self._measure(wall, ticks)
        if self._factor == 0.0:
            due = self._batch
        else:
            if self._anchor is None:
                self._anchor = wall, ticks
            start, first = self._anchor
            # A tick is due when its time has begun; the small number keeps 0.002 / 0.001 at 2.
            due = math.floor((wall - start) * self._factor / self._period + 1e-6) + 1 + first - ticks
            if due * self._period > BACKLOG * self._factor + self._batch * self._period:
                self._anchor = wall, ticks
                due = self._batch
        due = min(due, self._batch)
        self.waiting_for = ''
        if self.followers:
            slowest = min(self.followers, key=lambda name: self.followers[name])
            allowed = math.floor((self.followers[slowest] + self.max_lead) / self._period + 1e-6) - ticks
            if allowed < due:
                due, self.waiting_for = allowed, slowest
                if allowed <= 0:
                    self._anchor = None
        return max(due, 0)

    def _measure(self, wall: float, ticks: int) -> None:
        if self._window is None:
            self._window = wall, ticks
        start, first = self._window
        if wall - start >= 1.0:
            self.achieved = (ticks - first) * self._period / (wall - start)
            self._window = wall, ticks
