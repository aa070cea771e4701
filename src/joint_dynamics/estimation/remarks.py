"""Remarks on fields of a described arm that an estimation ignores or uses differently."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import make_friction
from joint_dynamics.estimation.friction import FrictionEstimator

#: Terms of the friction that a Coulomb and viscous friction has no place for, and the parameters that shape them.
SHAPES = {
    'F_S': ('V_S', 'mu'),
    'F_Cl': ('tau_max',),
    'F_C1': ('tau_max',),
    'F_V2': (),
    'F_V3': (),
    'F_T0': (),
    'F_T1': ('T_0', 'T_min', 'T_max'),
    'F_T2': ('T_0', 'T_min', 'T_max'),
    'offset': (),
}


def remarks_of(arm: Arm, use: EstimationSettings, motor_side: bool) -> list[str]:
    """Return a remark for each field, with the joints concerned; arguments as in `JointEstimator`."""
    remarks = _simpler_friction(arm) if use.friction == 'coulomb_viscous' else []
    friction = make_friction(arm, use, 1.0)
    if isinstance(friction, FrictionEstimator):
        rows = zip(arm.joint_names, arm.friction_scale, friction.parameters, strict=True)
        remarks += [
            f'joints.{name}.friction.scale: {given.tolist()} is beyond the bounds of α, {used.tolist()} is used'
            for name, given, used in rows
            if not np.array_equal(given, used)
        ]
    described = arm.stiffness_described
    if not motor_side:
        why = 'not used without the motor-side angle'
        everywhere = np.ones(arm.n, dtype=bool)
        remarks += _said(arm, 'stiffness', described, why)
        remarks += _said(arm, 'damping', arm.damping > 0, why)
        remarks += [] if arm.kinematic_error is None else _said(arm, 'kinematic_error', everywhere, why)
        remarks += [] if arm.backlash is None else _said(arm, 'backlash', everywhere, why)
    elif use.stiffness_preset == 'thesis':
        remarks += _said(arm, 'stiffness', described, 'not used, the preset thesis begins from none')
    elif arm.stiffness is not None:
        bends = (arm.stiffness.coefficients[:, 1:] != 0.0).any(axis=1) & np.isfinite(arm.stiffness.reach)
        remarks += _said(
            arm, 'stiffness.range', described & bends, 'not used, the stiffness is learnt as far as it goes'
        )
    return remarks


def _simpler_friction(arm: Arm) -> list[str]:
    model, why = arm.friction, 'not used (friction coulomb_viscous begins from F_C0 and F_V1 alone)'
    if model is None:
        return []
    p, remarks = model.parameters, []
    for name, shapes in SHAPES.items():
        there = p['F_S'] != p['F_C0'] if name == 'F_S' else p[name] != 0
        remarks += _said(arm, f'friction.parameters.{name}', there, f'{_with(shapes)}{why}')
    if model.maxwell_slip is not None:
        remarks += _said(arm, 'friction.maxwell_slip', arm.friction_described, why)
    if model.quadrants is not None:
        remarks += _said(arm, 'friction.quadrants', ~np.isnan(model.quadrants['dq_s']), why)
    if arm.validity is not None:
        limits = {
            'speed': np.isfinite(arm.validity.speed),
            'load': np.isfinite(arm.validity.load),
            'temperature': np.isfinite(arm.validity.high - arm.validity.low),
        }
        only = 'holds further terms alone (friction coulomb_viscous is learnt where the motion is)'
        for name, there in limits.items():
            remarks += _said(arm, f'validity.{name}', there, only)
    return remarks


def _with(shapes: Iterable[str]) -> str:
    return f'with {", ".join(shapes)} ' if shapes else ''


def _said(arm: Arm, field: str, where: BoolArray, why: str) -> list[str]:
    names = [name for name, there in zip(arm.joint_names, where, strict=True) if there]
    return [f'joints.({", ".join(names)}).{field}: {why}'] if names else []
