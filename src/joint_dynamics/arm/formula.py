"""Formulas of a user, such as `sin(q) / sqrt(1.2 - cos(q))`.

Read into a tree of known operations and evaluated on arrays, never as Python.

All numbers are floats, so that a tower of powers overflows at once instead of counting digits.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name) for name in ('sin', 'cos', 'tan', 'sqrt', 'exp', 'log', 'abs', 'sign', 'tanh', 'arctan')
}
OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
SIGNS: dict[type, Callable[[Any], Any]] = {ast.USub: np.negative, ast.UAdd: np.positive}
VARIABLES = ('q', 'dq')
MAX_LENGTH, MAX_NODES, MAX_EXPONENT = 500, 200, 20.0
"""Characters and operations of a formula, and magnitude of an exponent that is a number."""
_PROBES = {'q': np.array([-2.0, -0.7, 0.3, 1.1, 2.9]), 'dq': np.array([0.4, -1.3, 0.9, 2.1, -0.2])}

Evaluated = Callable[[Mapping[str, FloatArray]], Any]


class Formula:
    """A function of q and dq.

    Parameters
    ----------
    text: arithmetic (+ - * / **) of q [rad], dq [rad/s], pi, numbers and `FUNCTIONS`. where: begins the messages.

    Raises JointDynamicsError for anything else, for what is too long, and for what is a finite number nowhere.

    """

    def __init__(self, text: str, where: str):
        self.text = text
        self._where = where
        if len(text) > MAX_LENGTH:
            raise JointDynamicsError(
                f'{where}: expected a formula of at most {MAX_LENGTH} characters, found {len(text)}'
            )
        try:
            tree = ast.parse(text.strip(), mode='eval')
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise JointDynamicsError(f'{where}: expected a formula in q and dq, found {text!r}') from None
        if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
            raise JointDynamicsError(f'{where}: expected a formula of at most {MAX_NODES} parts, found {text!r}')
        self._evaluate = self._compiled(tree.body)
        with np.errstate(all='ignore'):
            if not np.isfinite(self._evaluate(_PROBES)).any():
                raise JointDynamicsError(
                    f'{where}: expected a formula with finite values, found {text!r}, which is no number for q = '
                    f'{", ".join(f"{value:g}" for value in _PROBES["q"])} rad'
                )

    def __call__(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """Return the values (samples,) for q, dq (samples,); raise JointDynamicsError where one is not finite."""
        with np.errstate(all='ignore'):
            values = np.broadcast_to(np.asarray(self._evaluate({'q': q, 'dq': dq}), dtype=float), np.shape(q))
        wrong = ~np.isfinite(values)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise JointDynamicsError(
                f'{self._where}: expected finite values, found {np.ravel(values)[at]} of {self.text!r} '
                f'for q = {np.ravel(q)[at]:.6g} rad, dq = {np.ravel(dq)[at]:.6g} rad/s'
            )
        return values

    def _compiled(self, node: ast.expr) -> Evaluated:
        """Return the tree as nested functions; its depth is bounded by the length of the text."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            try:
                number = float(node.value)  # type: ignore[arg-type]
            except OverflowError:
                number = np.inf
            return lambda known: number
        if isinstance(node, ast.Name) and node.id in VARIABLES:
            name = node.id
            return lambda known: known[name]
        if isinstance(node, ast.Name) and node.id == 'pi':
            return lambda known: np.pi
        if isinstance(node, ast.UnaryOp) and type(node.op) in SIGNS:
            sign, operand = SIGNS[type(node.op)], self._compiled(node.operand)
            return lambda known: sign(operand(known))
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            operation, left, right = OPERATIONS[type(node.op)], self._compiled(node.left), self._compiled(node.right)
            if isinstance(node.op, ast.Pow):
                self._check_exponent(right)
            return lambda known: operation(left(known), right(known))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
                raise JointDynamicsError(
                    f'{self._where}: expected one argument of {node.func.id}, found'
                    f' {len(node.args) + len(node.keywords)} in {self.text!r}'
                )
            function, argument = FUNCTIONS[node.func.id], self._compiled(node.args[0])
            return lambda known: function(argument(known))
        raise JointDynamicsError(
            f'{self._where}: expected q, dq, pi, numbers, + - * / ** and {", ".join(FUNCTIONS)} of one argument, '
            f'found {self.text!r}'
        )

    def _check_exponent(self, exponent: Evaluated) -> None:
        with np.errstate(all='ignore'):
            size = np.max(np.abs(exponent(_PROBES)))
        if not size <= MAX_EXPONENT:
            raise JointDynamicsError(
                f'{self._where}: expected exponents of at most {MAX_EXPONENT:g}, found {size:.3g} in {self.text!r}'
            )
