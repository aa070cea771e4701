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

"""Friction as a description states it: at its present scale, with hysteresis, and in steady slip.

The present α of a joint's friction is multiplied into its parameters such that the torque stays the same:

    F' = α1 F(τ_J);   F_V1' = F_V1 + α2;   F_S' − F_C0' = F_S − F_C0;
    of quadrants:   a' − 1 = α1 (a − 1);   b' = α1 b;   c' = α1 c;   d' = α1 d;   F_V' = F_V + α2.

A test measures the friction at its present scale; an earlier α must not be applied to its result.

A friction compensation is checked against the friction of one joint in steady slip, H = sgn ω, and its uncertainty. It
includes α, load, temperature, quadrants, friction terms, coupled motors and the range of validity. A description may
state F_C, F_S and F_V1 of each direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.joint import NO_PRESLIDING, REVERSAL, FrictionModel, MaxwellSlip, PeriodicMap

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


def with_reversal(arm: Arm) -> tuple[Arm, list[str]]:
    """Return the arm whose friction takes a way to reverse in every joint, and remarks on those described without.

    Rounding can decide whether identification selects a hysteresis, and estimator and feedforward must use the same
    friction. The sign of the speed cannot replace it: at rest, the slightest motion of the elastic transmission would
    make it jump by twice the friction. So friction, or the share of it, that is described to reverse at once reverses
    within `REVERSAL` [M6 eq 12-18]. Joints without described friction stay as they are.
    """
    friction = arm.friction
    if friction is None:
        return arm, []
    slip = friction.maxwell_slip or MaxwellSlip(arm.n, NO_PRESLIDING, operators=1)
    lengths = [slip.presliding.for_joint(j) for j in range(arm.n)]
    limits, shares = slip.limits.copy(), slip.stiffness * slip.limits
    widths = np.array([table.max() for table in slip.presliding.tables])
    # limits are lengths over the presliding length, rounded
    at_once = (limits * widths[:, None] <= (1.0 + 1e-6) * NO_PRESLIDING).sum(axis=1)
    if not any(at_once[j] for j in range(arm.n) if arm.friction_described[j]):
        return arm, []
    for j in np.flatnonzero(at_once):
        last = at_once[j] - 1
        if at_once[j] == slip.operators:
            lengths[j] = PeriodicMap.constant(REVERSAL)
        elif limits[j, last + 1] * widths[j] > REVERSAL:
            limits[j, last] = REVERSAL / widths[j]
        else:
            last += 1
        limits[j, :last] = limits[j, last] * np.arange(1, last + 1) / (last + 1)
        shares[j, : last + 1] = [*np.zeros(last), shares[j, : last + 1].sum()]
    named = [arm.joint_names[j] for j in range(arm.n) if arm.friction_described[j] and at_once[j] == slip.operators]
    slip = MaxwellSlip(
        arm.n,
        PeriodicMap.stack(lengths),
        limits=limits,
        stiffness=shares / limits,
        kinematic_error=slip.kinematic_error,
    )
    turning = FrictionModel(friction.parameters, slip, joints=arm.n, quadrants=friction.quadrants)
    who = '' if len(named) == arm.n else f' of {", ".join(named)}'
    remark = f'the dynamics description has no hysteresis{who}: friction reverses within {REVERSAL:g} rad'
    return replace(arm, friction=turning), [remark] if named else []


#: N·m: a load that has a sign and no size.
SMALL_LOAD = 1e-6


class SteadyFriction:
    """Friction of joint `joint` (index) of an arm in steady slip, the other joints at rest.

    Attributes
    ----------
    name
        of the joint.
    loads
        N·m, transmission torques at which it has to be evaluated: 0 where it does not depend on load; otherwise small
        loads of either sign, and the largest that was checked (`validity`) or that the joint can bear.

    """

    def __init__(self, arm: Arm, joint: int):
        self._arm, self._joint = arm, joint
        self.name = arm.joint_names[joint]
        detail = arm.friction_details[joint] if arm.friction_details else {}
        self._deviations: Mapping[str, float] = detail.get('standard_deviations', {})
        self._directions: Mapping[str, Mapping[str, float]] = detail.get('directions', {})
        self.loads = self._loads()

    @property
    def most_load(self) -> float:
        """Largest checked or permitted load, N·m; 0 where both are unknown."""
        arm, j = self._arm, self._joint
        bounds = [arm.effort_limit[j]]
        if arm.validity is not None:
            bounds.append(arm.validity.load[j])
        if arm.friction is not None:
            bounds.append(arm.friction.parameters['tau_max'][j])
        least = float(min(bounds))
        return least if np.isfinite(least) else 0.0

    def _loads(self) -> tuple[float, ...]:
        arm, j = self._arm, self._joint
        loaded = arm.friction is not None and bool(arm.friction.depends_on_load[j])
        if not loaded and not any(k == j and 'load' in term.needs for k, term, _ in arm.terms.friction.entries):
            return (0.0,)
        return loads_up_to(self.most_load)

    def torque(self, speed: FloatArray, load: float = 0.0, temperature: FloatArray | None = None) -> FloatArray:
        """Return the friction (G,) N·m at motor speeds (G,) rad/s of one sign, with that direction's own parameters.

        load: τ_J N·m; temperature: (n,) °C of all joints, None: T0, at which it has no effect.
        """
        return self._of(self._in_direction(speed, {}), speed, load, temperature)

    def deviation(self, speed: FloatArray, load: float = 0.0, temperature: FloatArray | None = None) -> FloatArray:
        """Return its standard deviation (G,) N·m; arguments as in `torque`.

        By first differences in the parameters that have a standard deviation, taken as independent.
        """
        at = (speed, load, temperature)
        base, variance = self.torque(*at), np.zeros_like(speed)
        own = self._directions.get(_name(speed), {})
        for name, std in self._deviations.items():
            if own and name in ('F_S', 'offset'):
                continue
            std = own.get({'F_C0': 'F_C_std', 'F_V1': 'F_V1_std'}.get(name, ''), std)
            variance += (self._of(self._in_direction(speed, {name: std}), *at) - base) ** 2
        plain = self._in_direction(speed, {})
        terms = plain.terms
        for part, deviations in enumerate(terms.deviations):
            joint, term, values = terms.entries[part]
            if joint != self._joint or not term.is_friction:
                continue
            for k, std in enumerate(deviations):
                changed = values + std * (np.arange(len(values)) == k)
                entries = (*terms.entries[:part], (joint, term, changed), *terms.entries[part + 1 :])
                variance += (self._of(replace(plain, terms=replace(terms, entries=entries)), *at) - base) ** 2
        return np.sqrt(variance)

    def _of(self, arm: Arm, speed: FloatArray, load: float, temperature: FloatArray | None) -> FloatArray:
        speeds, loads, q = np.zeros((3, len(speed), arm.n))
        speeds[:, self._joint], loads[:, self._joint] = speed, load
        H = np.sign(speeds)
        torque = arm.friction_torque(H, speeds, loads, temperature)
        return (torque + arm.terms.friction.torque(q, speeds, loads, H, temperature))[:, self._joint]

    def _in_direction(self, speed: FloatArray, raised: Mapping[str, float]) -> Arm:
        """Return the arm with the joint's parameters in the direction of the speeds, and some of them raised."""
        model, j, own = self._arm.friction, self._joint, self._directions.get(_name(speed), {})
        if model is None or not (own or raised):
            return self._arm
        parameters = {name: values.copy() for name, values in model.parameters.items()}
        if own:
            # The level and the offset of both directions together are in F_C of each.
            values = {'F_C0': own['F_C'], 'F_S': own.get('F_S', own['F_C']), 'F_V1': own['F_V1'], 'offset': 0.0}
            for name, value in values.items():
                parameters[name][j] = value
        quadrants = None if model.quadrants is None else {name: row.copy() for name, row in model.quadrants.items()}
        for name, std in raised.items():
            if name == 'F_C0' and parameters['F_S'][j] == parameters['F_C0'][j]:
                parameters['F_S'][j] += std  # no Stribeck friction stays none
            if name in parameters:
                parameters[name][j] += std
            elif quadrants is not None and name in quadrants:
                quadrants[name][j] += std
        changed = FrictionModel(parameters, model.maxwell_slip, joints=model.joints, quadrants=quadrants)
        return replace(self._arm, friction=changed)


def _name(speed: FloatArray) -> str:
    return 'positive' if speed[0] > 0 else 'negative'


def loads_up_to(most: float) -> tuple[float, ...]:
    """Return the loads, N·m, at which friction that depends on load is evaluated."""
    return (-most, -SMALL_LOAD, SMALL_LOAD, most) if most > SMALL_LOAD else (-SMALL_LOAD, SMALL_LOAD)
