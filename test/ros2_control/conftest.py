"""The C++ package ros2_control/: its host of the law is compiled and run without ROS where a compiler is."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

PACKAGE = Path(__file__).parents[2] / 'ros2_control'
SOURCES = ('src/python.cpp', 'src/law_host.cpp', 'test/law_host_trial.cpp')
WARNINGS = ('-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Werror')


def missing_tools():
    """What is needed to compile the host and is not there."""
    library = Path(sysconfig.get_config_var('LIBDIR') or '/nowhere')
    name = sysconfig.get_config_var('LDLIBRARY') or ''
    needed = {
        'g++': shutil.which('g++'),
        'Python.h': (Path(sysconfig.get_path('include')) / 'Python.h').exists(),
        'a shared libpython': name.endswith('.so') and (library / name).exists(),
    }
    return [what for what, there in needed.items() if not there]


def compiled(out, *options):
    """Compile `law_host_trial` to `out`; return it. Raises AssertionError with the compiler's words."""
    library = sysconfig.get_config_var('LIBDIR')
    command = ['g++', '-std=c++17', *options, f'-I{PACKAGE}/include', f'-I{PACKAGE}/src']
    command += [
        '-isystem',
        sysconfig.get_path('include'),
        *(str(PACKAGE / source) for source in SOURCES),
        '-o',
        str(out),
    ]
    command += [f'-L{library}', f'-lpython{sys.version_info.major}.{sys.version_info.minor}', f'-Wl,-rpath,{library}']
    built = subprocess.run([*command, '-ldl', '-lpthread'], capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    return out


@pytest.fixture(scope='session')
def trial_program(tmp_path_factory):
    """`law_host_trial`, compiled without a warning; skips with what is missing."""
    if missing := missing_tools():
        pytest.skip(f'not installed: {", ".join(missing)}')
    return compiled(tmp_path_factory.mktemp('trial') / 'law_host_trial', '-O1', *WARNINGS)


class Trial:
    """One run of the program: its answer, and per step phase, outcome and command (N, n)."""

    def __init__(self, answer, rows):
        self.answer = answer
        self.phase, self.outcome, self.command = rows[:, 0], rows[:, 1], rows[:, 2:]


def run_trial(program, folder, urdf, description, parameters, motion, *options, path=(), begin=None):
    """Run the program on a motion, rows as `law_host_trial.cpp` has them; return the completed process."""
    if begin is not None:
        np.ascontiguousarray(begin, dtype=float).tofile(folder / 'begin.bin')
    (folder / 'robot.urdf').write_text(urdf, encoding='utf-8')
    (folder / 'description.yaml').write_text(description, encoding='utf-8')
    (folder / 'parameters.txt').write_text(''.join(map(_line, parameters.items())), encoding='utf-8')
    np.ascontiguousarray(motion, dtype=float).tofile(folder / 'motion.bin')
    paths = [*map(str, path), os.environ.get('PYTHONPATH', '')]
    environment = {**os.environ, 'VIRTUAL_ENV': sys.prefix, 'PYTHONPATH': os.pathsep.join(filter(None, paths))}
    command = [program, folder, *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def play(trial_program, tmp_path):
    """Play a motion in the host."""

    def run(*given, path=(), refused=False, begin=None):
        done = run_trial(trial_program, tmp_path, *given, path=path, begin=begin)
        assert done.returncode == refused, done.stderr
        if refused:
            return done.stderr
        answer = json.loads(done.stdout)
        rows = min(len(given[3]), answer['steps'])
        return Trial(answer, np.fromfile(tmp_path / 'commands.bin').reshape(rows, -1))

    return run


def _line(item):
    name, value = item
    if isinstance(value, list):
        return f'{name}\tstrings\t{",".join(value)}\n'
    if isinstance(value, bool):
        return f'{name}\tbool\t{str(value).lower()}\n'
    kind = {int: 'int', float: 'double', str: 'string'}[type(value)]
    return f'{name}\t{kind}\t{value}\n'
