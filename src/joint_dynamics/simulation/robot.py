"""The simulated robot: the plant with sensors and a joint controller, one control tick after the other."""

from __future__ import annotations

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
from joint_dynamics.simulation.links import Links, Workspace
from joint_dynamics.simulation.plant import Plant
from joint_dynamics.simulation.rigid_body import mass_and_bias
from joint_dynamics.simulation.simulation_settings import GAINS, SimulationSettings
from joint_dynamics.simulation.trajectory import ROWS, Command, Samples


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


UR_JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
#: Where a UR stands at first, rad: clear of itself and of the floor.
HOME = (0.0, -1.2, 1.4, -1.7, -1.5, 0.3)


def initial_posture(model: RobotModel) -> FloatArray:
    """Return the posture (n,) [rad] at which a simulation begins: a UR's home; otherwise 0 or the nearest limit."""
    if model.n == 6 and all(name.endswith(ur) for name, ur in zip(model.joint_names, UR_JOINTS, strict=True)):
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
        """Run a tick per row of `command`; return how many were done, and what was measured (ticks, rows, n)."""
        out = np.empty((len(command.effort), len(ROWS), self.n))
        done = engine.run(
            self._links, self._plant, self._state, self._control, command.mode, command.q, command.dq, command.effort,
            self.period, self._substeps, self.ambient, self.heat_speed, self._work, self._outside, out,
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
                'simulation: expected gains the joints can follow, found that the motion left the numbers at '
                f'{self.time:.3f} s'
            )
        noise = self._rng.standard_normal((ticks, 2, self.n))
        out[:, 4] += self.sensors.current_noise * self.drives.max_current * noise[:, 0]
        out[:, 5] += self.sensors.temperature_noise * noise[:, 1]
        if self.sensors.temperature_step > 0.0:
            out[:, 5] = np.rint(out[:, 5] / self.sensors.temperature_step) * self.sensors.temperature_step
        time = (start + np.arange(ticks, dtype=float)) * self.period
        return Samples(self.joint_names, time, self.drives.nominal_gain, out)
