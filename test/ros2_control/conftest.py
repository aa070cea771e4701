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


@pytest.fixture(scope='session')
def trial_program(tmp_path_factory):
    """`law_host_trial`, compiled; skips with what is missing."""
    library = Path(sysconfig.get_config_var('LIBDIR') or '/nowhere')
    name = sysconfig.get_config_var('LDLIBRARY') or ''
    version = f'python{sys.version_info.major}.{sys.version_info.minor}'
    missing = [
        what
        for what, there in (
            ('g++', shutil.which('g++')),
            ('Python.h', (Path(sysconfig.get_path('include')) / 'Python.h').exists()),
            (f'lib{version}.so', name.endswith('.so') and (library / name).exists()),
        )
        if not there
    ]
    if missing:
        pytest.skip(f'not installed: {", ".join(missing)}')
    out = tmp_path_factory.mktemp('trial') / 'law_host_trial'
    command = ['g++', '-std=c++17', '-O1', *WARNINGS, f'-I{PACKAGE}/include', f'-I{PACKAGE}/src']
    command += ['-isystem', sysconfig.get_path('include'), *(str(PACKAGE / source) for source in SOURCES)]
    command += ['-o', str(out), f'-L{library}', f'-l{version}', f'-Wl,-rpath,{library}', '-ldl', '-lpthread']
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr
    return out


class Trial:
    """One run of the program: its answer, and per step phase, outcome and command (N, n)."""

    def __init__(self, answer, rows):
        self.answer = answer
        self.phase, self.outcome, self.command = rows[:, 0], rows[:, 1], rows[:, 2:]


@pytest.fixture
def play(trial_program, tmp_path):
    """Play a motion, rows as `law_host_trial.cpp` has them, in the host."""

    def run(urdf, description, parameters, motion, *options, path=(), refused=False):
        (tmp_path / 'robot.urdf').write_text(urdf, encoding='utf-8')
        (tmp_path / 'description.yaml').write_text(description, encoding='utf-8')
        (tmp_path / 'parameters.txt').write_text(''.join(map(_line, parameters.items())), encoding='utf-8')
        np.ascontiguousarray(motion, dtype=float).tofile(tmp_path / 'motion.bin')
        paths = [*map(str, path), os.environ.get('PYTHONPATH', '')]
        environment = {**os.environ, 'VIRTUAL_ENV': sys.prefix, 'PYTHONPATH': os.pathsep.join(filter(None, paths))}
        done = subprocess.run(
            [trial_program, tmp_path, *map(str, options)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=600,
        )
        if refused:
            assert done.returncode == 1, done.stderr
            return done.stderr
        assert not done.returncode, done.stderr
        answer = json.loads(done.stdout)
        return Trial(answer, np.fromfile(tmp_path / 'commands.bin').reshape(min(len(motion), answer['steps']), -1))

    return run


def _line(item):
    name, value = item
    if isinstance(value, bool):
        return f'{name}\tbool\t{str(value).lower()}\n'
    kind = type(value).__name__.replace('float', 'double').replace('str', 'string')
    return (
        f'{name}\tstrings\t{",".join(value)}\n'
        if isinstance(value, list)
        else f'{name}\t{kind}\t{value!r}\n'.replace("'", '')
    )
