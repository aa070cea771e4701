"""Friction compensation, of a file or of a law, checked against the identified friction.

    applied     what a robot's controller adds, as a file states it joint by joint
                (docs/reference/commands/check-compensation.md), or what a law's own compensation adds in steady slip,
                with its gain, α and smoothing
    identified  the friction of the arm at its present α (`arm.SteadyFriction`): quadrants, terms, coupled motors, range

A law compensates with the same model, so with a gain of 1 no joint runs away. One can with a larger gain, or where the
description states different friction in the two directions, which one set of parameters cannot compensate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm, SteadyFriction
from joint_dynamics.arm.steady_friction import loads_up_to
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.compensation import DIRECTIONS, DirectionCheck, JointCheck, check_direction, limit_cycles
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import Controller
from joint_dynamics.control.law import TorqueLaw
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel

FIELDS = ('parameters', 'directions', 'smoothing', 'speed_limit', 'spring', 'inertia', 'temperatures')
LAW_POINTS = 40
"""Speeds that are looked at: what counts is the speed limit, which is one of them."""


class AppliedCompensation:
    """What the controller of a robot adds to one joint.

    Parameters
    ----------
    joint
        its name.
    document
        fields as in docs/reference/commands/check-compensation.md.
    most_load
        N·m, up to which a load-dependent compensation is evaluated.

    Attributes
    ----------
    speed_limit, spring, inertia
        rad/s, N·m/rad and kg·m²; None where not given.
    temperatures
        °C.
    loads
        N·m, at which it has to be evaluated.

    Raises
    ------
    JointDynamicsError
        For an invalid field; the message names joint and field.

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


def check_compensation(
    arm: Arm, applied: Mapping[str, Any], speed_limits: Mapping[str, float] | None = None
) -> list[JointCheck]:
    """Check every joint of `applied` at each of its temperatures against the friction of the arm.

    Parameters
    ----------
    arm
        with the identified friction.
    applied
        documents by joint name, fields as in docs/reference/commands/check-compensation.md.
    speed_limits
        rad/s by joint, where `applied` gives none; None: those of the robot.

    Raises
    ------
    JointDynamicsError
        For a joint without identified friction or speed limit, or an unknown field.

    """
    limits = speed_limits_of(arm) if speed_limits is None else speed_limits
    rubbing = {part[0] for part in arm.terms.friction.entries} | set(np.flatnonzero(arm.friction_described).tolist())
    checks = []
    for joint, document in applied.items():
        index = arm.joint_names.index(joint) if joint in arm.joint_names else -1
        if index not in rubbing:
            raise JointDynamicsError(f'{joint}: expected its friction in the description, found none')
        identified = SteadyFriction(arm, index)
        item = AppliedCompensation(joint, document, identified.most_load)
        limit = limits.get(joint) if item.speed_limit is None else item.speed_limit
        if limit is None:
            raise JointDynamicsError(
                f'{joint}: expected speed_limit (rad/s) in the applied file or the description, found none'
            )
        for temperature in item.temperatures or (None,):
            positive, negative = (
                check_direction(identified, item, name, float(limit), temperature) for name in DIRECTIONS
            )
            cycles = limit_cycles(positive, negative, item.spring, item.inertia)
            checks.append(JointCheck(joint, positive, negative, tuple(cycles)))
    return checks


def speed_limits_of(arm: Arm) -> dict[str, float]:
    """Return the speed limits of the joints that have one, rad/s by name."""
    pairs = zip(arm.joint_names, arm.robot.limits.velocity, strict=True)
    return {name: float(limit) for name, limit in pairs if np.isfinite(limit) and limit > 0}


class LawCompensation:
    """What a law's friction compensation adds to joint `joint` (index) in steady slip, the other joints at rest."""

    loads = (0.0,)

    def __init__(self, friction: FrictionCompensation, joint: int, n: int):
        self._friction, self._joint, self._n = friction, joint, n

    def torque(
        self, speed: FloatArray, load: float = 0.0, position: float = 0.0, temperature: FloatArray | None = None
    ) -> FloatArray:
        """Return the compensation (G,) N·m as `arm.SteadyFriction.torque` does, but at the law's own temperature."""
        speeds, loads, q = np.zeros((3, len(speed), self._n))
        speeds[:, self._joint], loads[:, self._joint], q[:, self._joint] = speed, load, position
        return self._friction.in_slip(q, speeds, loads)[:, self._joint]


def run_away(law: Controller) -> list[str]:
    """Return a message for each joint and direction in which `law` exceeds the friction at the speed limit.

    An excess within two standard deviations of the identified friction does not count. A law without friction
    compensation, or from another package, is not checked.
    """
    if not isinstance(law, TorqueLaw) or law.friction.kind == 'none':
        return []
    limits = speed_limits_of(law.arm)
    reasons = []
    for k, name in enumerate(law.arm.joint_names):
        for direction in DIRECTIONS:
            check = check_law(law, k, direction, limits.get(name, np.pi))
            excess = check.excess[-1]
            if excess > 2.0 * check.deviation[-1]:
                where = f' under {check.load:.3g} N·m' if abs(check.load) > 1e-3 else ''
                reasons.append(
                    f'{name} in {direction} direction: {excess:.3g} N·m more than friction at '
                    f'{check.speed[-1]:.3g} rad/s{where} ({check.verdict})'
                )
    return reasons


def refuse_run_away(law: Controller) -> None:
    """Raise JointDynamicsError with the messages of `run_away`, where there are any."""
    reasons = run_away(law)
    if reasons:
        raise JointDynamicsError(
            f'friction compensation: expected none that would run away, found {"; ".join(reasons)} '
            '(lower friction_gain, or set check_compensation to false)'
        )


def check_law(law: TorqueLaw, joint: int, direction: str, speed_limit: float) -> DirectionCheck:
    """Return the check of one joint (index) and direction of a law, up to `speed_limit` rad/s, at its temperature."""
    applied = LawCompensation(law.friction, joint, law.arm.n)
    return check_direction(
        SteadyFriction(law.arm, joint), applied, direction, speed_limit, law.friction.temperature, LAW_POINTS
    )
