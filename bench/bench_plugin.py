"""The controller plugin's host of the law (ros2_control/), without ROS: processor time and lateness of its steps.

`python bench/bench_plugin.py 1000000 300000` for a million steps as fast as they go, then 300,000 at a pace of 500 Hz
and as many at 1 kHz; both threads at SCHED_FIFO 50 where that is permitted, as the controller manager's loop. Beside
them one inverse dynamics of pinocchio, called from Python: what a machine needs for work that comes once in a while.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pinocchio
from bench_control import cycle, simulated, truth_of
from helpers import from_tests
from tables import Table

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

STEPS, PACED = 100_000, 30_000
PERIOD = 1e-3
PRIORITY = ('--priority', 50)


def described(joint_names):
    """Friction with hysteresis and stiffness for every joint, as large as a UR5e's."""
    joints = {}
    for k, name in enumerate(joint_names):
        size = 1.0 if k < 3 else 0.3
        joints[name] = {
            'rotor_inertia': {'value': 0.9 * size},
            'friction': {
                'parameters': {'F_C0': 7.0 * size, 'F_C1': 1e-3, 'F_V1': 6.0 * size, 'F_T1': -0.05, 'T_0': 30.0},
                'maxwell_slip': {'operators': 4, 'presliding': 5e-4},
            },
            'stiffness': {'coefficients': [2e4 * size, 1e8]},
        }
    return DynamicsDescription({'robot': {'joint_names': list(joint_names)}, 'joints': joints})


def inverse_dynamics(rate, calls):
    """Processor time of each call of pinocchio's rnea [µs], at `rate` Hz; 0: as fast as it goes."""
    model = RobotModel.load(ur5e_urdf()).pinocchio
    data, (q, v, a), spent = model.createData(), np.random.default_rng(0).normal(size=(3, model.nv)), []
    for _ in range(calls):
        if rate:
            time.sleep(1.0 / rate)
        begin = time.thread_time_ns()
        pinocchio.rnea(model, data, q, v, a)
        spent.append(1e-3 * (time.thread_time_ns() - begin))
    return spent


def main():
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    steps, paced = (*numbers[:2], *(STEPS, PACED)[len(numbers) :])
    trial = from_tests('ros2_control/conftest.py')
    if missing := trial.missing_tools():
        print(f'not installed: {", ".join(missing)}')
        return
    path = cycle(1)
    motion = path.sample(np.arange(0.0, path.end, PERIOD))
    names = truth_of(simulated(path)).joint_names
    count, n = len(motion), len(names)
    slow = np.full((count, 3, n), np.nan)
    slow[::100] = [[[1.0], [0.0], [30.0]]]
    blocks = [motion[:, :2], motion[:, :3], np.zeros((count, 1, n)), slow]
    rows = np.hstack([np.full((count, 1), PERIOD), np.concatenate(blocks, axis=1).reshape(count, -1)])
    table = Table(
        'plugin',
        'update',
        'Time of update() of the controller plugin, everything in it, µs',
        {'law, pace and clock': '', **dict.fromkeys(('median', '99 %', '99.9 %', 'worst'), '.0f'), 'late': ''},
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = trial.compiled(folder / 'law_host_trial', '-O2')
        for law in ('computed_torque', 'adaptive_friction'):
            given = {'law': law, 'joints': list(names), 'ramp_time': 0.5, 'feedback': True}
            given.update({f'{gain}.{joint}': value for gain, value in (('kp', 400.0), ('kd', 40.0)) for joint in names})
            runs = [('as fast as it goes', steps, ('--step-timeout', 10))]
            runs += [
                (f'{rate} Hz', paced, ('--rate', rate, '--step-timeout', 0.5 / rate, '--late-timeout', 1e9, *PRIORITY))
                for rate in (500, 1000)
            ]
            for title, wanted, options in runs:
                repeat = max(1, round(wanted / count))
                done = trial.run_trial(
                    program, folder, ur5e_urdf().read_text(), described(names).to_yaml(), given, rows, *options,
                    '--repeat', repeat,
                )  # fmt: skip
                assert not done.returncode, done.stderr
                answer = json.loads(done.stdout)
                for clock in ('cpu', 'wall'):
                    found = answer[f'{clock}_us']
                    columns = (found[key] for key in ('median', 'p99', 'p999', 'worst'))
                    table.row(f'{law}, {title}, {clock}', *columns, f'{answer["late"]} of {answer["steps"]}')
                assert answer['allocations'] == answer['errors'] == 0, answer
    for title, rate, calls in (('as fast as it goes', 0, steps), ('500 Hz', 500, paced), ('1000 Hz', 1000, paced)):
        spent = inverse_dynamics(rate, calls)
        table.row(f'rnea of pinocchio, {title}, cpu', *np.percentile(spent, (50, 99, 99.9, 100)), None)
    table.keep()


if __name__ == '__main__':
    main()
