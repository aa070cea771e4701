"""The limits of one robot's motion as arrays.

The URDF's with the safety factor, or what the settings put in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.trajectory import MotionSamples
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings.per_joint import per_joint

REACHED_IN = 0.5
"""Time [s] in which the allowed speed may be reached where no acceleration limit is given."""


@dataclass(frozen=True)
class MotionLimits:
    """Limits of n joints, (n,) each.

    `lower`, `upper` [rad or m], `velocity`, `acceleration` (magnitudes, per s and s²) and.
    `torque` [N·m], None when it is not limited.
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
        """Return limits that leave `share` of these, the torque's as it is."""
        keep = (1 - share) * self.half_range
        return MotionLimits(
            self.middle - keep,
            self.middle + keep,
            (1 - share) * self.velocity,
            (1 - share) * self.acceleration,
            self.torque,
        )

    def worst(self, joint_names: Sequence[str], samples: MotionSamples, room: float = 0.0) -> str:
        """Return which sample is farthest beyond these limits, with joint, time and value, '' where none is.

        What is no number is beyond every limit.

        Parameters
        ----------
        joint_names
            (n,).
        samples
            the motion, (samples, n).
        room
            share of a limit that does not count.
        """
        middle, none = self.middle, np.zeros_like(self.middle)
        most, words = room, ''
        for what, unit, values, centre, bound in (
            ('position', 'rad', samples.q, middle, self.half_range),
            ('speed', 'rad/s', samples.dq, none, self.velocity),
            ('acceleration', 'rad/s²', samples.ddq, none, self.acceleration),
        ):
            with np.errstate(all='ignore'):
                beyond = np.abs(values - centre) / bound - 1.0
            beyond = np.where(np.isfinite(beyond), beyond, np.inf)
            k, j = divmod(int(np.argmax(beyond)), beyond.shape[1])
            if not beyond[k, j] <= most:
                most, low, high = float(beyond[k, j]), centre[j] - bound[j], centre[j] + bound[j]
                words = (
                    f'{what} of {joint_names[j]} {values[k, j]:.4g} {unit} at {samples.time[k]:.4g} s, allowed are'
                    f' {low:.4g} … {high:.4g}'
                )
        return words

    @classmethod
    def of(cls, model: RobotModel, settings: LimitSettings) -> MotionLimits:
        """Return the limits of a robot.

        Raises
        ------
        JointDynamicsError
            Where a joint has no speed limit, or a torque limit is wanted that the model cannot give: it needs inertial
            parameters and the effort limit of every joint.
        """
        names = model.joint_names
        lower, upper = _position(model, settings)
        if settings.velocity is not None:
            velocity = per_joint(settings.velocity, names, 'limits.velocity')
        else:
            velocity = settings.safety_factor * _known(model.limits.velocity, names, 'a speed limit', 'limits.velocity')
        acceleration = (
            velocity / REACHED_IN
            if settings.acceleration is None
            else per_joint(settings.acceleration, names, 'limits.acceleration')
        )
        torque = None
        if settings.torque_limit:
            if model.parameters is None:
                raise JointDynamicsError(
                    'limits: expected inertial parameters for the torque limit, found none in the model: '
                    'use a URDF with inertials, or set torque_limit: false'
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
