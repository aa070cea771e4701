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

"""Write the reports that the site shows, by the commands of docs/gallery.md on a simulated robot.

`python tools/gallery.py`, part of `make docs`: the reports, into out/gallery.
`python tools/gallery.py --picture`, part of `make results`: the figure of README, too.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / 'out' / 'gallery'
#: Name and command after `joint-dynamics`; later ones use files of earlier ones.
COMMANDS = (
    ('identify', 'identify run1 --robot robot.urdf --config physical.yaml --validate run2 --out result'),
    ('excite', 'excite --robot robot.urdf --config quick.yaml --out plan'),
    ('identify-joint', 'identify-joint friction sweep.csv --joint shoulder_pan_joint --robot robot.urdf --out j'),
)
#: Configurations of the commands: possible bodies; one search, above a table.
FILES = {
    'physical.yaml': 'identification: {physical: true}\n',
    'quick.yaml': 'excitation: {fourier: {starts: 1, candidates: 10}, limits: {floor: 0.0}}\n',
}
SWEEP = """
import numpy as np
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, record
robot = FlexibleJointRobot(seed=1)
speeds = np.ravel([(speed, -speed) for speed in np.geomspace(0.05, 2.0, 10)])
time = np.concatenate([[0.0], np.cumsum(np.tile([0.1, 1.2], speeds.size))])
dq = np.zeros((time.size, robot.n))
dq[1:, 0] = np.repeat(speeds, 2)
q = np.tile(np.deg2rad([0.0, -90.0, 0.0, -90.0, 0.0, 0.0]), (time.size, 1))
q[1:, 0] = np.cumsum(np.diff(time) * 0.5 * (dq[1:, 0] + dq[:-1, 0]))
record(robot, TrajectoryPoints(time, q, dq), torque=True).save_csv('sweep.csv')
"""


def run(folder: str, *words: str) -> None:
    """Run Python in a folder; status 3 is a result that is not reliable."""
    environment = {**os.environ, 'PYTHONPATH': str(ROOT / 'src')}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3):
        raise SystemExit(f'gallery: {shlex.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}')


def picture(folder: Path) -> None:
    """Draw measured and predicted torques of the unseen recording, for README."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from joint_dynamics import DynamicsDescription, Recording
    from joint_dynamics.identification import predict_torque

    mpl.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'prediction', 'font.family': 'sans-serif'})
    recording = Recording.load(folder / 'run2')
    predicted = predict_torque(DynamicsDescription.load(folder / 'result' / 'dynamics.yaml'), recording)
    figure, panels = plt.subplots(2, 3, figsize=(10, 4.2), sharex=True, layout='constrained')
    part = slice(0, None, 20)
    for k, panel in enumerate(panels.flat):
        panel.plot(recording.time[part], recording.tau[part, k], color='#9aa5ab', lw=1.6, label='measured')
        panel.plot(recording.time[part], predicted[part, k], color='#00796b', lw=0.9, label='predicted')
        panel.set_title(recording.joint_names[k].removesuffix('_joint').replace('_', ' '), fontsize=10)
        panel.spines[['top', 'right']].set_visible(False)
    panels[0, 0].legend(frameon=False, fontsize=8)
    figure.supxlabel('time, s', fontsize=9)
    figure.supylabel('torque, N·m', fontsize=9)
    figure.savefig(ROOT / 'docs' / 'images' / 'prediction.svg', metadata={'Date': None})


def main(arguments: list[str]) -> None:
    """Run the commands and keep their reports; draw the picture, too, where it is asked for."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run(folder, str(ROOT / 'examples' / 'record_bags.py'))
        run(folder, '-c', SWEEP)
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text, encoding='utf-8')
        for name, command in COMMANDS:
            words = shlex.split(command)
            run(folder, '-m', 'joint_dynamics.cli.main', *words)
            report = Path(folder) / words[-1] / 'report.html'
            (OUT / f'{name}.html').write_text(report.read_text(encoding='utf-8'), encoding='utf-8')
        if '--picture' in arguments:
            picture(Path(folder))


if __name__ == '__main__':
    main(sys.argv[1:])
