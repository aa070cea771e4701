"""Types of arrays as signatures name them, a number as documents hold it; shapes and units are in the docstrings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
ComplexArray: TypeAlias = NDArray[np.complexfloating[Any, Any]]


def finite(value: float | None) -> float | None:
    """Return a number, in its unit, as a document may hold it: None where it is not finite, or not known."""
    return float(value) if value is not None and np.isfinite(value) else None
