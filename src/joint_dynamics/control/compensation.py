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

"""Check of a friction compensation against the identified friction, before it is sent to a robot [A §5.5].

The excess of the compensation a(v) over the friction r(v), both along the motion, is e(v) = a − r at the speed v > 0
in one direction.

    e < 0 everywhere   under-compensated: every speed decays
    e > 0 everywhere   over-compensated: every speed runs away
    e from + to − at v_a   attracting: the joint settles at v_a by itself; with a spring, a stable limit cycle
    e from − to + at v_a   repelling: slower decays, faster runs away

Friction is that of the arm (`arm.SteadyFriction`); where it depends on load or angle, e is taken at the worst load and
angle. With a spring the speed over a cycle is close to V cos φ. A cycle without gain of energy has
∫₀^{π/2} (e₊ + e₋)(V cos φ) cos φ dφ = 0, without load: for Coulomb and viscous friction V = (4/π) v_a. Its speed
amplitude V does not depend on spring or inertia; its amplitude in angle is V √(I/K).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from joint_dynamics.arm import SteadyFriction
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

DIRECTIONS = {'positive': 1.0, 'negative': -1.0}
POINTS = 1500
"""Speeds at which two curves are compared: so many evenly, and so many by their logarithm."""


class Compensation(Protocol):
    """Torque added to one joint: `torque` as of `arm.SteadyFriction`, and the loads at which to evaluate it."""

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads, N·m."""

    def torque(self, speed: FloatArray, load: float = 0.0, temperature: FloatArray | None = None) -> FloatArray:
        """Return the compensation (G,) N·m at motor speeds (G,) rad/s of one sign."""


@dataclass(frozen=True)
class Crossing:
    """Speed (rad/s) at which compensation equals friction; kind: attracting or repelling."""

    speed: float
    kind: str


@dataclass(frozen=True)
class LimitCycle:
    """Oscillation under a spring: its speed amplitude [rad/s], and whether it is stable.

    `amplitude` [rad] and `period` [s] where spring and inertia are known.
    """

    speed: float
    stable: bool
    amplitude: float | None = None
    period: float | None = None


@dataclass(frozen=True)
class DirectionCheck:
    """One direction of one joint.

    Attributes
    ----------
    verdict
        under, over, attracting, repelling, mixed (several crossings), or exact (no difference at all).
    runs_away
        whether the compensation still exceeds friction at the speed limit.
    might
        whether it might, within two standard deviations of the identified friction.
    load
        N·m, where the excess is worst.
    temperature
        °C; None: T0, at which it has no effect.
    speed
        v (G,) rad/s.
    friction, excess, deviation
        (G,) N·m: r(v), e(v) and the standard deviation of r.
    unloaded
        (G,) N·m, e(v) without load.

    """

    joint: str
    direction: str
    temperature: float | None
    load: float
    verdict: str
    crossings: tuple[Crossing, ...]
    runs_away: bool
    might: bool
    speed: FloatArray
    friction: FloatArray
    excess: FloatArray
    deviation: FloatArray
    unloaded: FloatArray

    @property
    def worst(self) -> tuple[float, float]:
        """Largest e(v), N·m, and the speed where it is."""
        k = int(np.argmax(self.excess))
        return float(self.excess[k]), float(self.speed[k])

    def summary(self) -> dict[str, Any]:
        """Plain data for summary.json."""
        excess, speed = self.worst
        return {
            'direction': self.direction,
            'verdict': self.verdict,
            'runs_away': self.runs_away,
            'might_run_away': self.might,
            'crossings': [{'speed': item.speed, 'kind': item.kind} for item in self.crossings],
            'largest_excess': excess,
            'at_speed': speed,
            'at_load': self.load,
        }


def check_direction(
    identified: SteadyFriction,
    applied: Compensation,
    name: str,
    speed_limit: float,
    temperature: FloatArray | float | None = None,
    points: int = POINTS,
) -> DirectionCheck:
    """Check one direction of one joint at one temperature.

    Parameters
    ----------
    identified
        friction of the joint.
    applied
        its compensation.
    name
        of the direction: positive or negative.
    speed_limit
        rad/s; speeds in (0, speed_limit] are checked.
    temperature
        °C, a number or (n,) of all joints; None: T0, at which it has no effect.
    points
        number of speeds, see `POINTS`.

    """
    if not (np.isfinite(speed_limit) and speed_limit > 0):
        raise JointDynamicsError(f'{identified.name}: expected a speed limit > 0 rad/s, found {speed_limit}')
    side, warm = DIRECTIONS[name], None if temperature is None else np.asarray(temperature, dtype=float)
    speed = np.unique(np.concatenate([np.geomspace(1e-4, 1, points), np.linspace(1e-3, 1, points)])) * speed_limit

    def both(load: float) -> tuple[FloatArray, FloatArray]:
        at = (side * speed, load, warm)
        friction = side * identified.torque(*at)
        excess = side * applied.torque(*at) - friction
        excess[np.abs(excess) < 1e-12 * np.max(np.abs(friction), initial=0.0)] = 0.0
        return friction, excess

    last, might, worst = side * speed[-1:], False, None
    for load in max(identified.loads, applied.loads, key=len):
        friction, excess = both(load)
        uncertainty = 2.0 * float(identified.deviation(last, load, warm)[0])
        might |= bool(excess[-1] + uncertainty > 0)
        rank = (True, excess[-1] - uncertainty) if excess[-1] > 0 else (False, excess.max())
        if worst is None or rank > worst[0]:
            worst = rank, load, friction, excess
    assert worst is not None
    _, load, friction, excess = worst
    crossings = _crossings(speed, excess)
    if not crossings:
        verdict = 'over' if excess[0] > 0 else 'under' if excess[0] < 0 else 'exact'
    else:
        verdict = crossings[0].kind if len(crossings) == 1 else 'mixed'
    return DirectionCheck(
        identified.name,
        name,
        None if warm is None else float(warm) if warm.ndim == 0 else None,
        load,
        verdict,
        crossings,
        bool(excess[-1] > 0),
        might,
        speed,
        friction,
        excess,
        identified.deviation(side * speed, load, warm),
        both(0.0)[1],
    )


def _crossings(speed: FloatArray, excess: FloatArray) -> tuple[Crossing, ...]:
    crossings = []
    for k in np.flatnonzero(np.diff(np.sign(excess)) != 0):
        share = excess[k] / (excess[k] - excess[k + 1])
        kind = 'attracting' if excess[k] > excess[k + 1] else 'repelling'
        crossings.append(Crossing(float(speed[k] + share * (speed[k + 1] - speed[k])), kind))
    return tuple(crossings)


def limit_cycles(
    positive: DirectionCheck, negative: DirectionCheck, spring: float | None = None, inertia: float | None = None
) -> list[LimitCycle]:
    """Return the limit cycles under a spring up to the speed limit, at which a cycle gains no energy and loses none.

    Parameters
    ----------
    positive, negative
        checks of both directions of a joint.
    spring, inertia
        N·m/rad and kg·m²; None: not known.
    """
    phase = (np.arange(200) + 0.5) * (np.pi / 400)

    def gain(V: FloatArray) -> FloatArray:
        speed = V[:, None] * np.cos(phase)
        total = np.interp(speed, positive.speed, positive.unloaded) + np.interp(
            speed, negative.speed, negative.unloaded
        )
        return (total * np.cos(phase)).sum(axis=1)

    V = np.geomspace(1e-3, 1.0, 2000) * positive.speed[-1]
    G = gain(V)
    cycles = []
    for k in np.flatnonzero(np.diff(np.sign(G)) != 0):
        speed = float(V[k] + G[k] / (G[k] - G[k + 1]) * (V[k + 1] - V[k]))
        cycle = LimitCycle(speed, bool(G[k] > G[k + 1]))
        if spring is not None and inertia is not None:
            omega = np.sqrt(spring / inertia)
            cycle = replace(cycle, amplitude=float(speed / omega), period=float(2 * np.pi / omega))
        cycles.append(cycle)
    return cycles


@dataclass(frozen=True)
class JointCheck:
    """One joint, which turns or `slides`, at one temperature: both directions, and the limit cycles under a spring."""

    joint: str
    slides: bool
    positive: DirectionCheck
    negative: DirectionCheck
    cycles: tuple[LimitCycle, ...]

    @property
    def runs_away(self) -> bool:
        """Whether the joint runs away in either direction."""
        return self.positive.runs_away or self.negative.runs_away

    def summary(self) -> dict[str, Any]:
        """Plain data for summary.json."""
        return {
            'joint': self.joint,
            'temperature': self.positive.temperature,
            'runs_away': self.runs_away,
            'directions': [self.positive.summary(), self.negative.summary()],
            'limit_cycles': [
                {'speed': item.speed, 'stable': item.stable, 'amplitude': item.amplitude, 'period': item.period}
                for item in self.cycles
            ],
        }
