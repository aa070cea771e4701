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
from numba.core import sigutils
from numba.core.ccallback import CFunc


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
        _stamp(kernel._cache._cache_file)
    except (RuntimeError, AttributeError):
        # No place to keep it in (a read-only installation without a home), or a numba that keeps its books in another
        # way.
        return numba.njit(**options)(function)
    return kernel


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

    def found() -> dict[Any, str]:
        try:
            return load()
        except (AttributeError, ImportError, pickle.UnpicklingError, EOFError):
            return {}

    return found
