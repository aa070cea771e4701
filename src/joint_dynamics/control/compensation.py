"""Check of a friction compensation against the identified friction, before it is sent to a robot [A §5.5].

What the controller adds, a(v), less what friction takes, r(v), both along the motion, is e(v) = a − r at the speed v > 0 of one direction.

    e < 0 everywhere   under-compensated: every speed decays
    e > 0 everywhere   over-compensated: every speed runs away
    e from + to − at v_a   attracting: the joint settles at v_a by itself; with a spring, a stable limit cycle
    e from − to + at v_a   repelling: slower decays, faster runs away

With a spring the speed is near V cos φ over a cycle, and the cycle that neither gains nor loses energy has
∫₀^{π/2} (e₊ + e₋)(V cos φ) cos φ dφ = 0: for Coulomb and viscous friction V = (4/π) v_a. Its speed amplitude does not depend on spring or
inertia, its size is V √(I/K).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel

DIRECTIONS = {'positive': 1.0, 'negative': -1.0}
APPLIED_FIELDS = ('parameters', 'directions', 'smoothing', 'speed_limit', 'spring', 'inertia', 'temperatures')


@dataclass(frozen=True)
class Crossing:
    """Speed (rad/s) at which compensation equals friction; kind: attracting or repelling."""

    speed: float
    kind: str


@dataclass(frozen=True)
class LimitCycle:
    """Oscillation under a spring: speed amplitude rad/s; amplitude rad and period s where spring and inertia are known; stable or not."""

    speed: float
    stable: bool
    amplitude: float | None = None
    period: float | None = None


@dataclass(frozen=True)
class DirectionCheck:
    """One direction of one joint.

    verdict     under, over, attracting, repelling, mixed (several crossings), or exact (no difference at all).
    runs_away   at the speed limit the compensation is still above friction.
    might       it could be, within two deviations of the identified friction.
    speed, excess, deviation  (G,): rad/s, e(v) and its standard deviation, N·m; largest excess first in `worst`, N·m at rad/s.
    """

    joint: str
    direction: str
    temperature: float | None
    verdict: str
    crossings: tuple[Crossing, ...]
    runs_away: bool
    might: bool
    speed: NDArray
    excess: NDArray
    deviation: NDArray

    @property
    def worst(self) -> tuple[float, float]:
        """Largest e(v), N·m, and the speed where it is."""
        k = int(np.argmax(self.excess))
        return float(self.excess[k]), float(self.speed[k])

    def summary(self) -> dict[str, Any]:
        """Plain data for summary.json."""
        excess, speed = self.worst
        return {'direction': self.direction, 'verdict': self.verdict, 'runs_away': self.runs_away, 'might_run_away': self.might,
                'crossings': [{'speed': item.speed, 'kind': item.kind} for item in self.crossings], 'largest_excess': excess, 'at_speed': speed}


def _curve(document: Mapping[str, Any], name: str, speed: NDArray, temperature: float | None, smoothing: float = 0.0) -> NDArray:
    """Friction along the motion in one direction, N·m at speeds v > 0, with the direction's own F_C, F_S and F_V1 where the document has them."""
    model = FrictionModel.from_dict({key: document[key] for key in ('parameters', 'directions') if key in document})
    own = document.get('directions', {}).get(name)
    if own is not None:
        changes: dict[str, Any] = {'F_C0': own['F_C'], 'F_S': own.get('F_S', own['F_C']), 'F_V1': own['F_V1'], 'offset': 0.0}
        model = FrictionModel({**model.parameters, **changes})
    side = DIRECTIONS[name]
    return side * model.static((side * speed)[:, None], 0.0, temperature, smoothing)[:, 0]


def _deviation(document: Mapping[str, Any], name: str, speed: NDArray, temperature: float | None) -> NDArray:
    """Standard deviation of the identified curve, its parameters taken as independent, by differences."""
    base, variance = _curve(document, name, speed, temperature), np.zeros_like(speed)
    own = document.get('directions', {}).get(name, {})
    for parameter, std in document.get('standard_deviations', {}).items():
        in_direction = {'F_C0': 'F_C', 'F_V1': 'F_V1'}.get(parameter)
        if own and parameter in ('F_C0', 'F_S', 'F_V1', 'offset'):
            if in_direction is None:
                continue
            std = own.get(f'{in_direction}_std', std)
            changed = {**document, 'directions': {name: {**own, in_direction: own[in_direction] + std}}}
        else:
            changed = {**document, 'parameters': {**document['parameters'], parameter: document['parameters'][parameter] + std}}
        variance += (_curve(changed, name, speed, temperature) - base) ** 2
    return np.sqrt(variance)


def check_direction(joint: str, name: str, identified: Mapping[str, Any], applied: Mapping[str, Any], speed_limit: float,
                    temperature: float | None = None) -> DirectionCheck:
    """Check one direction (positive, negative) of one joint from (0, speed_limit] rad/s at one temperature (°C; None: T0), without load.

    identified  friction document of the description; applied: `parameters` (names of FrictionModel), optionally `directions` and `smoothing`.
    """
    if not (np.isfinite(speed_limit) and speed_limit > 0):
        raise JointDynamicsError(f'{joint}: expected a speed limit > 0 rad/s, found {speed_limit}')
    speed = np.unique(np.concatenate([np.geomspace(1e-4, 1, 1500), np.linspace(1e-3, 1, 1500)])) * speed_limit
    smoothing = float(applied.get('smoothing', 0.0))
    friction = _curve(identified, name, speed, temperature)
    excess = _curve(applied, name, speed, temperature, smoothing) - friction
    excess[np.abs(excess) < 1e-12 * np.max(np.abs(friction), initial=0.0)] = 0.0
    deviation = _deviation(identified, name, speed, temperature)
    changes = np.flatnonzero(np.diff(np.sign(excess)) != 0)
    crossings = []
    for k in changes:
        share = excess[k] / (excess[k] - excess[k + 1])
        crossings.append(Crossing(float(speed[k] + share * (speed[k + 1] - speed[k])), 'attracting' if excess[k] > excess[k + 1] else 'repelling'))
    if not crossings:
        verdict = 'over' if excess[0] > 0 else 'under' if excess[0] < 0 else 'exact'
    else:
        verdict = crossings[0].kind if len(crossings) == 1 else 'mixed'
    runs_away = bool(excess[-1] > 0)
    return DirectionCheck(joint, name, temperature, verdict, tuple(crossings), runs_away, bool(excess[-1] + 2 * deviation[-1] > 0), speed, excess,
                          deviation)


def limit_cycles(positive: DirectionCheck, negative: DirectionCheck, spring: float | None = None, inertia: float | None = None) -> list[LimitCycle]:
    """Limit cycles under a spring up to the speed limit: zeros of the energy gained per cycle over the speed amplitude."""
    phase = (np.arange(200) + 0.5) * (np.pi / 400)

    def gain(V: NDArray) -> NDArray:
        speed = V[:, None] * np.cos(phase)
        total = np.interp(speed, positive.speed, positive.excess) + np.interp(speed, negative.speed, negative.excess)
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
    """One joint at one temperature: both directions, and the limit cycles under a spring."""

    joint: str
    positive: DirectionCheck
    negative: DirectionCheck
    cycles: tuple[LimitCycle, ...]

    @property
    def runs_away(self) -> bool:
        """Whether either direction does."""
        return self.positive.runs_away or self.negative.runs_away

    def summary(self) -> dict[str, Any]:
        """Plain data for summary.json."""
        return {'joint': self.joint, 'temperature': self.positive.temperature, 'runs_away': self.runs_away,
                'directions': [self.positive.summary(), self.negative.summary()],
                'limit_cycles': [{'speed': item.speed, 'stable': item.stable, 'amplitude': item.amplitude, 'period': item.period}
                                 for item in self.cycles]}


def check_compensation(identified: Mapping[str, Mapping[str, Any]], applied: Mapping[str, Mapping[str, Any]],
                       speed_limits: Mapping[str, float]) -> list[JointCheck]:
    """Check every joint of `applied` (by name) at each of its temperatures.

    identified    friction documents by joint; applied: by joint, fields as in docs/check-compensation.md; speed_limits: rad/s by joint, where
    applied gives none. Raises JointDynamicsError for a joint without identified friction or without a speed limit, or an unknown field.
    """
    checks = []
    for joint, item in applied.items():
        if joint not in identified:
            raise JointDynamicsError(f'{joint}: expected its friction in the description, found none')
        _check_fields(joint, item)
        limit = item.get('speed_limit', speed_limits.get(joint))
        if limit is None:
            raise JointDynamicsError(f'{joint}: expected speed_limit (rad/s) in the applied file, since the description has none')
        temperatures: Sequence[float | None] = item.get('temperatures') or [None]
        for temperature in temperatures:
            positive, negative = (check_direction(joint, name, identified[joint], item, float(limit), temperature) for name in DIRECTIONS)
            cycles = limit_cycles(positive, negative, item.get('spring'), item.get('inertia'))
            checks.append(JointCheck(joint, positive, negative, tuple(cycles)))
    return checks


def _check_fields(joint: str, item: Mapping[str, Any]) -> None:
    if not isinstance(item, Mapping) or 'parameters' not in item:
        raise JointDynamicsError(f'applied: joints.{joint}: expected a mapping with parameters, found {item!r}')
    for key, value in item.items():
        if key not in APPLIED_FIELDS:
            raise JointDynamicsError(f'applied: joints.{joint}.{key}: expected one of {", ".join(APPLIED_FIELDS)}')
        if key in ('smoothing', 'speed_limit', 'spring', 'inertia') and not _positive(value, key == 'smoothing'):
            raise JointDynamicsError(f'applied: joints.{joint}.{key}: expected a number above 0, found {value!r}')
    temperatures = item.get('temperatures', [])
    if not isinstance(temperatures, (list, tuple)) or not all(_positive(value, True) for value in temperatures):
        raise JointDynamicsError(f'applied: joints.{joint}.temperatures: expected a list of °C, found {temperatures!r}')
    for name, own in item.get('directions', {}).items():
        if name not in DIRECTIONS or not isinstance(own, Mapping) or not {'F_C', 'F_V1'} <= set(own):
            raise JointDynamicsError(f'applied: joints.{joint}.directions: expected positive and negative with F_C and F_V1, found {name}: {own!r}')


def _positive(value: Any, zero: bool) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value)) and (value > 0 or (zero and value == 0))
