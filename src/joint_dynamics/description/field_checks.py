"""Checks of the fields of a dynamics description; every error names the path of the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from joint_dynamics.settings import Declaration, Refused

#: Greatest magnitude of a number; the largest a description is known to hold are stiffnesses of 1e9 N·m/rad³ and their
#: squares.
MAX_NUMBER = 1e30
#: Most operators of a Maxwell-slip model.
MAX_OPERATORS = 100
Check = Callable[[Any, str], None]


def fail(path: str, expected: str, found: Any) -> None:
    """Raise the one error of this module."""
    raise Refused(f'dynamics description: {path}', expected, found)


def number(value: Any, path: str) -> None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MAX_NUMBER <= value <= MAX_NUMBER:
        large = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float('inf')
        fail(path, f'a number of at most {MAX_NUMBER:g}' if large else 'a finite number', value)


def number_of(**rules: float) -> Check:
    """A finite number within bounds: `lower`, `upper`, `above`, `below` of `settings.Declaration`."""
    declared = Declaration('', **rules)  # type: ignore[arg-type]

    def check(value: Any, path: str) -> None:
        number(value, path)
        if not declared.allows(value):
            fail(path, f'a number, {declared.rule}', value)

    return check


positive = number_of(above=0)


def text(value: Any, path: str) -> None:
    """A string."""
    if not isinstance(value, str):
        fail(path, 'text', value)


def optional(check: Check) -> Check:
    """What passes `check`, or null."""

    def check_given(value: Any, path: str) -> None:
        if value is not None:
            check(value, path)

    return check_given


optional_number = optional(number)
optional_text = optional(text)


def anything_plain(value: Any, path: str) -> None:
    """Any tree of mappings, lists, text, booleans, nulls and finite numbers."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            anything_plain(item, f'{path}.{key}')
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            anything_plain(item, f'{path}[{index}]')
    elif value is not None and not isinstance(value, (str, bool)):
        number(value, path)


def plain_mapping(value: Any, path: str) -> None:
    """A mapping of anything plain."""
    if not isinstance(value, Mapping):
        fail(path, 'a mapping', value)
    anything_plain(value, path)


def truth(value: Any, path: str) -> None:
    """Either true or false."""
    if not isinstance(value, bool):
        fail(path, 'true or false', value)


class ListOf:
    """A list whose items pass `item`."""

    def __init__(self, item: Check, length: int | None = None):
        self.item, self.length = item, length

    def __call__(self, value: Any, path: str) -> None:
        """Check; raise JointDynamicsError."""
        if not isinstance(value, (list, tuple)) or (self.length is not None and len(value) != self.length):
            fail(path, 'a list' if self.length is None else f'a list of {self.length}', value)
        for index, item in enumerate(value):
            self.item(item, f'{path}[{index}]')


class Record:
    """A mapping with no other than these `fields`, of which `required` must be present.

    `whole` then checks the mapping as a whole.
    """

    def __init__(
        self, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, whole: Check | None = None
    ):
        self.required, self.fields, self._whole = tuple(required), {**required, **(optional or {})}, whole

    def __call__(self, value: Any, path: str) -> None:
        """Check; raise JointDynamicsError."""
        if not isinstance(value, Mapping):
            fail(path, f'a mapping with {", ".join(self.required or self.fields)}', value)
        prefix = f'{path}.' if path else ''
        for key in value:
            if key not in self.fields:
                fail(f'{prefix}{key}', f'one of {", ".join(self.fields)}', 'this unknown field')
        for key in self.required:
            if key not in value:
                fail(f'{prefix}{key}', 'this field', 'nothing')
        for key, item in value.items():
            self.fields[key](item, f'{prefix}{key}')
        if self._whole is not None:
            self._whole(value, path)


class MappingOf:
    """A mapping from any name to values that pass `item`."""

    def __init__(self, item: Check):
        self.item = item

    def __call__(self, value: Any, path: str) -> None:
        """Check; raise JointDynamicsError."""
        if not isinstance(value, Mapping):
            fail(path, 'a mapping', value)
        for key, item in value.items():
            self.item(item, f'{path}.{key}')


def operators(value: Any, path: str) -> None:
    """A number of Maxwell-slip operators."""
    if type(value) is not int or not 1 <= value <= MAX_OPERATORS:
        fail(path, f'a whole number from 1 to {MAX_OPERATORS}', value)
