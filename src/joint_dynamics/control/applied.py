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

"""Friction compensation, of a file or of a law, checked against the identified friction.

    applied:    the compensation of a robot's controller, from a file (docs/reference/commands/check-compensation.md),
                or of a law in steady slip, with its gain, α and smoothing;
    identified: the friction of the arm at its present α (`arm.SteadyFriction`), with quadrants, terms and range.

A law compensates with the same model: no joint runs away at a gain of 1. One can at a larger gain, or where friction
differs between the directions: one set of parameters cannot compensate both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm, SteadyFriction
from joint_dynamics.arm.described_friction import loads_up_to
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.compensation import DIRECTIONS, DirectionCheck, JointCheck, check_direction, limit_cycles
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import Law
from joint_dynamics.control.laws import ComputedTorque
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel
from joint_dynamics.robot.limits import joint_unit
from joint_dynamics.settings import Settings, setting

LARGEST = 1e12
"""N·m, N·m·s/rad, …: no parameter of a joint is larger, and the sums over it are finite."""
LAW_POINTS = 40
"""Speeds that are looked at: what counts is the speed limit, which is one of them."""


@dataclass(frozen=True)
class DirectionSettings(Settings):
    """The compensation of one direction of motion where it has values of its own."""

    F_C: float = setting(..., 'Coulomb friction', 'N·m', lower=-LARGEST, upper=LARGEST)
    F_V1: float = setting(..., 'viscous friction', 'N·m·s/rad', lower=-LARGEST, upper=LARGEST)
    F_S: float | None = setting(None, 'static friction', 'N·m', lower=-LARGEST, upper=LARGEST, none='F_C')


def _sides(directions: Mapping[str, DirectionSettings]) -> str | None:
    return None if set(directions) <= set(DIRECTIONS) else ' and '.join(DIRECTIONS)


@dataclass(frozen=True)
class AppliedSettings(Settings):
    """The compensation of one joint as a file states it (docs/reference/commands/check-compensation.md)."""

    parameters: Mapping[str, float] = setting(..., 'parameters of FrictionModel by name', lower=-LARGEST, upper=LARGEST)
    directions: Mapping[str, DirectionSettings] = setting(
        {}, 'parameters of each direction, if they differ', check=_sides
    )
    smoothing: float = setting(0.0, 'tanh(ω/smoothing) replaces sgn ω; 0: sgn ω', 'rad/s', lower=0)
    speed_limit: float | None = setting(None, 'highest speed compared', 'rad/s', above=0, none="the robot's")
    spring: float | None = setting(None, 'spring of the limit cycle', 'N·m/rad', above=0, none='none')
    inertia: float | None = setting(None, 'inertia of the limit cycle', 'kg·m²', above=0, none='none')
    temperatures: Sequence[float] = setting((), 'joint temperatures to check', '°C')


class AppliedCompensation:
    """Friction compensation of the robot's controller for one joint.

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
    settings
        the fields of the document.
    loads
        N·m, at which it has to be evaluated.

    Raises
    ------
    JointDynamicsError
        For an invalid field; the message names joint and field.

    """

    def __init__(self, joint: str, document: Mapping[str, Any], most_load: float = 0.0):
        self.settings = given = AppliedSettings.from_mapping(document, f'applied: joints.{joint}')
        model = FrictionModel.from_dict({'parameters': given.parameters})
        self._models = {1.0: model, -1.0: model}
        for name, own in given.directions.items():
            F_S = own.F_C if own.F_S is None else own.F_S
            changes = {'F_C0': own.F_C, 'F_S': F_S, 'F_V1': own.F_V1, 'offset': 0.0}
            self._models[DIRECTIONS[name]] = FrictionModel({**model.parameters, **changes})
        loaded = any(model.depends_on_load[0] for model in self._models.values())
        self.loads: tuple[float, ...] = loads_up_to(most_load) if loaded else (0.0,)

    def torque(self, speed: FloatArray, load: float = 0.0, temperature: FloatArray | None = None) -> FloatArray:
        """Return the compensation (G,) N·m at motor speeds (G,) rad/s of one sign, τ_J N·m and °C (None: at T0)."""
        model = self._models[float(np.sign(speed[0]))]
        return model.static(speed[:, None], load, temperature, self.settings.smoothing)[:, 0]


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
        given = item.settings
        slides = bool(arm.robot.prismatic[index])
        limit = limits.get(joint) if given.speed_limit is None else given.speed_limit
        if limit is None:
            raise JointDynamicsError(
                f'{joint}: expected speed_limit ({joint_unit("rad/s", slides)}) in the applied file or the description,'
                ' found none'
            )
        for temperature in given.temperatures or (None,):
            positive, negative = (
                check_direction(identified, item, name, float(limit), temperature) for name in DIRECTIONS
            )
            cycles = limit_cycles(positive, negative, given.spring, given.inertia)
            checks.append(JointCheck(joint, slides, positive, negative, tuple(cycles)))
    return checks


def speed_limits_of(arm: Arm) -> dict[str, float]:
    """Return the speed limits of the joints that have one, rad/s by name."""
    pairs = zip(arm.joint_names, arm.robot.limits.velocity, strict=True)
    return {name: float(limit) for name, limit in pairs if np.isfinite(limit)}


class LawCompensation:
    """What a law's friction compensation adds to joint `joint` (index) in steady slip, the other joints at rest."""

    loads = (0.0,)

    def __init__(self, friction: FrictionCompensation, joint: int, n: int):
        self._friction, self._joint, self._n = friction, joint, n

    def torque(self, speed: FloatArray, load: float = 0.0, temperature: FloatArray | None = None) -> FloatArray:
        """Return the compensation (G,) N·m as `arm.SteadyFriction.torque` does, but at the law's own temperature."""
        speeds, loads, q = np.zeros((3, len(speed), self._n))
        speeds[:, self._joint], loads[:, self._joint] = speed, load
        return self._friction.in_slip(q, speeds, loads)[:, self._joint]


def run_away(law: Law) -> list[str]:
    """Return a message for each joint and direction in which `law` exceeds the friction at the speed limit.

    An excess within two standard deviations of the identified friction does not count. A law without friction
    compensation, or from another package, is not checked.
    """
    if not isinstance(law, ComputedTorque) or law.friction.kind == 'none':
        return []
    limits = speed_limits_of(law.arm)
    reasons = []
    for k, name in enumerate(law.arm.joint_names):
        for direction in DIRECTIONS:
            check = check_law(law, k, direction, limits.get(name, np.pi))
            excess = check.excess[-1]
            if excess > 2.0 * check.deviation[-1]:
                torque, rate = (joint_unit(unit, bool(law.arm.robot.prismatic[k])) for unit in ('N·m', 'rad/s'))
                where = f' under {check.load:.3g} {torque}' if abs(check.load) > 1e-3 else ''
                reasons.append(
                    f'{name} in {direction} direction: {excess:.3g} {torque} more than friction at '
                    f'{check.speed[-1]:.3g} {rate}{where} ({check.verdict})'
                )
    return reasons


def refuse_run_away(law: Law) -> None:
    """Raise JointDynamicsError with the messages of `run_away`, where there are any."""
    reasons = run_away(law)
    if reasons:
        raise JointDynamicsError(
            f'friction compensation: expected none that would run away, found {"; ".join(reasons)} '
            '(lower friction_gain, or set check_compensation to false)'
        )


def check_law(law: ComputedTorque, joint: int, direction: str, speed_limit: float) -> DirectionCheck:
    """Return the check of one joint (index) and direction of a law, up to `speed_limit` rad/s, at its temperature."""
    applied = LawCompensation(law.friction, joint, law.arm.n)
    return check_direction(
        SteadyFriction(law.arm, joint), applied, direction, speed_limit, law.friction.temperature, LAW_POINTS
    )
