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

"""Processor time and memory of `identify`, which depend little on other processes: `python bench/bench_speed.py`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from plants import DATA
from tables import Table

from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

REPEATS = 3
RATE = 1000.0  # Hz, of the recordings of the UR5e


def recording_of(count):
    """Return a recording of a rigid UR5e on a random Fourier series at 1 kHz."""
    model, rng, t = RobotModel.load(ur5e_urdf()), np.random.default_rng(3), np.arange(count) / RATE
    q, dq, ddq = np.zeros((3, count, model.n))
    for k in 2 * np.pi * 0.1 * np.arange(1, 6):
        a, b = 0.3 * rng.normal(size=(2, model.n))
        sine, cosine = np.sin(k * t)[:, None], np.cos(k * t)[:, None]
        q += (sine * a - cosine * b) / k
        dq += cosine * a + sine * b
        ddq += k * (cosine * b - sine * a)
    tau = model.inverse_dynamics(q, dq, ddq) + 5.0 * np.sign(dq) + 6.0 * dq + 0.5 * ddq
    tau += 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return Recording(model.joint_names, t, q, tau=tau)


MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.returncode)
"""


def spent(words, environment, repeats=REPEATS):
    """Return the least processor time [s] and memory [MB] of a Python process; status 3 is a result not believed."""
    found = []
    for _ in range(repeats):
        command = [sys.executable, '-c', MEASURED, sys.executable, *words]
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout.split()
        if done[2] not in ('0', '3'):
            raise RuntimeError(f'{" ".join(words)}: expected status 0 or 3, found {done[2]}')
        found.append((float(done[0]), float(done[1])))
    return np.min(found, axis=0)


def main():
    """`identify --no-report` on the TX40 and on recordings of a UR5e at 1 kHz."""
    table = Table(
        'speed',
        'command',
        'joint-dynamics identify --no-report, processor time and memory of the process',
        {'recording': '', 's': '.2f', 'MB': '.0f'},
    )
    with tempfile.TemporaryDirectory() as folder:
        # an installation has its bytecode
        environment = {key: value for key, value in os.environ.items() if key != 'PYTHONDONTWRITEBYTECODE'}
        environment |= {'PYTHONPYCACHEPREFIX': f'{folder}/compiled', 'OPENBLAS_NUM_THREADS': '1'}
        spent(['-m', 'joint_dynamics.cli.main', '--help'], environment, 1)
        libraries = ['-c', 'import numpy, scipy.linalg, pinocchio']
        table.row('none: import of numpy, scipy.linalg, pinocchio', *spent(libraries, environment))
        cases = [('TX40, 4.5 s', DATA / 'tx40' / 'exciting_traj', DATA / 'tx40' / 'mdh.yaml')] if DATA.is_dir() else []
        for count in (100_000, 1_000_000):
            path = Path(folder) / f'{count}.csv'
            recording_of(count).save_csv(path)
            cases.append((f'UR5e, CSV of {count:,} samples', path, ur5e_urdf()))
        for name, recording, robot in cases:
            words = ['-m', 'joint_dynamics.cli.main', 'identify', recording, '--robot', robot, '--no-report']
            words = [*map(str, words), '--out', f'{folder}/out']
            table.row(name, *spent(words, environment, 1 if '000,000' in name else REPEATS))
    table.keep()


if __name__ == '__main__':
    sys.exit(main())
