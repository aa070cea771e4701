"""A friction compensation as a file states it, one joint at a time (docs/reference/commands/check-compensation.md)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from joint_dynamics.arm.steady_friction import loads_up_to
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel

DIRECTIONS = {'positive': 1.0, 'negative': -1.0}
FIELDS = ('parameters', 'directions', 'smoothing', 'speed_limit', 'spring', 'inertia', 'temperatures')


class AppliedCompensation:
    """What the controller of a robot adds to one joint.

    document: fields as in docs/reference/commands/check-compensation.md. most_load: N·m, up to which a
        load-dependent one is looked at.
    Raises JointDynamicsError naming joint and field.

    Attributes
    ----------
    speed_limit, spring, inertia
        rad/s, N·m/rad and kg·m²; None where not given. temperatures: °C.
    loads
        N·m, at which it has to be looked at.

    """

    def __init__(self, joint: str, document: Mapping[str, Any], most_load: float = 0.0):
        _check(joint, document)
        self.speed_limit, self.spring, self.inertia = (document.get(key) for key in FIELDS[3:6])
        self.temperatures: tuple[float, ...] = tuple(document.get('temperatures', ()))
        self._smoothing = float(document.get('smoothing', 0.0))
        model = FrictionModel.from_dict({'parameters': document['parameters']})
        self._models = {1.0: model, -1.0: model}
        for name, own in document.get('directions', {}).items():
            changes = {'F_C0': own['F_C'], 'F_S': own.get('F_S', own['F_C']), 'F_V1': own['F_V1'], 'offset': 0.0}
            self._models[DIRECTIONS[name]] = FrictionModel({**model.parameters, **changes})
        loaded = any(model.depends_on_load[0] for model in self._models.values())
        self.loads: tuple[float, ...] = loads_up_to(most_load) if loaded else (0.0,)

    def torque(
        self, speed: FloatArray, load: float = 0.0, position: float = 0.0, temperature: FloatArray | None = None
    ) -> FloatArray:
        """Return the compensation (G,) N·m at motor speeds (G,) rad/s of one sign, τ_J N·m and °C (None: at T0)."""
        model = self._models[float(np.sign(speed[0]))]
        return model.static(speed[:, None], load, temperature, self._smoothing)[:, 0]


def _check(joint: str, item: Mapping[str, Any]) -> None:
    if not isinstance(item, Mapping) or 'parameters' not in item:
        raise JointDynamicsError(f'applied: joints.{joint}: expected a mapping with parameters, found {item!r}')
    for key, value in item.items():
        if key not in FIELDS:
            raise JointDynamicsError(f'applied: joints.{joint}: expected the keys {", ".join(FIELDS)}, found {key!r}')
        if key in ('smoothing', 'speed_limit', 'spring', 'inertia') and not _positive(value, key == 'smoothing'):
            raise JointDynamicsError(f'applied: joints.{joint}.{key}: expected a number above 0, found {value!r}')
    temperatures = item.get('temperatures', [])
    if not isinstance(temperatures, (list, tuple)) or not all(_finite(value) for value in temperatures):
        raise JointDynamicsError(f'applied: joints.{joint}.temperatures: expected a list of °C, found {temperatures!r}')
    directions = item.get('directions', {})
    if not isinstance(directions, Mapping):
        raise JointDynamicsError(
            f'applied: joints.{joint}.directions: expected positive and negative with F_C and F_V1, found'
            f' {directions!r}'
        )
    for name, own in directions.items():
        if name not in DIRECTIONS or not isinstance(own, Mapping) or not {'F_C', 'F_V1'} <= set(own):
            raise JointDynamicsError(
                f'applied: joints.{joint}.directions: expected positive and negative with F_C and F_V1, found {name}:'
                f' {own!r}'
            )


def _finite(value: Any) -> bool:
    """Whether it is a number that a double holds."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _positive(value: Any, zero: bool) -> bool:
    return _finite(value) and (value > 0 or (zero and value == 0))
