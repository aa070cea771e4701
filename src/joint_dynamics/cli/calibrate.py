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

"""`joint-dynamics calibrate`: beside a driver, from a robot at rest to its dynamics description, in one command."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.python_process import need_ros, terminated_like_interrupted
from joint_dynamics.terminal import Terminal

EFFORTS = ('torque', 'current', 'torque_without_gravity')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Checks the robot, plans two motions, asks, plays and records both, and identifies the dynamics. One folder '
        'holds description, report, recordings and gains. Uses the nodes of hardware.launch.py, '
        'or starts excitation and identifier itself.'
    )
    parser.add_argument('--robot-file', default='', metavar='FILE', help='URDF; default: the topic robot_description')
    parser.add_argument('--preset', default='', metavar='NAME', help='parameters of the nodes: a folder of config/')
    parser.add_argument('--effort', default='', choices=EFFORTS, help='what effort in joint_states is')
    parser.add_argument('--namespace', default='', metavar='NAME', help='of the robot and of all nodes')
    parser.add_argument(
        '--controller',
        default='',
        metavar='NAME',
        help='controller that takes trajectories (default: joint_trajectory_controller)',
    )
    parser.add_argument(
        '--wait', type=float, metavar='S', help='time in which nodes that run already may answer (default: 3)'
    )
    parser.add_argument('--config', default='', metavar='FILE', help='YAML with sections excitation, identification, …')
    for test, motion in (('friction', 'constant speeds'), ('hysteresis', 'slow reversals')):
        parser.add_argument(
            f'--{test}', action='append', default=[], metavar='JOINT', help=f'also test {test} of a joint, by {motion}'
        )
    parser.add_argument('--sim-time', action='store_true', help='the robot is simulated: take the time from /clock')
    parser.add_argument('--yes', action='store_true', help='move the robot, and use proven corrections, without asking')
    parser.add_argument('--resume', action='store_true', help='go on with the calibration in --out, with its options')
    parser.add_argument('--out', default='', metavar='DIR', help='folder of all files (default: calibration-DATE)')


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Calibrate; return the exit status."""
    need_ros('calibrate')
    from joint_dynamics.calibration.folder import CalibrationFolder
    from joint_dynamics.calibration.procedure import calibrate

    if args.resume and not args.out:
        raise JointDynamicsError('calibrate --resume: expected --out DIR, the folder to go on with, found none')
    tests = [(test, joint) for test in ('friction', 'hysteresis') for joint in getattr(args, test)]
    given = {
        'robot_file': args.robot_file and str(Path(args.robot_file).expanduser().absolute()),
        'preset': args.preset,
        'namespace': args.namespace,
        'controller': args.controller,
        'config': args.config and str(Path(args.config).expanduser().absolute()),
        'effort': args.effort,
        'wait': args.wait,
        'tests': tests,
        'use_sim_time': args.sim_time,
    }
    out = Path(args.out or f'calibration-{date.today().isoformat()}')
    folder = CalibrationFolder(out, terminal, {name: value for name, value in given.items() if value}, args.resume)
    try:
        # SIGTERM and SIGHUP bring the robot to rest, as Ctrl-C does
        with terminated_like_interrupted():
            return calibrate(folder, terminal)
    except KeyboardInterrupt:
        terminal.problem(f'interrupted; go on with: joint-dynamics calibrate --resume --out {folder.path}')
        return 130
