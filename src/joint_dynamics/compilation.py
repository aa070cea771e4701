"""Just-in-time compilation of kernels by numba, kept on disk from one start to the next.

numba takes a kept kernel for fresh as long as the file of that one function is unchanged; kernels call each other
across files, and an edit or an upgrade of one would go unnoticed in the others. So every kernel is stamped with the
text of all files of the package that hold kernels. Importing this module imports numba.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import sigutils
from numba.core.ccallback import CFunc


def stamp_of(package: Path) -> str:
    """Return the digest of all files below a folder that hold kernels, or the constants they are compiled with."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob('*.py')):
        text = path.read_bytes()
        if b'@compiled' in text or b'@inlined' in text or path.stem == 'drives':
            digest.update(text)
    return digest.hexdigest()


STAMP = stamp_of(Path(__file__).parent)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Return `function` compiled by numba on first use.

    Kept on disk where that is possible and safe, else for this process only. Numbers are divided as numpy does.

    Parameters
    ----------
    function
        the kernel.
    options
        of numba beside these.
    """
    options = {'error_model': 'numpy', **options}
    try:
        kernel: Any = numba.njit(cache=True, **options)(function)
        _stamp(kernel._cache._cache_file)
    except (RuntimeError, AttributeError):
        # No place to keep it in (a read-only installation without a home), or a numba that keeps its books in another
        # way.
        return numba.njit(**options)(function)
    return kernel


def inlined(function: Callable[..., Any]) -> Any:
    """Return `function` compiled as `compiled` does, and inlined where other kernels call it.

    Tuples of many arrays as arguments want it: a call that stays copies all and counts a reference to each.
    """
    return compiled(function, forceinline=True)


def inlined_early(function: Callable[..., Any]) -> Any:
    """Return `function` inlined before types are inferred: not compiled by itself and again in each of its callers.

    For kernels that call each other many levels deep and are called in few places: the control loop compiles in three
    quarters of the time, the simulator, whose kernels are called in many, in four times as much.
    """
    return compiled(function, inline='always')


def entry_of(function: Callable[..., Any], signature: Any) -> Any:
    """Return `function` compiled to one that C calls, of a numba signature; kept as `compiled` does."""
    normalized: Any = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
    entry: Any = CFunc(function, normalized, {}, {})
    try:
        entry.enable_caching()
        _stamp(entry._cache._cache_file)
    except (RuntimeError, AttributeError):
        entry = CFunc(function, normalized, {}, {})
    entry.compile()
    return entry


NUMBERS: dict[type, tuple[Any, Any]] = {float: (types.float64, ctypes.c_double), int: (types.int64, ctypes.c_int64)}


@functools.cache
def address_of(function: Callable[..., Any], *numbers: type) -> int:
    """Return the address of `int64_t function(void ** table, numbers…)`, compiled or loaded; numbers: float, int."""
    signature = types.int64(types.CPointer(types.voidptr), *(NUMBERS[kind][0] for kind in numbers))  # type: ignore[no-untyped-call]
    return int(entry_of(function, signature).address)


class Entry:
    """A compiled function that C calls, with the table of the arrays on which it works; keeps those alive.

    Called from Python it costs half a microsecond, a tenth of what numba takes to look at records and named tuples.

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


def _stamp(cache_file: Any) -> None:
    if not hasattr(cache_file, '_source_stamp'):
        raise AttributeError('_source_stamp')
    cache_file._source_stamp = STAMP
    cache_file._load_index = _readable(cache_file._load_index)


def _readable(load: Callable[[], dict[Any, str]]) -> Callable[[], dict[Any, str]]:
    """Take an index that cannot be read for one that is stale.

    It names the types of arguments. After an upgrade such a class may be somewhere else, or nowhere, and numba would
    only look at the stamp after that.
    """

    def readable() -> dict[Any, str]:
        try:
            return load()
        except (AttributeError, ImportError, pickle.UnpicklingError, EOFError):
            return {}

    return readable
