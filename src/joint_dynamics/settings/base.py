"""Base of the dataclasses whose fields are settings: values are checked, and read from a section of a configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, get_type_hints

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings.declaration import declarations, default_of
from joint_dynamics.settings.values import check_keys, refusal, value_of

T = TypeVar('T', bound='Settings')

_KNOWN_HINTS: dict[type, dict[str, Any]] = {}


def hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields; resolving them costs more than all checks, so once per class."""
    if cls not in _KNOWN_HINTS:
        _KNOWN_HINTS[cls] = get_type_hints(cls)
    return _KNOWN_HINTS[cls]


class Settings:
    """Base of a frozen dataclass whose fields are made by `setting`: values are checked and brought to their type.

    A class with rules across fields overrides `check`, which is called last and raises JointDynamicsError.
    """

    #: What stands before the names in a refusal, as `limits`; empty: the names alone.
    SECTION: ClassVar[str] = ''
    #: The key that a bare text stands for, as the topic of an input; empty: a mapping is needed.
    SHORT: ClassVar[str] = ''

    def __post_init__(self) -> None:
        for name, (_, declared) in declarations(type(self)).items():
            where = f'{self.SECTION}.{name}' if self.SECTION else name
            object.__setattr__(self, name, value_of(hints(type(self))[name], getattr(self, name), where, declared))
        self.check()

    def check(self) -> None:
        """Check what concerns several settings."""

    @classmethod
    def from_mapping(cls: type[T], mapping: Any, where: str = '') -> T:
        """Make the settings from a mapping, as of a YAML file. Raises JointDynamicsError for what is not allowed."""
        where = where or cls.SECTION
        declared = declarations(cls)
        if cls.SHORT and isinstance(mapping, str):
            mapping = {cls.SHORT: mapping}
        elif cls.SHORT and mapping is not None and not isinstance(mapping, Mapping):
            raise refusal(where, f'its {cls.SHORT} or a mapping', mapping)
        given = check_keys({} if mapping is None else mapping, declared, where or 'settings', _renamed(cls))
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
        """Return settings as they are, and a mapping as settings. Raises JointDynamicsError."""
        return given if isinstance(given, cls) else cls.from_mapping(given, where)

    def replaced(self: T, **changes: Any) -> T:
        """Return the settings with these changes, checked. Raises JointDynamicsError."""
        check_keys(changes, declarations(type(self)), self.SECTION or 'settings', _renamed(type(self)))
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def to_mapping(self) -> dict[str, Any]:
        """Return what `from_mapping` takes: plain keys and values."""
        return {name: _plain(getattr(self, name)) for name in declarations(type(self))}


def _renamed(cls: type) -> dict[str, str]:
    return {declared.formerly: name for name, (_, declared) in declarations(cls).items() if declared.formerly}


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return value.to_mapping()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value
