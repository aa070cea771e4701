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

"""The learning parts of an estimation from a described arm and its settings, and remarks on fields that it ignores."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.spring import STIFFNESS_DEVIATION
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.robot.chain import RigidBody

NEVER = 1e6  # rad, gate of a joint that does not learn: more than any deformation


def choose_friction_method(arm: Arm, wanted: EstimationSettings) -> tuple[Arm, EstimationSettings, list[str]]:
    """Return arm, settings and remarks for the friction method that the description permits.

    Described friction gets at least a narrow hysteresis (`with_reversal`), as in the feedforward [M6 eq 12-18]. Where a
    joint has no friction, none is adapted.
    """
    arm, remarks = with_reversal(arm)
    if wanted.friction == 'none' or (arm.friction is not None and arm.friction_described.all()):
        return arm, wanted, remarks
    missing = [name for name, there in zip(arm.joint_names, arm.friction_described, strict=True) if not there]
    remark = f'no friction of {", ".join(missing)} in the dynamics description: friction is not adapted, identify it'
    return arm, wanted.replaced(friction='none'), [*remarks, remark]


def gain_of(arm: Arm, effort: str | None) -> FloatArray | None:
    """Return the factor K_τ (n,) N·m/A of the measured effort, None where it is a torque.

    effort: as in the estimator.

    Raises
    ------
    JointDynamicsError
        Where currents lack a drive gain.
    """
    known = np.isfinite(arm.drive_gain)
    if effort not in (None, 'current', 'torque'):
        raise JointDynamicsError(f'estimator: expected the effort to be current or torque, found {effort!r}')
    if effort == 'current' and not known.all():
        missing = arm.joint_names[int(np.argmin(known))]
        raise JointDynamicsError(
            f'estimator: expected the drive gain of every joint for currents, found none of {missing}'
        )
    return arm.drive_gain if effort == 'current' or (effort is None and known.all()) else None


def make_friction(arm: Arm, use: EstimationSettings, period: float) -> FrictionEstimator | None:
    """Return the friction estimator selected by the settings, started from the model, or None for `none`."""
    n, model = arm.n, arm.friction
    if use.friction == 'none' or model is None:
        return None
    lower, upper = (np.tile(bound, (n, 1)) for bound in (use.friction_lower, use.friction_upper))
    viscous = use.viscous_share * np.abs(model.viscous(np.ones(n)))
    lower[:, 1], upper[:, 1] = np.minimum(lower[:, 1], -viscous), np.maximum(upper[:, 1], viscous)
    coulomb = np.maximum(0.3 * model.parameters['F_C0'], 1e-2)
    floor = np.stack([coulomb**2, np.full(n, 0.04)], axis=1)
    return FrictionEstimator(
        n, period, rate=use.friction_rate, initial=arm.friction_scale, lower=lower, upper=upper, floor=floor,
        omega_min=use.omega_min, information=use.information,
    )  # fmt: skip


def make_stiffness(arm: Arm, use: EstimationSettings, period: float) -> StiffnessEstimator:
    """Return the stiffness estimator selected by the settings.

    It starts from the described stiffness, where there is one, which stays in force until enough is learnt. A joint
    without described friction does not learn: its friction would count as stiffness.
    """
    n, known, described = arm.n, arm.stiffness, arm.stiffness_described
    order = max(use.stiffness_order, known.order if known is not None else 1)
    start = np.zeros((n, order))
    if known is not None:
        start[:, : known.order] = np.where(described[:, None], known.coefficients, 0.0)
    unit = use.stiffness_scale ** (2 * np.arange(order) + 1)
    # A stiffness that is not described is free.
    covariance = np.where(described[:, None], np.maximum((STIFFNESS_DEVIATION * start * unit / 0.1) ** 2, 1.0), 1e4)
    return StiffnessEstimator(
        n,
        order,
        period=period,
        scale=use.stiffness_scale,
        memory=use.stiffness_memory,
        initial_coefficients=start,
        initial_covariance=covariance,
        gate=np.where(arm.friction_described, use.stiffness_gate or 0.2 * use.stiffness_scale, NEVER),
        keep=described,
        # A curve with a maximum within its range has no tangent to continue on.
        reach=np.inf if known is None else np.where(described & np.isinf(known.largest[0]), known.reach, np.inf),
    )


def make_payload(body: RigidBody, use: EstimationSettings, period: float) -> PayloadEstimator:
    """Return the payload estimator of links without payload."""
    return PayloadEstimator(body, period, memory=use.payload_memory)


def remarks_of(arm: Arm, friction: FrictionEstimator | None, motor_side: bool) -> list[str]:
    """Return remarks on fields of the description that are not used as they are; arguments as in `JointEstimator`."""
    used = arm.friction_scale if friction is None else friction.parameters
    remarks = [
        f'joints.{name}.friction.scale: {given.tolist()} is beyond the bounds of α, {taken.tolist()} is used'
        for name, given, taken in zip(arm.joint_names, arm.friction_scale, used, strict=True)
        if not np.array_equal(given, taken)
    ]
    described = {
        'stiffness': arm.stiffness_described.any(),
        'damping': (arm.damping > 0).any(),
        'kinematic_error': arm.kinematic_error is not None,
        'backlash': arm.backlash is not None,
    }
    unused = [] if motor_side else [field for field, there in described.items() if there]
    return remarks + [f'joints.*.{field}: not used without the motor-side angle' for field in unused]
