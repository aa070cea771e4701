"""Before a law is let loose: would its friction compensation make a joint run away? The check of `check-compensation` on what the law applies.

    applied     gain (α1 F(τ_J) + …),      identified   the description's friction at its present scale α

Both are the same model, so nothing runs away with a gain of 1; it does with more, and with a friction that the description itself states to be
different in the two directions, which a compensation of one set of parameters is not.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.control.compensation import check_compensation
from joint_dynamics.control.interface import Controller
from joint_dynamics.control.law import TorqueLaw

#: What grows with α1, and what the gain alone multiplies.
COULOMB, OTHERS = ('F_C0', 'F_Cl', 'F_C1'), ('F_V1', 'F_V2', 'F_V3', 'F_T0', 'F_T1', 'F_T2', 'offset')


def _scaled(document: Mapping[str, Any], alpha: NDArray, gain: float) -> dict[str, Any]:
    """Return a friction document with F(τ_J) times α1, ω's factor plus α2, and everything times the gain."""
    values = dict(document['parameters'])
    stribeck = values['F_S'] - values['F_C0'] if values.get('F_S') is not None else 0.0
    scaled = {name: gain * value * (alpha[0] if name in COULOMB else 1.0) for name, value in values.items() if name in COULOMB + OTHERS}
    scaled['F_V1'] = scaled.get('F_V1', 0.0) + gain * alpha[1]
    scaled['F_S'] = scaled['F_C0'] + gain * stribeck
    result: dict[str, Any] = {'parameters': {**values, **scaled}}
    if 'directions' in document:
        result['directions'] = {
            name: {**own, 'F_C': gain * alpha[0] * own['F_C'], 'F_S': gain * (alpha[0] * own['F_C'] + own.get('F_S', own['F_C']) - own['F_C']),
                   'F_V1': gain * (own['F_V1'] + alpha[1])} for name, own in document['directions'].items()}
    return result


def run_away(law: Controller, friction: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return, in words, each joint and direction in which the compensation of `law` exceeds friction at the speed limit.

    friction: documents of the description by joint. What is within two standard deviations of the identified friction does not count. A law
    without friction compensation, or not of this package, has nothing to be checked.
    """
    if not isinstance(law, TorqueLaw) or law.friction.kind == 'none':
        return []
    arm, compensation = law.arm, law.friction
    identified, applied, speed = {}, {}, {}
    for k, name in enumerate(arm.joint_names):
        document = friction[name]
        identified[name] = {**document, **_scaled(document, arm.friction_scale[k], 1.0)}
        applied[name] = {'parameters': _scaled(document, compensation.alpha[k], compensation.gain[k])['parameters']}
        if compensation.kind == 'static' and compensation.smoothing > 0:
            applied[name]['smoothing'] = compensation.smoothing
        limit = arm.robot.limits.velocity[k]
        speed[name] = float(limit) if np.isfinite(limit) and limit > 0 else np.pi
    reasons = []
    for check in check_compensation(identified, applied, speed):
        for direction in (check.positive, check.negative):
            excess, deviation = direction.excess[-1], direction.deviation[-1]
            # The two are computed from the same numbers in another order: what is left of that is not an excess.
            if direction.runs_away and excess > max(2 * deviation, 1e-9):
                reasons.append(f'{check.joint} in {direction.direction} direction: {excess:.3g} N·m more than friction at '
                               f'{direction.speed[-1]:.3g} rad/s ({direction.verdict})')
    return reasons
