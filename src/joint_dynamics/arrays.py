"""Types of arrays as signatures name them; shapes and units are in the docstrings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
ComplexArray: TypeAlias = NDArray[np.complexfloating[Any, Any]]
