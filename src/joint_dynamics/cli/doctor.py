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

"""`joint-dynamics doctor`: checks of the installation, or of a recording and its use."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from joint_dynamics.cli.common import (
    RECORDING_HELP,
    add_config_argument,
    load_config,
    load_recordings,
    load_robot,
    mend_of,
    write_mend,
)
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.python_process import need_ros
from joint_dynamics.terminal import Terminal

# Module, distribution, what for, whether the package works without it.
MODULES = (
    ('numpy', 'numpy', 'arrays', True),
    ('scipy', 'scipy', 'filters, solvers', True),
    ('pinocchio', 'pin', 'rigid-body dynamics', True),
    ('rosbags', 'rosbags', 'rosbag2 without ROS', True),
    ('mcap', 'mcap', 'recordings that are written', True),
    ('yaml', 'PyYAML', 'configuration, descriptions', True),
    ('rich', 'rich', 'tables, progress', True),
    ('cvxpy', 'cvxpy', 'physically consistent parameters (extra sdp)', False),
    ('clarabel', 'clarabel', 'its solver', False),
    ('rclpy', 'rclpy', 'the nodes', False),
    ('sensor_msgs', 'sensor_msgs', 'the nodes', False),
    ('trajectory_msgs', 'trajectory_msgs', 'the nodes', False),
    ('diagnostic_msgs', 'diagnostic_msgs', 'the nodes', False),
    ('control_msgs', 'control_msgs', 'broadcaster topics, action of the trajectory controller', False),
    ('tf2_msgs', 'tf2_msgs', 'mounting from tf', False),
    ('tf_transformations', 'tf_transformations', 'mounting from tf', False),
    ('launch', 'launch', 'launch files', False),
    ('launch_ros', 'launch_ros', 'launch files', False),
    ('launch_pytest', 'launch_pytest', 'launch tests', False),
)
SECONDS = 6.0  # s to listen by default; with the wait, done within about ten
WAIT = 5.0  # s for the first message of a topic by default
MIN_SECONDS = 1.0  # s, shortest time for either
MAX_SECONDS = 600.0  # s, longest time for either
#: s, for `max_gap` where stamps are too far apart.
ANY_GAP = 1e3
NODE_CHECK = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import rclpy
rclpy.init()
node = rclpy.create_node('joint_dynamics_doctor')
node.destroy_node()
rclpy.try_shutdown()
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Without a recording: lists every dependency with its version and tries what the package needs. With'
        ' recordings: their faults and oddities (units, signs, order, time stamps, delays, stuck or cut-off'
        ' signals, mounting, motor side) and the quantities that can be identified. With --live: the same of the topics'
        ' that the robot publishes now.'
    )
    parser.add_argument('recordings', nargs='*', metavar='RECORDING', help=RECORDING_HELP)
    parser.add_argument('--robot', metavar='FILE', help='URDF, or MDH table in YAML; needed with a recording')
    parser.add_argument(
        '--mend', metavar='FILE', help='write the configuration that mends the recording, --config with it, to FILE'
    )
    parser.add_argument('--live', action='store_true', help='listen to the robot, which should move, instead of a file')
    for option, default, what in (
        ('--seconds', SECONDS, 'how long to listen'),
        ('--wait', WAIT, 'how long to wait for the first message of each topic'),
    ):
        parser.add_argument(option, type=float, default=default, metavar='S', help=f'{what} (default: %(default)g)')
    parser.add_argument(
        '--sim-time',
        action='store_true',
        help="count --seconds by the robot's stamps, of a simulation that runs slowly",
    )
    parser.add_argument('--namespace', default='', metavar='NAME', help='of the topics to listen to')
    add_config_argument(parser)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Look at the recordings, or at the installation; return 0, 2 where something needed is missing, 3 where wrong."""
    if args.live:
        return _live(args, terminal)
    if not args.recordings:
        if args.robot or args.config:
            raise JointDynamicsError('doctor: expected a RECORDING, or --live, with --robot and --config, found none')
        return _installation(terminal)
    if not args.robot:
        raise JointDynamicsError('doctor RECORDING: expected --robot FILE, found none')
    config = load_config(args.config)
    model = load_robot(args.robot, config)
    # What a reader would refuse is what a doctor is asked for.
    config['recording'] = {'implausible': 'note', **config.get('recording', {})}
    if args.mend and len(args.recordings) > 1:
        raise JointDynamicsError(f'doctor --mend: expected one RECORDING, found {len(args.recordings)}')
    wrong = False
    for recording in [_read(one, config, model) for one in args.recordings]:
        wrong |= _examine(terminal, model, recording, config, args.mend, load_config(args.config))
    return 3 if wrong else 0


def _read(path: str, config: dict[str, Any], model: Any) -> Any:
    """Read a recording; one with gaps only where its speeds show that its stamps, and so its gaps, are too long."""
    from joint_dynamics.identification.reliability.signals import faults

    try:
        return load_recordings([path], config, model.joint_names, model.limits)[0]
    except JointDynamicsError:
        bridged = {**config, 'recording': {**config['recording'], 'max_gap': ANY_GAP}}
        recording = load_recordings([path], bridged, model.joint_names, model.limits)[0]
        scales = [reason.mend['recording'].get('time_scale', 1.0) for reason in faults(recording) if reason.mend]
        if any(scale < 1.0 for scale in scales):
            return recording
        raise


def _live(args: argparse.Namespace, terminal: Terminal) -> int:
    if args.recordings:
        raise JointDynamicsError(f'doctor --live: expected no RECORDING beside it, found {args.recordings[0]}')
    if not args.robot:
        raise JointDynamicsError('doctor --live: expected --robot FILE, found none')
    for option, value in (('--seconds', args.seconds), ('--wait', args.wait)):
        if not MIN_SECONDS <= value <= MAX_SECONDS:
            raise JointDynamicsError(
                f'doctor --live: expected {option} within [{MIN_SECONDS:g}, {MAX_SECONDS:g}], found {value:g}'
            )
    if not re.fullmatch(r'/?(?:[A-Za-z_]\w*(?:/[A-Za-z_]\w*)*)?', args.namespace, re.ASCII):
        raise JointDynamicsError(f'doctor --live: expected a namespace, as /left, found {args.namespace[:80]!a}')
    need_ros('doctor --live')
    from joint_dynamics.nodes.interfaces.listening import listen
    from joint_dynamics.recording.recording_settings import RecordingSettings

    config = load_config(args.config)
    model = load_robot(args.robot, config)
    settings = RecordingSettings.from_mapping({'implausible': 'note', **config.get('recording', {})})
    with terminal.progress('listening') as say:
        recording = listen(
            model, settings, args.seconds, args.namespace, say, patience=args.wait, simulated=args.sim_time
        )
    return 3 if _examine(terminal, model, recording, config) else 0


def _examine(
    terminal: Terminal,
    model: Any,
    recording: Any,
    config: dict[str, Any],
    mend: str | None = None,
    stated: dict[str, Any] | None = None,
) -> bool:
    from joint_dynamics.identification import IdentificationSettings
    from joint_dynamics.identification.examine import examine
    from joint_dynamics.robot.limits import column_unit

    examination = examine(model, recording, IdentificationSettings.from_config(config.get('identification', {})))
    terminal.say(
        f'{recording.samples} samples at {recording.rate:.6g} Hz, {recording.duration:.6g} s:'
        f' {", ".join(recording.quantities)}',
        'bold',
        label=f'{recording.name}: ',
    )
    travel, speed, torque = (column_unit(unit, model.prismatic) for unit in ('rad', 'rad/s', 'N·m'))
    effort = torque if recording.tau is not None else 'A'
    moved = ['joint', f'travel, {travel}', f'{speed} (99 %)', 'at rest, %']
    terminal.table(
        'Joints',
        [*moved, f'rms, {effort}', 'residual, %'],
        [[*(vars(joint) | {'resting': 100.0 * joint.resting}).values()] for joint in examination.joints],
    )
    for kind, colour, lines in (
        ('wrong: ', 'bold red', examination.reasons),
        ('odd: ', 'yellow', examination.odd),
        ('can be identified: ', 'green', examination.able),
        ('cannot be: ', 'yellow', examination.unable),
    ):
        for line in lines:
            terminal.say(str(line), colour, label=kind)
    if not examination.reasons:
        terminal.say('nothing wrong found', 'bold green')
    if mend is not None:
        if examination.result is None or not mend_of(examination.result.summary()):
            terminal.say(
                f'nothing written: {"no correction is known" if examination.reasons else "nothing to correct"}'
            )
        else:
            write_mend(terminal, mend, examination.result.summary(), stated or {}, model.joint_names)
    return bool(examination.reasons)


def _installation(terminal: Terminal) -> int:
    rows, missing = [], []
    for module, distribution, purpose, needed in MODULES:
        state = _version(module, distribution)
        rows.append([module, state or 'missing', 'needed' if needed else 'optional', purpose])
        if state is None and needed:
            missing.append(module)
    terminal.table(
        f'joint_dynamics on Python {platform.python_version()}, {platform.machine()},'
        f' ROS_DISTRO={os.environ.get("ROS_DISTRO", "not set")}',
        ['module', 'version', 'is', 'for'],
        rows,
    )
    checks = [('ament index knows joint_dynamics', _check_index)]
    if any(row[0] == 'rclpy' and row[1] != 'missing' for row in rows):
        checks.append(('a ROS 2 node starts', _check_node))
    terminal.table('What works', ['check', 'result', ''], [[name, *_outcome(check)] for name, check in checks])
    if missing:
        terminal.problem(f'missing: {", ".join(missing)}')
    return 2 if missing else 0


def _version(module: str, distribution: str) -> str | None:
    try:
        importlib.import_module(module)
    except ImportError:
        return None
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return 'there'


def _outcome(check: Callable[[], str]) -> tuple[str, str]:
    try:
        return 'works', check()
    except Exception as error:  # a doctor reports whatever is wrong, it does not fall ill of it
        return 'failed', f'{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ""}'


def _check_index() -> str:
    prefixes = [prefix for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if prefix]
    if not prefixes:
        raise LookupError(
            f'AMENT_PREFIX_PATH is not set; in a virtual environment: export AMENT_PREFIX_PATH={sys.prefix}'
        )
    for prefix in prefixes:
        if os.path.exists(os.path.join(prefix, 'share/ament_index/resource_index/packages/joint_dynamics')):
            return prefix
    raise LookupError(f'not in {", ".join(prefixes)}')


def _check_node() -> str:
    from joint_dynamics.python_process import environment

    done = subprocess.run(
        [sys.executable, '-c', NODE_CHECK], env=environment(), capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ['no message'])[-1])
    return 'rclpy over DDS'
