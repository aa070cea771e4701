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

"""`joint-dynamics gains`: computes gains of an effort PID from the inertia of the arm and writes a parameter file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from joint_dynamics.terminal import Terminal

if TYPE_CHECKING:
    from joint_dynamics.arm import Arm
    from joint_dynamics.control.effort_gains import EffortGains

FALLBACK = 'joint_trajectory_controller'
# rad, largest sag without a warning; feedforward refuses a motion that starts farther away (its `start_tolerance`)
SAG = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    from joint_dynamics.cli.common import add_config_argument

    parser.description = (
        'Gains p and d (i = 0) of a joint_trajectory_controller with effort commands, stable in every posture.'
    )
    parser.add_argument('--robot', required=True, metavar='FILE', help='URDF with inertials, or the MDH table in YAML')
    parser.add_argument(
        '--description',
        metavar='FILE',
        help='dynamics.yaml: its inertial parameters, rotor inertias and stiffness instead of the URDF alone',
    )
    parser.add_argument(
        '--rate', type=float, default=500.0, metavar='HZ', help='update rate of the controller manager (default 500)'
    )
    parser.add_argument(
        '--delay',
        type=float,
        default=0.0,
        metavar='S',
        help='time from measurement to torque beyond one period, as of topics in between (default 0)',
    )
    parser.add_argument(
        '--out', metavar='FILE', help='write the parameter file of a controller manager with these gains'
    )
    parser.add_argument(
        '--plugin',
        action='store_true',
        help='also the gains of the PID of feedforward_controller of joint_dynamics_controllers; with --out, that '
        'controller, with the description where one is given, and the trajectory controllers that precede it',
    )
    add_config_argument(parser)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Show the gains, write the file when asked to; return 0."""
    from joint_dynamics.arm import Arm
    from joint_dynamics.cli.common import load_config, load_robot
    from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
    from joint_dynamics.control.elastic_loop import delay_margin, elastic_joints, law_gains, link_bodies
    from joint_dynamics.description import DynamicsDescription, write_atomically
    from joint_dynamics.errors import JointDynamicsError

    if not 1.0 < args.rate <= 1e5:
        raise JointDynamicsError(f'--rate: expected 1 to 100000 Hz, found {args.rate:g}')
    robot = load_robot(args.robot, load_config(args.config))
    description = DynamicsDescription.load(args.description) if args.description else None
    arm = Arm(robot) if description is None else Arm.from_description(robot, description)
    for line in () if description is None else description.doubtful_joints(arm.joint_names):
        terminal.problem(f'warning: {line}')
    joints, period, law = elastic_joints(arm), 1.0 / args.rate, None
    if joints and link_bodies(arm) is not arm.rigid:
        terminal.problem(
            'note: the described inertia of the links is not positive in every posture: that of --robot is used'
        )
    if args.plugin:
        pid = law_gains(arm, period, joints, args.delay)
        margin = 1e3 * delay_margin(pid['kp'], pid['kd'])
        terminal.say(
            f'law: kp {pid["kp"]:g} 1/s², kd {pid["kd"]:g} 1/s; the controller refuses a torque {margin:.0f} ms late'
        )
        per_joint = {name: dict.fromkeys(robot.joint_names, value) for name, value in pid.items()}
        law = {**_law_parameters(args.description), **per_joint}
    gains = effort_gains(arm, period, joints=joints, delay=args.delay)
    _show(terminal, gains, arm)
    if args.out:
        write_atomically(Path(args.out), yaml.safe_dump(controller_parameters(gains, plugin=law), sort_keys=False))
        terminal.say(f'written: {args.out}')
    return 0


def _law_parameters(description: str | None) -> dict[str, Any]:
    # The controller manager activates the fallback, which holds the arm, after an error of the law.
    law: dict[str, Any] = {'fallback_controllers': [FALLBACK]}
    if description is None:
        return {**law, 'law': 'computed_torque', 'use_description': False}
    # Absolute: the controller manager runs in another working folder.
    return {**law, 'law': 'adaptive_friction', 'description_file': str(Path(description).resolve())}


def _show(terminal: Terminal, gains: EffortGains, arm: Arm) -> None:
    from joint_dynamics.robot.limits import column_unit, joint_unit

    sliding = arm.robot.prismatic
    p, d, sag = (column_unit(unit, sliding) for unit in ('N·m/rad', 'N·m·s/rad', 'mrad'))
    rows = [
        (name, *(f'{value:.4g}' for value in values))
        for name, *values in zip(gains.joint_names, gains.p, gains.d, 1e3 * gains.sag, strict=True)
    ]
    title = f'Effort gains at {1.0 / gains.period:g} Hz'
    terminal.table(title, ('joint', f'p {p}', f'd {d}', f'sag without feedforward {sag}'), rows)
    rigid = [name for name, known in zip(gains.joint_names, arm.stiffness_described, strict=True) if not known]
    if rigid:
        terminal.say(
            f'assumed rigid, as no stiffness is described: {", ".join(rigid)}. A flexible joint rings at such gains'
        )
    j = int(gains.sag.argmax())
    if gains.sag[j] > SAG:
        unit = joint_unit('rad', bool(sliding[j]))
        terminal.problem(
            f'warning: expected a sag of at most {SAG:g} {unit} without feedforward, found {gains.sag[j]:.2g} of'
            f' {gains.joint_names[j]}: activate it where the arm may sag, and start feedforward first'
        )
