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

"""The steps of a calibration, from look to hand over; `calibrate` runs them in order."""

from __future__ import annotations

import shlex
import shutil
import webbrowser
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.calibration import CalibrationSettings
from joint_dynamics.calibration.client import RosClient, ros_client
from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.calibration.motions import Player, describe, motions, plan, preview
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.calibration.robot import DEFAULT_PRESET, EFFORTS, Robot, connect, look, nodes_run, root, start_nodes
from joint_dynamics.description.result_files import controller_rate
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import load_trajectory
from joint_dynamics.output_files import write_atomically
from joint_dynamics.terminal import Terminal

PATIENCE = 86400.0  # s, longest wait for an answer of the user
SECTIONS = ('robot', 'recording', 'identification')
GAINS = 'logs/gains.json'
LONGER = 'a longer motion: excitation.fourier.period in --config, and a new --out'
POSTURE = 'another posture: excitation.posture in --config, and a new --out'
AGAIN = 'the same motions once more, on a quieter machine or network: a new --out'
# Advice to the user by the code of the first reason; `NEXT_STEP` for other codes.
NEXT_STEPS = {
    'missing_samples': AGAIN,
    'spikes': AGAIN,
    'excitation': LONGER,
    'validation': LONGER,
    'coverage': LONGER,
    'negative_inertia': LONGER,
    'friction_sign': LONGER,
    'gravity': POSTURE,
    'mounting': POSTURE,
}
NEXT_STEP = 'mend the cause in {0}/config.yaml, then: joint-dynamics calibrate --resume --out {0}'


def calibrate(folder: CalibrationFolder, terminal: Terminal) -> int:
    """Run the steps that are not finished; return 0, or 3 if the result is not reliable.

    Raises
    ------
    JointDynamicsError
        For a problem that the user must solve first; `--resume` then continues.
    """
    done, wanted = folder.steps, motions(folder.settings.tests)
    if not {motion.name for motion in wanted} <= set(done.get('move', {})):
        with Processes(folder.path / 'logs') as processes, ros_client(processes.check) as client:
            robot = _look(client, processes, folder, terminal)
            done.pop('identify', None)  # outdated: made before joint tests were added
            planned = done.get('plan', {}).get('motions', {})
            if missing := [motion for motion in wanted if motion.name not in planned]:
                terminal.step(2, 'Plan')
                plan(folder, missing)
                planned |= {motion.name: _plan_facts(folder, motion.name) for motion in missing}
                folder.finish('plan', motions=planned)
            _move(robot, folder, terminal)
    if 'identify' not in done and _identify(folder, terminal) != 0:
        return 3
    _hand_over(folder, terminal)
    return 0


def _look(client: RosClient, processes: Processes, folder: CalibrationFolder, terminal: Terminal) -> Robot:
    terminal.step(1, 'Look')
    settings = folder.settings
    with terminal.progress('looking for nodes'):
        found = nodes_run(client, settings)
    if found:
        terminal.say('the nodes run already')
    else:
        if not settings.effort and not settings.preset:
            folder.change(effort=terminal.choose('What is `effort` in joint_states?', EFFORTS))
        terminal.say(f'starts excitation and identifier (preset {settings.preset or DEFAULT_PRESET})')
        start_nodes(processes, folder)
    try:
        robot = connect(client, settings)
    except JointDynamicsError as error:
        logs = '; '.join(f'{name}: {processes.last_words(name)}' for name in processes.pids)
        raise JointDynamicsError(f'{error}{logs and f" ({logs})"}') from None
    folder.write_yaml('config.yaml', robot.config)
    write_atomically(folder.path / 'robot.urdf', robot.model.urdf or '')
    with terminal.progress('looking') as say:
        findings = look(robot, say)
    terminal.table('', ['', 'found', 'what to do'], [[each.what, each.found, each.remedy] for each in findings])
    if problems := [each for each in findings if each.remedy]:
        first, others = problems[0], len(problems) - 1
        more = f' (and {others} more in the table above)' if others else ''
        raise JointDynamicsError(f'calibrate: {first.what}: found {first.found}; {first.remedy}{more}')
    folder.finish('look', rate=robot.rate, findings={each.what: each.found for each in findings})
    return robot


def _plan_facts(folder: CalibrationFolder, name: str) -> dict[str, Any]:
    summary = folder.document(f'motions/{name}/summary.json')
    return {key: summary[key] for key in ('profile', 'duration', 'condition_number', 'margins')}


def _move(robot: Robot, folder: CalibrationFolder, terminal: Terminal) -> None:
    """Show the motions without a recording, ask the user, then play and record them."""
    terminal.step(3, 'Move')
    played = dict(folder.steps.get('move', {}))
    pending = [motion for motion in motions(folder.settings.tests) if motion.name not in played]
    plans = {motion.name: folder.path / 'motions' / motion.name for motion in pending}
    trajectories = {name: load_trajectory(path / 'summary.json') for name, path in plans.items()}
    for motion in pending:
        trajectory = trajectories[motion.name]
        terminal.table(
            f'{motion.name}, {motion.purpose}: {trajectory.duration:.0f} s', *describe(trajectory, robot.model)
        )
    report = plans[pending[0].name] / 'report.html'
    terminal.say(f'the moving robot with its limits: {report}')
    if not terminal.yes:
        webbrowser.open(report.as_uri())

    def until(ready: Callable[[], bool]) -> None:
        robot.client.until(ready, 'an answer', PATIENCE)

    with preview(robot, trajectories[pending[0].name]):
        agreed = terminal.ask(
            'Clear the space around the robot, keep the emergency stop at hand. Move the robot?', until
        )
    if not agreed:
        raise JointDynamicsError('calibrate: not moved, as asked; --resume continues from here')
    player = Player(robot, folder, terminal)
    for motion in pending:
        recorded = insist(partial(player.play, motion.name), terminal, until)
        played[motion.name] = str(recorded.relative_to(folder.path))
        folder.finish('move', **played)


def insist(play: Callable[[], Path], terminal: Terminal, until: Callable[[Callable[[], bool]], None]) -> Path:
    """Play a motion and return its recording; after an error, repeat it as often as the user agrees.

    Raises
    ------
    JointDynamicsError
        The error of `play`, if the user declines to repeat or is not asked (`--yes`).
    """
    while True:
        try:
            return play()
        except JointDynamicsError as error:
            if terminal.yes:
                raise
            terminal.problem(str(error))
            if not terminal.ask('Play this motion again?', until):
                raise


def _identify(folder: CalibrationFolder, terminal: Terminal) -> int:
    """Identify, offer one proven correction, evaluate the joint tests; return the exit status of the verdict."""
    terminal.step(4, 'Identify')
    status, summary = _run_identification(folder)
    mend = {key: value for key, value in summary.get('mend', {}).items() if key in SECTIONS}
    if status == 3 and mend:
        terminal.say(f'a correction: {yaml.safe_dump(mend, default_flow_style=True).strip()}')
        rows = [[joint, one['before'], one['after']] for joint, one in summary['mend'].get('left_percent', {}).items()]
        terminal.table('Its proof: residual on unseen data, %', ['joint', 'without', 'with'], rows)
        if terminal.ask('Use this correction?'):
            shutil.copy(folder.path / 'identified' / 'mend.yaml', folder.path / 'config.yaml')
            status, summary = _run_identification(folder)
    terminal.record(verdict=summary['verdict_line'])
    terminal.say(summary['verdict_line'], f'bold {"red" if status else "green"}', label='verdict: ')
    if status != 0:
        step = NEXT_STEPS.get(summary['reasons'][0]['code'], NEXT_STEP.format(folder.path))
        terminal.say(step, 'bold', label='next: ')
        terminal.record(next=step)
        return status
    shutil.copy(folder.path / 'identified' / 'dynamics.yaml', folder.path / 'dynamics.yaml')
    for test, joint in folder.settings.tests:
        name = f'{test}_{joint}'
        words = ['identify-joint', test, f'recordings/{name}', '--joint', joint, '--robot', 'robot.urdf']
        words += ['--config', 'config.yaml', '--description', 'dynamics.yaml', '--out', f'joints/{name}']
        if folder.command(*words) == 0:
            shutil.copy(folder.path / 'joints' / name / 'dynamics.yaml', folder.path / 'dynamics.yaml')
    folder.finish('identify', verdict=summary['verdict_line'], condition_number=summary['condition_number'])
    return 0


def _run_identification(folder: CalibrationFolder) -> tuple[int, dict[str, Any]]:
    """Identify from the first motion, validate on the second; return exit status and summary."""
    words = ['identify', 'recordings/learn', '--validate', 'recordings/judge', '--robot', 'robot.urdf']
    status = folder.command(*words, '--config', 'config.yaml', '--out', 'identified')
    name = 'summary.json' if status == 0 else 'summary.not_reliable.json'
    return status, folder.document(f'identified/{name}')


def _hand_over(folder: CalibrationFolder, terminal: Terminal) -> None:
    """Write the gains; print the commands that start estimator and controller with the result."""
    terminal.step(5, 'Hand over')
    settings, description = folder.settings, folder.path / 'dynamics.yaml'
    controller = '' if settings.controller == CalibrationSettings.controller else settings.controller
    simulated = settings.preset == 'simulation'
    given = {
        'preset': '' if simulated else settings.preset,
        'namespace': settings.namespace,
        'initial_joint_controller': controller,
        'use_sim_time': 'true' if settings.use_sim_time and not simulated else '',
        'description_file': str(description),
    }
    arguments = [f'{name}:={value}' for name, value in given.items() if value]
    file = 'simulation' if simulated else 'hardware'
    lines = [f'ros2 launch joint_dynamics {file}.launch.py {shlex.join(arguments)}']
    words = ['gains', '--robot', 'robot.urdf', '--config', 'config.yaml', '--description', 'dynamics.yaml']
    words += ['--rate', f'{controller_rate(folder.steps["look"]["rate"]):.0f}', '--plugin']
    controllers = str(folder.path / 'controllers.yaml')
    words += ['--out', controllers, '--json', GAINS]
    # `gains` may fail (2), as without positive rotor inertias; the description is valid all the same.
    if folder.command(*words, accepted=(0, 2)) == 0:
        manager = f' -c {root(settings)}/controller_manager' if root(settings) else ''
        spawner = f'ros2 run controller_manager spawner --param-file {shlex.quote(controllers)}'
        chain = 'feedforward_controller feedforward_trajectory_controller'
        lines.append(f'{spawner} --inactive {CalibrationSettings.controller}{manager}')
        lines.append(f'{spawner} --activate-as-group {chain}{manager}')
    terminal.say(str(description), label='description: ')
    terminal.say(str(folder.path / 'identified' / 'report.html'), label='report: ')
    for line in lines:
        terminal.say(line, label='next: ')
    folder.finish('hand over', date=date.today().isoformat(), description=str(description), lines=lines)
