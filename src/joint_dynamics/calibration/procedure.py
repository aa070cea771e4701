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

"""The calibration from look to hand over: `calibrate` is its table of contents."""

from __future__ import annotations

import shutil
import webbrowser
from collections.abc import Mapping
from datetime import date
from typing import Any

import yaml

from joint_dynamics.calibration import CalibrationSettings
from joint_dynamics.calibration.client import RosClient, ros_client
from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.calibration.motions import Player, describe, motions, plan, preview
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.calibration.robot import (
    DEFAULT_PRESET,
    EFFORTS,
    Finding,
    Robot,
    connect,
    look,
    nodes_run,
    start_nodes,
)
from joint_dynamics.calibration.terminal import Terminal
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import load_trajectory
from joint_dynamics.output_files import write_atomically


def calibrate(settings: CalibrationSettings, folder: CalibrationFolder, terminal: Terminal) -> int:
    """Go through the steps that are not done yet; return 0, or 3 where the result is not reliable.

    Raises
    ------
    JointDynamicsError
        For what has to be mended first; `--resume` goes on from there.
    """
    done, wanted = folder.steps, motions(settings.tests)
    if not {motion.name for motion in wanted} <= set(done.get('move', {})):
        (folder.path / 'logs').mkdir(exist_ok=True)
        with Processes(folder.path / 'logs') as processes, ros_client(processes.check) as client:
            robot = _look(client, processes, settings, folder, terminal)
            if 'plan' not in done:
                terminal.step(2, 'Plan')
                plan(folder, wanted)
                folder.finish('plan', motions={motion.name: _plan_facts(folder, motion.name) for motion in wanted})
            _move(robot, settings, folder, terminal)
    if 'identify' not in done and _identify(settings, folder, terminal) != 0:
        return 3
    _hand_over(settings, folder, terminal)
    return 0


def _look(
    client: RosClient,
    processes: Processes,
    settings: CalibrationSettings,
    folder: CalibrationFolder,
    terminal: Terminal,
) -> Robot:
    terminal.step(1, 'Look')
    if nodes_run(client, '/' + settings.namespace.strip('/') if settings.namespace.strip('/') else ''):
        terminal.say('the nodes run already')
    else:
        effort = settings.effort
        if not effort and not settings.preset:
            effort = terminal.choose('What is `effort` in joint_states?', EFFORTS)
        terminal.say(f'starts excitation and identifier (preset {settings.preset or DEFAULT_PRESET})')
        start_nodes(client, processes, folder, settings, effort)
    try:
        robot = connect(client, settings)
    except JointDynamicsError as error:
        logs = '; '.join(f'{name}: {processes.last_words(name)}' for name in processes.pids)
        raise JointDynamicsError(f'{error}{logs and f" ({logs})"}') from None
    folder.write_yaml('config.yaml', robot.config)
    write_atomically(folder.path / 'robot.urdf', robot.model.urdf or '')
    with terminal.progress('looking') as say:
        findings = look(robot, say)
    terminal.table(['', 'found', 'to do'], [[each.what, each.found, each.remedy] for each in findings])
    if problems := [each for each in findings if each.remedy]:
        raise JointDynamicsError(f'calibrate: {_sentence(problems[0])}' + _others(problems[1:]))
    folder.finish('look', rate=robot.rate, findings={each.what: each.found for each in findings})
    return robot


def _sentence(problem: Finding) -> str:
    return f'{problem.what}: found {problem.found}; {problem.remedy}'


def _others(problems: list[Finding]) -> str:
    return f' (and {len(problems)} more in the table above)' if problems else ''


def _plan_facts(folder: CalibrationFolder, name: str) -> dict[str, Any]:
    summary = folder.summary(f'motions/{name}')
    return {key: summary[key] for key in ('profile', 'duration', 'condition_number', 'margins')}


def _move(robot: Robot, settings: CalibrationSettings, folder: CalibrationFolder, terminal: Terminal) -> None:
    """Show the motions, ask, play and record those that are not recorded yet."""
    terminal.step(3, 'Move')
    played = dict(folder.steps.get('move', {}))
    left = [motion for motion in motions(settings.tests) if motion.name not in played]
    plans = {motion.name: folder.path / 'motions' / motion.name for motion in left}
    trajectories = {name: load_trajectory(path / 'summary.json') for name, path in plans.items()}
    for motion in left:
        trajectory = trajectories[motion.name]
        terminal.say(f'{motion.name}, {motion.purpose}: {trajectory.duration:.0f} s')
        terminal.table(['joint', 'range', 'speed'], describe(trajectory))
    report = plans[left[0].name] / 'report.html'
    terminal.say(f'the moving robot with its limits: {report}')
    if not terminal.yes:
        webbrowser.open(report.as_uri())
    with preview(robot, trajectories[left[0].name]):
        agreed = terminal.ask(
            'Clear the space around the robot, keep the emergency stop at hand. Move the robot?',
            lambda ready: robot.client.until(ready, 'an answer', 86400.0),
        )
    if not agreed:
        raise JointDynamicsError('calibrate: not moved, as asked; --resume goes on from here')
    player = Player(robot, folder, terminal)
    for motion in left:
        played[motion.name] = str(player.play(motion.name).relative_to(folder.path))
        folder.finish('move', **played)


def _identify(settings: CalibrationSettings, folder: CalibrationFolder, terminal: Terminal) -> int:
    """Identify, offer a proven correction once, add joint tests; return the exit status of the verdict."""
    terminal.step(4, 'Identify')
    status = _identified(folder)
    if status == 3 and (mend := _correction(folder)):
        corrected = folder.path / 'identified' / 'mend.yaml'
        terminal.say(
            f'a correction is proved on data that took no part: {yaml.safe_dump(mend, default_flow_style=True)}'
        )
        if terminal.ask('Use this correction?'):
            shutil.copy(corrected, folder.path / 'config.yaml')
            status = _identified(folder)
    summary = folder.summary('identified', reliable=status == 0)
    if status != 0:
        reasons = [reason['text'] for reason in summary['reasons']]
        terminal.say(f'not reliable: {reasons[0] if reasons else summary["verdict"]}', 'bold red')
        terminal.say('next: mend that, or play a longer motion (excitation.fourier.period in --config) to a new --out')
        return status
    shutil.copy(folder.path / 'identified' / 'dynamics.yaml', folder.path / 'dynamics.yaml')
    for test, joint in settings.tests:
        name = f'{test}_{joint}'
        words = ['identify-joint', test, f'recordings/{name}', '--joint', joint, '--robot', 'robot.urdf']
        words += ['--config', 'config.yaml', '--description', 'dynamics.yaml', '--out', f'joints/{name}']
        if folder.command(*words) == 0:
            shutil.copy(folder.path / 'joints' / name / 'dynamics.yaml', folder.path / 'dynamics.yaml')
    folder.finish('identify', verdict=summary['verdict'], condition_number=summary['condition_number'])
    return 0


def _identified(folder: CalibrationFolder) -> int:
    words = ['identify', 'recordings/learn', '--validate', 'recordings/judge', '--robot', 'robot.urdf']
    return folder.command(*words, '--config', 'config.yaml', '--out', 'identified')


def _correction(folder: CalibrationFolder) -> Mapping[str, Any]:
    """Return the sections of the correction that `identify` has proved, {} where there is none."""
    mend = folder.summary('identified', reliable=False).get('mend', {})
    return {key: value for key, value in mend.items() if key in ('robot', 'recording', 'identification')}


def _hand_over(settings: CalibrationSettings, folder: CalibrationFolder, terminal: Terminal) -> None:
    """Write the gains, and say how estimator and controller start with the result."""
    terminal.step(5, 'Hand over')
    description, controllers = folder.path / 'dynamics.yaml', folder.path / 'controllers.yaml'
    preset = f' preset:={settings.preset}' if settings.preset else ''
    namespace = f' namespace:={settings.namespace}' if settings.namespace else ''
    lines = [f'ros2 launch joint_dynamics hardware.launch.py{preset}{namespace} description_file:={description}']
    words = ['gains', '--robot', 'robot.urdf', '--config', 'config.yaml', '--description', 'dynamics.yaml']
    words += ['--rate', f'{folder.steps["look"]["rate"]:.0f}', '--plugin', '--out', controllers.name]
    # A robot without stiffness of every joint gets no gains; its description is good all the same.
    if folder.command(*words, accepted=(0, 2)) == 0:
        lines.append(
            'ros2 run controller_manager spawner feedforward_controller feedforward_trajectory_controller --param-file '
            f'{controllers} --activate-as-group'
        )
    terminal.say(f'description: {description}; report: {folder.path / "identified" / "report.html"}')
    for line in lines:
        terminal.say(f'next: {line}')
    folder.finish('hand over', date=date.today().isoformat(), description=str(description), lines=lines)
