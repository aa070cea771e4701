"""The simulated robot: a flexible-joint arm with drives, sensors and a joint controller.

One control tick after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import engine
from joint_dynamics.simulation.drives import Drives, plausible_drives
from joint_dynamics.simulation.energy import Energy, EnergyAudit
from joint_dynamics.simulation.equilibrium import set_equilibrium
from joint_dynamics.simulation.inertials import Payload, spread, with_payload
from joint_dynamics.simulation.joint_controller import joint_controller, largest_inertia
from joint_dynamics.simulation.laws import Laws
from joint_dynamics.simulation.model_errors import ModelErrors, Sensors
from joint_dynamics.simulation.mujoco_bodies import MujocoBodies
from joint_dynamics.simulation.packed import pack, rest
from joint_dynamics.simulation.rigid_body import links_of, mass_and_bias, workspace
from joint_dynamics.simulation.samples import Command, Samples
from joint_dynamics.simulation.stability import MAX_STEP, substeps
from joint_dynamics.simulation.truth import Truth
from joint_dynamics.simulation.ur5e import ur5e_urdf

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
    """Return the posture (n,) [rad] a simulation begins at: a UR's home; others at 0 or the limit next to it."""
    if model.n == 6 and all(name.endswith(ur) for name, ur in zip(model.joint_names, UR_JOINTS, strict=True)):
        return np.array(HOME)
    return np.clip(np.zeros(model.n), model.limits.lower, model.limits.upper)


class FlexibleJointRobot:
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
        constants of the drives; default `plausible_drives`.
    gains
        joint PID of the controller, {'kp': …, 'ki': …, 'kd': …, each (n,) or a number}; default fits inertia and
        friction.
    feedback
        side of the position fed back, `link` or `motor`; the speed always is the motor's.
    position
        (n,) [rad] where it stands at first.
    temperature
        of everything at first, and `ambient` (default the same), °C.
    heat_speed
        how many times faster than in reality heat flows.
    max_step
        longest integration step, s, at most 0.25 ms.
    laws
        which laws the plant obeys (`Laws`); default the methods' own.
    dynamics
        who computes the links, `own` kernels or `mujoco` (`mujoco_bodies`), which also knows contacts and pushes on
        bodies.
    floor
        height of a floor over the base's origin [m], with mujoco; None for none. options: passed to `RobotModel.load`,
        such as `mounting` or `joints`.

    Raises
    ------
    JointDynamicsError
        On bad input.
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
        self.model = source if isinstance(source, RobotModel) else RobotModel.load(source or ur5e_urdf(), **options)
        if self.model.parameters is None:
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
        self.joint_names, self.n, self.limits = self.model.joint_names, self.model.n, self.model.limits
        self.rate, self.period, self.seed = float(rate), 1.0 / rate, seed
        self.errors, self.sensors = errors or ModelErrors(), sensors or Sensors()
        self.heat_speed = heat_speed
        self.ambient = float(temperature if ambient is None else ambient)
        self.laws = laws or Laws()
        self.drives = self.laws.applied(drives or plausible_drives(self.limits.effort, seed, self.errors), seed)
        self._own = spread(links_of(self.model), self.errors.inertia, seed)
        self._links = self._own
        self._payload: Payload | None = None
        self._substeps = substeps(self._own, self.drives, self.period, max_step)
        self.dynamics = dynamics
        self._bodies = MujocoBodies(self.model, self._own, self.step_size, floor) if dynamics == 'mujoco' else None
        self._work = workspace(self.n)
        self._outside = None if self._bodies is None else self._bodies.outside
        largest = largest_inertia(self._own, self._work, self.n)
        self._control = joint_controller(self.drives, self.sensors, largest, gains or {}, feedback == 'motor')
        self._rng = np.random.default_rng([seed, 0x5E])
        self._ticks = 0
        self._last: Command | None = None
        self._audit = EnergyAudit()
        self._plant = pack(self.drives)
        self._state = rest(self.n, self.drives.radius.size, float(temperature))
        self.place(initial_posture(self.model) if position is None else position)

    @property
    def time(self) -> float:
        """Simulated time, s: whole ticks, never skipped."""
        return self._ticks * self.period

    @property
    def ticks(self) -> int:
        """Control ticks done."""
        return self._ticks

    @property
    def step_size(self) -> float:
        """Integration step, s."""
        return self.period / self._substeps

    @property
    def nominal_gains(self) -> FloatArray:
        """Nominal drive gains (n,), those set in the drives, N·m/A; the true ones are in `truth.drive_gains`."""
        return self.drives.nominal_gain.copy()

    @property
    def truth(self) -> Truth:
        """What the plant really is, at this moment."""
        return Truth(self.model, self._links, self.drives, self._state, self.laws)

    @property
    def energy(self) -> Energy:
        """Energy of the plant now, and where the work went since the last `place`.

        Payload change or reset of the audit, J.
        """
        return self._audit.balance(self._links, self._plant, self._state, self._work)

    def reset_energy_audit(self) -> None:
        """Start the audit of `energy` anew, from here."""
        self._audit.reset(self._links, self._plant, self._state, self._work)

    def compile(self) -> None:
        """Compile what a tick needs, where that has not been done on this machine; nothing moves."""
        nothing = np.empty((0, self.n))
        engine.run(
            self._links,
            self._plant,
            self._state,
            self._control,
            engine.PID,
            nothing,
            nothing,
            nothing,
            self.period,
            self._substeps,
            self.ambient,
            self.heat_speed,
            self._work,
            self._outside,
            np.empty((0, len(engine.ROWS), self.n)),
        )

    def place(self, q: ArrayLike) -> None:
        """Put the arm at rest at `q` (n,) [rad], springs and motors holding gravity, friction's memory erased.

        Time and heat go on.
        """
        position = self._vector(q, 'position')
        state, joints = self._state, self._state.joints
        mass_and_bias(self._links, position, np.zeros(self.n), self._work)
        holding = self._work.bias - joints['external']
        set_equilibrium(self._plant, state, position, holding)
        joints['integral'] = joints['current'] * self.drives.nominal_gain
        joints['link_reading'], joints['motor_reading'] = state.motion[0], state.motion[2]
        joints['link_speed'] = joints['motor_speed'] = 0.0
        self.reset_energy_audit()

    def hold(self) -> None:
        """Let the joint PID take over without a jerk: its integral becomes the torque that the motors give now."""
        self._state.joints['integral'] = self._state.joints['current'] * self.drives.nominal_gain

    def shift_integral(self, torque: ArrayLike) -> None:
        """Add `torque` ((n,) or one number) [N·m] to the integral of the joint PID."""
        self._state.joints['integral'] += self._vector(torque, 'torque')

    def step(self, command: Command | None = None) -> Samples:
        """Run one tick under `command` (default: the last one, at first to stand still), return one-row `Samples`."""
        if command is not None:
            self._last = command
        elif self._last is None:
            self._last = Command.track(self._state.motion[0].copy())
        return self.run(self._last)

    def run(self, command: Command) -> Samples:
        """Run one tick per row of `command` and return what was measured at the start of each.

        `Samples` of that many rows.

        Raises
        ------
        JointDynamicsError
            Where the motion is no longer finite.
        """
        command = command.checked(self.n)
        ticks = len(command.effort)
        out = np.empty((ticks, len(engine.ROWS), self.n))
        start = self._ticks
        done = engine.run(
            self._links,
            self._plant,
            self._state,
            self._control,
            command.mode,
            command.q,
            command.dq,
            command.effort,
            self.period,
            self._substeps,
            self.ambient,
            self.heat_speed,
            self._work,
            self._outside,
            out,
        )
        self._ticks += done
        if done < ticks:
            raise JointDynamicsError(
                f'simulation: the motion left the numbers at {self.time:.3f} s: expected gains the joints can follow'
            )
        noise = self._rng.standard_normal((ticks, 2, self.n))
        out[:, 4] += self.sensors.current_noise * self.drives.max_current * noise[:, 0]
        out[:, 5] += self.sensors.temperature_noise * noise[:, 1]
        if self.sensors.temperature_step > 0.0:
            out[:, 5] = np.rint(out[:, 5] / self.sensors.temperature_step) * self.sensors.temperature_step
        time = (start + np.arange(ticks, dtype=float)) * self.period
        return Samples(self.joint_names, time, self.drives.nominal_gain, out)

    def attach_payload(self, payload: Payload) -> None:
        """Fix `payload` to the last link, in place of what it held; speeds stay as they are."""
        self._hold(payload)

    def detach_payload(self) -> None:
        """Let go of the payload."""
        self._hold(None)

    def _hold(self, payload: Payload | None) -> None:
        self._payload = payload
        self._links = with_payload(self._own, payload)
        if self._bodies is not None:
            self._bodies.load_inertials(self._links)
        self.reset_energy_audit()

    @property
    def payload(self) -> Payload | None:
        """What the last link holds."""
        return self._payload

    def set_wear(self, level: ArrayLike, duration: float = 0.0) -> None:
        """Wear the joints to `level` ((n,) or a number, 0 new … 1 worn out) within `duration` [s] of simulated time."""
        goal = self._vector(level, 'wear')
        if (goal < 0.0).any() or (goal > 1.0).any() or not 0.0 <= duration < np.inf:
            raise JointDynamicsError(
                f'simulation: expected wear within [0, 1] and a duration >= 0 s, found {goal} and {duration}'
            )
        joints = self._state.joints
        joints['wear_goal'] = goal
        joints['wear_rate'] = np.abs(goal - joints['wear']) / max(duration, self.period)

    def set_heating(self, power: ArrayLike) -> None:
        """Heat the gears from outside with `power` ((n,) or one number) [W], until set again."""
        self._state.joints['heating'] = self._vector(power, 'heating')

    def set_temperature(self, temperature: ArrayLike, sensed: ArrayLike | None = None) -> None:
        """Bring winding, gear and sensor to `temperature` ((n,) or one number) [°C] at once.

        sensed: what the sensor is at, likewise, where that is something else.
        """
        value = self._vector(temperature, 'temperature')
        for part in ('winding', 'gear'):
            self._state.joints[part] = value
        self._state.joints['sensed'] = value if sensed is None else self._vector(sensed, 'sensed temperature')

    def set_external_torque(self, torque: ArrayLike) -> None:
        """Push the links with `torque` ((n,) or one number) [N·m] in the direction of q, until set again."""
        self._state.joints['external'] = self._vector(torque, 'external torque')

    def push(self, link: int, force: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Push a body: `force` (3,) [N] in the base frame on link `link` (index of its joint, −1 the last).

        At `point` (3,) [m] of its joint frame, until pushed again; force and torque are constant from here on.
        Needs dynamics mujoco.
        """
        index = range(self.n)[link]
        vectors = [np.asarray(value, dtype=float) for value in (force, point)]
        if self._bodies is None:
            raise JointDynamicsError(
                'simulation: expected dynamics mujoco to push a body, found own; set_external_torque pushes joints'
            )
        if any(value.shape != (3,) or not np.isfinite(value).all() for value in vectors):
            raise JointDynamicsError(
                f'simulation: expected a force and a point of 3 finite numbers, found {force!r} and {point!r}'
            )
        self._bodies.data.qpos[:] = self._state.motion[0]
        self._bodies.push(index, *vectors)

    @property
    def contacts(self) -> int:
        """Number of contacts with the floor at the last step; 0 without MuJoCo."""
        return 0 if self._bodies is None else self._bodies.contacts

    def _vector(self, value: ArrayLike, what: str) -> FloatArray:
        array = np.asarray(value, dtype=float)
        if array.shape not in ((), (1,), (self.n,)) or not np.isfinite(array).all():
            raise JointDynamicsError(
                f'simulation: expected {what} as one finite number or {self.n} of them, found {value!r}'
            )
        return np.broadcast_to(array, (self.n,)).copy()
