"""Just-in-time compilation of kernels by numba, kept on disk from one start to the next.

numba takes a kept kernel for fresh as long as the file of that one function is unchanged; kernels call each other
across files, and an edit or an upgrade of one would go unnoticed in the others. So every kernel is stamped with the
text of all files of the package that hold kernels. Importing this module imports numba.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def stamp_of(package: Path) -> str:
    """Return the digest of all files below a folder that hold kernels, or the constants they are compiled with."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob('*.py')):
        text = path.read_bytes()
        if b'@compiled' in text or path.stem == 'packed':
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
        cache_file = kernel._cache._cache_file
        if not hasattr(cache_file, '_source_stamp'):
            raise AttributeError('_source_stamp')
    except (RuntimeError, AttributeError):
        # No place to keep it in (a read-only installation without a home), or a numba that keeps its books in another
        # way.
        return numba.njit(**options)(function)
    cache_file._source_stamp = STAMP
    cache_file._load_index = _readable(cache_file._load_index)
    return kernel


def _readable(load: Callable[[], dict[Any, str]]) -> Callable[[], dict[Any, str]]:
    """Take an index that cannot be read for one that is stale.

    It names the types of arguments. After an upgrade such a class may be somewhere else, or nowhere, and numba would
    only look at the stamp after that.
    """

    def found() -> dict[Any, str]:
        try:
            return load()
        except (AttributeError, ImportError, pickle.UnpicklingError, EOFError):
            return {}

    return found
