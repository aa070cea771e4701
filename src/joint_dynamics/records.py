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

"""Records that compiled functions take by field name: each a class with one annotated field a line.

    class Play(KernelRecord):
        theta: float                              # rad, motor angle at the last update
        loads: Annotated[FloatArray, 2]           # N·m, low-passed loads

`Play.dtype` is the numpy type, `Play.filled(n, theta=0.3)` an array of n records. A compiled function gets one element
of that array and reads and writes its fields as attributes.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any, ClassVar, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike, NDArray

Record = NDArray[np.void]
"""An array of records."""

SCALARS: dict[Any, str] = {float: 'f8', int: 'i8', bool: '?'}
"""Annotations of single values, and their numpy types."""


class KernelRecord:
    """Base of a record; its annotated fields, in their order, make its numpy type.

    A field is a `float`, an `int`, a `bool`, another record, `Annotated[FloatArray, 3, 3]` for an array of that shape,
    or `Annotated[Any, dtype]` for a numpy type.
    """

    dtype: ClassVar[np.dtype[np.void]]

    def __init_subclass__(cls) -> None:
        fields = inspect.get_annotations(cls, eval_str=True)
        cls.dtype = np.dtype([(name, _field_type(kind)) for name, kind in fields.items()], align=True)

    @classmethod
    def filled(cls, count: int, **values: ArrayLike) -> Record:
        """Return `count` records with these values, one for all or one for each; the other fields are zero."""
        records = np.zeros(count, cls.dtype)
        for name, value in values.items():
            records[name] = value
        return records


def _field_type(annotation: Any) -> Any:
    if annotation in SCALARS:
        return SCALARS[annotation]
    if get_origin(annotation) is Annotated:
        shape = get_args(annotation)[1:]
        return shape[0] if isinstance(shape[0], np.dtype) else ('f8', shape)
    if isinstance(annotation, type) and issubclass(annotation, KernelRecord):
        return annotation.dtype
    raise TypeError(f'expected a field of a KernelRecord, found {annotation!r}')


class Field:
    """One field of the records of all joints as an attribute, (n,) or (n, …); reading it copies.

    Parameters
    ----------
    records
        name of the attribute that holds the records.
    """

    def __init__(self, records: str = 'states') -> None:
        self._records = records

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return getattr(owner, self._records)[self._name].copy()

    def __set__(self, owner: Any, values: ArrayLike) -> None:
        getattr(owner, self._records)[self._name] = values
