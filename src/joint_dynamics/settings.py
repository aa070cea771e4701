"""One declaration per setting: name, default, bounds, unit and meaning stand once, as a field of a dataclass; everything else follows.

    @dataclass(frozen=True)
    class Smoothing(Settings):
        window: float = setting(0.1, 'length of the smoother', 's', above=0.0, upper=10.0)
        kind: str = setting('taper', 'shape of the smoother', choices=('taper', 'flat'))

From it come the check of what is given (in the constructor, and from a section of a YAML file by `from_mapping`), the parameter of a ROS node
(`nodes.parameters.rows_of`), and the table in the documentation (`table`). Every refusal has one form: `where.name: expected …, found …`.

Pydantic would carry the checks, but ROS 2 Jazzy's platform packages version 1 of it where the package index has version 2, which do not
agree; and ROS needs unit, bounds and per-joint values of a parameter in a form of its own.
"""
from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from joint_dynamics.errors import JointDynamicsError

T = TypeVar('T', bound='Settings')
_KEY = 'setting'
_WORDS = {float: 'a number', int: 'a whole number', bool: 'true or false', str: 'a text'}


@dataclass(frozen=True)
class Declaration:
    """What a setting may be; see `setting`."""

    meaning: str
    unit: str = ''
    lower: float | None = None
    upper: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    length: int | None = None
    infinite: bool = False
    check: Callable[[Any], str | None] | None = None

    @property
    def rule(self) -> str:
        """The bounds or choices in words, with the unit; empty where anything of the type goes."""
        if self.choices:
            return 'one of ' + ', '.join(self.choices)
        unit = f' {self.unit}' if self.unit else ''
        if self.lower is not None and self.upper is not None:
            return f'{self.lower:g} … {self.upper:g}{unit}'
        rules = [f'{sign} {bound:g}' for sign, bound in (('≥', self.lower), ('>', self.above), ('≤', self.upper), ('<', self.below))
                 if bound is not None]
        return ' and '.join(rules) + unit if rules else ''

    def allows(self, number: float) -> bool:
        """Whether a number keeps the bounds."""
        return ((self.lower is None or number >= self.lower) and (self.above is None or number > self.above)
                and (self.upper is None or number <= self.upper) and (self.below is None or number < self.below)
                and (math.isfinite(number) or (self.infinite and not math.isnan(number))))


def setting(default: Any, meaning: str, unit: str = '', *, lower: float | None = None, upper: float | None = None, above: float | None = None,
            below: float | None = None, choices: Sequence[str] = (), length: int | None = None, infinite: bool = False,
            check: Callable[[Any], str | None] | None = None) -> Any:
    """Declare a field of a `Settings` dataclass.

    meaning: one line, without the unit. unit: SI, or °C, A, Hz. lower, upper (inclusive), above, below (exclusive): bounds of a number, or of every
    number of a sequence or mapping. choices: the allowed texts. length: of a sequence. infinite: whether ±inf is a value. check: a further rule;
    returns None, or what was expected. A default that is mutable is copied for each instance.
    """
    declared = Declaration(meaning, unit, lower, upper, above, below, tuple(choices), length, infinite, check)
    if isinstance(default, (list, dict)) or dataclasses.is_dataclass(default):
        return dataclasses.field(default_factory=lambda: default if dataclasses.is_dataclass(default) else type(default)(default),
                                 metadata={_KEY: declared})
    return dataclasses.field(default=default, metadata={_KEY: declared})


def declarations(cls: type) -> dict[str, tuple[dataclasses.Field[Any], Declaration]]:
    """Return the fields of a settings class with their declarations, by name, in order."""
    return {item.name: (item, item.metadata[_KEY]) for item in dataclasses.fields(cls) if _KEY in item.metadata}


_KNOWN_HINTS: dict[type, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields; resolving them costs more than all checks, so once per class."""
    if cls not in _KNOWN_HINTS:
        _KNOWN_HINTS[cls] = get_type_hints(cls)
    return _KNOWN_HINTS[cls]


class Settings:
    """Base of a frozen dataclass whose fields are made by `setting`: values are checked and brought to their type when it is made.

    A class with rules across fields overrides `check`, which is called last and raises JointDynamicsError.
    """

    #: What stands before the names in a refusal, as `limits`; empty: the names alone.
    SECTION = ''

    def __post_init__(self) -> None:
        for name, (_, declared) in declarations(type(self)).items():
            where = f'{self.SECTION}.{name}' if self.SECTION else name
            object.__setattr__(self, name, value_of(_hints(type(self))[name], getattr(self, name), where, declared))
        self.check()

    def check(self) -> None:
        """Check what concerns several settings."""

    @classmethod
    def from_mapping(cls: type[T], mapping: Any, where: str = '') -> T:
        """Make the settings from a mapping, as of a YAML file. Raises JointDynamicsError for a key or a value that is not allowed."""
        where = where or cls.SECTION
        declared = declarations(cls)
        given = check_keys({} if mapping is None else mapping, declared, where or 'settings')
        return cls(**{name: value_of(_hints(cls)[name], value, f'{where}.{name}' if where else name, declared[name][1])
                      for name, value in given.items()})

    def replaced(self: T, **changes: Any) -> T:
        """Return the settings with these changes, checked. Raises JointDynamicsError."""
        return dataclasses.replace(self, **check_keys(changes, declarations(type(self)), self.SECTION or 'settings'))  # type: ignore[type-var]


def check_keys(mapping: Any, known: Iterable[str], where: str) -> Mapping[str, Any]:
    """Return `mapping`. Raises JointDynamicsError unless it is one whose keys are all known."""
    if not isinstance(mapping, Mapping):
        raise refusal(where, 'a mapping', mapping)
    known = list(known)
    for key in mapping:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            raise JointDynamicsError(f'{where}: expected the keys {", ".join(known)}, found {key!r}' + (f'; meant {near[0]}?' if near else ''))
    return mapping


def refusal(where: str, expected: str, found: Any) -> JointDynamicsError:
    """Return the error of a value that is not allowed, its text cut to a line."""
    text = repr(found)
    return JointDynamicsError(f'{where}: expected {expected}, found {text if len(text) <= 80 else text[:77] + "..."}')


def value_of(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
    """Return `given` as a value of the type `kind` that its declaration allows.

    Types: float, int, bool, str; None beside another; tuple[X, ...] and Sequence[X]; Mapping[str, X]; a Settings class (given as a mapping); Any.
    Where a type is a choice of several (a number for all joints, or one by name), the first that fits counts. Raises JointDynamicsError.
    """
    options = [option for option in get_args(kind) if option is not type(None)] if get_origin(kind) in (Union, types.UnionType) else [kind]
    if given is None and type(None) in get_args(kind):
        return None
    error: JointDynamicsError | None = None
    for option in options:
        try:
            value = _as_kind(option, given, where, declared)
            break
        except JointDynamicsError as refused:
            error = refused if error is None or _shape(option) == _shape_of(given) else error
    else:
        assert error is not None
        raise error
    wrong = declared.check(value) if declared.check is not None else None
    if wrong:
        raise refusal(where, wrong, given)
    return value


def _shape(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if isinstance(origin, type) and issubclass(origin, (Mapping, Settings)):
        return 'mapping'
    return 'sequence' if isinstance(origin, type) and issubclass(origin, Sequence) and origin is not str else 'plain'


def _shape_of(given: Any) -> str:
    if isinstance(given, Mapping):
        return 'mapping'
    return 'sequence' if isinstance(given, Sequence) and not isinstance(given, (str, bytes)) else 'plain'


def _as_kind(kind: Any, given: Any, where: str, declared: Declaration) -> Any:
    if kind is Any:
        return given
    if isinstance(kind, type) and issubclass(kind, Settings):
        return given if isinstance(given, kind) else kind.from_mapping(given, where)
    shape, arguments = _shape(kind), get_args(kind)
    if shape == 'mapping':
        return {str(key): value_of(arguments[1] if arguments else Any, item, f'{where}.{key}', _of_item(declared))
                for key, item in _must(isinstance(given, Mapping), given, where, 'a mapping').items()}
    if shape == 'sequence':
        items = _must(_shape_of(given) == 'sequence' or hasattr(given, '__array__'), given, where, 'a list')
        if declared.length is not None and len(items) != declared.length:
            raise refusal(where, f'{declared.length} values', given)
        return tuple(value_of(arguments[0] if arguments else Any, item, f'{where}[{index}]', _of_item(declared)) for index, item in enumerate(items))
    return _plain(kind, given, where, declared)


def _of_item(declared: Declaration) -> Declaration:
    return dataclasses.replace(declared, length=None, check=None)


def _must(right: bool, given: Any, where: str, expected: str) -> Any:
    if not right:
        raise refusal(where, expected, given)
    return given


def _plain(kind: type, given: Any, where: str, declared: Declaration) -> Any:
    rule = declared.rule
    expected = f'{_WORDS.get(kind, kind.__name__)}{f", {rule}" if rule and kind is not str else ""}'
    if kind is str:
        return _must(isinstance(given, str) and (not declared.choices or given in declared.choices), given, where, rule or expected)
    if kind is bool:
        return _must(isinstance(given, bool), given, where, expected)
    if kind not in (int, float):
        return _must(isinstance(given, kind), given, where, expected)
    if isinstance(given, bool) or not hasattr(given, '__float__') or isinstance(given, (str, bytes)):
        raise refusal(where, expected, given)
    number = float(given)
    _must(declared.allows(number) and (kind is float or number.is_integer()), given, where, expected)
    return kind(given)


def table(cls: type) -> str:
    """Return the settings of a class as the Markdown table of the documentation."""
    lines = ['| setting | default | allowed | meaning |', '| --- | --- | --- | --- |']
    for name, (item, declared) in declarations(cls).items():
        default = item.default_factory() if callable(item.default_factory) else item.default
        shown = 'section' if dataclasses.is_dataclass(default) else {None: 'null', True: 'true', False: 'false'}.get(default, repr(default)) \
            if isinstance(default, (bool, type(None))) else repr(list(default) if isinstance(default, tuple) else default)
        lines.append(f'| `{name}` | `{shown}` | {declared.rule or declared.unit or "–"} | {declared.meaning} |')
    return '\n'.join(lines)
