"""Some rows of the linear system of a robot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.robot.regressor import PackedRows


class _Rows:
    """The field `rows` of a block: given without its zeros, it is spread out when somebody looks at it."""

    def __get__(self, block: Any, owner: Any = None) -> FloatArray:
        if block is None:
            raise AttributeError('rows')  # for `dataclass`: no default
        rows: FloatArray | PackedRows = block.__dict__['rows']
        if isinstance(rows, PackedRows):
            block.__dict__['packed'] = rows
            rows = block.__dict__['rows'] = rows.dense()
        return rows

    def __set__(self, block: Any, rows: FloatArray | PackedRows) -> None:
        block.__dict__['rows'] = rows


@dataclass(frozen=True)
class Block:
    """Some samples of one observation.

    rows (joints, parameters, samples), also given as `PackedRows`; tau and dq (joints, samples), index of the
    observation; kept: which of its kept samples; resting (joints, samples) bool and scale (joints, samples): see
    `rest`, None where rest is not looked at.
    """

    if TYPE_CHECKING:
        rows: FloatArray
    else:
        rows: FloatArray = _Rows()
    tau: FloatArray
    dq: FloatArray
    observation: int
    kept: slice = field(default_factory=lambda: slice(None))
    resting: BoolArray | None = None
    scale: FloatArray | None = None

    @property
    def packed_rows(self) -> PackedRows | None:
        """The rows without their zeros, None where they were not given so."""
        rows = self.__dict__['rows']
        return rows if isinstance(rows, PackedRows) else self.__dict__.get('packed')

    @property
    def shape(self) -> tuple[int, ...]:
        """(joints, parameters, samples)."""
        shape: tuple[int, ...] = self.__dict__['rows'].shape
        return shape
