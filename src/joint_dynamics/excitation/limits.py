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

"""Limits of a robot's motion as arrays, and the parameters from which its torque is computed.

A limit is the URDF's times the safety factor, unless the settings state one; of two position limits the tighter one
applies. The parameters are those of the robot plus payload and expected friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.trajectory import MotionSamples
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.standard_parameters import body_of
from joint_dynamics.settings.base import per_joint

SPEED_UP_TIME = 0.5  # s from rest to the speed limit; gives the acceleration limit if none is stated


@dataclass(frozen=True)
class MotionLimits:
    """Limits of n joints, (n,) each.

    `lower` and `upper` are positions [rad or m]. `velocity` and `acceleration` are magnitudes, per s and s². `torque`
    [N·m] is None if unlimited.
    """

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    torque: FloatArray | None

    @property
    def middle(self) -> FloatArray:
        """Middle of the position range (n,)."""
        return (self.lower + self.upper) / 2

    @property
    def half_range(self) -> FloatArray:
        """Half of the position range (n,)."""
        return (self.upper - self.lower) / 2

    def inside(self, share: float) -> MotionLimits:
        """Return limits that are tighter by `share` (0 … 1), around the same middle; the torque limit is unchanged."""
        keep = (1 - share) * self.half_range
        return MotionLimits(
            self.middle - keep,
            self.middle + keep,
            (1 - share) * self.velocity,
            (1 - share) * self.acceleration,
            self.torque,
        )

    def worst(self, joint_names: Sequence[str], samples: MotionSamples, room: float = 0.0) -> str:
        """Return a message about the largest violation, with joint, time and value; '' if there is none.

        NaN violates every limit.

        Parameters
        ----------
        joint_names
            (n,).
        samples
            the motion, (samples, n).
        room
            tolerated excess, relative to the limit.
        """
        middle, zero = self.middle, np.zeros_like(self.middle)
        largest, message = room, ''
        for what, unit, values, centre, bound in (
            ('position', 'rad', samples.q, middle, self.half_range),
            ('speed', 'rad/s', samples.dq, zero, self.velocity),
            ('acceleration', 'rad/s²', samples.ddq, zero, self.acceleration),
        ):
            with np.errstate(all='ignore'):
                beyond = np.abs(values - centre) / bound - 1.0
            beyond = np.where(np.isfinite(beyond), beyond, np.inf)
            k, j = divmod(int(np.argmax(beyond)), beyond.shape[1])
            if not beyond[k, j] <= largest:
                largest, low, high = float(beyond[k, j]), centre[j] - bound[j], centre[j] + bound[j]
                message = (
                    f'{what} of {joint_names[j]} {values[k, j]:.4g} {unit} at {samples.time[k]:.4g} s, allowed are'
                    f' {low:.4g} … {high:.4g}'
                )
        return message

    @classmethod
    def of(cls, model: RobotModel, settings: LimitSettings) -> MotionLimits:
        """Return the limits of a robot.

        Raises
        ------
        JointDynamicsError
            For a joint without speed limit or room to move. For a torque limit without inertial parameters, or without
            the effort limit of a joint.
        """
        names = model.joint_names
        lower, upper = _position(model, settings)
        if settings.velocity is not None:
            velocity = per_joint(settings.velocity, names, 'limits.velocity')
        else:
            velocity = settings.safety_factor * _known(model.limits.velocity, names, 'a speed limit', 'limits.velocity')
        acceleration = (
            velocity / SPEED_UP_TIME
            if settings.acceleration is None
            else per_joint(settings.acceleration, names, 'limits.acceleration')
        )
        torque = None
        if settings.torque_limit:
            if model.parameters is None:
                raise JointDynamicsError(
                    'limits: expected inertial parameters for the torque limit, found none in the model: '
                    'use a URDF with inertials, or set limits.torque_limit: false'
                )
            if settings.torque is not None:
                torque = per_joint(settings.torque, names, 'limits.torque')
            else:
                torque = settings.safety_factor * _known(
                    model.limits.effort, names, 'a torque limit', 'limits.torque (or torque_limit: false)'
                )
        return cls(lower, upper, velocity, acceleration, torque)


def _known(values: FloatArray, names: tuple[str, ...], what: str, key: str) -> FloatArray:
    missing = [name for name, value in zip(names, values, strict=True) if not np.isfinite(value)]
    if missing:
        raise JointDynamicsError(
            f'limits: expected {what} for every joint, found none for {", ".join(missing)}: give {key}'
        )
    return values


def _position(model: RobotModel, settings: LimitSettings) -> tuple[FloatArray, FloatArray]:
    lower, upper = model.limits.lower.copy(), model.limits.upper.copy()
    bounded = np.isfinite(lower) & np.isfinite(upper)
    shrink = (1 - settings.safety_factor) * (upper[bounded] - lower[bounded]) / 2
    lower[bounded] += shrink
    upper[bounded] -= shrink
    lower[~bounded] = np.maximum(lower[~bounded], -settings.continuous_range)
    upper[~bounded] = np.minimum(upper[~bounded], settings.continuous_range)
    if settings.lower is not None:
        lower = np.maximum(lower, per_joint(settings.lower, model.joint_names, 'limits.lower'))
    if settings.upper is not None:
        upper = np.minimum(upper, per_joint(settings.upper, model.joint_names, 'limits.upper'))
    for name, low, high in zip(model.joint_names, lower, upper, strict=True):
        if not low < high:
            raise JointDynamicsError(f'limits: expected room to move for {name}, found {low:.4g} … {high:.4g} rad')
    return lower, upper


def parent_joint(frame: pinocchio.Frame) -> int:
    """Return the joint that moves a frame, 0 for a fixed frame; pinocchio 2 and 3 name the attribute differently."""
    return frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent


def end_effector_frame(model: RobotModel, name: str | None) -> pinocchio.Frame:
    """Return the frame `name`; None: the last frame on the last joint.

    Raises JointDynamicsError for an unknown name.
    """
    frames = model.pinocchio.frames
    if name is None:
        last = model.chain.tree.row[model.n - 1] + 1
        return [frame for frame in frames if parent_joint(frame) == last][-1]
    matching = [frame for frame in frames if frame.name == name]
    if not matching:
        names = dict.fromkeys(frame.name for frame in frames if frame.name != 'universe')
        raise JointDynamicsError(f'limits.end_effector: expected one of {", ".join(names)}, found {name!r}')
    return matching[-1]


def parameters_with_payload(model: RobotModel, settings: LimitSettings) -> FloatArray | None:
    """Return the standard parameters (p,) with payload and expected friction, None for a robot without inertials."""
    if model.parameters is None:
        return None
    parameters = model.parameters.copy()
    standard = model.standard(parameters)
    standard.viscous[:] += per_joint(settings.viscous_friction, model.joint_names, 'limits.viscous_friction')
    standard.coulomb[:] += per_joint(settings.coulomb_friction, model.joint_names, 'limits.coulomb_friction')
    if settings.payload is not None:
        frame = end_effector_frame(model, settings.end_effector)
        if parent_joint(frame) == 0:
            raise JointDynamicsError(f'limits.end_effector: expected a frame that moves, found {frame.name!r}')
        xx, xy, xz, yy, yz, zz = settings.payload.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        body = frame.placement.act(pinocchio.Inertia(settings.payload.mass, np.array(settings.payload.com), tensor))
        standard.links[model.chain.tree.link[parent_joint(frame) - 1]] += body_of(body)
    return parameters
