"""Additional columns of the regressor, one joint's motion at a time: springs, counterbalances, further friction terms.

A term acts on one joint and is linear in its parameters. Columns are functions of the joint's own position and speed, so that a
term is a small table of names and functions; what needs the load or the temperature is added where these are known.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError

Column = Callable[[NDArray, NDArray], NDArray]
SPEED_TERMS: dict[str, Column] = {
    # parameter names are those of the friction document: F_T0 sgn(ω)√|ω|, F_V2 |ω|ω, F_V3 ω³ [M3 eq 14, M4 eq 28]
    'F_T0': lambda q, dq: np.sign(dq) * np.sqrt(np.abs(dq)),
    'F_V2': lambda q, dq: np.abs(dq) * dq,
    'F_V3': lambda q, dq: dq**3,
}
FUNCTIONS = {name: getattr(np, name) for name in ('sin', 'cos', 'tan', 'sqrt', 'exp', 'log', 'abs', 'sign', 'tanh', 'arctan')}
_NODES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div,
          ast.Pow, ast.USub, ast.UAdd)


@dataclass(frozen=True)
class Term:
    """Columns that one joint's equation gains.

    `joint`: its name; `names`: one per column; `columns`: functions of (q, dq), each (samples,) [rad, rad/s]; `document`: how the term
    is written in the description.
    """

    joint: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    document: Mapping[str, Any]

    def values(self, q: NDArray, dq: NDArray) -> NDArray:
        """Return (columns, samples) for q, dq (samples,)."""
        return np.array([np.broadcast_to(column(q, dq), q.shape) for column in self.columns])


def fourier_term(joint: str, harmonics: Sequence[int]) -> Term:
    """Return a torque that depends on the joint's position by sin(h q), cos(h q): a counterbalance, a spring, a cable."""
    names, columns = [], []
    for h in harmonics:
        for name, function in (('sin', np.sin), ('cos', np.cos)):
            names.append(f'{name}{h}q_{joint}')
            columns.append(lambda q, dq, h=h, function=function: function(h * q))
    return Term(joint, tuple(names), tuple(columns), {'fourier': list(harmonics)})


def function_term(joint: str, expression: str) -> Term:
    """Return a column from a formula in q and dq, such as `sin(q) / sqrt(1.2 - cos(q))`, of arithmetic and `FUNCTIONS` only."""
    where = f'terms.{joint}.function'
    try:
        tree = ast.parse(str(expression), mode='eval')
    except SyntaxError:
        raise JointDynamicsError(f'{where}: expected a formula in q and dq, found {expression!r}') from None
    for node in ast.walk(tree):
        known = isinstance(node, _NODES)
        if isinstance(node, ast.Name):
            known = node.id in ('q', 'dq', 'pi', *FUNCTIONS)
        elif isinstance(node, ast.Constant):
            known = isinstance(node.value, (int, float))
        if not known:
            raise JointDynamicsError(f'{where}: expected q, dq, pi, numbers, + - * / ** and {", ".join(FUNCTIONS)}, found {expression!r}')
    code = compile(tree, where, 'eval')

    def column(q: NDArray, dq: NDArray) -> NDArray:
        return eval(code, {'__builtins__': {}}, {**FUNCTIONS, 'pi': np.pi, 'q': q, 'dq': dq})

    return Term(joint, (f'{expression}_{joint}',), (column,), {'function': str(expression)})


def speed_term(joint: str, name: str) -> Term:
    """Return one of `SPEED_TERMS` for a joint."""
    return Term(joint, (f'{name}_{joint}',), (SPEED_TERMS[name],), {'friction': name})


def terms_from_config(config: Any) -> tuple[Term, ...]:
    """Read `terms`: {joint: [{fourier: 2} or {fourier: [1, 3]} or {function: "…"} or {friction: F_T0}, …]}.

    Raises JointDynamicsError naming the entry. A whole number N for `fourier` means the harmonics 1…N.
    """
    if not isinstance(config, Mapping):
        raise JointDynamicsError(f'terms: expected joint names with lists of terms, found {config!r}')
    found: list[Term] = []
    for joint, entries in config.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            if not isinstance(entry, Mapping) or len(entry) != 1:
                raise JointDynamicsError(f'terms.{joint}: expected one of fourier, function, friction with its value, found {entry!r}')
            ((kind, value),) = entry.items()
            if kind == 'fourier':
                harmonics = list(range(1, value + 1)) if isinstance(value, int) else value
                if not isinstance(harmonics, list) or not harmonics or not all(isinstance(h, int) and h > 0 for h in harmonics):
                    raise JointDynamicsError(f'terms.{joint}.fourier: expected a number of harmonics or a list of them, found {value!r}')
                found.append(fourier_term(joint, harmonics))
            elif kind == 'function':
                found.append(function_term(joint, value))
            elif kind == 'friction':
                if value not in SPEED_TERMS:
                    raise JointDynamicsError(f'terms.{joint}.friction: expected one of {", ".join(SPEED_TERMS)}, found {value!r}')
                found.append(speed_term(joint, value))
            else:
                raise JointDynamicsError(f'terms.{joint}: expected fourier, function or friction, found {kind!r}')
    return tuple(found)
