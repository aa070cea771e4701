"""Records of joints: settings first, then what changes; functions that are `@compiled` take their fields by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.joint.constants import Record


def record(numbers: str, flags: str = '', counts: str = '', **others: Any) -> np.dtype[np.void]:
    """Return the type of a record.

    Parameters
    ----------
    numbers, flags, counts
        names of its numbers, truth values and whole numbers, separated by spaces.
    others
        the types of its other fields, or their shapes where they are arrays of numbers.
    """
    kinds = (numbers, 'f8'), (flags, '?'), (counts, 'i8')
    fields: list[Any] = [(name, kind) for names, kind in kinds for name in names.split()]
    fields += [(name, ('f8', kind)) if isinstance(kind, tuple) else (name, kind) for name, kind in others.items()]
    return np.dtype(fields, align=True)


def filled(joints: int, kind: np.dtype[np.void], **values: ArrayLike) -> Record:
    """Return records (joints,) with these values, each for all joints or one for each; zero elsewhere."""
    records = np.zeros(joints, kind)
    for name, value in values.items():
        records[name] = value
    return records


class Field:
    """One field of the records of all joints, (n,) or (n, …): a copy, as the next sample writes it anew.

    Parameters
    ----------
    records
        name of the attribute that holds them.
    """

    def __init__(self, records: str = 'states') -> None:
        self._records = records

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return getattr(owner, self._records)[self._name].copy()

    def __set__(self, owner: Any, values: ArrayLike) -> None:
        getattr(owner, self._records)[self._name] = values
