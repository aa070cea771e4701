"""What is known of the joints before the estimation starts: the robot, its drives, their friction and stiffness."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import RobotModel

Array = NDArray[np.float64]


@dataclass
class JointModel:
    """The known parameters of n joints, in the order of `robot.joint_names`.

    robot            RobotModel.
    parameters       standard parameters of the links (14 n, …); rotor inertia and friction in them are not used. None: the robot's own.
    drive_gain       K_τ, (n,) N·m/A, or None where the motor torque itself is measured.
    rotor_inertia    B, (n,) kg·m² reflected to the joint side.
    damping          D of the transmission, (n,) N·m·s/rad.
    friction         FrictionModel, with a Maxwell-slip part where it is known; None: nothing known.
    scale            α to start from, (n, 2).
    stiffness        TorsionalStiffness to start from; None: unknown.
    reference        TorsionalStiffness of the joints when new, which the health is judged by; None: `stiffness`.
    kinematic_error  θ̃(θ), or None.
    backlash         𝓑(θ) that was measured, or None: friction then may have a presliding length, but no lost motion is known.
    """

    robot: RobotModel
    parameters: Array | None = None
    # Taken as numbers or sequences, kept as arrays after the checks.
    drive_gain: Any = None
    rotor_inertia: Any = 0.0
    damping: Any = 0.0
    friction: FrictionModel | None = None
    scale: Any = (1.0, 0.0)
    stiffness: TorsionalStiffness | None = None
    kinematic_error: PeriodicMap | None = None
    reference: TorsionalStiffness | None = None
    backlash: PeriodicMap | None = None
    joint_names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        n = self.robot.n
        self.joint_names = self.robot.joint_names
        if self.parameters is None:
            if self.robot.parameters is None:
                raise JointDynamicsError('joint model: expected inertial parameters, found none in the robot: give `parameters`')
            self.parameters = self.robot.parameters.copy()
        for name in ('rotor_inertia', 'damping'):
            value = np.broadcast_to(np.asarray(getattr(self, name), dtype=float), (n,)).copy()
            if not np.all(np.isfinite(value)) or np.any(value < 0):
                raise JointDynamicsError(f'joint model: expected {name} >= 0, found {value}')
            setattr(self, name, value)
        if self.drive_gain is not None:
            self.drive_gain = np.broadcast_to(np.asarray(self.drive_gain, dtype=float), (n,)).copy()
        self.scale = np.broadcast_to(np.asarray(self.scale, dtype=float), (n, 2)).copy()
        for name in ('friction', 'kinematic_error', 'backlash'):
            part = getattr(self, name)
            if part is not None and part.joints != n:
                raise JointDynamicsError(f'joint model: expected a {name} of {n} joints, found {part.joints}')
        self.reference = self.stiffness if self.reference is None else self.reference
        if self.stiffness is not None and np.atleast_2d(self.stiffness.coefficients).shape[0] != n:
            raise JointDynamicsError(f'joint model: expected a stiffness of {n} joints, found shape {self.stiffness.coefficients.shape}')

    @classmethod
    def from_description(cls, description: DynamicsDescription, robot: RobotModel) -> JointModel:
        """Return what a dynamics description knows of the robot's joints, by name; parts that it does not have stay unknown.

        A joint of the robot that the description lacks is an error. Fields wanted of all joints count only where all have them.
        """
        names = robot.joint_names
        has = {key: description.has(key, names) for key in ('drive_gain', 'friction', 'stiffness')}
        standard = None
        if 'inertial' in description.document:
            standard = description.standard_parameters(robot, friction=False)
        friction = description.friction(names) if has['friction'] else None
        slip = None if friction is None else friction.maxwell_slip
        return cls(robot, standard, description.values('drive_gain', names) if has['drive_gain'] else None,
                   description.values('rotor_inertia', names, 0.0), description.values('damping', names, 0.0),
                   friction, description.scale(names),
                   description.stiffness(names) if has['stiffness'] else None,
                   description.kinematic_error(names) if any('kinematic_error' in description.joint(name) for name in names) else None,
                   _reference(description, names), slip.backlash if slip is not None and description.has('backlash', names) else None)


def _reference(description: DynamicsDescription, names: tuple[str, ...]) -> TorsionalStiffness | None:
    """Return the stiffness that an adapted description keeps as its reference, None where it keeps none."""
    kept = description.document.get('provenance', {}).get('estimator', {}).get('reference', {})
    if not all('stiffness' in kept.get(name, {}) for name in names):
        return None
    return TorsionalStiffness.stack([TorsionalStiffness(kept[name]['stiffness']) for name in names])
