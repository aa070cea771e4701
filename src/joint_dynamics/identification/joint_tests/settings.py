"""Settings of the tests from the section `joint` of a configuration file."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_type_hints

from joint_dynamics.errors import JointDynamicsError

Settings = TypeVar('Settings')


def settings_from(cls: type[Settings], values: Mapping[str, Any], path: str) -> Settings:
    """Build a settings dataclass from plain values; raise JointDynamicsError naming the field that is unknown or of the wrong kind."""
    if not isinstance(values, Mapping):
        raise JointDynamicsError(f'{path}: expected a mapping, found {values!r}')
    hints = get_type_hints(cls)
    fields = {item.name: item for item in dataclasses.fields(cls)}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in fields:
            raise JointDynamicsError(f'{path}.{name}: expected one of {", ".join(fields)}')
        given[name] = _convert(hints[name], value, f'{path}.{name}')
    return cls(**given)


def _convert(kind: Any, value: Any, path: str) -> Any:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return settings_from(kind, value, path)
    options = get_args(kind)
    if type(None) in options:
        if value is None:
            return None
        kind = next(option for option in options if option is not type(None))
    if getattr(kind, '__origin__', None) is tuple:
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            raise JointDynamicsError(f'{path}: expected a list of names, found {value!r}')
        return tuple(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise JointDynamicsError(f'{path}: expected {kind.__name__}, found {value!r}')
    return value
