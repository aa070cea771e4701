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

"""Settings: dataclasses whose values are checked and converted, also from a section of a configuration."""

from __future__ import annotations

import dataclasses
import difflib
import numbers
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings.declaration import Declaration, declarations, default_of

#: One number for all joints, one per joint in the robot's order, or by the joint's name.
PerJoint = float | Sequence[float] | Mapping[str, float]
_WORDS = {float: 'a number', int: 'a whole number', bool: 'true or false', str: 'a text'}


class Refused(JointDynamicsError):
    """A value that is not allowed: `where` it occurs, the `expected` values there, and the `found` one."""

    def __init__(self, where: str, expected: str, found: Any):
        text = repr(found)
        super().__init__(f'{where}: expected {expected}, found {text if len(text) <= 80 else text[:77] + "..."}')
        self.where, self.expected, self.found = where, expected, found


def refusal(where: str, expected: str, found: Any) -> JointDynamicsError:
    """Return the error for a value that is not allowed, its text cut to one line."""
    return Refused(where, expected, found)


def check_keys(mapping: Any, known: Iterable[str], where: str) -> Mapping[str, Any]:
    """Return `mapping`. Raises JointDynamicsError unless it is a mapping whose keys are all known."""
    if not isinstance(mapping, Mapping):
        raise Refused(where, 'a mapping', mapping)
    known = list(known)
    for key in mapping:
        if key not in known:
            similar = difflib.get_close_matches(str(key), known, n=1)
            keys = f'the keys {", ".join(known)}' if known else 'no keys'
            raise JointDynamicsError(
                f'{where}: expected {keys}, found {key!r}' + (f'; meant {similar[0]}?' if similar else '')
            )
    return mapping


def value_of(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
    """Return `given` as a value of the type `kind` that its declaration allows.

    Types: float, int, bool, str; None beside another; tuple[X, ...] and Sequence[X]; Mapping[str, X]; a Settings class
    (given as a mapping); any other class (an instance); Any. Where a type is a union (a number for all joints, or one
    by name), the first that fits applies. Raises JointDynamicsError for any other value.
    """
    several = get_origin(kind) in (Union, types.UnionType)
    options = [option for option in get_args(kind) if option is not type(None)] if several else [kind]
    if given is None and several and len(options) < len(get_args(kind)):
        return None
    value = _first_that_fits(options, given, where, declared)
    wrong = declared.check(value) if declared.check is not None else None
    if wrong:
        raise Refused(where, wrong, given)
    return value


def _first_that_fits(options: Sequence[Any], given: Any, where: str, declared: Declaration) -> Any:
    refused: list[Refused] = []
    for option in options:
        try:
            return _as_kind(option, given, where, declared)
        except Refused as error:
            refused.append(error)
    # A single wrong value of a list or mapping is the reason.
    inner = next((error for error in refused if error.where != where), None)
    if inner is not None:
        raise inner
    alike = [error for option, error in zip(options, refused, strict=True) if _suits(option, given)]
    expected = ' or '.join(dict.fromkeys(error.expected for error in alike or refused))
    raise Refused(where, expected + (f' (null: {declared.none})' if declared.none else ''), given)


def _suits(kind: Any, given: Any) -> bool:
    """Return whether `given` is of the sort that `kind` is made from, so that only its value can be wrong."""
    origin = get_origin(kind) or kind
    if hasattr(kind, 'from_given') or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return isinstance(given, Mapping)
    if kind in (bool, str):
        return isinstance(given, kind)
    if kind in (int, float):
        return isinstance(given, numbers.Real) and not isinstance(given, bool)
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes))


def _as_kind(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return given
    if hasattr(kind, 'from_given'):
        return kind.from_given(given, where)
    if not isinstance(origin, type):
        raise TypeError(f'{where}: {kind} is not a type that a setting can have')
    if issubclass(origin, Mapping):
        items = _must(isinstance(given, Mapping), given, where, 'a mapping').items()
        of_item = declared.of_item() if items else declared
        return {
            str(key): value_of(arguments[1] if arguments else Any, item, f'{where}.{key}', of_item)
            for key, item in items
        }
    if issubclass(origin, Sequence) and origin is not str:
        return _sequence(arguments[0] if arguments else Any, given, where, declared)
    return _plain_value(kind, given, where, declared)


def _sequence(kind: Any, given: Any, where: str, declared: Declaration) -> tuple[Any, ...]:
    listed = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    array = getattr(given, 'ndim', 0) > 0 and hasattr(given, 'tolist')
    items = given.tolist() if array else given
    if not (listed or array):
        raise Refused(where, 'a list' if declared.length is None else f'a list of {declared.length}', given)
    if declared.length is not None and len(items) != declared.length:
        raise Refused(where, f'{declared.length} values', given)
    of_item = declared.of_item()
    return tuple(value_of(kind, item, f'{where}[{index}]', of_item) for index, item in enumerate(items))


def _must(right: bool, given: Any, where: str, expected: str) -> Any:
    if not right:
        raise Refused(where, expected, given)
    return given


def _plain_value(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
    rule = declared.rule
    expected = (
        f'{_WORDS.get(kind, getattr(kind, "__name__", kind))}{f", {rule}" if rule and kind in (int, float) else ""}'
    )
    if kind is str:
        right = isinstance(given, str) and (not declared.choices or given in declared.choices)
        return _must(right, given, where, rule if declared.choices else expected)
    if kind not in (int, float):
        return _must(isinstance(given, kind), given, where, expected)
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        raise Refused(where, expected, given)
    try:
        number = float(given)
    except OverflowError:
        raise Refused(where, expected, given) from None
    _must(declared.allows(number) and (kind is float or number.is_integer()), given, where, expected)
    return kind(given)


T = TypeVar('T', bound='Settings')

_KNOWN_HINTS: dict[type, dict[str, Any]] = {}


def hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields; resolving them costs more than all checks, so once per class."""
    if cls not in _KNOWN_HINTS:
        _KNOWN_HINTS[cls] = get_type_hints(cls)
    return _KNOWN_HINTS[cls]


class Settings:
    """Base of a frozen dataclass whose fields are made by `setting`: values are checked and converted to their type.

    A class with rules across fields overrides `check`, which is called last and raises JointDynamicsError.
    """

    #: What stands before the names in a refusal, as `limits`; empty: the names alone.
    SECTION: ClassVar[str] = ''
    #: The key that a bare text stands for, as the topic of an input; empty: a mapping is needed.
    SHORT: ClassVar[str] = ''
    #: Keys of earlier versions that are gone since 0.3.0, each with its remedy.
    GONE: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        for name, (_, declared) in declarations(type(self)).items():
            where = f'{self.SECTION}.{name}' if self.SECTION else name
            object.__setattr__(self, name, value_of(hints(type(self))[name], getattr(self, name), where, declared))
        self.check()

    def check(self) -> None:
        """Check rules that concern several settings."""

    @classmethod
    def from_mapping(cls: type[T], mapping: Any, where: str = '') -> T:
        """Make the settings from a mapping, as of YAML. Raises JointDynamicsError for invalid keys and values."""
        where = where or cls.SECTION
        declared = declarations(cls)
        if cls.SHORT and isinstance(mapping, str):
            mapping = {cls.SHORT: mapping}
        elif cls.SHORT and mapping is not None and not isinstance(mapping, Mapping):
            raise refusal(where, f'its {cls.SHORT} or a mapping', mapping)
        for key in cls.GONE:
            if isinstance(mapping, Mapping) and key in mapping:
                name = f'{where}.{key}' if where else key
                raise JointDynamicsError(f'{name}: expected no such key since 0.3.0, found one: {cls.GONE[key]}')
        given = check_keys({} if mapping is None else mapping, declared, where or 'settings')
        missing = [name for name, (item, _) in declared.items() if name not in given and default_of(item) is ...]
        if missing:
            raise JointDynamicsError(
                f'{where or "settings"}: expected the key {missing[0]} ({declared[missing[0]][1].meaning}), found '
                f'{", ".join(map(str, given)) or "none"}'
            )
        return cls(
            **{
                name: value_of(hints(cls)[name], value, f'{where}.{name}' if where else name, declared[name][1])
                for name, value in given.items()
            }
        )

    @classmethod
    def from_given(cls: type[T], given: Any, where: str = '') -> T:
        """Return settings unchanged, a mapping as settings. Raises JointDynamicsError for invalid keys and values."""
        return given if isinstance(given, cls) else cls.from_mapping(given, where)

    def replaced(self: T, **changes: Any) -> T:
        """Return the settings with these changes, checked. Raises JointDynamicsError for invalid keys and values."""
        check_keys(changes, declarations(type(self)), self.SECTION or 'settings')
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def to_mapping(self) -> dict[str, Any]:
        """Return the settings as plain keys and values, from which `from_mapping` restores them."""
        return {name: _plain(getattr(self, name)) for name in declarations(type(self))}


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return value.to_mapping()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


_NUMBER = Declaration('')


def per_joint(value: Any, joint_names: Sequence[str], where: str, others: bool = False) -> FloatArray:
    """Return one number per joint (n,).

    Parameters
    ----------
    value
        a number for all, a list in the order of `joint_names`, or a mapping {joint: number} of all joints.
    joint_names
        the joints.
    where
        prefix of error messages.
    others
        whether a mapping may contain further joints.

    Raises
    ------
    JointDynamicsError
        For any other value.
    """
    names = ', '.join(joint_names)
    if isinstance(value, Mapping):
        missing = [name for name in joint_names if name not in value]
        strange = [] if others else [name for name in value if name not in joint_names]
        if missing or strange:
            raise Refused(where, f'a number for each of {names}', list(value))
        value = [value[name] for name in joint_names]
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) and np.ndim(value):
        if len(value) != len(joint_names):
            raise Refused(where, f'{len(joint_names)} numbers, one for each of {names}', list(value))
        return np.array(
            [value_of(float, item, f'{where}[{name}]', _NUMBER) for item, name in zip(value, joint_names, strict=True)]
        )
    return np.full(len(joint_names), value_of(float, value, where, _NUMBER))
