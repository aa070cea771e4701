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

"""Motor side and temperature of joints whose links another simulator moves, one with rigid joints such as Gazebo.

That simulator provides q, q̇ and, optionally, the joint torque; a quasi-static model of the drives adds the rest. The
transmission follows its load without delay, so the joint does not oscillate: τ_J = K₁φ + K₃φ³, θ = q + φ + θ̃(θ).

    K_τ i = τ_J + B q̈ + f,   f as in `Drives`, with one elasto-plastic operator H
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation.drives import pack, plausible_drives
from joint_dynamics.simulation.dynamics import friction, temperature_effect
from joint_dynamics.simulation.simulation_settings import ModelErrors
from joint_dynamics.simulation.transmission import evaluate

BANDWIDTH = 10.0  # Hz, cut-off of the difference that gives q̈
LONGEST_STEP = 0.1  # s; a longer silence starts the differences anew


class MotorSideSample(NamedTuple):
    """Of n joints, joint side of the gear.

    `theta` [rad], `dtheta` [rad/s], `current` [A], `temperature` [°C], `torque` τ_J [N·m].
    """

    theta: FloatArray
    dtheta: FloatArray
    current: FloatArray
    temperature: FloatArray
    torque: FloatArray


class MotorSideModel:
    """Adds the motor side to the links of `model`; one `step` per sample of theirs.

    Parameters
    ----------
    seed
        of `plausible_drives` for the robot's torque limits, without model errors.
    temperature
        initial temperature of all parts, and that of the surroundings [°C].
    heat_speed
        how many times faster than in reality heat flows.

    Raises
    ------
    JointDynamicsError
        Where the robot's torque limits are unknown.
    """

    def __init__(self, model: RobotModel, *, seed: int = 0, temperature: float = 25.0, heat_speed: float = 1.0):
        self.model = model
        self.drives = plausible_drives(model.limits.effort, seed, ModelErrors.none())
        self._joints = pack(self.drives).joints
        self.ambient = float(temperature)
        self.heat_speed = heat_speed
        # One state at a time, at the rate of a controller: compiled recursion, not the regressor of whole recordings.
        self._bodies = None if model.parameters is None else model.rigid_body()
        self._lag = 1.0 / (2 * np.pi * BANDWIDTH)
        # The presliding range: half of the backlash, averaged over the turn.
        self._range = self.drives.backlash[:, :, 0].mean(axis=1)
        self.winding = np.full(model.n, self.ambient)
        self.gear = np.full(model.n, self.ambient)
        self.reset()

    def reset(self) -> None:
        """Forget the motion, as after a gap or when time was set back; temperatures stay."""
        self._time: float | None = None
        self._stuck = np.zeros(self.model.n)

    def step(self, time: float, q: ArrayLike, dq: ArrayLike, torque: ArrayLike | None = None) -> MotorSideSample:
        """Return the motor side at `time` [s] for links at `q` (n,) [rad] with `dq` [rad/s].

        Parameters
        ----------
        torque
            τ_J (n,) [N·m] where the simulator reports it; None: computed from the robot's inertials.
        """
        q, dq = np.asarray(q, dtype=float), np.asarray(dq, dtype=float)
        dt = 0.0 if self._time is None else time - self._time
        if not 0.0 <= dt <= LONGEST_STEP:
            self.reset()
            dt = 0.0
        if self._time is None:
            self._dq, self._ddq, self._last = dq, np.zeros_like(dq), q
        elif dt > 0.0:
            share = dt / (dt + self._lag)
            self._ddq = self._ddq + share * ((dq - self._dq) / dt - self._ddq)
            # Kept where a stamp comes twice: the next difference is over all the time since.
            self._dq = dq
        if torque is None:
            if self._bodies is None:
                raise JointDynamicsError(
                    'motor side: expected a robot with inertials, or measured torques; found neither'
                )
            load = self._bodies.inverse_dynamics(q, dq, self._ddq)
        else:
            load = np.asarray(torque, dtype=float)
        theta = q + self.deformation(load)
        theta = theta + self._kinematic_error(theta)
        rubbing = self._friction(q - self._last, dq, load)
        current = (load + self.drives.rotor_inertia * self._ddq + rubbing) / self.drives.gain
        self._warm(dt * self.heat_speed, current, rubbing * dq)
        self._time, self._last = time, q
        return MotorSideSample(theta, dq.copy(), current, self.gear.copy(), load)

    def deformation(self, torque: FloatArray) -> FloatArray:
        """Return the real root φ (n,) [rad] of K₁φ + K₃φ³ = τ, in closed form."""
        d = self.drives
        p, r = d.stiffness / d.stiffness_cubic, torque / d.stiffness_cubic
        root = np.sqrt(p / 3)
        return 2 * root * np.sinh(np.arcsinh(r / (2 * root**3)) / 3)

    def _kinematic_error(self, theta: FloatArray) -> FloatArray:
        return np.array(
            [evaluate(table, angle) for table, angle in zip(self.drives.kinematic_error, theta, strict=True)]
        )

    def _friction(self, moved: FloatArray, omega: FloatArray, load: FloatArray) -> FloatArray:
        self._stuck = np.clip(self._stuck + moved, -self._range, self._range)
        state = zip(self._joints, self.gear, omega, load, self._stuck / self._range, strict=True)
        return np.array(
            [friction(c, 0.0, temperature_effect(c, T), 0.0, speed, tau, H) for c, T, speed, tau, H in state]
        )

    def _warm(self, dt: float, current: FloatArray, burnt: FloatArray) -> None:
        d = self.drives
        flow = (self.winding - self.gear) / d.winding_path
        lost = (self.gear - self.ambient) / d.joint_path
        self.winding = self.winding + dt * (d.resistance * current**2 - flow) / d.winding_capacity
        self.gear = self.gear + dt * (burnt + flow - lost) / d.joint_capacity
