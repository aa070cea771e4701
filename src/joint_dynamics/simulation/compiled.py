"""Just-in-time compilation of the plant's kernels, kept on disk from one start to the next.

numba takes a kept kernel for fresh as long as the file of that one function is unchanged; kernels here call each other
across files, and an edit or an upgrade of one would go unnoticed in the others. So every kernel is stamped with the
text of all files that hold kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core import types


def _stamp() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob('*.py')):
        text = path.read_bytes()
        # `packed` holds no kernel, but the constants they are compiled with.
        if b'@compiled' in text or path.stem == 'packed':
            digest.update(text)
    return digest.hexdigest()


STAMP = _stamp()
#: Kernels are inlined: their arguments are tuples of many arrays, and a call that stays one copies all and counts a
#: reference to each.
OPTIONS: dict[str, Any] = {'error_model': 'numpy', 'forceinline': True}


def compiled(function: Callable[..., Any]) -> Any:
    """Return `function` compiled by numba on first use.

    Kept on disk where that is possible and safe, else for this process only.
    """
    try:
        kernel: Any = numba.njit(cache=True, **OPTIONS)(function)
        cache_file = kernel._cache._cache_file
        if not hasattr(cache_file, '_source_stamp'):
            raise AttributeError('_source_stamp')
    except (RuntimeError, AttributeError):
        # No place to keep it in (a read-only installation without a home), or a numba that keeps its books in another
        # way.
        return numba.njit(**OPTIONS)(function)
    cache_file._source_stamp = STAMP
    return kernel


@numba.extending.intrinsic
def call_outside(typing_context: Any, function: Any, model: Any, data: Any) -> Any:
    """Call the C function void(void *model, void *data) at address `function`; a kernel with numbers can be cached."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        callee = builder.inttoptr(arguments[0], ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer())
        builder.call(callee, [builder.inttoptr(argument, pointer) for argument in arguments[1:]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate
