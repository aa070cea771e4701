"""What the laws know of the arm: rigid bodies, rotors, drives, friction and transmissions in one frozen object."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.control.elastic_range import check_range
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import PER_JOINT, RigidBody, RobotModel

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription

# Given as an array (n,) or None, kept as an array after the checks.
Values = Any
#: N·m/rad of a joint whose transmission is not known: its deformation vanishes against every other quantity.
RIGID = 1e15


@dataclass(frozen=True)
class ArmModel:
    """A robot arm of n joints; all values on the joint side, in the robot's joint order.

    Attributes:
        robot: kinematics, limits and names. parameters: (14 n,) standard parameters; None: those of the URDF.
        rotor_inertia: B (n,) kg·m²; None: the Ia of `parameters`.
        drive_gain: K_τ (n,) N·m/A, NaN where unknown (then no current can be commanded).
        friction: friction on the motor coordinate, or None.
        friction_scale: present α = [α1, α2] (n, 2) of the friction, nominal [1, 0] [M6 eq 24].
        stiffness: of the transmissions, positive over the joints' torques, or None (rigid). damping: D (n,) N·m·s/rad.
        kinematic_error: θ̃(θ), rad, or None.

    """

    robot: RobotModel
    parameters: Values = None
    rotor_inertia: Values = None
    drive_gain: Values = None
    friction: FrictionModel | None = None
    friction_scale: Values = None
    stiffness: TorsionalStiffness | None = None
    damping: Values = None
    kinematic_error: PeriodicMap | None = None

    def __post_init__(self) -> None:
        n = self.robot.n
        values = self.robot.parameters if self.parameters is None else np.array(self.parameters, dtype=float)
        if values is None or values.shape[:1] < (PER_JOINT * n,) or not np.all(np.isfinite(values)):
            raise JointDynamicsError(f'arm: expected {PER_JOINT * n} finite standard parameters, found '
                                     f'{"none" if values is None else values.shape[0]}: the URDF has no inertials and no others are given')
        object.__setattr__(self, 'parameters', values)
        rotors = values[:PER_JOINT * n].reshape(n, PER_JOINT)[:, 10]
        self._array('rotor_inertia', rotors)
        self._array('drive_gain', np.full(n, np.nan), finite=False)
        self._array('damping', np.zeros(n))
        self._array('friction_scale', np.tile([1.0, 0.0], (n, 1)))
        gains = self.drive_gain
        if np.any(self.rotor_inertia < 0) or np.any(self.damping < 0) or np.any(gains == 0):
            raise JointDynamicsError('arm: expected rotor inertias >= 0, damping >= 0 and drive gains other than 0, found '
                                     f'{self.rotor_inertia.tolist()}, {self.damping.tolist()} and {gains.tolist()}')
        if self.friction is not None and self.friction.joints != n:
            raise JointDynamicsError(f'arm: expected friction of {n} joints, found {self.friction.joints}')
        if self.stiffness is not None:
            object.__setattr__(self, 'stiffness', _of_all_joints(self.stiffness, n))
            # One that bends over beyond what the joint can bear does no harm; one that does before has no deformation for every torque.
            check_range(self.stiffness, self.joint_names, self.effort_limit)

    def _array(self, name: str, default: NDArray, *, finite: bool = True) -> None:
        value = getattr(self, name)
        array = default.copy() if value is None else np.array(value, dtype=float)
        if array.shape != default.shape or (finite and not np.all(np.isfinite(array))):
            raise JointDynamicsError(f'arm: expected {"finite " if finite else ""}{name} of shape {default.shape}, found {array.tolist()}')
        object.__setattr__(self, name, array)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.robot.n

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the robot's order."""
        return self.robot.joint_names

    @cached_property
    def effort_limit(self) -> NDArray:
        """Largest motor torque (n,) N·m as the URDF states it; infinite where it states none (or 0)."""
        return np.where(self.robot.limits.effort > 0, self.robot.limits.effort, np.inf)

    @cached_property
    def rigid(self) -> RigidBody:
        """Inverse dynamics, mass matrix and gravity of single states."""
        return self.robot.rigid_body(self.parameters)

    def with_payload(self, mass: float, center: Sequence[float] | ArrayLike = (0.0, 0.0, 0.0)) -> ArmModel:
        """Return the arm with a point mass (kg) at `center` (m, in the frame of the last joint) added to its last link [G II.B]."""
        position = np.asarray(center, dtype=float)
        if position.shape != (3,) or not np.all(np.isfinite(position)) or not (np.isfinite(mass) and mass >= 0):
            raise JointDynamicsError(f'payload: expected a mass >= 0 kg and a centre of 3 numbers in m, found {mass} and {position.tolist()}')
        x, y, z = position
        values = self.parameters.copy()
        values[PER_JOINT * (self.n - 1):][:10] += mass * np.array(
            [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y, x, y, z, 1.0])
        return replace(self, parameters=values, rotor_inertia=self.rotor_inertia)

    @classmethod
    def from_description(cls, robot: RobotModel, description: DynamicsDescription, *, friction_scale: NDArray | None = None) -> ArmModel:
        """Build from a robot and its dynamics description, joints by name; what the description has not, the arm has not.

        friction_scale: α (n, 2) in place of the description's. Raises JointDynamicsError when a joint or the inertial part is missing.
        """
        names = list(robot.joint_names)
        for name in names:
            description.joint(name)
        has_inertial = 'inertial' in description.document
        parameters = description.standard_parameters(robot, friction=False) if has_inertial else robot.parameters
        default = None if parameters is None else parameters[:PER_JOINT * robot.n].reshape(robot.n, PER_JOINT)[:, 10]
        rotors = [description.joint(name).get('rotor_inertia', {}).get('value', 0.0 if default is None else default[k])
                  for k, name in enumerate(names)]
        stiffness = None
        if any('stiffness' in description.joint(name) for name in names):
            stiffness = TorsionalStiffness.stack([
                TorsionalStiffness.from_dict(description.joint(name).get('stiffness', {'coefficients': [RIGID]})) for name in names])
        return cls(robot, parameters, np.array(rotors), description.values('drive_gain', names, np.nan),
                   description.friction(names) if description.has('friction', names) else None,
                   description.scale(names) if friction_scale is None else friction_scale, stiffness,
                   description.values('damping', names, 0.0),
                   description.kinematic_error(names) if any('kinematic_error' in description.joint(name) for name in names) else None)


def _of_all_joints(stiffness: TorsionalStiffness, n: int) -> TorsionalStiffness:
    coefficients = np.atleast_2d(stiffness.coefficients)
    if len(coefficients) not in (1, n):
        raise JointDynamicsError(f'arm: expected stiffness of {n} joints, found {len(coefficients)}')
    return TorsionalStiffness(np.broadcast_to(coefficients, (n, coefficients.shape[1])))
