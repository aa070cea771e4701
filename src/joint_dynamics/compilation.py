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

"""Just-in-time compilation of kernels by numba, kept on disk from one start to the next.

numba considers a kept kernel fresh as long as the file of that one function is unchanged; kernels call each other
across files, and an edit or an upgrade of one would go unnoticed in the others. So the kernels of each state of these
files have a folder of their own. Importing this module imports numba.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba

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
