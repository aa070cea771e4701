"""The fields of an `Arm`: their checks and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.friction_detail import FrictionDetail
from joint_dynamics.arm.validity import Validity
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel

# Given as an array or None, kept as an array after the checks.
Values = Any


@dataclass(frozen=True)
class ArmFields:
    """The fields of an `Arm` (documented there), checked, turned into arrays, with their defaults.

    `coupled`, the parameters (3 c,) of coupled motors or None, follows from them.
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
    backlash: PeriodicMap | None = None
    backlash_deviation: Values = None
    terms: DescribedTerms = field(default_factory=DescribedTerms)
    payload: Values = None
    rotor_identifiable: Values = None
    friction_described: Values = None
    stiffness_described: Values = None
    validity: Validity | None = None
    friction_details: tuple[FrictionDetail, ...] = ()
    remarks: tuple[str, ...] = ()
    coupled: FloatArray | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n, p = self.robot.n, len(self.robot.parameter_names)
        values = self.robot.parameters if self.parameters is None else np.array(self.parameters, dtype=float)
        links = PER_JOINT * len(self.robot.link_names)
        if values is None or values.shape not in ((links,), (p,)) or not np.all(np.isfinite(values)):
            raise JointDynamicsError(
                f'arm: expected {p} finite standard parameters, found '
                f'{"none" if values is None else values.shape[0]}: the URDF has no inertials and no others are given'
            )
        object.__setattr__(self, 'parameters', np.concatenate([values, np.zeros(p - len(values))]))
        _array(self, 'rotor_inertia', self.robot.standard(self.parameters).rotor_inertia)
        _array(self, 'drive_gain', np.full(n, np.nan), finite=False)
        _array(self, 'damping', np.zeros(n))
        _array(self, 'backlash_deviation', np.zeros(n))
        _array(self, 'friction_scale', np.tile([1.0, 0.0], (n, 1)))
        _array(self, 'payload', np.zeros(len(INERTIAL)))
        for name, known in (
            ('rotor_identifiable', True),
            ('friction_described', self.friction is not None),
            ('stiffness_described', self.stiffness is not None),
        ):
            given = getattr(self, name)
            object.__setattr__(self, name, np.full(n, known) if given is None else np.array(given, dtype=bool))
        if not np.all(self.damping >= 0) or np.any(self.drive_gain == 0):
            raise JointDynamicsError(
                'arm: expected damping >= 0 and drive gains other than 0, found '
                f'{self.damping.tolist()} and {self.drive_gain.tolist()}'
            )
        for name in ('friction', 'kinematic_error', 'backlash'):
            part = getattr(self, name)
            if part is not None and part.joints not in (n, None):
                raise JointDynamicsError(f'arm: expected {name} of {n} joints, found {part.joints}')
        if self.stiffness is not None:
            object.__setattr__(self, 'stiffness', _of_all_joints(self.stiffness, n))
        if self.validity is not None:
            _hold(self)
        if self.friction is not None and np.any(self.effort_limit < self.friction.parameters['tau_max']):
            # Load beyond what the joint is built for is a defect of the motion; friction must not run away with it.
            bounds = np.minimum(self.friction.parameters['tau_max'], self.effort_limit)
            object.__setattr__(self, 'friction', self.friction.bounded(bounds))
        coupled = self.robot.standard(self.parameters).coupled
        object.__setattr__(self, 'coupled', coupled if self.robot.coupling is not None and np.any(coupled) else None)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.robot.n

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the robot's order."""
        return self.robot.joint_names

    @cached_property
    def effort_limit(self) -> FloatArray:
        """Largest motor torque (n,) N·m stated by the URDF; infinite where it states none (or 0)."""
        return np.where(self.robot.limits.effort > 0, self.robot.limits.effort, np.inf)


def _hold(arm: ArmFields) -> None:
    """Let friction and terms know the range of validity, where what it bounds matters to them."""
    loaded, warm = np.zeros((2, arm.n), dtype=bool)
    if arm.friction is not None:
        loaded |= arm.friction.depends_on_load
        warm |= arm.friction.depends_on_temperature
    for j, term, _ in arm.terms.friction.entries:
        loaded[j] |= 'load' in term.needs
        warm[j] |= 'temperature' in term.needs
    assert arm.validity is not None
    if arm.validity.speed.shape != (arm.n,):
        raise JointDynamicsError(f'arm: expected validity of {arm.n} joints, found {len(arm.validity.speed)}')
    validity = arm.validity.only_where_dependent(loaded, warm)
    object.__setattr__(arm, 'validity', validity)
    object.__setattr__(arm, 'terms', replace(arm.terms, validity=validity))
    if arm.friction is not None:
        p = arm.friction.parameters
        object.__setattr__(
            arm,
            'friction',
            arm.friction.bounded(np.minimum(p['tau_max'], validity.load), (validity.low, validity.high)),
        )


def _array(arm: ArmFields, name: str, default: FloatArray, *, finite: bool = True) -> None:
    value = getattr(arm, name)
    array = default.copy() if value is None else np.array(value, dtype=float)
    if array.shape != default.shape or (finite and not np.all(np.isfinite(array))):
        raise JointDynamicsError(
            f'arm: expected {"finite " if finite else ""}{name} of shape {default.shape}, found {array.tolist()}'
        )
    object.__setattr__(arm, name, array)


def _of_all_joints(stiffness: TorsionalStiffness, n: int) -> TorsionalStiffness:
    coefficients = np.atleast_2d(stiffness.coefficients)
    if len(coefficients) not in (1, n):
        raise JointDynamicsError(f'arm: expected stiffness of {n} joints, found {len(coefficients)}')
    return TorsionalStiffness(np.broadcast_to(coefficients, (n, coefficients.shape[1])), stiffness.reach)
