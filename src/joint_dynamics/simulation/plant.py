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

"""The plant: links, drives and gears of a flexible-joint arm, external influences, and the time step that it needs.

It starts at rest, with springs and motors holding gravity, and friction without history.

The step is short enough for every mode of the arm in any posture. Linearised about any rest, the plant is
ẍ = −𝓜⁻¹(𝓚 x + 𝓓 ẋ), x = [q, θ], with the steepest spring and the steepest presliding friction there are. Classical
Runge-Kutta multiplies a mode of eigenvalue λ by R(λh) = Σ_{k≤4} (λh)^k / k!, and |R| ≤ 1 holds in all of the left half
plane within |λh| ≤ 2.6. The step keeps |λ|h ≤ 1.5 for all modes at sampled postures; a payload only slows them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation.drives import Drives, PlantConstants, PlantState, pack, plausible_drives, rest
from joint_dynamics.simulation.dynamics import (
    SMOOTHING_SPEED,
    deformation,
    lost_motion_share,
    motor_torque,
    spring_torque,
    travel,
)
from joint_dynamics.simulation.rigid_body import (
    Links,
    Payload,
    links_of,
    mass_and_bias,
    spread,
    with_payload,
    workspace,
)
from joint_dynamics.simulation.simulation_settings import MAX_STEP, SimulationSettings
from joint_dynamics.simulation.truth import Truth


def set_equilibrium(plant: PlantConstants, state: PlantState, position: FloatArray, holding: FloatArray) -> None:
    """Put `state` at rest at `position` (n,) [rad], springs and motors holding `holding` (n,) [N·m].

    Temperatures stay.
    """
    joints = state.joints
    state.motion[:] = 0.0
    state.motion[0] = position
    joints['load'] = holding
    for j in range(joints.size):
        # θ = q + φ(g) + θ̃(θ): the spring's inverse, then a fixed point, for |θ̃′| is far below 1.
        constants, maps = plant.joints[j], plant.maps[j]
        joints['lash_gain'][j] = lost_motion_share(constants.lash_law, holding[j] / constants.lash_load)
        phi = joints['wind'][j] = spring_deformation(plant, state, j, holding[j])
        theta = position[j] + phi
        for _ in range(100):
            joints['lash'][j] = travel(constants, maps, theta)
            theta += phi - deformation(constants, maps, joints[j], position[j], theta, 0.0)[0]
        state.motion[2, j] = theta
        joints['lash'][j] = state.play[j] = travel(constants, maps, theta)
        if constants.bristle > 0.0:
            state.play[j, 1] = 0.0
        # By virtual work the motor holds less (or more) than the load where the map from θ to the spring is not 1 : 1.
        torque = holding[j] * deformation(constants, maps, joints[j], position[j], theta, 0.0)[1]
        joints['current'][j] = torque / constants.gain
        for _ in range(30):
            # The gain depends on the current by a few percent: a fixed point.
            current = joints['current'][j]
            gain = motor_torque(constants, joints[j], theta) / current if current else constants.gain
            joints['current'][j] = torque / gain


def spring_deformation(plant: PlantConstants, state: PlantState, j: int, torque: float) -> float:
    """Return the deformation φ [rad] at which spring `j`, its slipping part relaxed, holds `torque` [N·m]."""
    constants = plant.joints[j]
    left = float(1.0 - constants.wear_stiffness * state.joints['wear'][j])

    def excess(phi: float) -> float:
        return left * spring_torque(constants, phi, phi) - abs(torque)

    high = 1e-9
    while excess(high) < 0.0:
        high *= 2.0
    return float(np.copysign(brentq(excess, 0.0, high, xtol=1e-16, rtol=1e-14), torque)) if torque else 0.0


#: Largest |λ|h allowed; Runge-Kutta is stable up to 2.6.
MARGIN = 1.5
#: A plant that needs more steps per tick than this is no robot.
MAX_SUBSTEPS = 400


def eigenvalues(links: Links, drives: Drives, postures: FloatArray) -> FloatArray:
    """Return the eigenvalues [1/s] of the linearised plant at rest in `postures` (k, n): (k, 4 n), complex."""
    n = drives.gain.size
    work = workspace(n)
    limit = drives.max_current * drives.nominal_gain
    deflection = limit / drives.stiffness
    spring = drives.stiffness + 3.0 * drives.stiffness_cubic * deflection**2 + drives.slip_stiffness
    spring += 5.0 * drives.stiffness_quintic * deflection**4
    # A power law of the speed is steepest at rest (`dynamics.THIN`), oil thickest when cold.
    thick = np.exp(drives.viscosity_slope * (drives.reference_temperature - drives.temperature_range[0]))
    viscous = (drives.viscous * SMOOTHING_SPEED ** (drives.viscous_power - 1.0) + drives.bristle_damping) * thick
    grip = (drives.static + drives.coulomb_load * limit**2 + drives.load_linear * limit) * (1.0 + drives.wear_friction)
    grip = grip * (1.0 + drives.viscosity_share * (thick - 1.0))
    steepest = np.where(drives.bristle > 0.0, drives.bristle * (1.0 + drives.unloading), drives.weight.sum())
    presliding = grip * steepest / drives.backlash[:, :, 0].min(axis=1)
    K = np.block([[np.diag(spring), -np.diag(spring)], [-np.diag(spring), np.diag(spring + presliding)]])
    D = np.diag(drives.damping)
    C = np.block([[D, -D], [-D, D + np.diag(viscous)]])
    spectra = []
    for q in postures:
        mass_and_bias(links, q, np.zeros(n), work)
        M = np.zeros((2 * n, 2 * n))
        M[:n, :n] = work.M
        M[n:, n:] = np.diag(drives.rotor_inertia)
        A = np.block([[np.zeros((2 * n, 2 * n)), np.eye(2 * n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
        spectra.append(np.linalg.eigvals(A))
    return np.array(spectra)


def substeps(links: Links, drives: Drives, period: float, max_step: float = MAX_STEP, postures: int = 24) -> int:
    """Return the number of integration steps in a tick of `period` [s].

    Raises JointDynamicsError where no reasonable number is sufficient.
    """
    n = drives.gain.size
    sampled = np.random.default_rng(24).uniform(-np.pi, np.pi, (postures, n)) * np.where(links.prismatic, 0.1, 1.0)
    fastest = np.abs(eigenvalues(links, drives, sampled)).max()
    count = int(np.ceil(period / min(max_step, MARGIN / fastest) - 1e-9))
    if count > MAX_SUBSTEPS:
        raise JointDynamicsError(
            f'simulation: expected at most {MAX_SUBSTEPS} steps per tick of {period:g} s, found that the fastest mode, '
            f'{fastest:.3g} rad/s, needs {count}: give less stiffness or damping, or more inertia in link and rotor'
        )
    return count


class Plant:
    """Links, drives and gears of n flexible joints; `FlexibleJointRobot` documents the parameters.

    Attributes
    ----------
    model, joint_names, n, limits
        the robot, its joints and their limits.
    period, step_size
        of a control tick and of the integration [s].
    seed, errors, drives
        as passed to `FlexibleJointRobot`.
    payload
        on the last link, None for none.
    """

    def __init__(self, model: RobotModel, settings: SimulationSettings, drives: Drives | None):
        self.model, self.joint_names, self.n, self.limits = model, model.joint_names, model.n, model.limits
        self.period, self.seed, self.errors = 1.0 / settings.rate, settings.seed, settings.errors
        self.drives = drives or plausible_drives(self.limits.effort, self.seed, self.errors)
        self._own = spread(links_of(model), self.errors.inertia, self.seed)
        self._links = self._own
        self.payload: Payload | None = None
        self._substeps = substeps(self._own, self.drives, self.period, settings.max_step)
        self._work = workspace(self.n)
        self._plant = pack(self.drives)
        self._state = rest(self.n, self.drives.radius.size, settings.temperature)

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
        """The true properties of the plant at this moment."""
        return Truth(self.model, self._links, self.drives, self._state)

    def place(self, q: ArrayLike) -> None:
        """Put the arm at rest at `q` (n,) [rad], with springs and motors holding gravity, and friction without history.

        Time and temperatures stay.
        """
        position = self._vector(q, 'position')
        state, joints = self._state, self._state.joints
        mass_and_bias(self._links, position, np.zeros(self.n), self._work)
        holding = self._work.bias - joints['external']
        set_equilibrium(self._plant, state, position, holding)
        joints['integral'] = joints['current'] * self.drives.nominal_gain
        joints['link_reading'], joints['motor_reading'] = state.motion[0], state.motion[2]
        joints['link_speed'] = joints['motor_speed'] = 0.0

    def hold(self) -> None:
        """Let the joint PID take over without a jerk: its integral becomes the torque that the motors give now."""
        self._state.joints['integral'] = self._state.joints['current'] * self.drives.nominal_gain

    def shift_integral(self, torque: ArrayLike) -> None:
        """Add `torque` ((n,) or one number) [N·m] to the integral of the joint PID."""
        self._state.joints['integral'] += self._vector(torque, 'torque')

    def attach_payload(self, payload: Payload | None) -> None:
        """Fix `payload` to the last link, in place of any other; None: nothing. Speeds stay."""
        self.payload = payload
        self._links = with_payload(self._own, payload)

    def set_wear(self, level: ArrayLike, duration: float = 0.0) -> None:
        """Wear the joints to `level` ((n,) or a number, 0 new … 1 worn out) within `duration` [s] of simulated time."""
        goal = self._vector(level, 'wear')
        if not ((goal >= 0.0) & (goal <= 1.0)).all() or not 0.0 <= duration < np.inf:
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
        """Set winding, gear and sensor to `temperature` ((n,) or one number) [°C] at once.

        sensed: temperature of the sensor, likewise; None: the same.
        """
        value = self._vector(temperature, 'temperature')
        for part in ('winding', 'gear'):
            self._state.joints[part] = value
        self._state.joints['sensed'] = value if sensed is None else self._vector(sensed, 'sensed temperature')

    def set_external_torque(self, torque: ArrayLike) -> None:
        """Push the links with `torque` ((n,) or one number) [N·m] in the direction of q, until set again."""
        self._state.joints['external'] = self._vector(torque, 'external torque')

    def _vector(self, value: ArrayLike, what: str) -> FloatArray:
        array = np.asarray(value, dtype=float)
        if array.shape not in ((), (1,), (self.n,)) or not np.isfinite(array).all():
            raise JointDynamicsError(
                f'simulation: expected {what} as one finite number or {self.n} of them, found {value!r}'
            )
        return np.broadcast_to(array, (self.n,)).copy()
