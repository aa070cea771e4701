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

"""A single setting: a parameter of a controller or of a ROS node, as a row or from a settings class."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from joint_dynamics.settings.base import Settings, hints, value_of
from joint_dynamics.settings.declaration import Declaration, declarations, default_of

P = TypeVar('P', bound='Parameter')
_RULES = ('unit', 'lower', 'upper', 'choices', 'length', 'above', 'below', 'infinite', 'check')


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    name
        of a parameter per joint, without the joint.
    default
        its type is the parameter's; a list takes its element type from its first item, or from `element` where it is
        empty. An integer is accepted where a float is expected.
    description
        one sentence, without the unit.
    unit
        SI, or °C, A; empty where there is none.
    lower, upper
        inclusive bounds of a number, or of every number of a list.
    choices
        the allowed texts.
    per_joint
        one value for every joint.
    element
        type of the items of a list.
    length
        of a list.
    above, below
        exclusive bounds.
    infinite
        whether inf is allowed regardless of the bounds.
    check
        a further rule; returns None, or the expected values in words.

    """

    name: str
    default: Any
    description: str
    unit: str = ''
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    per_joint: bool = False
    element: type = str
    length: int | None = None
    above: float | None = None
    below: float | None = None
    infinite: bool = False
    check: Callable[[Any], str | None] | None = None

    @classmethod
    def of(cls: type[P], settings: type[Settings], setting: str, **changes: Any) -> P:
        """Return the parameter of a setting, as declared there except for `changes`.

        Since ROS has no null, a setting whose default is null has the default 0 (a text: empty) here, or that in
        `changes`, which represents null and is then allowed in addition to the bounds.
        """
        item, declared = declarations(settings)[setting]
        rules: dict[str, Any] = {name: getattr(declared, name) for name in _RULES}
        default, meaning = default_of(item), declared.meaning
        if default is None:
            kind = next(option for option in get_args(hints(settings)[setting]) if option is not type(None))
            default = changes.get('default', kind() if kind in (int, float, str) else 0.0)
            meaning += f'; {_text(default)}: {declared.none}' if declared.none else ''
            if isinstance(default, (int, float)) and not declared.allows(default):
                rules.update(lower=default, above=None)
        if isinstance(default, tuple):
            rules['element'] = type(default[0]) if default else str
            default = list(default)
        return cls(**{'name': setting, 'default': default, 'description': meaning, **rules, **changes})

    @property
    def declared(self) -> Declaration:
        """The declaration of its value."""
        return Declaration(self.description, **{name: getattr(self, name) for name in _RULES})

    @property
    def kind(self) -> Any:
        """The type of its value; of a parameter per joint, of one joint's."""
        if not isinstance(self.default, (list, tuple)):
            return type(self.default)
        return tuple[type(self.default[0]) if self.default else self.element, ...]  # type: ignore[misc]

    def value(self, given: Any, where: str = '') -> Any:
        """Return `given` converted to the parameter's type. Raises JointDynamicsError where it is not allowed."""
        value = value_of(self.kind, given, where or self.name, self.declared)
        return list(value) if isinstance(value, tuple) else value

    def replaced(self: P, **changes: Any) -> P:
        """Return the parameter with these changes."""
        return dataclasses.replace(self, **changes)


def _text(default: Any) -> str:
    return 'empty' if default == '' else f'{default:g}' if isinstance(default, float) else str(default)


class ParameterValues:
    """Values of parameters by name, those of a parameter per joint under `<name>.<joint>`.

    `joint_names`: the joints of the parameters per joint, in their order.
    """

    def __init__(self, values: Mapping[str, Any] | None = None, joint_names: Sequence[str] = ()):
        self._values: dict[str, Any] = dict(values or {})
        self._joints = tuple(joint_names)

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self._values[name]

    def per_joint(self, name: str, joint_names: Sequence[str] | None = None) -> list[Any]:
        """Return the values of a parameter per joint, in the order of `joint_names` (default: as constructed)."""
        return [self._values[f'{name}.{joint}'] for joint in (self._joints if joint_names is None else joint_names)]

    def similar(self, given: Iterable[str]) -> dict[str, str]:
        """Return those of the names that no parameter has, but one has nearly, with its name."""
        near = {name: difflib.get_close_matches(name, self._values, n=1, cutoff=0.8) for name in given}
        return {name: matches[0] for name, matches in near.items() if matches and name not in self._values}
