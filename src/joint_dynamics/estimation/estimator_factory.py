"""The learning parts of a `JointEstimator`, made from the described arm and the settings."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.coulomb_viscous import CoulombViscousEstimator
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.robot.chain import RigidBody

Array = FloatArray


def gain_of(arm: Arm, effort: str | None) -> Array | None:
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


def make_friction(
    arm: Arm, use: EstimationSettings, period: float
) -> FrictionEstimator | CoulombViscousEstimator | None:
    """Return the friction estimator selected by the settings, started from the model, or None for `none`."""
    n, model = arm.n, arm.friction
    if use.friction == 'coulomb_viscous':
        start = np.zeros((n, 2))
        if model is not None:
            described = model.parameters
            start = np.stack(
                [described['F_C0'] * arm.friction_scale[:, 0], described['F_V1'] + arm.friction_scale[:, 1]], axis=1
            )
        return CoulombViscousEstimator(n, period, memory=use.friction_memory, initial=start, omega_min=use.omega_min)
    if use.friction == 'none' or model is None:
        return None
    lower, upper = (np.tile(bound, (n, 1)) for bound in (use.friction_lower, use.friction_upper))
    viscous = use.viscous_share * np.abs(model.viscous(np.ones(n)))
    lower[:, 1], upper[:, 1] = np.minimum(lower[:, 1], -viscous), np.maximum(upper[:, 1], viscous)
    coulomb = np.maximum(0.3 * model.parameters['F_C0'], 1e-2)
    floor = np.stack([coulomb**2, np.full(n, 0.04)], axis=1)
    return FrictionEstimator(
        n, period, rate=use.friction_rate, initial=arm.friction_scale, lower=lower, upper=upper, floor=floor,
        omega_min=use.omega_min, hold=use.hold, information=use.information, memory=use.friction_memory,
    )  # fmt: skip


def largest_backlash(arm: Arm) -> Array:
    """Largest 𝓑(θ) of every joint, (n,) rad; 0 where none was measured."""
    return np.zeros(arm.n) if arm.backlash is None else np.array([table.max() for table in arm.backlash.tables])


def make_stiffness(arm: Arm, use: EstimationSettings, period: float) -> StiffnessEstimator:
    """Return the stiffness estimator selected by the settings.

    It starts from the described stiffness, where there is one, which stays in force until enough is learnt.
    """
    n, known, described = arm.n, arm.stiffness, arm.stiffness_described
    if use.stiffness_preset == 'thesis':
        return StiffnessEstimator.thesis(n)
    order = max(use.stiffness_order, known.order if known is not None else 1)
    start = np.zeros((n, order))
    if known is not None:
        start[:, : known.order] = np.where(described[:, None], known.coefficients, 0.0)
    # Within the backlash the deformation is not elastic, and shortly beyond it a part of it is not.
    gate = (
        np.maximum(0.2 * use.stiffness_scale, 2.0 * largest_backlash(arm))
        if use.stiffness_gate == 0.0
        else use.stiffness_gate
    )
    unit = use.stiffness_scale ** (2 * np.arange(order) + 1)
    # A described stiffness is taken to be right to some 30 %; an unknown one is free.
    covariance = np.where(described[:, None], np.maximum((0.3 * start * unit / 0.1) ** 2, 1.0), 1e4)
    return StiffnessEstimator(
        n,
        order,
        period=period,
        scale=use.stiffness_scale,
        memory=use.stiffness_memory,
        initial_coefficients=start,
        initial_covariance=covariance,
        gate=gate,
        keep=described,
    )


def make_payload(body: RigidBody, use: EstimationSettings, period: float) -> PayloadEstimator:
    """Return the payload estimator of links without payload."""
    return PayloadEstimator(body, period, memory=use.payload_memory)
