"""What was given as a value of the declared type, or a refusal that says what was expected and what was found."""

from __future__ import annotations

import difflib
import numbers
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union, get_args, get_origin

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings.declaration import Declaration

#: One number for all joints, one per joint in the robot's order, or by the joint's name.
PerJoint = float | Sequence[float] | Mapping[str, float]
_WORDS = {float: 'a number', int: 'a whole number', bool: 'true or false', str: 'a text'}


class Refused(JointDynamicsError):
    """A value that is not allowed: `where` it stands, what was `expected` there, what was `found`."""

    def __init__(self, where: str, expected: str, found: Any):
        text = repr(found)
        super().__init__(f'{where}: expected {expected}, found {text if len(text) <= 80 else text[:77] + "..."}')
        self.where, self.expected, self.found = where, expected, found


def refusal(where: str, expected: str, found: Any) -> JointDynamicsError:
    """Return the error of a value that is not allowed, its text cut to a line."""
    return Refused(where, expected, found)


def check_keys(
    mapping: Any, known: Iterable[str], where: str, renamed: Mapping[str, str] | None = None
) -> Mapping[str, Any]:
    """Return `mapping`. Raises JointDynamicsError unless it is one whose keys are all known.

    renamed: former names, each with the one that took its place.
    """
    if not isinstance(mapping, Mapping):
        raise Refused(where, 'a mapping', mapping)
    known = list(known)
    for key in mapping:
        if renamed and key in renamed:
            raise JointDynamicsError(
                f'{where}: expected the key {renamed[key]}, found its former name {key!r}; rename it'
            )
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            keys = f'the keys {", ".join(known)}' if known else 'no keys'
            raise JointDynamicsError(
                f'{where}: expected {keys}, found {key!r}' + (f'; meant {near[0]}?' if near else '')
            )
    return mapping


def value_of(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
    """Return `given` as a value of the type `kind` that its declaration allows.

    Types: float, int, bool, str; None beside another; tuple[X, ...] and Sequence[X]; Mapping[str, X]; a Settings class
    (given as a mapping); any other class (an instance); Any. Where a type is a choice of several (a number for all
    joints, or one by name), the first that fits counts. Raises JointDynamicsError.
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
    # Of a list or mapping that fits but for one of its values, that value is the reason.
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
        of_item = declared.of_item()
        return {
            str(key): value_of(arguments[1] if arguments else Any, item, f'{where}.{key}', of_item)
            for key, item in _must(isinstance(given, Mapping), given, where, 'a mapping').items()
        }
    if issubclass(origin, Sequence) and origin is not str:
        return _sequence(arguments[0] if arguments else Any, given, where, declared)
    return _plain(kind, given, where, declared)


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


def _plain(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
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
