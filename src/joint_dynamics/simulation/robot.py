"""The simulated robot: the plant with sensors and a joint controller, one control tick after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import engine
from joint_dynamics.simulation.drives import Drives
from joint_dynamics.simulation.laws import Laws
from joint_dynamics.simulation.links import Links, Workspace
from joint_dynamics.simulation.model_errors import ModelErrors, Sensors
from joint_dynamics.simulation.plant import Plant
from joint_dynamics.simulation.rigid_body import mass_and_bias
from joint_dynamics.simulation.stability import MAX_STEP
from joint_dynamics.simulation.trajectory import Command, Samples


def ur5e_urdf() -> Path:
    """Return the path of the UR5e's URDF that ships with the package."""
    return Path(__file__).with_name('ur5e.urdf')


def ur5e_description(prefix: str = '') -> str:
    """Return the UR5e's URDF as text, with `prefix` before link and joint names, as `tf_prefix` of robot drivers."""
    text = ur5e_urdf().read_text(encoding='utf-8')
    return re.sub(r'<(link|joint) name="|(parent|child) link="', lambda match: match.group(0) + prefix, text)


def joint_controller(
    drives: Drives, sensors: Sensors, largest: FloatArray, gains: Mapping[str, ArrayLike], motor_side: bool
) -> engine.Control:
    """Return the controller: gains of a double pole at 4 Hz for the largest inertia, where none are given.

    Parameters
    ----------
    largest
        (n,) kg·m², largest inertia of the links about each joint, see `largest_inertia`.
    gains
        kp, ki, kd, numbers or (n,) each; defaults for those left out.
    motor_side
        whether the position is fed back from the motor.

    Raises
    ------
    JointDynamicsError
        For an unknown or negative gain.
    """
    unknown = set(gains) - {'kp', 'ki', 'kd'}
    if unknown:
        raise JointDynamicsError(f'simulation: expected gains kp, ki, kd, found {", ".join(sorted(unknown))}')
    n = len(largest)
    inertia = largest + drives.rotor_inertia
    # Stiffer than the double pole where the rotor dominates; the integral takes 1/5 s.
    kp = 25.0**2 * inertia + 55.0**2 * drives.rotor_inertia
    default = {'kp': kp, 'ki': 5.0 * kp, 'kd': 2.0 * np.sqrt(kp * inertia)}
    values = {}
    for name, fallback in default.items():
        value = np.broadcast_to(np.asarray(gains.get(name, fallback), dtype=float), (n,)).copy()
        if not (np.isfinite(value) & (value >= 0.0)).all():
            raise JointDynamicsError(f'simulation: expected gains {name} >= 0, found {value}')
        values[name] = value
    motor = 2.0 * np.pi / 2.0**sensors.motor_bits / drives.gear_ratio if sensors.motor_bits else np.zeros(n)
    link = np.full(n, 2.0 * np.pi / 2.0**sensors.link_bits if sensors.link_bits else 0.0)
    return engine.Control(
        values['kp'], values['ki'], values['kd'], motor_side, link, motor, float(sensors.speed_bandwidth)
    )


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
#: Who computes the links.
ENGINES = ('own', 'mujoco')


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
    rate
        control ticks per second, Hz, 400 at least (`record` can keep every k-th sample).
    seed
        draws the drives' spread, the model errors and the sensors' noise.
    errors, sensors
        see `ModelErrors` and `Sensors`.
    drives
        constants of the drives; None: `plausible_drives`.
    gains
        joint PID of the controller, {'kp': …, 'ki': …, 'kd': …, each (n,) or a number}; by default matched to the
        inertia.
    feedback
        side of the position fed back, `link` or `motor`; the speed is always the motor's.
    position
        (n,) [rad], initial position.
    temperature
        initial temperature of all parts, °C.
    ambient
        temperature of the surroundings, °C; None: `temperature`.
    heat_speed
        how many times faster than in reality heat flows.
    max_step
        longest integration step, s, at most 0.25 ms.
    laws
        laws of the plant (`Laws`); None: the methods' own.
    dynamics
        simulator of the links: the `own` kernels, or `mujoco` (`mujoco_bodies`), which also has contacts and pushes on
        bodies.
    floor
        height of a floor over the base's origin [m], with mujoco; None: no floor.
    options
        passed to `RobotModel.load`, such as `mounting` or `joints`.

    Raises
    ------
    JointDynamicsError
        For invalid arguments.
    """

    def __init__(
        self,
        source: str | Path | RobotModel | None = None,
        *,
        rate: float = 1000.0,
        seed: int = 0,
        errors: ModelErrors | None = None,
        sensors: Sensors | None = None,
        drives: Drives | None = None,
        gains: dict[str, ArrayLike] | None = None,
        feedback: str = 'link',
        position: ArrayLike | None = None,
        temperature: float = 25.0,
        ambient: float | None = None,
        heat_speed: float = 1.0,
        max_step: float = MAX_STEP,
        laws: Laws | None = None,
        dynamics: str = 'own',
        floor: float | None = None,
        **options: Any,
    ):
        model = source if isinstance(source, RobotModel) else RobotModel.load(source or ur5e_urdf(), **options)
        if model.parameters is None:
            raise JointDynamicsError('simulation: expected a robot with inertials, found a description without')
        if not 400.0 <= rate <= 10000.0:
            raise JointDynamicsError(f'simulation: expected a rate within [400, 10000] Hz, found {rate}')
        if not 0.0 < max_step <= MAX_STEP:
            raise JointDynamicsError(f'simulation: expected max_step within (0, {MAX_STEP}] s, found {max_step}')
        if not 0.0 <= heat_speed <= 2000.0:
            raise JointDynamicsError(f'simulation: expected heat_speed within [0, 2000], found {heat_speed}')
        if feedback not in ('link', 'motor'):
            raise JointDynamicsError(f'simulation: expected feedback link or motor, found {feedback!r}')
        if dynamics not in ENGINES:
            raise JointDynamicsError(f'simulation: expected dynamics own or mujoco, found {dynamics!r}')
        if floor is not None and (dynamics != 'mujoco' or not np.isfinite(floor)):
            raise JointDynamicsError(
                f'simulation: expected a floor at a finite height with dynamics mujoco, found {floor} with {dynamics}'
            )
        super().__init__(
            model,
            period=1.0 / rate,
            max_step=max_step,
            seed=seed,
            errors=errors or ModelErrors(),
            drives=drives,
            laws=laws or Laws(),
            dynamics=dynamics,
            floor=floor,
            temperature=float(temperature),
        )
        self.rate, self.sensors = float(rate), sensors or Sensors()
        self.heat_speed = heat_speed
        self.ambient = float(temperature if ambient is None else ambient)
        largest = largest_inertia(self._own, self._work, self.n)
        self._control = joint_controller(self.drives, self.sensors, largest, gains or {}, feedback == 'motor')
        self._rng = np.random.default_rng([seed, 0x5E])
        self._ticks = 0
        self._last: Command | None = None
        self.place(initial_posture(self.model) if position is None else position)

    @property
    def time(self) -> float:
        """Simulated time, s: whole ticks, never skipped."""
        return self._ticks * self.period

    @property
    def ticks(self) -> int:
        """Control ticks done."""
        return self._ticks

    def compile(self) -> None:
        """Compile all functions of a tick, unless cached on this machine; nothing moves."""
        self._advance(Command.torque(np.empty((0, self.n))))

    def _advance(self, command: Command) -> tuple[int, FloatArray]:
        """Run a tick per row of `command`; return how many were done, and what was measured (ticks, rows, n)."""
        out = np.empty((len(command.effort), len(engine.ROWS), self.n))
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
        start, (done, out) = self._ticks, self._advance(command)
        ticks = len(out)
        self._ticks += done
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
