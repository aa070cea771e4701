"""What the fields of an `Arm` have to be, and what they are where none is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arm.coupled import CoupledDrives
from joint_dynamics.arm.transmission import Transmission
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.robot import INERTIAL, StandardParameters
from joint_dynamics.robot.standard_parameters import parameter_names

if TYPE_CHECKING:
    from joint_dynamics.arm.arm import Arm


def complete(arm: Arm) -> None:
    """Check the fields of an `Arm` under construction, turn them into arrays, put defaults in, and add what follows from them."""
    n, p = arm.robot.n, len(arm.robot.parameter_names)
    values = arm.robot.parameters if arm.parameters is None else np.array(arm.parameters, dtype=float)
    if values is None or values.shape not in ((len(parameter_names(n)),), (p,)) or not np.all(np.isfinite(values)):
        raise JointDynamicsError(
            f'arm: expected {p} finite standard parameters, found '
            f'{"none" if values is None else values.shape[0]}: the URDF has no inertials and no others are given'
        )
    object.__setattr__(arm, 'parameters', np.concatenate([values, np.zeros(p - len(values))]))
    _array(arm, 'rotor_inertia', StandardParameters(values, n).rotor_inertia)
    _array(arm, 'drive_gain', np.full(n, np.nan), finite=False)
    _array(arm, 'damping', np.zeros(n))
    _array(arm, 'friction_scale', np.tile([1.0, 0.0], (n, 1)))
    _array(arm, 'payload', np.zeros(len(INERTIAL)))
    for name, known in (
        ('rotor_identifiable', True),
        ('friction_described', arm.friction is not None),
        ('stiffness_described', arm.stiffness is not None),
    ):
        given = getattr(arm, name)
        object.__setattr__(arm, name, np.full(n, known) if given is None else np.array(given, dtype=bool))
    if np.any(arm.damping < 0) or np.any(arm.drive_gain == 0):
        raise JointDynamicsError(
            'arm: expected damping >= 0 and drive gains other than 0, found '
            f'{arm.damping.tolist()} and {arm.drive_gain.tolist()}'
        )
    for name in ('friction', 'kinematic_error', 'backlash'):
        part = getattr(arm, name)
        if part is not None and part.joints not in (n, None):
            raise JointDynamicsError(f'arm: expected {name} of {n} joints, found {part.joints}')
    if arm.stiffness is not None:
        object.__setattr__(arm, 'stiffness', _of_all_joints(arm.stiffness, n))
    if arm.validity is not None:
        _hold(arm)
    if arm.friction is not None and np.any(arm.effort_limit < arm.friction.parameters['tau_max']):
        # Load beyond what the joint is built for is a defect of the motion; friction must not run away with it.
        bounds = np.minimum(arm.friction.parameters['tau_max'], arm.effort_limit)
        object.__setattr__(arm, 'friction', arm.friction.bounded(bounds))
    coupled = StandardParameters(arm.parameters, n).coupled
    # Plain attributes, for loops at a controller's rate.
    object.__setattr__(arm, 'transmission', Transmission(arm.stiffness, arm.kinematic_error))
    object.__setattr__(
        arm,
        'coupled',
        CoupledDrives(arm.robot.coupling, coupled)
        if arm.robot.coupling is not None and np.any(coupled)
        else None,
    )


def _hold(arm: Arm) -> None:
    """Let friction and terms know the range of validity, where what it bounds matters to them."""
    loaded, warm = np.zeros((2, arm.n), dtype=bool)
    if arm.friction is not None:
        loaded |= arm.friction.depends_on_load
        warm |= arm.friction.depends_on_temperature
    for j, term, _ in arm.terms.parts:
        loaded[j] |= 'load' in term.needs
        warm[j] |= 'temperature' in term.needs
    assert arm.validity is not None
    if arm.validity.speed.shape != (arm.n,):
        raise JointDynamicsError(f'arm: expected validity of {arm.n} joints, found {len(arm.validity.speed)}')
    validity = arm.validity.mattering(loaded, warm)
    object.__setattr__(arm, 'validity', validity)
    object.__setattr__(arm, 'terms', replace(arm.terms, validity=validity))
    if arm.friction is not None:
        p = arm.friction.parameters
        object.__setattr__(
            arm,
            'friction',
            arm.friction.bounded(np.minimum(p['tau_max'], validity.load), (validity.low, validity.high)),
        )


def _array(arm: Arm, name: str, default: NDArray, *, finite: bool = True) -> None:
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
    return TorsionalStiffness(np.broadcast_to(coefficients, (n, coefficients.shape[1])))
