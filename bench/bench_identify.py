"""From filtered data to the WLS result.

Time and memory against length, beside a loop over pinocchio's own regressor (the floor).
"""

import dataclasses
import statistics
import subprocess
import sys
import time

import numpy as np
import pinocchio

from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.least_squares import triangulate, wls
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot import RobotModel

HALF = np.pi / 2
UR5E = [(0, 0, 0.1625), (HALF, 0, 0), (0, -0.425, 0), (0, -0.3922, 0.1333), (HALF, 0, 0.0997), (-HALF, 0, 0.0996)]
RUNS = 5


def robot():
    return RobotModel.from_mdh({'joints': [{'alpha': alpha, 'a': a, 'd': d, 'theta': 0.0} for alpha, a, d in UR5E]})


def observation(model, samples):
    """Filtered data as they come out of the offline signals: float64 arrays, nothing else."""
    rng = np.random.default_rng(0)
    q, dq, ddq = model.random_states(samples, rng)
    optional = {entry.name: None for entry in dataclasses.fields(Observation)}
    return Observation(
        **{
            **optional,
            'name': 'bench',
            'time': np.arange(samples) * 1e-3,
            'q': q,
            'dq': dq,
            'ddq': ddq,
            'dtheta': dq,
            'ddtheta': ddq,
            'tau': rng.normal(size=q.shape),
        }
    )


def identify(model, data):
    return wls(triangulate(Problem(model, [data]).blocks()))


def pinocchio_loop(model, data):
    """Nothing but the regressor, sample by sample in compiled code: no columns for friction, no solution."""
    workspace = model.pinocchio.createData()
    for state in zip(data.q, data.dq, data.ddq, strict=True):
        pinocchio.computeJointTorqueRegressor(model.pinocchio, workspace, *state)


def median_seconds(function, *arguments, runs=RUNS):
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        function(*arguments)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def memory_above_data(samples):
    """Peak resident memory of a fresh process above what it held with the data loaded [MB]."""
    code = f"""
import resource, sys
sys.path.insert(0, {str(__file__.rsplit('/', 1)[0])!r})
import bench_identify as bench
model = bench.robot()
model.base_parameters()
bench.identify(model, bench.observation(model, 3000))
data = bench.observation(model, {samples})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
bench.identify(model, data)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    return float(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout)


def main():
    model = robot()
    model.base_parameters()
    print(
        f'{"samples":>10} {"filtered data to WLS [s]":>26} {"pinocchio regressor loop [s]":>30}'
        f' {"memory above data [MB]":>24}'
    )
    for samples in (10_000, 100_000, 1_000_000):
        data = observation(model, samples)
        runs = RUNS if samples <= 100_000 else 1
        ours, floor = (
            median_seconds(identify, model, data, runs=runs),
            median_seconds(pinocchio_loop, model, data, runs=runs),
        )
        del data
        print(f'{samples:>10} {ours:>26.3f} {floor:>30.3f} {memory_above_data(samples):>24.1f}', flush=True)
    help_seconds = median_seconds(
        lambda: subprocess.run(
            [sys.executable, '-m', 'joint_dynamics.cli.main', '--help'], capture_output=True, check=True
        )
    )
    floor = median_seconds(lambda: subprocess.run([sys.executable, '-c', 'pass'], check=True))
    print(f'joint-dynamics --help: {help_seconds:.3f} s (an empty Python: {floor:.3f} s; goal 0.5 s)')
    print(
        'goal at 100,000 samples: at most 1 s and 100 MB; ten times the samples, ten times the time and no more memory'
    )


if __name__ == '__main__':
    main()
