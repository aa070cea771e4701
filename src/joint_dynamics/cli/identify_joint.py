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

"""`joint-dynamics identify-joint`: one joint's physics from a test made for it."""

from __future__ import annotations

import argparse
import math
from typing import Any

from joint_dynamics.cli.common import (
    RECORDING_HELP,
    add_config_argument,
    exit_status,
    load_config,
    load_recordings,
    load_robot,
    show_written,
)
from joint_dynamics.terminal import Terminal

TESTS = ('stiffness', 'friction', 'load', 'temperature', 'hysteresis', 'damping', 'inertia')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Identifies stiffness, friction, load and temperature dependence, hysteresis, damping or dominant inertia'
        ' of one joint, and writes dynamics.yaml, summary.json and report.html'
        ' (docs/reference/commands/identify-joint.md).'
    )
    parser.add_argument('test', choices=TESTS, metavar='TEST', help=', '.join(TESTS))
    parser.add_argument('recordings', nargs='+', metavar='RECORDING', help=RECORDING_HELP)
    parser.add_argument('--joint', metavar='NAME', help='joint under test; default: the only one that moves')
    parser.add_argument('--robot', metavar='FILE', help='URDF or MDH table: its rigid-body torque is subtracted')
    parser.add_argument(
        '--description',
        metavar='FILE',
        help='dynamics.yaml of earlier tests: its known parts are subtracted, the result is added to it',
    )
    add_config_argument(parser)
    parser.add_argument(
        '--out', required=True, metavar='DIR', help='folder for dynamics.yaml, summary.json, report.html'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Identify, show, write; return 0, or 3 where the result is not reliable."""
    from joint_dynamics.description import DynamicsDescription, prepare_folder, write_result
    from joint_dynamics.identification.joint_tests.identify_joint import JointSettings, identify_joint
    from joint_dynamics.report.joint import joint_report

    config = load_config(args.config)
    settings = JointSettings.from_mapping(config.get('joint'))
    description = DynamicsDescription.load(args.description) if args.description else None
    robot = load_robot(args.robot, config) if args.robot else None
    folder = prepare_folder(args.out)
    known = robot or description
    names = None if known is None else known.joint_names
    recordings = load_recordings(args.recordings, config, names, None if robot is None else robot.limits)
    result = identify_joint(args.test, recordings, args.joint, robot=robot, description=description, settings=settings)
    for reason in result.reasons:
        terminal.say(reason, 'bold red', label='not reliable: ')
    for warning in result.warnings:
        terminal.say(warning, label='note: ')
    terminal.table(
        f'{result.joint}: {args.test}',
        ['parameter', 'value', 'std', 'std %', 'unit'],
        [
            [name, item.value, item.std, item.relative_std_percent, item.unit]
            for name, item in result.parameters.items()
        ],
    )
    sources = [recording.name for recording in recordings]
    summary = _plain(
        {'recordings': sources, 'samples': sum(recording.samples for recording in recordings), **result.summary()}
    )
    written = write_result(folder, result.description, summary, joint_report(result, sources), result.reliable)
    show_written(terminal, folder, written, result.reliable)
    return exit_status(terminal, result.reasons)


def _plain(value: Any) -> Any:
    """Python numbers only, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, bool)) or value is None:
        return value
    number = value.item() if hasattr(value, 'item') else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
