"""The present α of a joint's friction, multiplied into its parameters: the torque stays the same.

    F' = α1 F(τ_J),   F_V1' = F_V1 + α2,   F_S' − F_C0' = F_S − F_C0
    of quadrants   a' − 1 = α1 (a − 1),   b' = α1 b,   c' = α1 c,   d' = α1 d,   F_V' = F_V + α2

A test that measures a parameter measures the friction at its present scale; an earlier α must not be applied to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVEL_PARAMETERS = ('F_C0', 'F_Cl', 'F_C1')


def apply_friction_scale(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of one joint of a description without `friction.scale`, its friction multiplied by it."""
    friction = part.get('friction', {})
    if 'scale' not in friction:
        return dict(part)
    first, second = friction['scale']
    scaled = {key: value for key, value in friction.items() if key != 'scale'}
    old = friction['parameters']
    new = {name: first * value if name in LEVEL_PARAMETERS else value for name, value in old.items()}
    new['F_V1'] = old.get('F_V1', 0.0) + second
    if 'F_S' in old:
        new['F_S'] = old['F_S'] + (first - 1.0) * old['F_C0']
    scaled['parameters'] = new
    if 'quadrants' in friction:
        scaled['quadrants'] = _quadrants(friction['quadrants'], first, second)
    if 'directions' in friction:
        scaled['directions'] = {name: _direction(own, first, second) for name, own in friction['directions'].items()}
    if 'standard_deviations' in friction:
        deviations = friction['standard_deviations']
        scaled['standard_deviations'] = {
            name: abs(first) * value if name in LEVEL_PARAMETERS else value for name, value in deviations.items()
        }
    return {**part, 'friction': scaled}


def _quadrants(given: Mapping[str, float], first: float, second: float) -> dict[str, float]:
    scaled = {name: first * value if name[0] in 'bcd' and name != 'dq_s' else value for name, value in given.items()}
    scaled |= {name: 1.0 + first * (given.get(name, 1.0) - 1.0) for name in ('a_m', 'a_g')}
    return {**scaled, 'F_V': given.get('F_V', 0.0) + second}


def _direction(own: Mapping[str, float], first: float, second: float) -> dict[str, float]:
    scaled = {**own, 'F_C': first * own['F_C'], 'F_V1': own['F_V1'] + second}
    return scaled | ({'F_S': own['F_S'] + (first - 1.0) * own['F_C']} if 'F_S' in own else {})
