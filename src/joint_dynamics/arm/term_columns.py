"""The columns of further terms as data, user-defined formulas among them, along the motion of one joint.

A formula, such as `sin(q) / sqrt(1.2 - cos(q))`, is parsed into a list of known operations (`sample.formula`), never
run as Python. All numbers are floats, so that nested powers overflow at once instead of producing huge integers.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from joint_dynamics.arm import sample as laws
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.joint.constants import Record, Tables, blank

FUNCTIONS = {
    name: getattr(laws, name.upper())
    for name in ('sin', 'cos', 'tan', 'sqrt', 'exp', 'log', 'abs', 'sign', 'tanh', 'arctan')
}
OPERATIONS = {
    ast.Add: laws.ADD,
    ast.Sub: laws.SUBTRACT,
    ast.Mult: laws.MULTIPLY,
    ast.Div: laws.DIVIDE,
    ast.Pow: laws.POWER,
}
VARIABLES = {'q': laws.POSITION, 'dq': laws.SPEED}
MAX_LENGTH, MAX_NODES, MAX_EXPONENT = 500, 200, 20.0
"""Characters and operations of a formula, and magnitude of an exponent that is a number."""
_PROBES = np.array([-2.0, -0.7, 0.3, 1.1, 2.9]), np.array([0.4, -1.3, 0.9, 2.1, -0.2])

Steps = list[tuple[int, float]]


class Formula:
    """A function of q and dq.

    Parameters
    ----------
    text
        arithmetic (+ - * / **) of q [rad], dq [rad/s], pi, numbers and `FUNCTIONS`.
    where
        prefix of error messages.

    Attributes
    ----------
    steps
        (k, 2) operations of `sample.formula` in order, and their operands.

    Raises
    ------
    JointDynamicsError
        For any other syntax, a formula that is too long, and one that is finite nowhere.

    """

    def __init__(self, text: str, where: str):
        self.text = text
        self._where = where
        if len(text) > MAX_LENGTH:
            raise JointDynamicsError(
                f'{where}: expected a formula of at most {MAX_LENGTH} characters, found {len(text)}'
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('error')  # what Python itself takes with a doubt, such as '1if q', is no formula
                tree = ast.parse(text.strip(), mode='eval')
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise JointDynamicsError(f'{where}: expected a formula in q and dq, found {text!r}') from None
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            raise JointDynamicsError(f'{where}: expected a formula of at most {MAX_NODES} parts, found {text!r}')
        self.steps = self._steps(tree.body)
        if not np.isfinite(_values(self.steps, *_PROBES)).any():
            raise JointDynamicsError(
                f'{where}: expected a formula with finite values, found {text!r}, which is no number for q = '
                f'{", ".join(f"{value:g}" for value in _PROBES[0])} rad'
            )

    def __call__(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return the values (samples,) for q, dq (samples,); raise JointDynamicsError where one is not finite."""
        q, dq = np.broadcast_arrays(np.asarray(q, dtype=float), np.asarray(dq, dtype=float))
        values = _values(self.steps, q.ravel(), dq.ravel()).reshape(q.shape)
        wrong = ~np.isfinite(values)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise JointDynamicsError(
                f'{self._where}: expected finite values, found {np.ravel(values)[at]} of {self.text!r} '
                f'for q = {np.ravel(q)[at]:.6g} rad, dq = {np.ravel(dq)[at]:.6g} rad/s'
            )
        return values

    def _steps(self, node: ast.expr) -> Steps:
        """Return the tree in postfix order; its depth is bounded by the length of the text."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            try:
                return [(laws.NUMBER, float(node.value))]  # type: ignore[arg-type]
            except OverflowError:
                return [(laws.NUMBER, np.inf)]
        if isinstance(node, ast.Name) and node.id in VARIABLES:
            return [(VARIABLES[node.id], 0.0)]
        if isinstance(node, ast.Name) and node.id == 'pi':
            return [(laws.NUMBER, np.pi)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            operand = self._steps(node.operand)
            return [*operand, (laws.NEGATE, 0.0)] if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            left, right = self._steps(node.left), self._steps(node.right)
            if isinstance(node.op, ast.Pow):
                self._check_exponent(right)
            return [*left, *right, (OPERATIONS[type(node.op)], 0.0)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
                raise JointDynamicsError(
                    f'{self._where}: expected one argument of {node.func.id}, found'
                    f' {len(node.args) + len(node.keywords)} in {self.text!r}'
                )
            return [*self._steps(node.args[0]), (FUNCTIONS[node.func.id], 0.0)]
        raise JointDynamicsError(
            f'{self._where}: expected q, dq, pi, numbers, + - * / ** and {", ".join(FUNCTIONS)} of one argument, '
            f'found {self.text!r}'
        )

    def _check_exponent(self, exponent: Steps) -> None:
        size = np.max(np.abs(_values(exponent, *_PROBES)))
        if not size <= MAX_EXPONENT:
            raise JointDynamicsError(
                f'{self._where}: expected exponents of at most {MAX_EXPONENT:g}, found {size:.3g} in {self.text!r}'
            )


@compiled
def columns_along(terms, tables, motion, out):  # type: ignore[no-untyped-def]
    """Write `column` of terms (k,) along a motion of one joint into out (k, samples).

    motion: q, ω, s, H, τ_J, T, (samples,) each; H is what HYSTERESIS takes for s.
    """
    q, omega, s, H, load, temperature = motion
    for k in range(len(terms)):
        term = terms[k]
        for i in range(len(q)):
            direction = H[i] if term.kind == laws.HYSTERESIS else s[i]
            out[k, i] = laws.column(term, tables, q[i], omega[i], direction, load[i], temperature[i])


def formula_code(steps: Steps) -> list[float]:
    """Return the steps as stored in the tables, followed by room for their stack."""
    return [number for step in steps for number in step] + [0.0] * len(steps)


def _values(steps: Steps, q: FloatArray, dq: FloatArray) -> FloatArray:
    term, tables = np.zeros(1, laws.TERM), Tables()
    term['law'] = blank(1)
    term['kind'], term['steps'], term['code'] = laws.FORMULA, len(steps), tables.add(formula_code(steps))
    out = np.empty((1, len(q)))
    columns_along(term, tables.array(), (q, dq, q, q, q, q), out)
    return out[0]


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

    def need(self, name: str) -> FloatArray:
        """Return an optional field; raise JointDynamicsError where it is missing."""
        value = getattr(self, name)
        if value is None:
            raise JointDynamicsError(
                f'terms: expected a recording with {name} for a term that depends on it, found none'
            )
        return value


class Column(NamedTuple):
    """One column: `kind` and `harmonic` of `sample`, the fields of its friction law, its formula."""

    kind: int
    law: tuple[tuple[str, float], ...] = ()
    harmonic: float = 0.0
    formula: Formula | None = None

    @classmethod
    def of_friction(cls, name: str, bounds: Mapping[str, float]) -> Column:
        """Return the column of a parameter of `FRICTION`; bounds: T_0 [°C], tau_max [N·m]."""
        kind = {'load_gain': laws.LOAD_GAIN, 'load_sign': laws.LOAD_SIGN}.get(name, laws.LAW)
        return cls(kind, (*bounds.items(), *(((name, 1.0),) if kind == laws.LAW else ())))


def records_of(columns: Sequence[Column], tables: Tables) -> Record:
    """Return columns as the compiled laws take them, (k,) of `sample.TERM`, each with the parameter 1."""
    records = np.zeros(len(columns), laws.TERM)
    records['law'], records['value'] = blank(len(columns)), 1.0
    for record, column in zip(records, columns, strict=True):
        record['kind'], record['harmonic'] = column.kind, column.harmonic
        for name, value in column.law:
            record['law'][name] = value
            record['warm'] |= name in WARM
        if column.formula is not None:
            steps = column.formula.steps
            record['code'], record['steps'] = tables.add(formula_code(steps)), len(steps)
    return records


def needs_of(name: str) -> frozenset[str]:
    """Return the quantities that a term of `FRICTION` takes beside position and speed."""
    return frozenset({'load'} if name in LOADED else {'temperature'} if name in WARM else ())


def slip_of(theta: FloatArray, width: float) -> FloatArray:
    """Return H (samples, n) in [−1, 1] of one operator per joint that slips after `width` [rad].

    It is undeformed at the first sample. theta: (samples, n) [rad].
    """
    return MaxwellSlip(theta.shape[1], width, limits=[1.0], stiffness=[1.0]).run(theta)
