"""Just-in-time compilation of kernels by numba, kept on disk from one start to the next.

numba considers a kept kernel fresh as long as the file of that one function is unchanged; kernels call each other
across files, and an edit or an upgrade of one would go unnoticed in the others. So the kernels of each state of these
files have a folder of their own. Importing this module imports numba.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba import types

CONSTANTS = ('drives', 'version')
"""Files without kernels whose constants are compiled into kernels, or that tell one release from another."""


def digest_of(package: Path) -> str:
    """Return the digest of all files below a folder that hold kernels, or the constants they are compiled with."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob('*.py')):
        text = path.read_bytes()
        if b'@compiled' in text or b'@inlined' in text or path.stem in CONSTANTS:
            digest.update(text)
    return digest.hexdigest()


def _kept_in() -> str:
    """Return the folder of the kernels: $NUMBA_CACHE_DIR, else beside the package, else in the home directory."""
    package = Path(__file__).parent
    home = Path(os.path.expanduser('~')).absolute()
    beside = package / '__pycache__' if os.access(package, os.W_OK) else home / '.cache' / 'joint_dynamics'
    return str(Path(numba.config.CACHE_DIR or beside) / f'kernels-{digest_of(package)[:16]}')  # type: ignore[attr-defined]


KEPT_IN = _kept_in()


@contextmanager
def _keeping() -> Iterator[None]:
    given = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = KEPT_IN  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = given  # type: ignore[attr-defined]


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return `function` compiled by numba on first use.

    Kept on disk where that is possible, else for this process only. Numbers are divided as numpy does.

    Parameters
    ----------
    function
        the kernel.
    options
        of numba beside these.
    """
    options = {'error_model': 'numpy', **options}
    try:
        with _keeping():
            return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # No folder can be written: a read-only installation without a home.
        return numba.njit(**options)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Return `function` compiled as `compiled` does, and inlined where other kernels call it.

    Tuples of many arrays as arguments want it: a call that stays copies all and counts a reference to each.
    """
    return compiled(function, forceinline=True)


def inlined_early(function: Callable[..., Any]) -> Any:
    """Return `function` inlined before types are inferred: not compiled by itself and again in each of its callers.

    For kernels that call each other many levels deep and are called in few places.
    """
    return compiled(function, inline='always')


NUMBERS: dict[type, tuple[Any, Any]] = {float: (types.float64, ctypes.c_double), int: (types.int64, ctypes.c_int64)}


@functools.cache
def address_of(function: Callable[..., Any], *numbers: type) -> int:
    """Return the address of `int64_t function(void ** table, numbers…)`, compiled or loaded; numbers: float, int."""
    signature = types.int64(types.CPointer(types.voidptr), *(NUMBERS[kind][0] for kind in numbers))  # type: ignore[no-untyped-call]
    with _keeping():
        return int(numba.cfunc(signature, cache=True)(function).address or 0)


class Entry:
    """A compiled function that C calls, with the table of the arrays on which it works; keeps those alive.

    Parameters
    ----------
    function
        of a table of addresses and of `numbers`; it must neither allocate nor raise.
    arrays
        without gaps.
    numbers
        float or int, the types of further arguments.

    Attributes
    ----------
    address, table
        int, of the function and of its first argument.
    call
        call(numbers…) calls it, and returns what it returns.

    Raises
    ------
    ValueError
        For an array with gaps.
    """

    def __init__(self, function: Callable[..., Any], arrays: Sequence[Any], *numbers: type) -> None:
        if not all(array.flags.c_contiguous for array in arrays):
            raise ValueError(f'{function.__name__}: expected arrays without gaps')
        table: Any = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        table.arrays = tuple(arrays)  # alive as long as the table is
        self.table, self.address = ctypes.addressof(table), address_of(function, *numbers)
        # one that keeps the interpreter's lock: to give it away costs more than the work
        kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *(NUMBERS[number][1] for number in numbers))
        self.call: Callable[..., int] = functools.partial(kind(self.address), table)


def arrays_of(part: Any) -> list[Any]:
    """Return the arrays of nested tuples, in their order."""
    return [array for item in part for array in arrays_of(item)] if isinstance(part, tuple) else [part]
