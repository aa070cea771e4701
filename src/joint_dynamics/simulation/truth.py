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

"""True properties of the plant, for tests and demonstrations to compare with; identification must not use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation.drives import Drives, PlantState, pack
from joint_dynamics.simulation.dynamics import friction, spring_torque, temperature_effect
from joint_dynamics.simulation.rigid_body import Links, standard_parameters
from joint_dynamics.simulation.transmission import evaluate

#: Speeds of the friction curve in the document, rad/s.
SPEEDS = np.linspace(0.1, 1.5, 29)


class Truth:
    """Truth of a simulated robot of n joints at this moment; arrays are (n,) in the robot's joint order unless stated.

    Attributes
    ----------
    drives
        all constants of motors, gears, friction and heat (`Drives`).
    links
        the true tree with inertials, payload included (`Links`).

    """

    def __init__(self, model: RobotModel, links: Links, drives: Drives, state: PlantState):
        self._model, self.links, self.drives, self._state = model, links, drives, state

    @property
    def parameters(self) -> FloatArray:
        """Standard parameters (14 n,) in the order of `RobotModel.parameter_names`, payload included.

        Ia is the rotor inertia; Fv and Fc are the linear viscous and the unloaded Coulomb coefficient of the friction
        law, which has more terms than these two; offsets are 0.
        """
        return standard_parameters(self.links, self.drives.rotor_inertia, self.drives.viscous, self.coulomb)

    @property
    def base_parameters(self) -> FloatArray:
        """Base parameters, in the order of `RobotModel.base_parameters()`."""
        return self._model.base_parameters().regroup(self.parameters)

    @property
    def position(self) -> FloatArray:
        """Link-side position, rad."""
        return self._state.motion[0].copy()

    @property
    def drive_gains(self) -> FloatArray:
        """Drive gain K_τ at the windings' present temperature, N·m/A."""
        return self.drives.gain * (1.0 + self.drives.gain_slope * (self._state.joints['winding'] - 25.0))

    @property
    def rotor_inertia(self) -> FloatArray:
        """Rotor inertia B, kg·m² on the joint side."""
        return self.drives.rotor_inertia.copy()

    @property
    def damping(self) -> FloatArray:
        """Damping D of the transmission, N·m·s/rad."""
        return self.drives.damping.copy()

    @property
    def coulomb(self) -> FloatArray:
        """Present Coulomb friction without load, wear included, N·m."""
        return self.drives.coulomb * self.friction_growth

    @property
    def friction_growth(self) -> FloatArray:
        """Factor of Coulomb friction by wear, 1 when new."""
        return 1.0 + self.drives.wear_friction * self._state.joints['wear']

    @property
    def wear(self) -> FloatArray:
        """Wear, 0 new to 1 worn out."""
        return self._state.joints['wear'].copy()

    @property
    def stiffness(self) -> FloatArray:
        """Present coefficients (n, 2) of τ_E = K₁φ + K₃φ³ about φ = 0, N·m/rad and N·m/rad³ (see `spring_torque`)."""
        d = self.drives
        left = 1.0 - d.wear_stiffness * self._state.joints['wear']
        return np.column_stack(
            [left * (d.stiffness - d.windup), left * (d.stiffness_cubic + d.windup / (3.0 * d.windup_range**2))]
        )

    def spring_torque(self, phi: ArrayLike) -> FloatArray:
        """Return τ_E [N·m] of the deformation `phi` (…, n) [rad]; where a part slips, the mean of both directions."""
        angle = np.asarray(phi, dtype=float)
        left = 1.0 - self.drives.wear_stiffness * self._state.joints['wear']
        joints = pack(self.drives).joints
        out = np.empty(angle.shape)
        for index in np.ndindex(angle.shape):
            # The slipping part stands at the deformation itself: in the middle of its loop.
            out[index] = left[index[-1]] * spring_torque(joints[index[-1]], angle[index], angle[index])
        return out

    @property
    def temperature(self) -> FloatArray:
        """Temperature of the gears, on which friction depends, °C."""
        return self._state.joints['gear'].copy()

    @property
    def winding_temperature(self) -> FloatArray:
        """Temperature of the windings, °C."""
        return self._state.joints['winding'].copy()

    def kinematic_error(self, theta: ArrayLike) -> FloatArray:
        """Return θ̃ [rad] at `theta` (…, n) [rad], without its ripple per motor turn."""
        return self._map(self.drives.kinematic_error, theta)

    def backlash(self, theta: ArrayLike) -> FloatArray:
        """Return 𝓑 [rad], half the width of the backlash, at `theta` (…, n) [rad]."""
        return self._map(self.drives.backlash, theta)

    def _map(self, tables: FloatArray, theta: ArrayLike) -> FloatArray:
        angles = np.asarray(theta, dtype=float)
        return np.stack([evaluate(tables[j], angles[..., j]) for j in range(len(tables))], axis=-1)

    def friction(self, omega: ArrayLike, torque: ArrayLike = 0.0, temperature: ArrayLike | None = None) -> FloatArray:
        """Return friction [N·m] in steady slip at speeds `omega` (…, n) [rad/s], averaged over the turn.

        Under load `torque` τ_J [N·m] at gear `temperature` [°C] (the present one by default), both broadcast to
        `omega`.
        """
        speed = np.asarray(omega, dtype=float)
        load = np.broadcast_to(np.asarray(torque, dtype=float), speed.shape)
        temperature_of = np.broadcast_to(
            self.temperature if temperature is None else np.asarray(temperature, dtype=float), speed.shape
        )
        wear = self.wear
        even = pack(self.drives._replace(friction_position=np.zeros_like(self.drives.friction_position))).joints
        out = np.empty(speed.shape)
        for index in np.ndindex(speed.shape):
            j = index[-1]
            warm = temperature_effect(even[j], temperature_of[index])
            out[index] = friction(even[j], wear[j], warm, 0.0, speed[index], load[index], np.sign(speed[index]))
        return out

    def as_document(self) -> dict[str, Any]:
        """Return all properties with plain names and numbers, arrays as lists in joint order (for JSON).

        `friction_curve`: at the present wear and temperature without load, mean of both directions; `spring_curve`: to
        1.2 times the torque limit.
        """
        speed = SPEEDS[:, None] * np.ones(len(self.drives.gain))
        reach = 1.2 * self.drives.max_current * self.drives.gain / self.stiffness[:, 0]
        deformation = np.linspace(-1.0, 1.0, 101)[:, None] * reach
        turn = np.linspace(0.0, 2.0 * np.pi, 241)[:-1, None] * np.ones(len(self.drives.gain))
        return {
            'joint_names': list(self._model.joint_names),
            'parameter_names': list(self._model.parameter_names),
            'drive_gain': self.drive_gains.tolist(),
            **_lists(self, 'parameters rotor_inertia damping stiffness wear temperature winding_temperature'),
            'friction': _lists(
                self.drives,
                'coulomb coulomb_load load_linear static stribeck_speed stribeck_shape viscous viscous_square '
                'viscous_cubic temperature_linear temperature_cubic reference_temperature wear_friction '
                'wear_stiffness nominal_gain gear_ratio',
            ),
            'friction_curve': {
                'speed': SPEEDS.tolist(),
                'torque': (0.5 * (self.friction(speed) - self.friction(-speed))).T.tolist(),
            },
            'spring_curve': {
                'deformation': deformation.T.tolist(),
                'torque': self.spring_torque(deformation).T.tolist(),
            },
            'kinematic_error': self.kinematic_error(turn).T.tolist(),
            'backlash': self.backlash(turn).T.tolist(),
        }


def _lists(source: Any, names: str) -> dict[str, list[Any]]:
    return {name: getattr(source, name).tolist() for name in names.split()}
