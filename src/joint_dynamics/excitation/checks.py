"""Checks of what the user writes into a configuration: one line that names the key, what was expected and what was found."""
from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError

T = TypeVar('T')


def check_keys(mapping: Any, allowed: Iterable[str], where: str) -> None:
    """Raise JointDynamicsError unless `mapping` is one whose keys are all in `allowed`."""
    if not isinstance(mapping, Mapping):
        raise JointDynamicsError(f'{where}: expected a mapping, found {mapping!r}')
    known = list(allowed)
    for key in mapping:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            raise JointDynamicsError(f'{where}: expected the keys {", ".join(known)}, found {key!r}'
                                     + (f'; meant {near[0]}?' if near else ''))


def from_mapping(cls: type[T], mapping: Any, where: str) -> T:
    """Build the settings dataclass `cls` from a mapping of its fields, refusing keys it does not have."""
    check_keys(mapping, [field.name for field in fields(cls) if field.init], where)  # type: ignore[arg-type]
    return cls(**mapping)


def check_number(value: Any, where: str, *, above: float = -np.inf, least: float = -np.inf, most: float = np.inf) -> float:
    """Return `value` as a float that is finite, > `above`, ≥ `least` and ≤ `most`."""
    rules = [f'> {above:g}' if above > -np.inf else '', f'≥ {least:g}' if least > -np.inf else '', f'≤ {most:g}' if most < np.inf else '']
    rule = ' and '.join(rule for rule in rules if rule)
    number = float(value) if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else np.nan
    if not np.isfinite(number) or not above < number or not least <= number <= most:
        raise JointDynamicsError(f'{where}: expected a number{" " + rule if rule else ""}, found {value!r}')
    return number


def check_integer(value: Any, where: str, least: int) -> int:
    """Return `value` as an integer ≥ `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise JointDynamicsError(f'{where}: expected an integer ≥ {least}, found {value!r}')
    return int(value)


def check_flag(value: Any, where: str) -> bool:
    """Return `value`, which must be true or false."""
    if not isinstance(value, bool):
        raise JointDynamicsError(f'{where}: expected true or false, found {value!r}')
    return value


def check_choice(value: Any, where: str, choices: Sequence[str]) -> str:
    """Return `value`, which must be one of `choices`."""
    if value not in choices:
        raise JointDynamicsError(f'{where}: expected one of {", ".join(choices)}, found {value!r}')
    return value


def per_joint(value: Any, joint_names: Sequence[str], where: str, **rules: float) -> NDArray:
    """Return one number per joint (n,): `value` is a number for all, a list in joint order, or a mapping {joint: number} of all joints."""
    n = len(joint_names)
    if isinstance(value, Mapping):
        if set(value) != set(joint_names):
            raise JointDynamicsError(f'{where}: expected the joints {", ".join(joint_names)}, found {", ".join(map(str, value)) or "none"}')
        value = [value[name] for name in joint_names]
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        if len(value) != n:
            raise JointDynamicsError(f'{where}: expected {n} numbers, one per joint, found {len(value)}')
        return np.array([check_number(item, f'{where}[{name}]', **rules) for item, name in zip(value, joint_names, strict=True)])
    return np.full(n, check_number(value, where, **rules))


def check_range(value: Any, where: str) -> tuple[float, float]:
    """Return `value` as (lower, upper) with lower < upper; null stands for no bound on that side."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise JointDynamicsError(f'{where}: expected [lower, upper], found {value!r}')
    lower = -np.inf if value[0] is None else check_number(value[0], where)
    upper = np.inf if value[1] is None else check_number(value[1], where)
    if not lower < upper:
        raise JointDynamicsError(f'{where}: expected lower < upper, found {value!r}')
    return lower, upper
