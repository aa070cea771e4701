"""How the plant's kernels are compiled, and how they call C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import types

from joint_dynamics.compilation import compiled as compiled_by_numba


def compiled(function: Callable[..., Any]) -> Any:
    """Return `function` compiled on first use, and inlined where other kernels call it.

    Arguments are tuples of many arrays, and a call that stays one copies all and counts a reference to each.
    """
    return compiled_by_numba(function, forceinline=True)


@numba.extending.intrinsic
def call_outside(typing_context: Any, function: Any, model: Any, data: Any) -> Any:
    """Call the C function void(void *model, void *data) at address `function`; a kernel with numbers can be cached."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        callee = builder.inttoptr(arguments[0], ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer())
        builder.call(callee, [builder.inttoptr(argument, pointer) for argument in arguments[1:]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate
