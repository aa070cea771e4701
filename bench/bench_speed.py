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

"""Speed offline: processor time, beside a peer in the same process and run, and how it grows.

Wall time says nothing on a machine that others use; ratios of processor time in one process say most of what there is
to say. `bench_speed.py batch growth …` prints parts of it.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio
from tables import Table

from joint_dynamics.arm.terms import hysteresis_term
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.triangles import triangulate
from joint_dynamics.recording.bag import read_bag
from joint_dynamics.recording.samples import Samples
from joint_dynamics.robot import RobotModel

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
HALF = np.pi / 2
UR5E = [(0, 0, 0.1625), (HALF, 0, 0), (0, -0.425, 0), (0, -0.3922, 0.1333), (HALF, 0, 0.0997), (-HALF, 0, 0.0996)]
REPEATS = 3


def robot(joints=6):
    """The UR5e, or as many of its joints over and over again."""
    rows = [UR5E[k % len(UR5E)] for k in range(joints)]
    return RobotModel.from_mdh({'joints': [{'alpha': alpha, 'a': a, 'd': d, 'theta': 0.0} for alpha, a, d in rows]})


def observation(model, samples):
    """Filtered data as they come out of the offline signals: float64 arrays, nothing else."""
    rng = np.random.default_rng(0)
    q, dq, ddq = model.random_states(samples, rng)
    time_axis, tau = np.arange(samples) * 1e-3, rng.normal(size=q.shape)
    return Observation('bench', time_axis, q, dq, ddq, q, dq, ddq, tau, None, None, np.full(model.n, True))


def processor(function, *arguments, repeats=REPEATS):
    """Least processor time [s] of some calls."""
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        function(*arguments)
        best = min(best, time.process_time() - began)
    return best


def children(command, repeats=REPEATS, **keys):
    """Least processor time, user and system [s], of a command."""
    best = np.inf
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, **keys)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def to_wls(model, data):
    return wls(triangulate(Problem(model, [data]).blocks()))


def pinocchio_loop(model, data):
    """Nothing but the regressor, sample by sample in compiled code: no columns for friction, no solution."""
    workspace = model.pinocchio.createData()
    for state in zip(data.q, data.dq, data.ddq, strict=True):
        pinocchio.computeJointTorqueRegressor(model.pinocchio, workspace, *state)


def with_kernel(model):
    """Return the model, in a process that has worked so much that it has loaded the kernel."""
    to_wls(model, observation(model, 150_000))
    return model


def resident(kind):
    """Resident memory of this process, of now (`VmRSS`) or the most since `forget_peak` (`VmHWM`) [MB]."""
    status = Path('/proc/self/status').read_text(encoding='ascii')
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(kind))


def forget_peak():
    """Begin anew with the most memory so far (Linux)."""
    Path('/proc/self/clear_refs').write_text('5', encoding='ascii')


LESS_DATA = """
import sys
sys.path.insert(0, {folder!r})
import bench_speed as bench
model = bench.with_kernel(bench.robot())
data = bench.observation(model, {samples})
bench.forget_peak()
bench.to_wls(model, data)
print(bench.resident('VmHWM') - sum(array.nbytes for array in (data.time, data.q, data.dq, data.ddq, data.tau)) / 2**20)
"""


def memory_less_data(samples):
    """Peak resident memory while solving, less the data [MB]: interpreter, libraries, the kernel and what it works on.

    In a process of its own that has the kernel loaded; NaN where the system does not tell.
    """
    if not Path('/proc/self/clear_refs').exists():
        return float('nan')
    code = LESS_DATA.format(folder=str(Path(__file__).parent), samples=samples)
    return float(subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True).stdout)


def batch():
    """Filtered data to WLS against pinocchio's loop, against samples."""
    model = with_kernel(robot())
    table = Table(
        'speed',
        'samples',
        "Filtered data of six joints to WLS, processor time in s, beside pinocchio's regressor loop alone",
        {
            'samples': ',',
            'joint_dynamics': '.3f',
            'pinocchio': '.3f',
            'ratio': '.2f',
            'memory without the data, MB': '.1f',
        },
    )
    for samples in (10_000, 100_000, 1_000_000):
        data = observation(model, samples)
        repeats = REPEATS if samples <= 100_000 else 1
        ours, loop = (processor(run, model, data, repeats=repeats) for run in (to_wls, pinocchio_loop))
        table.row(samples, ours, loop, ours / loop, memory_less_data(samples))
    table.keep()


FRESH = """
import sys, time
sys.path.insert(0, {folder!r})
import bench_speed as bench
model = bench.robot()
model.base_parameters()
data = bench.observation(model, {samples})
before = bench.resident('VmRSS')
bench.forget_peak()
began = time.process_time()
bench.to_wls(model, data)
print(time.process_time() - began, bench.resident('VmHWM') - before, 'numba' in sys.modules)
"""


def fresh():
    """The first call of a process, with nothing compiled on disk and with all: processor time and memory."""
    table = Table(
        'speed',
        'first',
        'The first call of a process, with and without compiled code on disk',
        {'samples': ',', 'compiled before': '', 's': '.3f', 'memory above the data, MB': '.1f', 'numba': ''},
    )
    for samples in (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as cache:
            for state in ('no', 'yes'):
                code = FRESH.format(folder=str(Path(__file__).parent), samples=samples)
                done = subprocess.run(
                    [sys.executable, '-c', code],
                    check=True,
                    capture_output=True,
                    text=True,
                    env={**os.environ, 'NUMBA_CACHE_DIR': cache},
                )
                seconds, memory, loaded = done.stdout.split()
                used = 'used' if loaded == 'True' else 'not used'
                table.row(samples, state, float(seconds), float(memory), used)
    table.keep()


def growth():
    """Against joints, and against columns of Maxwell-slip elements."""
    samples = 20_000
    with_kernel(robot())
    columns = {'columns': '', 'joint_dynamics': '.3f', 'pinocchio': '.3f', 'ratio': '.2f'}
    caption = f"{samples:,} samples to WLS, processor time in s, beside pinocchio's regressor loop alone"
    table = Table('speed', 'joints', caption, {'joints': '', **columns})
    for joints in (2, 4, 6, 7, 10, 14):
        model = robot(joints)
        model.base_parameters()
        data = observation(model, samples)
        ours, loop = processor(to_wls, model, data), processor(pinocchio_loop, model, data)
        table.row(joints, model.base_parameters().count, ours, loop, ours / loop)
    table.keep()
    model = robot()
    data = observation(model, samples)
    loop = processor(pinocchio_loop, model, data)
    table = Table('speed', 'hysteresis', f'{caption}; six joints', {'Maxwell-slip elements per joint': '', **columns})
    for elements in (0, 1, 2, 4):
        terms = [hysteresis_term(name, 0.01 * 2**k) for k in range(elements) for name in model.joint_names]
        count = Problem(model, [data], terms).columns
        ours = processor(lambda terms=terms: wls(triangulate(Problem(model, [data], terms).blocks())))
        table.row(elements, count, ours, loop, ours / loop)
    table.keep()
    table = Table('speed', 'recordings', f'{caption}; six joints', {'recordings': '', **columns})
    for recordings in (1, 4, 16, 64):
        parts = [observation(model, samples // recordings) for _ in range(recordings)]
        ours = processor(lambda parts=parts: wls(triangulate(Problem(model, parts).blocks())))
        table.row(recordings, model.base_parameters().count, ours, loop, ours / loop)
    table.keep()


def excitation():
    """One evaluation of the search's objective with its gradient against harmonics."""
    from joint_dynamics.excitation import ExcitationSettings
    from joint_dynamics.excitation.problem import ExcitationProblem
    from joint_dynamics.simulation import ur5e_urdf

    model = RobotModel.load(ur5e_urdf())
    table = Table(
        'speed',
        'objective',
        "The excitation's objective with its gradient, UR5e, all limits, processor time",
        {'harmonics': '', 'unknowns': '', 'samples': '', 'ms': '.2f', "of pinocchio's loop": '.1f'},
    )
    for harmonics in (3, 5, 8, 12):
        problem = ExcitationProblem(model, replace(ExcitationSettings(), harmonics=harmonics))
        x = 0.2 * np.random.default_rng(0).standard_normal(problem.size)
        ours = processor(problem.objective, x, 8.0, 1e3)
        samples = len(problem.times)
        data = observation(model, samples)
        loop = processor(pinocchio_loop, model, data)
        table.row(harmonics, problem.size, samples, 1e3 * ours, ours / loop)
    table.keep()


def command():
    """`identify` on the TX40, with report and without, and its bag."""
    bag, robot = DATA / 'tx40' / 'exciting_traj', DATA / 'tx40' / 'mdh.yaml'
    if not bag.exists():
        print(f'\n{bag} is not there: the command is left out')
        return
    settings = {
        'joint_states': {'topic': '/joint_states', 'effort': 'none'},
        'motor_states': {'topic': '/motor_states', 'effort': 'torque'},
    }

    def read():
        builder = Samples(None, settings)
        read_bag(bag, builder)
        return sum(builder.counts.values())

    messages = read()
    print(f'\nreading the bag: {messages / processor(read):,.0f} messages per second of processor time ({messages:,})')
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as compiled:
        # an installation has its bytecode, whatever this environment says of a source tree
        known = {key: value for key, value in os.environ.items() if key != 'PYTHONDONTWRITEBYTECODE'}
        known['PYTHONPYCACHEPREFIX'] = compiled

        def least(line):
            children([sys.executable, *line], repeats=1, env=known)
            return children([sys.executable, *line], env=known)

        floor = least(['-c', 'import numpy, scipy.linalg, pinocchio'])
        table = Table(
            'speed',
            'command',
            'joint-dynamics identify on the TX40 (4.5 s, six joints), processor time of the process',
            {'command': '', 's': '.2f'},
        )
        table.row('import numpy, scipy.linalg, pinocchio', floor)
        table.row('--help', least(['-m', 'joint_dynamics.cli.main', '--help']))
        command_line = ['-m', 'joint_dynamics.cli.main', 'identify', str(bag), '--robot', str(robot), '--out', out]
        for options in ([], ['--no-report']):
            table.row(' '.join(['identify', *options]), least([*command_line, *options]))
        table.keep()


PARTS = (batch, fresh, growth, excitation, command)


def main():
    wanted = [word for word in sys.argv[1:] if word in {part.__name__ for part in PARTS}]
    for part in PARTS:
        if not wanted or part.__name__ in wanted:
            part()


if __name__ == '__main__':
    main()
