"""`joint-dynamics identify-joint`: one joint's physics from a test made for it."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from joint_dynamics.cli.common import (
    add_config_argument,
    load_config,
    load_recordings,
    load_robot,
    output_folder,
    show_table,
    show_written,
)

if TYPE_CHECKING:
    from joint_dynamics.arm import Arm
    from joint_dynamics.description import DynamicsDescription
    from joint_dynamics.recording import Recording

TESTS = ('stiffness', 'friction', 'load', 'temperature', 'hysteresis', 'damping', 'inertia')


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'identify-joint',
        help="identify one joint's physics from a test made for it",
        description=(
            'Identifies stiffness, friction, load and temperature dependence, hysteresis, damping or dominant inertia'
            ' of one joint, and writes dynamics.yaml, summary.json and report.html'
            ' (docs/reference/commands/identify-joint.md).'
        ),
    )
    parser.add_argument('test', choices=TESTS, metavar='TEST', help=', '.join(TESTS))
    parser.add_argument(
        'recordings',
        nargs='+',
        metavar='RECORDING',
        help='rosbag2 folder or CSV file, optionally with a window PATH@t0:t1 in seconds from its start',
    )
    parser.add_argument('--joint', metavar='NAME', help='joint under test; default: the only one that moves')
    parser.add_argument('--robot', metavar='FILE', help='URDF or MDH table: its rigid-body torque is subtracted')
    parser.add_argument(
        '--description',
        metavar='FILE',
        help='dynamics.yaml of earlier tests: what is known is taken off, the result is added to it',
    )
    add_config_argument(parser)
    parser.add_argument(
        '--out', required=True, metavar='DIR', help='folder for dynamics.yaml, summary.json, report.html'
    )


def run(args: argparse.Namespace) -> int:
    """Identify, print, write; return 0, or 3 where the result is not reliable."""
    from joint_dynamics.description import DynamicsDescription, write_result
    from joint_dynamics.identification.joint_tests.data import joint_data
    from joint_dynamics.identification.joint_tests.run import JointSettings, merged_description, run_test
    from joint_dynamics.report.joint import joint_report

    config = load_config(args.config)
    settings = JointSettings.from_mapping(config.get('joint'))
    description = DynamicsDescription.load(args.description) if args.description else None
    arm, notes = _arm(args, config, description)
    robot = None if arm is None else arm.robot
    folder = output_folder(args.out)
    names = robot.joint_names if robot is not None else description.joint_names if description is not None else None
    recordings = load_recordings(args.recordings, config, names, None if robot is None else robot.limits)
    joint = args.joint or _moving_joint(recordings)
    gains = _drive_gains(settings.drive_gains, description, joint)
    data = [
        joint_data(recording, joint, drive_gains=gains, arm=arm, cutoff=settings.cutoff) for recording in recordings
    ]
    part = None if description is None else description.joint(joint)
    result = run_test(args.test, data, getattr(settings, args.test), part)
    merged = merged_description(names or recordings[0].joint_names, result, description)
    for reason in result.reasons:
        print(f'NOT RELIABLE: {reason}')
    for warning in (*notes, *result.warnings):
        print(f'note: {warning}')
    show_table(
        f'{joint}: {args.test}',
        ['parameter', 'value', 'std', 'std %', 'unit'],
        [
            [name, item.value, item.std, item.relative_std_percent, item.unit]
            for name, item in result.parameters.items()
        ],
    )
    summary = _plain(
        {'recordings': [item.name for item in data], 'samples': sum(item.samples for item in data), **result.summary()}
    )
    written = write_result(folder, merged, summary, joint_report(result, [item.name for item in data]), result.reliable)
    show_written(folder, written, result.reliable)
    if result.reliable:
        return 0
    print(f'joint-dynamics identify-joint: done, but not reliable: {"; ".join(result.reasons)}', file=sys.stderr)
    return 3


def _arm(
    args: argparse.Namespace, config: dict[str, Any], description: DynamicsDescription | None
) -> tuple[Arm | None, list[str]]:
    """Return the arm whose link torque is subtracted, and what is worth a note.

    As it was described before, else as the URDF has it; None where neither robot nor inertial parameters are known.
    """
    from joint_dynamics.arm import Arm

    robot = load_robot(args.robot, config) if args.robot else None
    if robot is None:
        known = description is not None and 'inertial' in description.document
        return (Arm.from_description(None, description) if known and description is not None else None), []
    if description is None:
        return Arm(robot), []
    description.check_robot(robot)
    missing = [name for name in robot.joint_names if name not in description.joint_names]
    if not missing:
        return Arm.from_description(robot, description), []
    lost = [key for key in ('inertial', 'payload', 'mounting') if key in description.document]
    return Arm(robot), [
        f'{", ".join(lost)} of the description not used: it does not have {", ".join(missing)} of the robot'
    ] if lost else []


def _moving_joint(recordings: list[Recording]) -> str:
    from joint_dynamics.errors import JointDynamicsError

    names = recordings[0].joint_names
    if len(names) == 1:
        return names[0]
    travel = [
        max(float(recording.q[:, k].max() - recording.q[:, k].min()) for recording in recordings)
        for k in range(len(names))
    ]
    moving = [name for name, span in zip(names, travel, strict=True) if span > 0.05 * max(max(travel), 1e-9)]
    if len(moving) != 1:
        raise JointDynamicsError(
            f'--joint: expected the joint under test, found {len(moving)} that move: {", ".join(moving)}'
        )
    return moving[0]


def _drive_gains(
    given: Mapping[str, float], description: DynamicsDescription | None, joint: str
) -> dict[str, float] | None:
    if joint in given:
        return {joint: given[joint]}
    known = {} if description is None else description.joint(joint)
    return {joint: float(known['drive_gain']['value'])} if 'drive_gain' in known else None


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
