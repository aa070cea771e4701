"""`joint-dynamics gains`: gains of an effort PID from the inertia of the arm, and a parameter file with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from joint_dynamics.control.effort_gains import EffortGains
    from joint_dynamics.control.elastic_loop import ElasticJoints
    from joint_dynamics.robot import RobotModel

SAG = 0.1
"""rad, above which a sag is warned of: `start_tolerance` of feedforward, which refuses a motion from further off."""


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
        help='dynamics.yaml: its inertial parameters and rotor inertias instead of the URDF',
    )
    parser.add_argument(
        '--rate', type=float, default=500.0, metavar='HZ', help='update rate of the controller manager (default 500)'
    )
    parser.add_argument('--ratio', type=float, default=0.4, help='largest d T / I of a joint (default 0.4)')
    parser.add_argument(
        '--damping',
        type=float,
        help='damping ratio where the inertia is largest (default 0.5, with flexible joints 0.2)',
    )
    parser.add_argument(
        '--delay',
        type=float,
        default=0.0,
        metavar='S',
        help='time from measurement to torque beyond one period, as of topics in between (default 0)',
    )
    parser.add_argument(
        '--stiffness',
        type=float,
        nargs='+',
        metavar='N·m/rad',
        help='lowest stiffness of the joints, one for all or one each, in place of what the description says',
    )
    parser.add_argument(
        '--joint-damping',
        type=float,
        default=0.02,
        help='damping ratio of rotor against link, where the description has no damping (default 0.02)',
    )
    parser.add_argument(
        '--feedback',
        choices=('link', 'motor'),
        default='link',
        help='side of a flexible joint that joint_states tells the position of (default link, which bears less)',
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


def run(args: argparse.Namespace) -> int:
    """Print the gains, write the file when asked to; return 0."""
    from joint_dynamics.arm import Arm
    from joint_dynamics.cli.common import load_config, load_robot, show_table
    from joint_dynamics.control.effort_gains import controller_parameters, effort_gains
    from joint_dynamics.control.elastic_loop import elastic_joints, law_gains
    from joint_dynamics.control.law import delay_margin
    from joint_dynamics.description import DynamicsDescription, write_atomically
    from joint_dynamics.errors import JointDynamicsError
    from joint_dynamics.robot.limits import column_unit

    if not 1.0 < args.rate <= 1e5:
        raise JointDynamicsError(f'--rate: expected 1 to 100000 Hz, found {args.rate:g}')
    robot = load_robot(args.robot, load_config(args.config))
    description = DynamicsDescription.load(args.description) if args.description else None
    arm = Arm(robot) if description is None else Arm.from_description(robot, description)
    for line in () if description is None else description.doubtful_joints(arm.joint_names):
        print(f'joint-dynamics gains: warning: {line}', file=sys.stderr)
    stiffness = None if args.stiffness is None else args.stiffness * (arm.n if len(args.stiffness) == 1 else 1)
    joints = elastic_joints(arm, stiffness, damping_ratio=args.joint_damping, feedback=args.feedback)
    law = None
    if args.plugin:
        own = law_gains(arm, 1.0 / args.rate, joints, args.delay)
        late = f'{1e3 * args.delay:g} ms and up to twice as much' if args.delay else 'up to two periods'
        bearable = delay_margin(own['kp'], own['kd'])[0]
        print(
            f'law: kp {own["kp"]:g} 1/s², kd {own["kd"]:g} 1/s, for a torque {late} late; feedforward refuses to go on'
            f' with one {1e3 * bearable:.0f} ms late'
        )
        law = {**_plugin(args.description), **{name: dict.fromkeys(robot.joint_names, own[name]) for name in own}}
    gains = effort_gains(arm, 1.0 / args.rate, ratio=args.ratio, damping=args.damping, joints=joints, delay=args.delay)
    rows = [
        (
            name,
            f'{gains.p[j]:.4g}',
            '0',
            f'{gains.d[j]:.4g}',
            f'{gains.smallest[j]:.3g} … {gains.largest[j]:.3g}',
            f'{gains.ratio[j]:.2f}',
            f'{gains.damping[j]:.2f}',
            f'{1e3 * gains.sag[j]:.3g}',
        )
        for j, name in enumerate(gains.joint_names)
    ]
    p, d, inertia, sag = (column_unit(unit, robot.prismatic) for unit in ('N·m/rad', 'N·m·s/rad', 'kg·m²', 'mrad'))
    headers = ('joint', f'p {p}', 'i', f'd {d}', f'inertia {inertia}', 'd T / I', 'least damping', f'sag {sag}')
    show_table(f'Effort gains at {args.rate:g} Hz', headers, rows)
    print(_elasticity_text(joints, args.feedback))
    _warn_of_sag(gains, robot, description is not None)
    if args.out:
        written = controller_parameters(gains, plugin=law)
        write_atomically(Path(args.out), yaml.safe_dump(written, sort_keys=False))
        print(f'written: {args.out}')
    return 0


def _plugin(description: str | None) -> dict[str, Any]:
    if description is None:
        return {'law': 'computed_torque', 'use_description': False}
    # The controller manager has another working folder.
    return {'law': 'adaptive_friction', 'description_file': str(Path(description).resolve())}


def _warn_of_sag(gains: EffortGains, robot: RobotModel, described: bool) -> None:
    from joint_dynamics.robot.limits import joint_unit

    joint = int(gains.sag.argmax())
    unit = joint_unit('rad', bool(robot.prismatic[joint]))
    print(f'without feedforward the arm sags by up to {gains.sag[joint]:.2g} {unit} ({gains.joint_names[joint]})')
    if gains.sag[joint] > SAG:
        far = ', '.join(
            f'{name} {sag:.2g}' for name, sag in zip(gains.joint_names, gains.sag, strict=True) if sag > SAG
        )
        remedy = '' if described else '; give --description, whose rotor inertias bear higher gains'
        print(
            f'joint-dynamics gains: warning: expected a sag of at most {SAG:g} {unit}, found {far}: activate it'
            f' where the arm may sag, and start feedforward first{remedy}',
            file=sys.stderr,
        )


def _elasticity_text(joints: Sequence[ElasticJoints], feedback: str) -> str:
    if not joints:
        return (
            'taken as rigid: no stiffness is known. Flexible joints ring at such gains: give a description with the'
            ' stiffness, or --stiffness with one that has the rotor inertias'
        )
    values = sorted({f'{value:.3g}' for joint in joints for value in joint.stiffness}, key=float)
    return f'stable with flexible joints of {values[0]} … {values[-1]} N·m/rad, position of the {feedback} side'
