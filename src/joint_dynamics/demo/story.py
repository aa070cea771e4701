"""The first half of the demonstration: excite, record, identify, compare.

Each stage works through the nodes and leaves its numbers in the story.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from joint_dynamics.demo import motions
from joint_dynamics.demo.comparison import compare_parameters
from joint_dynamics.demo.demo_settings import DemoSettings
from joint_dynamics.demo.display import Display
from joint_dynamics.demo.plant import FLOOR, GAIN_DEVIATION, INERTIA_ERROR, unknown_tool
from joint_dynamics.demo.processes import Processes
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.recording import load_recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import Payload, ur5e_urdf

if TYPE_CHECKING:
    from joint_dynamics.demo.conductor import Conductor
    from joint_dynamics.demo.robot import DemoRobot

NODES = 'joint_dynamics.nodes'
#: Every node hears the robot in the same form.
INPUTS = {
    'inputs': ['joint_states', 'motor_states', 'temperatures'],
    'joint_states_effort': 'none',
    'motor_states_effort': 'current',
    'reliable_inputs': True,
}
#: What the identifier recorded, by its full topics.
RECORDED = {
    'joint_states': {'topic': '/joint_states', 'effort': 'none'},
    'motor_states': {'topic': '/motor_states', 'effort': 'current'},
    'temperatures': ['/{joint}/temperature'],
}


@dataclass
class Story:
    """What all stages share. `results`: arrays and documents for the report, by name."""

    settings: DemoSettings
    folder: Path
    display: Display
    processes: Processes
    conductor: Conductor
    robot: DemoRobot | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    model: RobotModel = field(default_factory=lambda: RobotModel.load(ur5e_urdf()))

    @property
    def the_robot(self) -> DemoRobot:
        """The robot, which `start` has made."""
        if self.robot is None:
            raise JointDynamicsError('demo: expected the robot to be started first, found none')
        return self.robot

    @property
    def work(self) -> MotionSamples:
        """The motion the robot is there for: one cycle."""
        if 'work' not in self.results:
            self.results['work'] = motions.cycle()
        return self.results['work']

    def node(self, name: str, parameters: dict[str, Any], remap: dict[str, str] | None = None) -> None:
        """Start one node as a process of its own, with parameters by name (nested for per-joint ones).

        It configures and activates itself.
        """
        path = self.folder / 'logs' / f'{name}.yaml'
        path.write_text(
            yaml.safe_dump({f'/{name}': {'ros__parameters': {'autostart': True, **parameters}}}), encoding='utf-8'
        )
        arguments = ['--ros-args', '--params-file', str(path)]
        for source, target in (remap or {}).items():
            arguments += ['-r', f'{source}:={target}']
        self.processes.start(name, f'{NODES}.{name}.node', arguments)


def start(story: Story) -> None:
    """Start the robot, the node that excites it and the node that identifies it."""
    from joint_dynamics.demo.robot import DemoRobot

    use = story.settings
    with story.display.stage('Start the nodes') as step:
        first, tool = story.work.q[0], unknown_tool(use.seed)
        lower, upper = motions.working_range(story.work)
        config = story.folder / 'logs' / 'excite.yaml'
        config.write_text(
            yaml.safe_dump(
                {
                    'excitation': {
                        'posture': first.tolist(),
                        'limits': {'lower': lower, 'upper': upper, 'floor': FLOOR},
                        'fourier': {'period': use.period, 'time_budget': use.budget},
                    }
                }
            ),
            encoding='utf-8',
        )
        story.node(
            'simulator',
            {
                'seed': use.seed,
                'real_time_factor': use.speed,
                'position': first.tolist(),
                'follow_topics': ['/identifier/heard', '/estimator/joint_torques'],
                'max_lead': 0.5,
                'engine': use.engine,
                'floor': use.engine == 'mujoco',
                'floor_height': FLOOR,
                'laws_seed': use.seed,
                'inertia_error': INERTIA_ERROR,
                **tool_parameters(tool),
            },
        )
        step(0.2, 'the first run of an installation compiles the plant')
        story.robot = DemoRobot(story.conductor)
        joints, nominal = story.robot.joint_names, story.robot.data_sheet['drive_gain']
        story.node(
            'excitation',
            {
                'config_file': str(config),
                'profile': 'fourier',
                'repeats': use.repeats,
                'approach_speed': 0.5,
                'use_sim_time': True,
                'state_timeout': 5.0,
                'tracking_error': 3.0,
            },
            {'~/joint_trajectory': '/simulator/joint_trajectory'},
        )
        story.node(
            'identifier',
            {
                **INPUTS,
                'drive_gain': dict(zip(joints, nominal, strict=True)),
                'drive_gain_deviation': dict.fromkeys(joints, GAIN_DEVIATION),
                'validation_recordings': 1,
                'output_folder': str(story.folder / 'identified'),
            },
        )
        story.conductor.until_active('/identifier')
        step(
            1.0,
            f'a UR5e with {len(joints)} flexible joints and a tool that no model knows; '
            'the nodes are processes of their own',
        )


def tool_parameters(tool: Payload) -> dict[str, Any]:
    """Return a payload as the simulator's parameters."""
    inertia = np.asarray(tool.inertia)
    return {
        'payload_mass': tool.mass,
        'payload_com': np.asarray(tool.com).tolist(),
        'payload_inertia': inertia[np.triu_indices(3)].tolist(),
    }


def excite(story: Story) -> None:
    """Have an exciting motion optimised and played, and record it.

    Then constant speeds, and the work, which only validates.
    """
    from joint_dynamics.demo.robot import StatusOf

    status = StatusOf(story.conductor, '/excitation')
    with story.display.stage('Optimise the excitation') as step:
        story.conductor.trigger('/excitation/plan')
        status.wait(
            'ready',
            lambda seconds, words: step(min(1.0, seconds / story.settings.budget), words),
            story.settings.budget + 60.0,
        )
    robot = story.the_robot
    with story.display.stage('Play and record it') as step:
        story.conductor.trigger('/identifier/start_recording')
        words = story.conductor.trigger('/excitation/start')
        length = story.settings.period * story.settings.repeats + 4.0
        status.wait('done', lambda seconds, _: step(min(1.0, seconds * story.settings.speed / length), words), 300.0)
        step(1.0, f'{words}; {_counted(story.conductor.trigger("/identifier/stop_recording"))}')
    with story.display.stage('Constant speeds') as step:
        motion = motions.constant_speeds(story.work.q[0])
        story.conductor.trigger('/identifier/start_recording')
        robot.wait(robot.play(motion.time, motion.q, motion.dq, motion.ddq), step)
        step(1.0, _counted(story.conductor.trigger('/identifier/stop_recording')))
    with story.display.stage('Work, to validate') as step:
        story.conductor.trigger('/identifier/start_recording')
        robot.wait(robot.play(story.work.time, story.work.q, story.work.dq, story.work.ddq), step)
        step(1.0, _counted(story.conductor.trigger('/identifier/stop_recording')))
    story.processes.stop('excitation')


def _counted(message: str) -> str:
    """Shorten `recording 1: 12.2 s, messages: 12141 on joint_states, …`."""
    found = message.partition('messages: ')[2].split(', ')
    return f'{found[0]} and {found[1]}' if len(found) > 1 else message


def identify(story: Story) -> None:
    """Let the identifier identify the robot, and compare with the truth."""
    with story.display.stage('Identify the robot') as step:
        story.results['truth'] = story.the_robot.truth
        story.summary |= {
            'engine': story.settings.engine,
            'seed': story.settings.seed,
            'laws': story.results['truth']['laws'],
        }
        line = story.conductor.trigger('/identifier/identify', 600.0)
        step(1.0, line.partition('; results')[0])
        found = json.loads((story.folder / 'identified' / 'summary.json').read_text(encoding='utf-8'))
        comparison = compare_parameters(found['parameters'], story.results['truth'])
        story.results['parameters'] = comparison
        story.summary['parameter_coverage_percent'] = comparison.coverage_percent
        story.summary['identification'] = {
            'residual_percent': found['training_overall_percent'],
            'validation_residual_percent': found['validation_overall_percent'],
            'validation_moving_percent': found['validation_moving_overall_percent'],
            'resting_within_percent': found['resting']['validation'].get('within_percent', {}).get('overall'),
            'condition_number': found['condition_number'],
            'base_parameters': len(comparison.rows),
            'median_error_percent': comparison.median_error_percent,
            'median_error_deviations': comparison.median_error_deviations,
            'largest_error_deviations': float(np.abs(comparison.deviations).max()),
        }
    story.conductor.transition('/identifier', 'deactivate')
    story.processes.stop('identifier')


def identify_joints(story: Story) -> None:
    """Identify friction, stiffness and kinematic error of the joints from the same recordings."""
    from joint_dynamics.demo.joints import identify_joints as work

    folder = story.folder / 'identified'
    with story.display.stage('Identify the joints') as step:

        def progress(share: float, words: str) -> None:
            story.conductor.rest(0.0)
            step(share, words)

        found = DynamicsDescription.load(folder / 'dynamics.yaml')
        names = found.robot_model().joint_names
        recordings = [load_recording(str(folder / f'recording_{k}'), RECORDED, names) for k in (1, 2)]
        description = work(found, recordings, progress)
        description.save(story.folder / 'dynamics.yaml')
        story.results['description'] = description
        step(1.0, 'friction over speed and load, hysteresis, stiffness, kinematic error: dynamics.yaml')


FIRST_HALF = (start, excite, identify, identify_joints)
