"""The first half of the demonstration: excite, record, identify, compare.

Each stage works through the nodes and leaves its numbers in the context.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import yaml

from joint_dynamics.demo import scenario
from joint_dynamics.demo.chain import identify_joints as description_with_joints
from joint_dynamics.demo.comparison import compare_parameters
from joint_dynamics.demo.context import INPUTS, DemoContext
from joint_dynamics.demo.scenario import FLOOR, GAIN_DEVIATION, INERTIA_ERROR, unknown_tool
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.recording import load_recording
from joint_dynamics.simulation import Payload

#: What the identifier recorded, by its full topics.
RECORDED = {
    'joint_states': {'topic': '/joint_states', 'effort': 'none'},
    'motor_states': {'topic': '/motor_states', 'effort': 'current'},
    'temperatures': ['/{joint}/temperature'],
}


def start(demo: DemoContext) -> None:
    """Start the robot, the node that excites it and the node that identifies it."""
    from joint_dynamics.demo.robot import DemoRobot

    use = demo.settings
    with demo.display.stage('Start the nodes') as step:
        first, tool = demo.work.q[0], unknown_tool(use.seed)
        lower, upper = scenario.working_range(demo.work)
        config = demo.folder / 'logs' / 'excite.yaml'
        config.write_text(
            yaml.safe_dump(
                {
                    'excitation': {
                        'posture': first.tolist(),
                        'limits': {'lower': lower, 'upper': upper, 'floor': FLOOR},
                        'fourier': {'period': use.period, 'starts': use.starts},
                    }
                }
            ),
            encoding='utf-8',
        )
        demo.node(
            'simulator',
            {
                'seed': use.seed,
                'real_time_factor': use.speed,
                'position': first.tolist(),
                'follow_topics': ['/identifier/heard', '/estimator/joint_torques'],
                'max_lead': 0.5,
                'inertia_error': INERTIA_ERROR,
                **tool_parameters(tool),
            },
        )
        step(0.2, 'the first run of an installation compiles the plant')
        demo.robot = DemoRobot(demo.client)
        joints, nominal = demo.robot.joint_names, demo.robot.data_sheet['drive_gain']
        demo.node(
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
        demo.node(
            'identifier',
            {
                **INPUTS,
                'drive_gain': dict(zip(joints, nominal, strict=True)),
                'drive_gain_deviation': dict.fromkeys(joints, GAIN_DEVIATION),
                'validation_recordings': 1,
                'output_folder': str(demo.folder / 'identified'),
            },
        )
        demo.client.until_active('/identifier')
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


def excite(demo: DemoContext) -> None:
    """Have an exciting motion optimised and played, and record it.

    Then constant speeds, and the work, which only validates.
    """
    from joint_dynamics.demo.robot import StatusOf

    status = StatusOf(demo.client, '/excitation')
    with demo.display.stage('Optimise the excitation') as step:
        demo.client.trigger('/excitation/plan')
        status.wait('ready', lambda seconds, words: step(0.0, words), 600.0)
    robot = demo.the_robot
    with demo.display.stage('Play and record it') as step:
        demo.client.trigger('/identifier/start_recording')
        words = demo.client.trigger('/excitation/start')
        length = demo.settings.period * demo.settings.repeats + 4.0
        status.wait('done', lambda seconds, _: step(min(1.0, seconds * demo.settings.speed / length), words), 300.0)
        step(1.0, f'{words}; {_counted(demo.client.trigger("/identifier/stop_recording"))}')
    for name, motion in (
        ('Constant speeds', scenario.constant_speeds(demo.work.q[0])),
        ('Work, to validate', demo.work),
    ):
        with demo.display.stage(name) as step:
            demo.client.trigger('/identifier/start_recording')
            robot.wait(robot.play(motion.time, motion.q, motion.dq, motion.ddq), step)
            step(1.0, _counted(demo.client.trigger('/identifier/stop_recording')))
    demo.processes.stop('excitation')


def _counted(message: str) -> str:
    """Shorten `recording 1: 12.2 s, messages: 12141 on joint_states, …`."""
    topics = message.partition('messages: ')[2].split(', ')
    return f'{topics[0]} and {topics[1]}' if len(topics) > 1 else message


def identify(demo: DemoContext) -> None:
    """Let the identifier identify the robot, and compare with the truth."""
    with demo.display.stage('Identify the robot') as step:
        demo.results['truth'] = demo.the_robot.truth
        demo.summary['seed'] = demo.settings.seed
        line = demo.client.trigger('/identifier/identify', 600.0)
        step(1.0, line.partition('; results')[0])
        identified = json.loads((demo.folder / 'identified' / 'summary.json').read_text(encoding='utf-8'))
        comparison = compare_parameters(identified['parameters'], demo.results['truth'])
        demo.results['parameters'] = comparison
        demo.summary['parameter_coverage_percent'] = comparison.coverage_percent
        demo.summary['identification'] = {
            'residual_percent': identified['training_overall_percent'],
            'validation_residual_percent': identified['validation_overall_percent'],
            'validation_moving_percent': identified['validation_moving_overall_percent'],
            'resting_within_percent': identified['resting']['validation'].get('within_percent', {}).get('overall'),
            'condition_number': identified['condition_number'],
            'base_parameters': len(comparison.rows),
            'median_error_percent': comparison.median_error_percent,
            'median_error_deviations': comparison.median_error_deviations,
            'largest_error_deviations': float(np.abs(comparison.deviations).max()),
        }
    demo.client.transition('/identifier', 'deactivate')
    demo.processes.stop('identifier')


def identify_joints(demo: DemoContext) -> None:
    """Identify friction, stiffness and kinematic error of the joints from the same recordings."""
    folder = demo.folder / 'identified'
    with demo.display.stage('Identify the joints') as step:

        def progress(share: float, words: str) -> None:
            demo.client.rest(0.0)
            step(share, words)

        identified = DynamicsDescription.load(folder / 'dynamics.yaml')
        names = identified.robot_model().joint_names
        recordings = [load_recording(str(folder / f'recording_{k}'), RECORDED, names) for k in (1, 2)]
        description = description_with_joints(identified, recordings, progress)
        description.save(demo.folder / 'dynamics.yaml')
        demo.results['description'] = description
        step(1.0, 'friction over speed and load, hysteresis, stiffness, kinematic error: dynamics.yaml')


FIRST_HALF = (start, excite, identify, identify_joints)
