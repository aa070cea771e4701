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

"""The declaration of a setting, and how a field of a `Settings` dataclass states it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_KEY = 'setting'


@dataclass(frozen=True)
class Declaration:
    """The declaration of a setting.

    Attributes
    ----------
    meaning
        One line, without the unit.
    unit
        SI, or °C, A, Hz.
    lower, upper, above, below
        Bounds of a number, or of every number of a sequence or mapping: inclusive, inclusive, exclusive, exclusive.
    choices
        The allowed texts.
    length
        Of a sequence.
    infinite
        Whether inf is allowed regardless of the bounds.
    none
        The meaning of null, where it is allowed, e.g. `found from the data`.
    check
        A further rule; returns None, or the expected values in words.

    """

    meaning: str
    unit: str = ''
    lower: float | None = None
    upper: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    length: int | None = None
    infinite: bool = False
    none: str = ''
    check: Callable[[Any], str | None] | None = None

    @property
    def rule(self) -> str:
        """The bounds or choices in words, with the unit; empty where every value of the type is allowed."""
        if self.choices:
            return 'one of ' + ', '.join(self.choices)
        unit, endless = f' {self.unit}' if self.unit else '', ' or inf' if self.infinite else ''
        if self.lower is not None and self.upper is not None:
            return f'{self.lower:g} … {self.upper:g}{unit}{endless}'
        rules = [
            f'{sign} {bound:g}'
            for sign, bound in (('≥', self.lower), ('>', self.above), ('≤', self.upper), ('<', self.below))
            if bound is not None
        ]
        return ' and '.join(rules) + unit + endless if rules else ''

    def allows(self, number: float) -> bool:
        """Whether a number is within the bounds."""
        if not math.isfinite(number):
            return self.infinite and number == math.inf
        return (
            (self.lower is None or number >= self.lower)
            and (self.above is None or number > self.above)
            and (self.upper is None or number <= self.upper)
            and (self.below is None or number < self.below)
        )

    def of_item(self) -> Declaration:
        """Return the declaration of each item of a list or mapping: bounds and choices, without rules for the whole."""
        return dataclasses.replace(self, length=None, check=None, none='')


def setting(default: Any, meaning: str, unit: str = '', *, choices: Sequence[str] = (), **rules: Any) -> Any:
    """Declare a field of a `Settings` dataclass.

    Parameters
    ----------
    default
        Of the setting; `...` where it is required. A list, mapping or settings object is copied for each instance.
    meaning, unit, choices, **rules
        The fields of its `Declaration`.

    """
    declared = {_KEY: Declaration(meaning, unit, choices=tuple(choices), **rules)}
    if default is ...:
        return dataclasses.field(metadata=declared)
    if dataclasses.is_dataclass(default):
        return dataclasses.field(default_factory=lambda: default, metadata=declared)
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=declared)
    return dataclasses.field(default=default, metadata=declared)


def declarations(cls: type) -> dict[str, tuple[dataclasses.Field[Any], Declaration]]:
    """Return the fields of a settings class with their declarations, by name, in order."""
    return {item.name: (item, item.metadata[_KEY]) for item in dataclasses.fields(cls) if _KEY in item.metadata}


def default_of(item: dataclasses.Field[Any]) -> Any:
    """Return the default of a field; `...` where it is required."""
    if item.default is not dataclasses.MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not dataclasses.MISSING else ...
