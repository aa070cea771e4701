"""What `make` says in the first minute.

Progress, where the log is when something fails, and what to install when something is missing.
"""

import os
import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / 'tools'

pytestmark = pytest.mark.skipif(not TOOLS.is_dir(), reason='tools/ is not beside the tests')


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


@pytest.fixture
def python(tmp_path):
    """A function that writes an interpreter of a version, with or without the modules of virtual environments."""

    def write(version, venv):
        path = tmp_path / 'python3'
        old = 'exit 1' if version < (3, 10) else 'exit 0'
        path.write_text(
            '#!/bin/sh\ncase "$2" in\n'
            f'  *version_info\\ \\<*) {old} ;;\n'
            f'  *ensurepip*) exit {0 if venv else 1} ;;\n'
            f'  *version_info*) echo {version[0]}.{version[1]} ;;\nesac\n'
            f'[ "$1" = -V ] && echo Python {version[0]}.{version[1]}.1\nexit 0\n'
        )
        path.chmod(0o755)
        return path

    return write


def test_a_python_that_can_make_environments_is_taken(python):
    done = run(TOOLS / 'require_python.sh', python((3, 12), venv=True))
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


@pytest.mark.parametrize(
    ('version', 'words'),
    [
        ((3, 12), ('found them missing', 'sudo apt install python3.12-venv')),
        ((3, 8), ('expected Python 3.10 or newer, found Python 3.8.1',)),
        (None, ('sudo apt install python3 python3-venv',)),
    ],
)
def test_what_is_missing_is_said_with_what_to_install(python, tmp_path, version, words):
    there = python(version, venv=version < (3, 10)) if version else tmp_path / 'no-python'
    done = run(TOOLS / 'require_python.sh', there)
    assert done.returncode == 2
    assert all(part in done.stderr for part in words)


def test_progress_keeps_the_chatter_in_a_log(tmp_path):
    log = tmp_path / 'log' / 'pip.log'
    done = run(TOOLS / 'with_progress.sh', 'Installing', log, 'sh', '-c', 'echo Collecting numpy; echo chatter >&2')
    assert done.returncode == 0
    assert done.stdout.startswith('Installing ...\n')
    assert 'done in' in done.stdout
    assert 'chatter' not in done.stdout + done.stderr
    assert log.read_text() == 'Collecting numpy\nchatter\n'


def test_a_failure_has_its_status_the_end_of_the_log_and_its_name(tmp_path):
    log = tmp_path / 'pip.log'
    done = run(TOOLS / 'with_progress.sh', 'Installing', log, 'sh', '-c', 'echo no such package; exit 3')
    assert done.returncode == 3
    assert f'Installing: failed. The last lines of {log}:' in done.stderr
    assert 'no such package' in done.stderr


def selected(target, **marks):
    """Whether the tests with these marks are run by a target of the Makefile."""
    recipe = re.search(rf"^{target}: env\n\t.* -m '([^']+)'", (TOOLS.parent / 'Makefile').read_text(), re.MULTILINE)
    return eval(recipe.group(1), {'__builtins__': {}}, marks)


@pytest.mark.parametrize(('slow', 'nightly'), product([False, True], repeat=2))
def test_quick_and_slow_tests_are_all_but_the_nightly_ones_and_none_runs_twice(slow, nightly):
    runs = [target for target in ('test', 'test-slow') if selected(target, slow=slow, nightly=nightly)]
    assert runs == ([] if nightly else ['test-slow' if slow else 'test'])


def test_continuous_integration_runs_linters_quick_and_slow_tests():
    script = (TOOLS.parent / '.ci' / 'run').read_text()
    assert re.findall(r'^make (.*)$', script, re.MULTILINE) == ['--keep-going lint test test-slow $controllers']


@pytest.mark.parametrize(
    ('name', 'is_source'),
    [('src/arm/new.py', True), ('src/arm.egg-info/PKG-INFO', False), ('src/arm/.new.py.swp', False)],
)
def test_env_reinstalls_after_a_change_of_sources_and_of_nothing_else(tmp_path, name, is_source):
    needed = ('constraints.txt', 'package.xml', 'pyproject.toml', 'setup.cfg', 'setup.py', 'README.md')
    installed = ('src/arm/__init__.py', '.venv/.dependencies', '.venv/.installed')
    for when, path in enumerate((*needed, *installed, name)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
        os.utime(tmp_path / path, (when, when))
    makefile = TOOLS.parent / 'Makefile'
    assert run('make', '--question', '-f', makefile, 'env', cwd=tmp_path).returncode == is_source
