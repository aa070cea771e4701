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

"""Cached kernels follow the sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

compilation = pytest.importorskip('joint_dynamics.compilation', reason='numba is not installed')


def test_the_digest_changes_with_files_that_hold_kernels_alone(tmp_path):
    (tmp_path / 'inner').mkdir()
    kernel, other = tmp_path / 'inner' / 'one.py', tmp_path / 'other.py'
    kernel.write_text('@compiled\ndef twice(x):\n    return 2 * x\n')
    other.write_text('VALUE = 1\n')
    before = compilation.digest_of(tmp_path)
    other.write_text('VALUE = 2\n')
    assert compilation.digest_of(tmp_path) == before
    kernel.write_text('@compiled\ndef twice(x):\n    return 2.0 * x\n')
    assert compilation.digest_of(tmp_path) != before


@pytest.fixture
def package(tmp_path):
    """A package of that name which has its compilation alone."""
    folder = tmp_path / 'joint_dynamics'
    folder.mkdir()
    (folder / '__init__.py').write_text('')
    shutil.copy(Path(compilation.__file__), folder)
    return folder


@pytest.fixture
def run(tmp_path):
    """What a program with it prints, as a number; kernels are kept from one run to the next."""
    environment = {**os.environ, 'PYTHONPATH': str(tmp_path), 'NUMBA_CACHE_DIR': str(tmp_path / 'cache')}

    def number(program):
        words = [sys.executable, '-c', program]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    return number


def test_an_edit_of_a_called_file_is_noticed(package, run):
    """An edit of the called file alone: numba by itself would use its old cache."""
    header = 'from joint_dynamics.compilation import compiled\n'
    (package / 'outer.py').write_text(
        f'{header}from joint_dynamics.inner import factor\n\n\n@compiled\ndef scaled(x):\n    return factor() * x\n'
    )
    found = []
    for number in (2.0, 3.0):
        (package / 'inner.py').write_text(f'{header}\n\n@compiled\ndef factor():\n    return {number}\n')
        found.append(run('from joint_dynamics.outer import scaled; print(scaled(1.0))'))
    assert found == [2.0, 3.0]


@pytest.mark.slow
def test_kernel_of_a_moved_class_is_compiled_anew(package, run, tmp_path):
    """As after an upgrade: the old cache, beside the new files, names a class of the past."""
    kernel = 'from joint_dynamics.compilation import compiled\n\n\n@compiled\ndef first(pair):\n    return pair.a\n'
    pair = 'from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: int\n    b: int\n\n\n'
    for place in ('outer', 'types_of'):
        # the kernel on the same line: numba names its cache by it
        above = pair if place == 'outer' else '\n' * pair.count('\n')
        (package / 'outer.py').write_text(above + kernel)
        (package / 'types_of.py').write_text(pair)
        program = f'from joint_dynamics import {place}, outer; print(outer.first({place}.Pair(3, 4)))'
        assert [run(program), run(program)] == [3.0, 3.0]
    assert list((tmp_path / 'cache').rglob('*.nbi'))


def test_kernels_compile_without_a_writable_folder(package, tmp_path):
    """As for a read-only installation of a user without a home."""
    (package / 'one.py').write_text(
        'from joint_dynamics.compilation import compiled\n\n\n@compiled\ndef twice(x):\n    return 2.0 * x\n'
    )
    nowhere = tmp_path / 'file'
    nowhere.write_text('')
    environment = {**os.environ, 'PYTHONPATH': str(tmp_path), 'NUMBA_CACHE_DIR': str(nowhere), 'HOME': str(nowhere)}
    program = 'import os; os.access = lambda *given: False; from joint_dynamics.one import twice; print(twice(1.0))'
    done = subprocess.run([sys.executable, '-c', program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == '2.0', done.stderr
