"""`joint-dynamics identify-joint`: one joint's physics from a test made for it."""
from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING, Any

from joint_dynamics.cli.common import add_config_argument, load_config, load_recordings, load_robot, output_folder, show_table, show_written

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription
    from joint_dynamics.recording import Recording

TESTS = ('stiffness', 'friction', 'load', 'temperature', 'hysteresis', 'damping', 'inertia')


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        'identify-joint', help="identify one joint's physics from a test made for it",
        description="Identifies stiffness, friction, load and temperature dependence, hysteresis, damping or dominant inertia of one joint, and "
                    'writes dynamics.yaml, summary.json and report.html (docs/identify-joint.md).')
    parser.add_argument('test', choices=TESTS, metavar='TEST', help=', '.join(TESTS))
    parser.add_argument('recordings', nargs='+', metavar='RECORDING',
                        help='rosbag2 folder or CSV file, optionally with a window PATH@t0:t1 in seconds from its start')
    parser.add_argument('--joint', metavar='NAME', help='joint under test; default: the only one that moves')
    parser.add_argument('--robot', metavar='FILE', help='URDF or MDH table: its rigid-body torque is subtracted')
    parser.add_argument('--description', metavar='FILE', help='dynamics.yaml of earlier tests: what is known is taken off, the result is added to it')
    add_config_argument(parser)
    parser.add_argument('--out', required=True, metavar='DIR', help='folder for dynamics.yaml, summary.json, report.html')


def run(args: argparse.Namespace) -> int:
    """Identify, print, write; return 0, or 3 where the result cannot be believed."""
    from joint_dynamics.description import DynamicsDescription, write_result
    from joint_dynamics.errors import JointDynamicsError
    from joint_dynamics.identification.joint_tests.data import joint_data
    from joint_dynamics.identification.joint_tests.run import merged_description, run_test, test_settings
    from joint_dynamics.report.joint import joint_report
    config = load_config(args.config)
    section = config.get('joint', {})
    settings = test_settings(args.test, section)
    description = DynamicsDescription.load(args.description) if args.description else None
    robot, parameters = _rigid_body(args, config, description)
    folder = output_folder(args.out)
    names = robot.joint_names if robot is not None else description.joint_names if description is not None else None
    recordings = load_recordings(args.recordings, config, names, None if robot is None else robot.limits)
    joint = args.joint or _moving_joint(recordings)
    gains = _drive_gains(section, description, joint)
    cutoff = section.get('cutoff', 10.0)
    if isinstance(cutoff, bool) or not isinstance(cutoff, (int, float)) or not cutoff > 0:
        raise JointDynamicsError(f'joint.cutoff: expected a number above 0 (Hz), found {cutoff!r}')
    data = [joint_data(recording, joint, drive_gains=gains, robot=robot, parameters=parameters, cutoff=float(cutoff)) for recording in recordings]
    part = None if description is None else description.joint(joint)
    result = run_test(args.test, data, settings, part)
    merged = merged_description(names or recordings[0].joint_names, result, description)
    for reason in result.reasons:
        print(f'NOT TO BE BELIEVED: {reason}')
    for warning in result.warnings:
        print(f'note: {warning}')
    show_table(f'{joint}: {args.test}', ['parameter', 'value', 'std', 'std %', 'unit'],
               [[name, item.value, item.std, item.relative_std_percent, item.unit] for name, item in result.parameters.items()])
    summary = _plain({'recordings': [item.name for item in data], 'samples': sum(item.samples for item in data), **result.summary()})
    names = write_result(folder, merged, summary, joint_report(result, [item.name for item in data]), result.reliable)
    show_written(folder, names, result.reliable)
    if result.reliable:
        return 0
    print(f'joint-dynamics identify-joint: done, but not to be believed: {"; ".join(result.reasons)}', file=sys.stderr)
    return 3


def _rigid_body(args: argparse.Namespace, config: dict, description: DynamicsDescription | None) -> tuple[Any, Any]:
    """Return the robot whose rigid-body torque is subtracted, and its inertial parameters: identified ones before those of the URDF."""
    robot = load_robot(args.robot, config) if args.robot else None
    if robot is not None and description is not None:
        description.check_robot(robot)
    if description is None or 'inertial' not in description.document:
        return robot, None
    robot = robot or description.robot_model()
    return robot, description.standard_parameters(robot, friction=False)


def _moving_joint(recordings: list[Recording]) -> str:
    from joint_dynamics.errors import JointDynamicsError
    names = recordings[0].joint_names
    if len(names) == 1:
        return names[0]
    travel = [max(float(recording.q[:, k].max() - recording.q[:, k].min()) for recording in recordings) for k in range(len(names))]
    moving = [name for name, span in zip(names, travel, strict=True) if span > 0.05 * max(max(travel), 1e-9)]
    if len(moving) != 1:
        raise JointDynamicsError(f'--joint: expected the joint under test, found {len(moving)} that move: {", ".join(moving)}')
    return moving[0]


def _drive_gains(section: dict, description: DynamicsDescription | None, joint: str) -> dict[str, float] | None:
    from joint_dynamics.errors import JointDynamicsError
    given = section.get('drive_gains', {})
    if not isinstance(given, dict) or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in given.values()):
        raise JointDynamicsError(f'joint.drive_gains: expected a number per joint (N·m/A), found {given!r}')
    if joint in given:
        return {joint: float(given[joint])}
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
