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

"""Additional columns of the regressor, one joint at a time: springs, counterbalances, further friction.

A term acts on one joint and is linear in its parameters. Its columns are functions of that joint's motion: position,
speed, load torque, temperature and the hysteresis of its transmission; where the joint follows others (a cable, a
spring between two links), of its position alone. Friction terms carry the names of the friction document
(docs/reference/joint_models.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arm import sample as laws
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.joint.constants import Record, blank
from joint_dynamics.robot import RobotModel

RELUCTANCE = 0.1  # independent share of an additional column's norm that gives it the weight of the others
OPPOSING = ('F_T0', 'F_V2', 'F_V3', 'F_Cl', 'F_C1', 'F_T1', 'F_T2')
"""Those of `FRICTION` that oppose motion; the load's own sign and gain do not."""
KINDS = ('fourier', 'spring', 'friction', 'stribeck', 'power', 'hysteresis')
MAX_HARMONICS = 50  # of one term
MAX_HARMONIC = 1000
MAX_EXPONENT = 9  # of a spring
# The friction of I-IRLS as 0.2 wrote it: the only formula still read.
POWER_BEFORE_0_3 = re.compile(r'sign\(dq\) \* abs\(dq\)\*\*(\d+(?:\.\d+)?(?:e-?\d+)?)')
SCALE_KEYS = ('T_0', 'tau_max')
"""What may stand beside the kind of a term."""


@compiled
def columns_along(
    terms: Any, motion: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], out: FloatArray
) -> None:
    """Write `column` of terms (k,) along a motion of one joint into out (k, samples).

    motion: q, ω, s, H, τ_J, T, (samples,) each; H is what HYSTERESIS takes for s.
    """
    q, omega, s, H, load, temperature = motion
    for k in range(len(terms)):
        term = terms[k]
        for i in range(len(q)):
            direction = H[i] if term.kind == laws.HYSTERESIS else s[i]
            out[k, i] = laws.column(term, q[i], omega[i], direction, load[i], temperature[i])


LOADED = ('F_Cl', 'F_C1', 'load_gain', 'load_sign')
WARM = ('F_T1', 'F_T2')
FRICTION = ('F_T0', 'F_V2', 'F_V3', *LOADED[:2], *WARM, *LOADED[2:])
"""Friction that one parameter scales, by its name (`sample`)."""


@dataclass(frozen=True)
class Motion:
    """The motion of one joint on which its terms depend, arrays (samples,).

    Attributes
    ----------
    q
        link side [rad].
    dq
        motor side [rad/s].
    sign
        direction of slip s; None: sgn(dq).
    load
        torque through the transmission, τ_J [N·m].
    temperature
        [°C].
    slip
        H of a hysteresis by its width [rad].

    """

    q: FloatArray
    dq: FloatArray
    sign: FloatArray | None = None
    load: FloatArray | None = None
    temperature: FloatArray | None = None
    slip: Mapping[float, FloatArray] = field(default_factory=dict)

    @property
    def s(self) -> FloatArray:
        """Direction of slip, in [−1, 1]."""
        return np.sign(self.dq) if self.sign is None else self.sign


class Column(NamedTuple):
    """One column: `kind` and `order` of `sample`, the fields of its friction law."""

    kind: int
    law: tuple[tuple[str, float], ...] = ()
    order: float = 0.0

    @classmethod
    def of_friction(cls, name: str, bounds: Mapping[str, float]) -> Column:
        """Return the column of a parameter of `FRICTION`; bounds: T_0 [°C], tau_max [N·m]."""
        kind = {'load_gain': laws.LOAD_GAIN, 'load_sign': laws.LOAD_SIGN}.get(name, laws.LAW)
        return cls(kind, (*bounds.items(), *(((name, 1.0),) if kind == laws.LAW else ())))


def records_of(columns: Sequence[Column]) -> Record:
    """Return columns as the compiled laws take them, (k,) of `sample.TermConstants`, each with the parameter 1."""
    records = np.zeros(len(columns), laws.TermConstants.dtype)
    records['law'], records['value'] = blank(len(columns)), 1.0
    for record, column in zip(records, columns, strict=True):
        record['kind'], record['order'] = column.kind, column.order
        for name, value in column.law:
            record['law'][name] = value
            record['warm'] |= name in WARM
    return records


def needs_of(name: str) -> frozenset[str]:
    """Return the quantities that a term of `FRICTION` takes beside position and speed."""
    return frozenset({'load'} if name in LOADED else {'temperature'} if name in WARM else ())


def slip_of(theta: FloatArray, width: float) -> FloatArray:
    """Return H (samples, n) in [−1, 1] of one operator per joint that slips after `width` [rad].

    It is undeformed at the first sample. theta: (samples, n) [rad].
    """
    return MaxwellSlip(theta.shape[1], width, limits=[1.0], stiffness=[1.0]).run(theta)


@dataclass(frozen=True)
class Term:
    """Columns that one joint's equation gains.

    Attributes
    ----------
    joint
        its name.
    names
        of the parameters, one per column.
    columns
        the columns as data.
    document
        the term as written in the description.
    ridge
        weight of its ridge penalty, as a share of its columns' norm.
    selected
        whether it was selected on held-out data rather than requested.
    needs
        quantities that it takes beside position and speed (`load`, `temperature`).
    width
        of a hysteresis [rad].

    """

    joint: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    document: Mapping[str, Any]
    ridge: float = RELUCTANCE
    selected: bool = False
    needs: frozenset[str] = field(default=frozenset())
    width: float | None = None

    @cached_property
    def _constants(self) -> Record:
        return records_of(self.columns)

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return next(kind for kind in self.document if kind not in SCALE_KEYS)

    @property
    def opposes_motion(self) -> bool:
        """Whether it is friction that opposes motion, a function of speed, load and temperature."""
        if self.kind == 'friction':
            return self.document['friction'] in OPPOSING
        return self.kind in ('stribeck', 'power')

    @property
    def is_friction(self) -> bool:
        """Whether it is a friction term: all but those of the position alone (springs, counterbalances, cables)."""
        return self.kind not in ('fourier', 'spring')

    def of(self, motion: Motion) -> FloatArray:
        """Return (columns, samples) for a motion.

        Raises JointDynamicsError where the motion lacks a quantity that the term needs.
        """
        shape = motion.q.shape
        for name in self.needs:
            if getattr(motion, name) is None:
                raise JointDynamicsError(
                    f'terms: expected a recording with {name} for a term that depends on it, found none'
                )
        records = self._constants
        slip = motion.slip[self.width] if self.width is not None else motion.s
        given = (motion.q, motion.dq, motion.s, slip, motion.load, motion.temperature)
        # rows of one array, so that the loop is compiled for one kind of array
        rows = np.empty((len(given), motion.q.size))
        for row, values in zip(rows, given, strict=True):
            row[:] = 0.0 if values is None else np.broadcast_to(values, shape).ravel()
        out = np.empty((len(records), motion.q.size))
        columns_along(records, tuple(rows), out)
        return out.reshape(len(records), *shape)


def fourier_term(joint: str, harmonics: Sequence[int], **options: Any) -> Term:
    """Return a torque of sin(h q) and cos(h q) of the joint's position: a counterbalance, spring or cable."""
    sides = (('sin', laws.SINE), ('cos', laws.COSINE))
    names = tuple(f'{name}{h}q_{joint}' for h in harmonics for name, _ in sides)
    columns = tuple(Column(kind, order=float(h)) for h in harmonics for _, kind in sides)
    return Term(joint, names, columns, {'fourier': list(harmonics)}, **options)


def spring_term(joint: str, exponents: Sequence[int]) -> Term:
    """Return a torque of powers q^k of the joint's position: 1 is a torsion spring, 1, 2, 3 a bundle of cables."""
    names = tuple(f'q^{k}_{joint}' for k in exponents)
    columns = tuple(Column(laws.SPRING, order=float(k)) for k in exponents)
    return Term(joint, names, columns, {'spring': list(exponents)})


def power_term(joint: str, exponent: float, **options: Any) -> Term:
    """Return f_v of the friction f_v sgn(ω)|ω|^α, α = `exponent`."""
    column = Column(laws.POWER, order=float(exponent))
    return Term(joint, (f'f_v_{joint}',), (column,), {'power': float(exponent)}, **options)


def friction_term(
    joint: str, name: str, T_0: float | None = None, tau_max: float | None = None, **options: Any
) -> Term:
    """Return one of the `FRICTION` terms for a joint.

    Parameters
    ----------
    joint
        its name.
    name
        of the term.
    T_0
        [°C] temperature at which those of temperature vanish; None: the default.
    tau_max
        [N·m] bound of |τ_J|; None: unbounded.
    options
        further fields of `Term`.
    """
    needs, bounds = needs_of(name), {}
    if 'temperature' in needs:
        bounds['T_0'] = 25.0 if T_0 is None else float(T_0)
    if 'load' in needs and tau_max is not None:
        bounds['tau_max'] = float(tau_max)
    return Term(
        joint,
        (f'{name}_{joint}',),
        (Column.of_friction(name, bounds),),
        {'friction': name, **bounds},
        needs=needs,
        **options,
    )


def stribeck_term(joint: str, V_S: float, mu: float = 1.0, **options: Any) -> Term:
    """Return (F_S − F_C0) of sgn(ω) exp(−(|ω|/V_S)^μ) [M3 eq 14], V_S in rad/s."""
    return Term(
        joint,
        (f'F_S-F_C0_{joint}',),
        (Column(laws.LAW, (('F_S', 1.0), ('V_S', float(V_S)), ('mu', float(mu)))),),
        {'stribeck': {'V_S': float(V_S), 'mu': float(mu)}},
        **options,
    )


def hysteresis_term(joint: str, width: float, **options: Any) -> Term:
    """Return the share of Coulomb friction that builds up over `width` [rad] after each reversal instead of jumping.

    One Maxwell-slip operator [M6 eq 12-16].
    """
    width = float(width)
    return Term(joint, (f'F_H_{joint}',), (Column(laws.HYSTERESIS),), {'hysteresis': width}, width=width, **options)


def _positive(value: Any, where: str, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
        raise JointDynamicsError(f'{where}: expected {what} above 0, found {value!r}')
    return float(value)


def _whole_numbers(value: Any, where: str, what: str, most: int, largest: int) -> list[int]:
    """Return the numbers of a list, or 1 … `value`; raise JointDynamicsError for anything else."""
    numbers = list(range(1, min(value, most + 1) + 1)) if type(value) is int else value
    if (
        not isinstance(numbers, list)
        or not 0 < len(numbers) <= most
        or not all(type(k) is int and 0 < k <= largest for k in numbers)
    ):
        raise JointDynamicsError(
            f'{where}: expected a number of {what} or a list of them, at most {most} up to {largest}, found'
            f' {str(value)[:80]}'
        )
    return numbers


def _term(joint: str, kind: str, value: Any, more: Mapping[str, Any]) -> Term:
    where = f'terms.{joint}.{kind}'
    if kind == 'fourier':
        return fourier_term(joint, _whole_numbers(value, where, 'harmonics', MAX_HARMONICS, MAX_HARMONIC))
    if kind == 'spring':
        return spring_term(joint, _whole_numbers(value, where, 'exponents', MAX_EXPONENT, MAX_EXPONENT))
    if kind == 'power':
        return power_term(joint, _positive(value, where, 'an exponent'))
    if kind == 'function':
        written = POWER_BEFORE_0_3.fullmatch(str(value))
        if written is None:
            raise JointDynamicsError(
                f'{where}: expected no formula (since 0.3.0): use fourier, spring, power, stribeck or friction,'
                f' found {str(value)[:80]!r}'
            )
        return power_term(joint, _positive(float(written[1]), where, 'an exponent'))
    if kind == 'stribeck':
        shape = value if isinstance(value, Mapping) else {'V_S': value}
        if set(shape) - {'V_S', 'mu'} or 'V_S' not in shape:
            raise JointDynamicsError(f'{where}: expected V_S [rad/s] and mu, found {value!r}')
        V_S = _positive(shape['V_S'], f'{where}.V_S', 'a speed [rad/s]')
        return stribeck_term(joint, V_S, _positive(shape.get('mu', 1.0), f'{where}.mu', 'an exponent'))
    if kind == 'hysteresis':
        return hysteresis_term(joint, _positive(value, where, 'a width [rad]'))
    if not isinstance(value, str) or value not in FRICTION:
        raise JointDynamicsError(f'{where}: expected one of {", ".join(FRICTION)}, found {value!r}')
    T_0, tau_max = more.get('T_0'), more.get('tau_max')
    if T_0 is not None and (isinstance(T_0, bool) or not isinstance(T_0, (int, float)) or not abs(T_0) < 1e4):
        raise JointDynamicsError(f'terms.{joint}.T_0: expected a temperature [°C], found {T_0!r}')
    return friction_term(
        joint, value, T_0, None if tau_max is None else _positive(tau_max, f'{where}.tau_max', 'a torque [N·m]')
    )


def check_place(term: Term, robot: RobotModel) -> None:
    """Raise JointDynamicsError for a joint that the robot has not, and for friction of one that follows others."""
    if term.joint not in robot.link_names:
        raise JointDynamicsError(f'terms: expected a joint of {", ".join(robot.link_names)}, found {term.joint!r}')
    if term.is_friction and term.joint not in robot.joint_names:
        raise JointDynamicsError(
            f'terms.{term.joint}: expected a function of the position alone (fourier or spring), since the '
            f'joint follows others, found {term.kind} {term.document[term.kind]}'
        )


def terms_from_config(config: Any) -> tuple[Term, ...]:
    """Read `terms`: a list of one-key mappings per joint.

    {joint: [{fourier: 2} or {fourier: [1, 3]} or {spring: 1} or {friction: F_T0} or {stribeck: 0.4} or {power: 0.7} or
    {hysteresis: 1e-3}, …]}. An integer N for `fourier` means the harmonics 1…N, for `spring` the powers 1…N.

    Raises
    ------
    JointDynamicsError
        For an invalid entry, which it names.
    """
    if not isinstance(config, Mapping):
        raise JointDynamicsError(f'terms: expected joint names with lists of terms, found {config!r}')
    terms: list[Term] = []
    for joint, entries in config.items():
        if not isinstance(joint, str):
            raise JointDynamicsError(f'terms: expected names of joints as text, found {joint!r}')
        for entry in entries if isinstance(entries, list) else [entries]:
            kinds = [kind for kind in entry if kind not in SCALE_KEYS] if isinstance(entry, Mapping) else []
            if len(kinds) != 1 or kinds[0] not in (*KINDS, 'function'):
                raise JointDynamicsError(
                    f'terms.{joint}: expected one of {", ".join(KINDS)} with its value, found {entry!r}'
                )
            terms.append(_term(joint, kinds[0], entry[kinds[0]], entry))
    return tuple(terms)
