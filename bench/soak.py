"""Hours of work over DDS: the demonstration's robot goes on with its cycles; memory, estimates and commands are looked at after each. `make soak`.

`python bench/soak.py [--minutes 30] [--out out/soak]`: exit status 1 where a process grows by more than 20 MB after the second cycle, an
estimate or a command is not finite, or the robot follows worse than twice as badly as at first; 2 where a process ends.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np

from joint_dynamics.demo.conductor import conductor
from joint_dynamics.demo.display import Display
from joint_dynamics.demo.online import ADAPTIVE, play_cycle, watch
from joint_dynamics.demo.processes import Processes, terminated_like_interrupted
from joint_dynamics.demo.ros_domain import own_domain
from joint_dynamics.demo.story import FIRST_HALF, DemoSettings, Story
from joint_dynamics.errors import JointDynamicsError

GROWTH, WORSE = 20.0, 2.0


def resident(pid):
    """Memory of a process, MB."""
    for line in Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('VmRSS'):
            return float(line.split()[1]) / 1024.0
    return float('nan')


def soak(minutes, out):
    """Return what is wrong, one line each."""
    logs = out / 'logs'
    logs.mkdir(parents=True, exist_ok=True)
    wrong, memory, tracking = [], [], []
    with terminated_like_interrupted(), own_domain(), Display() as display, Processes(logs) as processes, conductor(processes.check) as client:
        story = Story(DemoSettings(speed=1.0), out, display, processes, client)
        for stage in (*FIRST_HALF, watch):
            stage(story)
        began = time.monotonic()
        while (time.monotonic() - began) < 60.0 * minutes:
            run = play_cycle(story, 'soak', ADAPTIVE, lambda share: None)
            alpha, stiffness = story.results['alpha'].last, story.results['stiffness'].last
            story.results['alpha'].history[:-1] = story.results['stiffness'].history[:-1] = []
            memory.append({name: resident(pid) for name, pid in processes.pids.items()})
            tracking.append(float(np.sqrt(np.mean(run['tracking_mse']))))
            after = time.monotonic() - began
            print(f'{after:7.0f} s  tracking {1e3 * tracking[-1]:6.3f} mrad  α1 {alpha[:, 0].min():.3f} … {alpha[:, 0].max():.3f}  '
                  + '  '.join(f'{name} {size:.0f} MB' for name, size in memory[-1].items()), flush=True)
            if not all(np.isfinite(values).all() for values in (alpha, stiffness, run['torque_mse'], run['tracking_mse'])):
                wrong.append(f'cycle {len(memory)}: an estimate or an error is not finite')
    settled = memory[min(1, len(memory) - 1)]
    wrong += [f'{name} grew from {size:.0f} to {memory[-1][name]:.0f} MB' for name, size in settled.items() if memory[-1][name] > size + GROWTH]
    if max(tracking) > WORSE * tracking[0]:
        wrong.append(f'tracking went from {1e3 * tracking[0]:.3f} to {1e3 * max(tracking):.3f} mrad')
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--out', type=Path, default=Path('out/soak'))
    options = parser.parse_args()
    try:
        wrong = soak(options.minutes, options.out.absolute())
    except JointDynamicsError as error:
        print(f'soak: {error}', file=sys.stderr)
        return 2
    print('\n'.join(wrong) or 'nothing grew, nothing drifted')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
