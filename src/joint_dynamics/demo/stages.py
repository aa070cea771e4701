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

"""The stages of the demonstration; each works through nodes and commands, and leaves its figures in the context."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from joint_dynamics.arm import Arm
from joint_dynamics.calibration.client import RosClient
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.demo import DemoSettings, comparison, scenario
from joint_dynamics.demo.robot import DemoRobot, LatestArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.nodes.interfaces.messages import trajectory_arrays
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf
from joint_dynamics.terminal import Terminal

SPEED = 2.0  # simulated seconds per second of the wall, at most
LEAD = 3.0  # simulated s between sending a motion and its start, in which feedforward works through all of it
STANDING = 0.02  # simulated seconds per second meanwhile: a busy machine is in time, too
ALPHA_LOWER = [0.4, -5.0]  # α1, α2 [N·m·s/rad]: a worn joint is beyond the region of [M6 eq 27]
ALPHA_UPPER = [2.5, 5.0]
PLAIN = {'law': 'computed_torque', 'friction': 'static', 'friction_smoothing': 0.02}
HYSTERESIS = {'law': 'adaptive_friction', 'friction': 'default', 'rest_gain': scenario.REST_GAIN}
NOMINAL = {**HYSTERESIS, 'alpha_lower': [1.0, 0.0], 'alpha_upper': [1.0, 0.0]}
ADAPTIVE = {**HYSTERESIS, 'alpha_lower': ALPHA_LOWER, 'alpha_upper': ALPHA_UPPER}
INPUTS = {
    'inputs': ['joint_states', 'motor_states', 'temperatures'],
    'joint_states_effort': 'none',
    'motor_states_effort': 'current',
    'reliable_inputs': True,
}
CALIBRATION_TIME = 1800.0  # s, longest calibration on a busy machine
COMPILING_TIME = 300.0  # s, longest start of an estimator: the first one of an installation is compiled
EXCITATION = {'period': 10.0, 'repeats': 2, 'starts': 1}  # of the exciting motions: s, periods, searches


@dataclass
class DemoContext:
    """State of all stages.

    Attributes
    ----------
    folder
        for results and logs.
    robot
        the simulated one, once it is started.
    work, model
        the motion of the work; the robot as its maker describes it.
    summary
        figures for summary.json.
    results
        arrays and documents for the report, by name.
    seconds
        duration of each stage.
    """

    settings: DemoSettings
    folder: Path
    terminal: Terminal
    processes: Processes
    client: RosClient
    robot: DemoRobot = field(init=False)
    summary: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    work: MotionSamples = field(default_factory=scenario.cycle)
    model: RobotModel = field(default_factory=lambda: RobotModel.load(ur5e_urdf()))

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[str], None]]:
        """Run one stage; its value shows the progress."""
        began = time.monotonic()
        with self.terminal.progress(name) as show:
            yield show
        self.seconds[name] = time.monotonic() - began
        self.terminal.say(f'{name}: {self.seconds[name]:.1f} s')

    def node(self, name: str, parameters: Mapping[str, Any], remap: Mapping[str, str] | None = None) -> None:
        """Start one node as a process of its own, with parameters by name; it configures and activates itself."""
        path = self.folder / 'logs' / f'{name}.yaml'
        path.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': {'autostart': True, **parameters}}}))
        renamed = [word for pair in (remap or {}).items() for word in ('-r', ':='.join(pair))]
        arguments = ['--ros-args', '--params-file', str(path), *renamed]
        self.processes.start(name, f'joint_dynamics.nodes.{name}.node', arguments)


def start(demo: DemoContext) -> None:
    """Start the simulated robot."""
    with demo.stage('Start the robot'):
        parameters = {
            'seed': demo.settings.seed,
            'real_time_factor': SPEED,
            'position': demo.work.q[0].tolist(),
            'follow_topics': ['/identifier/heard', '/estimator/joint_torques'],
            'max_lead': 0.5,
            'inertia_error': scenario.INERTIA_ERROR,
        }
        demo.node('simulator', parameters | scenario.tool_parameters(scenario.unknown_tool(demo.settings.seed)))
        demo.robot = DemoRobot(demo.client)
        demo.results['work'] = demo.work


def calibrate(demo: DemoContext) -> None:
    """Calibrate the robot by the command, and compare the result with the truth."""
    robot, out, config = demo.robot, demo.folder / 'calibration', demo.folder / 'logs' / 'calibrate.yaml'
    lower, upper = scenario.working_range(demo.work)
    gains = dict(zip(robot.joint_names, robot.data_sheet['drive_gain'], strict=True))
    limits = {'lower': lower, 'upper': upper, 'floor': scenario.FLOOR}
    sections = {
        'excitation': {'posture': demo.work.q[0].tolist(), 'limits': limits, 'fourier': EXCITATION},
        'identification': {'drive_gains': gains, 'drive_gain_deviation': scenario.GAIN_DEVIATION},
    }
    config.write_text(yaml.safe_dump(sections), encoding='utf-8')
    words = ['calibrate', '--preset', 'simulation', '--controller', 'simulator', '--sim-time', '--yes', '--config']
    with demo.stage('Calibrate the robot') as show, Processes(demo.folder / 'logs') as command:
        command.start('calibrate', 'joint_dynamics.cli.main', [*words, str(config), '--out', str(out)])

        def ended() -> bool:
            show(command.last_words('calibrate'))
            return command.status('calibrate') is not None

        demo.client.until(ended, 'the calibration to end', CALIBRATION_TIME)
        status = command.status('calibrate')
        if status != 0:
            failure = NotReliableError if status == 3 else JointDynamicsError
            raise failure(f'calibrate: {command.last_words("calibrate")}; see {demo.folder}/logs/calibrate.log')
    identified = json.loads((out / 'identified' / 'summary.json').read_text(encoding='utf-8'))
    parameters = comparison.compare_parameters(identified['parameters'], robot.truth)
    description = DynamicsDescription.load(out / 'dynamics.yaml')
    description.save(demo.folder / 'dynamics.yaml')
    demo.results |= {'truth': robot.truth, 'parameters': parameters, 'description': description}
    demo.summary |= {
        'seed': demo.settings.seed,
        'parameter_coverage_percent': parameters.coverage_percent,
        'median_error_percent': parameters.median_error_percent,
        'validation_moving_percent': identified['validation_moving_overall_percent'],
        'validation_residual_percent': identified['validation_overall_percent'],
    }


def start_estimator(demo: DemoContext) -> None:
    """Start estimator and feedforward from the description."""
    common = {**INPUTS, 'use_sim_time': True, 'description_file': str(demo.folder / 'dynamics.yaml')}
    estimator = {
        'friction_lower': ALPHA_LOWER,
        'friction_upper': ALPHA_UPPER,
        'torque_rate': 50.0,
        'save_period': 0.0,
        'output_folder': str(demo.folder / 'estimated'),
        'resume': False,
    }
    feedforward = {
        'autostart': False,
        'timeout': 5.0,
        'slow_timeout': 3600.0,
        'plan_period': 0.004,
        'interpolation': 'as_given',
        'check_compensation': False,
    }
    remap = {'~/joint_trajectory': '/simulator/joint_trajectory'}
    remap |= {'friction_parameters': '/estimator/friction_parameters'}
    with demo.stage('Start the estimator'):
        demo.node('estimator', common | estimator)
        demo.node('feedforward', common | feedforward, remap)
        for name in ('friction', 'stiffness'):
            demo.results[name] = LatestArray(demo.client, demo.robot, f'/estimator/{name}_parameters')
        demo.client.until_active('/estimator', COMPILING_TIME)


def wear(demo: DemoContext) -> None:
    """Run the work on the new robot, wear and warm it, and exercise it for the estimator."""
    robot = demo.robot
    play_cycle(demo, 'Work, new and cold', PLAIN)
    _compare_estimates(demo, 'new')
    power = scenario.heating(demo.model.limits.effort)
    robot.command(wear_duration=scenario.HEATING_TIME)
    robot.command(
        **{f'wear__{joint}': scenario.WEAR for joint in robot.joint_names},
        **{f'heating__{joint}': float(watt) for joint, watt in zip(robot.joint_names, power, strict=True)},
    )
    play_cycle(demo, 'Wear and warm the joints', PLAIN)
    robot.command(**{f'heating__{joint}': 0.0 for joint in robot.joint_names})
    with demo.stage('Exercise the worn joints') as show:
        # The work hardly deforms the shoulder pan, without gravity load: only accelerations show its stiffness.
        robot.wait(robot.play(scenario.constant_speeds(demo.work.q[0])), show)


def compensate(demo: DemoContext) -> None:
    """Run the same motion with the feedforward of the new robot, without and with hysteresis, and adapted."""
    runs = {
        'plain': play_cycle(demo, 'Plain feedforward', PLAIN),
        'nominal': play_cycle(demo, 'The same with hysteresis', NOMINAL),
        'adaptive': play_cycle(demo, 'Adaptive feedforward', ADAPTIVE),
    }
    _compare_estimates(demo, 'worn')
    demo.results['runs'], states = runs, demo.results['states']
    for name, state in (('stiffness_map_nrmse_new', 'new'), ('stiffness_map_nrmse', 'worn')):
        demo.summary[name] = float(np.mean(states[state]['stiffness_nrmse']))
    for name in ('identified', 'adapted'):
        demo.summary[f'friction_{name}_percent'] = float(np.mean(states['worn'][f'friction_error_{name}_percent']))
    for first, second in comparison.RUNS:
        for quantity in ('torque', 'tracking'):
            before, after = (runs[name][f'{quantity}_mse'] for name in (first, second))
            demo.summary[f'{quantity}_{first}_to_{second}'] = comparison.reduction_percent(before, after)


def play_cycle(demo: DemoContext, title: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Play one cycle under a law of the feedforward, as a stage, and return its errors."""
    client, robot, motion = demo.client, demo.robot, demo.work
    with demo.stage(title) as show:
        client.reconfigure('/feedforward', **parameters)
        # Without temperatures and α from the topics the feedforward would take those of the description.
        client.until_ok('/feedforward: law')
        # The feedforward needs the position of the robot, too.
        robot.wait(robot.time + 0.5)
        robot.command(real_time_factor=STANDING)
        begin = robot.time + LEAD
        times, sent = trajectory_arrays(robot.refer('/feedforward/reference', begin, motion))
        robot.command(real_time_factor=SPEED)
        moment, q, current = robot.record(begin + float(motion.time[-1]) + 1.0, show)
    gain = np.array(robot.data_sheet['drive_gain'])
    return comparison.mean_squares(moment - begin, q, current * gain, motion, times, sent['effort'])


def _compare_estimates(demo: DemoContext, name: str) -> None:
    """Compare the present estimates with the present truth."""
    robot, results, description = demo.robot, demo.results, demo.results['description']
    robot.wait(robot.time + 1.0)
    demo.client.until(lambda: results['friction'].last.size and results['stiffness'].last.size, 'estimated parameters')
    truth, stiffness = robot.truth, results['stiffness'].last
    described = Arm.from_description(demo.model, description).stiffness
    assert described is not None
    results.setdefault('states', {})[name] = {
        'stiffness': stiffness,
        'stiffness_reach': described.reach,
        'true_spring': truth['spring_curve'],
        'speed': truth['friction_curve']['speed'],
        'stiffness_nrmse': comparison.map_nrmse(
            TorsionalStiffness(stiffness, described.reach), demo.model, demo.work, truth
        ),
        **comparison.friction_errors(description, results['friction'].last, truth),
    }


CALIBRATION = (start, calibrate)
STAGES = (*CALIBRATION, start_estimator, wear, compensate)
