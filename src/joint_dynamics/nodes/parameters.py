"""Parameters of a node from one table: declared with descriptors, validated with a reason, applied afterwards, documented.

A node lists its parameters as rows; everything else (declaration, ranges for the tools, the reason of a refusal, the table in
docs/) follows from the rows, so that they cannot disagree.
"""
from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from joint_dynamics.errors import JointDynamicsError


@dataclass(frozen=True)
class ParameterRow:
    """One parameter.

    Attributes:
        name: as ROS knows it; a per-joint parameter is declared as `<name>.<joint>` for every joint of the robot.
        default: its type is the parameter's type; a list takes its element type from `element`. A number may be given without
            a decimal point where a float is expected.
        description: one sentence, without the unit.
        unit: SI unit, or °C, A; empty where there is none.
        lower, upper: inclusive bounds of a number (or of every number of a list).
        choices: the allowed strings.
        applies: `start` (read-only), `configure` (takes effect when the node is configured next), `at once`.
        per_joint: keyed by joint name.
        element: type of the elements of a list.
        check: a further rule; returns None, or what was expected.
    """

    name: str
    default: Any
    description: str
    unit: str = ''
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    applies: Literal['start', 'configure', 'at once'] = 'configure'
    per_joint: bool = False
    element: type = str
    check: Callable[[Any], str | None] | None = None

    @property
    def read_only(self) -> bool:
        """Whether it can be set at the start only."""
        return self.applies == 'start'

    @property
    def constraint(self) -> str:
        """The rule in words, e.g. `0.1 … 10 s`, `torque or current`; empty where anything goes."""
        if self.choices:
            return ', '.join(self.choices[:-1]) + (' or ' if len(self.choices) > 1 else '') + self.choices[-1]
        unit = f' {self.unit}' if self.unit else ''
        if self.lower is not None and self.upper is not None:
            return f'{self.lower:g} … {self.upper:g}{unit}'
        if self.lower is not None:
            return f'≥ {self.lower:g}{unit}'
        return '' if self.upper is None else f'≤ {self.upper:g}{unit}'

    def descriptor(self) -> ParameterDescriptor:
        """Return what tools show of the parameter: description with unit, range, read-only."""
        description = self.description + (f' [{self.unit}]' if self.unit else '')
        # A float may be written as an integer and an empty list has no type: both are checked by `value` instead.
        descriptor = ParameterDescriptor(description=description, additional_constraints=self.constraint, read_only=self.read_only,
                                         dynamic_typing=isinstance(self.default, (float, list)))
        if self.lower is not None and self.upper is not None:
            if isinstance(self.default, float):
                descriptor.floating_point_range = [FloatingPointRange(from_value=float(self.lower), to_value=float(self.upper), step=0.0)]
            elif isinstance(self.default, int):
                descriptor.integer_range = [IntegerRange(from_value=int(self.lower), to_value=int(self.upper), step=0)]
        return descriptor

    def value(self, given: Any, name: str = '') -> Any:
        """Return `given` as the parameter's own type. Raises JointDynamicsError: expected this, found that."""
        name = name or self.name
        kind = type(self.default)
        if kind is list:
            if isinstance(given, (str, bytes)) or not hasattr(given, '__iter__'):
                raise JointDynamicsError(f'{name}: expected a list, found {given!r}')
            # ROS has no empty list of strings in YAML; [''] is the usual way to write one.
            value: Any = [self._one(item, self.element, name) for item in given if item != '']
        else:
            value = self._one(given, kind, name)
        wrong = self.check(value) if self.check else None
        if wrong:
            raise JointDynamicsError(f'{name}: expected {wrong}, found {given!r}')
        return value

    def _one(self, given: Any, kind: type, name: str) -> Any:
        if kind is float and isinstance(given, int) and not isinstance(given, bool):
            given = float(given)
        if type(given) is not kind:
            raise JointDynamicsError(f'{name}: expected {_KINDS[kind]}, found {given!r}')
        if isinstance(given, (int, float)) and kind is not bool:
            inside = (self.lower is None or given >= self.lower) and (self.upper is None or given <= self.upper)
            if not math.isfinite(given) or not inside:
                raise JointDynamicsError(f'{name}: expected {self.constraint or "a finite number"}, found {given!r}')
        if self.choices and given not in self.choices:
            raise JointDynamicsError(f'{name}: expected {self.constraint}, found {given!r}')
        return given


_KINDS = {float: 'a number', int: 'an integer', bool: 'true or false', str: 'a string'}


class NodeParameters:
    """The declared parameters of one node, by name; `on_change` is called after a change with the new values.

    A parameter that takes effect when the node is configured is refused while `configured()`: success would promise what does not happen.
    """

    def __init__(self, node: Node, rows: Iterable[ParameterRow], on_change: Callable[[dict[str, Any]], None] | None = None,
                 configured: Callable[[], bool] = lambda: False):
        self._node = node
        self._rows: dict[str, ParameterRow] = {}
        self._values: dict[str, Any] = {}
        self._joints: tuple[str, ...] = ()
        self.on_change = on_change
        self._configured = configured
        node.add_on_set_parameters_callback(self._validate)
        node.add_post_set_parameters_callback(self._apply)
        self.declare(rows)

    def declare(self, rows: Iterable[ParameterRow]) -> None:
        """Declare more parameters; those per joint once the joints are known."""
        rows = list(rows)
        for row in rows:
            if row.name in self._rows:
                raise ValueError(f'parameter {row.name} is listed twice')
            self._rows[row.name] = row
        for row in rows:
            if not row.per_joint:
                self._node.declare_parameter(row.name, row.default, row.descriptor())

    def __getitem__(self, name: str) -> Any:
        """Return the present value, in the type of the row's default."""
        return self._values[name]

    def declare_joints(self, joint_names: Sequence[str]) -> None:
        """Declare every per-joint parameter for these joints, once they are known; those declared before stay as they are.

        A value given at the start under a name that looks like a misspelt one is warned about; others may be meant for other nodes.
        """
        for row in self._rows.values():
            if not row.per_joint:
                continue
            for joint in joint_names:
                if not self._node.has_parameter(f'{row.name}.{joint}'):
                    self._node.declare_parameter(f'{row.name}.{joint}', row.default, row.descriptor())
        self._joints = tuple(joint_names)
        for name in self.unknown():
            near = difflib.get_close_matches(name, [*self._values], n=1, cutoff=0.8)
            if near:
                self._node.get_logger().warning(f'parameter {name} is not known to this node; meant {near[0]}?')

    def per_joint(self, name: str, joint_names: Sequence[str] | None = None) -> list[Any]:
        """Return the values of a per-joint parameter in the order of `joint_names` (default: as declared)."""
        return [self._values[f'{name}.{joint}'] for joint in (self._joints if joint_names is None else joint_names)]

    def unknown(self) -> list[str]:
        """Return the names of values given at the start (command line, YAML, launch) that no row and no joint takes."""
        given = getattr(self._node, '_parameter_overrides', {})
        return sorted(name for name in given if not self._node.has_parameter(name) and not name.startswith('qos_overrides.'))

    def _row(self, name: str) -> ParameterRow | None:
        row = self._rows.get(name)
        if row is not None:
            return row
        return next((row for row in self._rows.values() if row.per_joint and name.startswith(f'{row.name}.')), None)

    def _validate(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            row = self._row(parameter.name)
            if row is None:
                continue
            try:
                value = row.value(parameter.value, parameter.name)
            except JointDynamicsError as error:
                return SetParametersResult(successful=False, reason=str(error))
            if row.applies == 'configure' and self._configured() and self._values.get(parameter.name, value) != value:
                return SetParametersResult(successful=False, reason=f'{parameter.name}: takes effect when the node is configured, and it is already: '
                                           'clean it up, set the parameter, configure it')
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[Parameter]) -> None:
        changed = {}
        for parameter in parameters:
            row = self._row(parameter.name)
            if row is not None:
                value = row.value(parameter.value, parameter.name)
                if parameter.name in self._values and self._values[parameter.name] != value:
                    changed[parameter.name] = value
                self._values[parameter.name] = value
        if changed and self.on_change is not None:
            self.on_change(changed)


def documentation_table(rows: Iterable[ParameterRow]) -> str:
    """Return the rows as the Markdown table that stands in docs/."""
    lines = ['| parameter | default | allowed | takes effect | meaning |', '| --- | --- | --- | --- | --- |']
    for row in rows:
        default = str(row.default).lower() if isinstance(row.default, bool) else repr(row.default)
        is_list = isinstance(row.default, list)
        kind = _KINDS[row.element if is_list else type(row.default)]
        allowed = ('list; ' if is_list else '') + (row.constraint or row.unit or kind)
        name = f'{row.name}.<joint>' if row.per_joint else row.name
        lines.append(f'| `{name}` | `{default}` | {allowed} | {row.applies} | {row.description} |')
    return '\n'.join(lines)
