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

"""Tables of a node's parameters, topics and services, and the qualities of service of topics.

A node lists its parameters as rows. Their declaration, ranges for tools, the reasons of refusals and the tables in
docs/ follow from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.settings import Parameter, ParameterValues
from joint_dynamics.settings.documentation import parameter_cells

Applies = Literal['start', 'configure', 'at once']

SENSOR = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For input from the robot: best effort matches publishers of either kind.

A depth of 5 loses messages under load, 100 none.
"""
RELIABLE_SENSOR = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""The same where no sample may be lost; hears reliable publishers only."""
STATE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""For what a node publishes."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For models and parameters (never for torques): whoever comes later still gets the last one."""
STATUS = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For what a node is doing: steps that follow each other at once must not replace one another on the way.

Who asks for a depth of 1 gets the last.
"""


@dataclass(frozen=True)
class ParameterRow(Parameter):
    """One parameter of a node: `joint_dynamics.settings.Parameter`, and when it takes effect.

    Attributes
    ----------
    name
        as ROS knows it; a per-joint parameter is declared as `<name>.<joint>` for every joint of the robot.
    applies
        `start` (read-only), `configure` (takes effect when the node is configured next), `at once`.

    """

    applies: Applies = 'configure'

    @property
    def read_only(self) -> bool:
        """Whether it can be set at the start only."""
        return self.applies == 'start'

    def descriptor(self) -> ParameterDescriptor:
        """Return what tools show of the parameter: description with unit, range, read-only."""
        description = self.description + (f' [{self.unit}]' if self.unit else '')
        # A float may be written as an integer and an empty list has no type: both are checked by `value` instead.
        descriptor = ParameterDescriptor(
            description=description,
            additional_constraints=self.declared.rule,
            read_only=self.read_only,
            dynamic_typing=isinstance(self.default, (float, list)),
        )
        if self.lower is not None and self.upper is not None and not self.infinite:
            if isinstance(self.default, float):
                descriptor.floating_point_range = [
                    FloatingPointRange(from_value=float(self.lower), to_value=float(self.upper), step=0.0)
                ]
            elif isinstance(self.default, int):
                descriptor.integer_range = [IntegerRange(from_value=int(self.lower), to_value=int(self.upper), step=0)]
        return descriptor

    def value(self, given: Any, where: str = '') -> Any:
        """Return `given` as the parameter's own type. Raises JointDynamicsError: expected this, found that."""
        if isinstance(self.default, list) and hasattr(given, '__iter__') and not isinstance(given, (str, bytes)):
            # ROS has no empty list of strings in YAML; [''] is the usual way to write one.
            given = [item for item in given if item != '']
        return super().value(given, where)


at_once = partial(ParameterRow, applies='at once')
"""A parameter that takes effect at once; arguments as of `ParameterRow`."""


def row_of(parameter: Parameter, applies: Applies = 'configure') -> ParameterRow:
    """Return the parameter of a node that is declared elsewhere, and when it takes effect."""
    return ParameterRow(**vars(parameter), applies=applies)


class NodeParameters(ParameterValues):
    """The declared parameters of one node, by name; `on_change` is called after a change with the new values.

    A parameter that takes effect when the node is configured is refused while `configured()`: success would promise
    what does not happen. `check(values, changed)` raises JointDynamicsError for values that do not go together, before
    those named in `changed` are taken.
    """

    def __init__(
        self,
        node: Node,
        rows: Iterable[ParameterRow],
        on_change: Callable[[dict[str, Any]], None],
        configured: Callable[[], bool],
        check: Callable[[ParameterValues, Sequence[str]], None],
    ):
        super().__init__()
        self._node = node
        self._rows: dict[str, ParameterRow] = {}
        self.on_change = on_change
        self._configured, self._check = configured, check
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

    def declare_joints(self, joint_names: Sequence[str]) -> None:
        """Declare every per-joint parameter for these joints, once they are known.

        Those declared before stay as they are.

        A value given at the start under a name that looks like a misspelt one is warned about; others may be meant for
        other nodes.
        """
        for row in self._rows.values():
            if not row.per_joint:
                continue
            for joint in joint_names:
                if not self._node.has_parameter(f'{row.name}.{joint}'):
                    self._node.declare_parameter(f'{row.name}.{joint}', row.default, row.descriptor())
        self._joints = tuple(joint_names)
        for name, near in self.similar(self.unknown()).items():
            self._node.get_logger().warning(f'parameter {name} is not known to this node; meant {near}?')

    def unknown(self) -> list[str]:
        """Return the names of values given at the start (command line, YAML, launch) that no row and no joint takes."""
        given = getattr(self._node, '_parameter_overrides', {})
        return sorted(
            name for name in given if not self._node.has_parameter(name) and not name.startswith('qos_overrides.')
        )

    def _row(self, name: str) -> ParameterRow | None:
        row = self._rows.get(name)
        if row is not None:
            return row
        return next((row for row in self._rows.values() if row.per_joint and name.startswith(f'{row.name}.')), None)

    def _validate(self, parameters: list[RosParameter]) -> SetParametersResult:
        changed = {}
        for parameter in parameters:
            row = self._row(parameter.name)
            if row is None:
                continue
            try:
                value = row.value(parameter.value, parameter.name)
            except JointDynamicsError as error:
                return SetParametersResult(successful=False, reason=str(error))
            if row.applies == 'configure' and self._configured() and self._values.get(parameter.name, value) != value:
                return SetParametersResult(
                    successful=False,
                    reason=(
                        f'{parameter.name}: takes effect when the node is configured, and it is already: '
                        'clean it up, set the parameter, configure it'
                    ),
                )
            if self._values.get(parameter.name, value) != value:
                changed[parameter.name] = value
        if changed and self._configured():
            try:
                self._check(ParameterValues({**self._values, **changed}, self._joints), tuple(changed))
            except JointDynamicsError as error:
                return SetParametersResult(successful=False, reason=one_line(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: list[RosParameter]) -> None:
        taken = {
            parameter.name: row.value(parameter.value, parameter.name)
            for parameter in parameters
            if (row := self._row(parameter.name)) is not None
        }
        changed = {name: value for name, value in taken.items() if self._values.get(name, value) != value}
        self._values.update(taken)
        if changed:
            self.on_change(changed)


def refuse_gone(given: Iterable[str], gone: Mapping[str, str]) -> None:
    """Raise JointDynamicsError for the first of the `given` names that is `gone` since 0.3.0 (name: remedy)."""
    for name in given:
        if reason := gone.get(name.partition('.')[0]):
            raise JointDynamicsError(f'{name}: expected no such parameter since 0.3.0, found a value: {reason}')


def documentation_table(rows: Iterable[ParameterRow]) -> str:
    """Return the rows as the Markdown table that stands in docs/, and below it those that do not wait for configure."""
    lines = ['| parameter | default | allowed | meaning |', '| --- | --- | --- | --- |']
    applied: dict[str, list[str]] = {'at once': [], 'start': []}
    for row in rows:
        lines.append(f'| {" | ".join(parameter_cells(row))} |')
        applied.setdefault(row.applies, []).append(f'`{row.name}`')
    lines += [f'\n*{when}*: {", ".join(names)}' for when, names in applied.items() if names and when != 'configure']
    return '\n'.join(lines)


@dataclass(frozen=True)
class TopicRow:
    """One topic or service: name as given to rclpy (`~/…` private, else relative), type, direction, meaning, units.

    A service with `ends` only ends a running action; no launch can withhold it.
    """

    name: str
    type: str
    direction: Literal['subscribes', 'publishes', 'service', 'action client']
    description: str
    ends: bool = False


def subscribes(name: str, kind: str, description: str) -> TopicRow:
    """Return the row of a topic `name` that a node listens to, of the message `kind`; `description` as in the class."""
    return TopicRow(name, kind, 'subscribes', description)


def publishes(name: str, kind: str, description: str) -> TopicRow:
    """Return the row of a topic `name` that a node publishes, of the message `kind`; `description` as in the class."""
    return TopicRow(name, kind, 'publishes', description)


def service(name: str, description: str, ends: bool = False) -> TopicRow:
    """Return the row of a service `name` (Trigger); `description` and `ends` as in the class."""
    return TopicRow(name, 'std_srvs/Trigger', 'service', description, ends)


def topic_table(rows: Iterable[TopicRow]) -> str:
    """Return the rows as the Markdown table that stands in docs/."""
    lines = ['| name | type | | meaning |', '| --- | --- | --- | --- |']
    lines += [f'| `{row.name}` | `{row.type}` | {row.direction} | {row.description} |' for row in rows]
    return '\n'.join(lines)
