"""The stages of the demonstration, one after the other: each works through the nodes and leaves its numbers in `Story.summary`."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from joint_dynamics.cli.demo_display import Display
from joint_dynamics.cli.processes import Processes
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.report.demo import compare_parameters

if TYPE_CHECKING:
    from joint_dynamics.nodes.demo_conductor import Conductor
    from joint_dynamics.nodes.demo_robot import DemoRobot

NODES = 'joint_dynamics.nodes'
#: Friction columns beside Coulomb and viscous ones: what a strain-wave gear needs above 1 rad/s.
FRICTION_TERMS = ('F_T0', 'F_V2', 'F_V3')


@dataclass(frozen=True)
class DemoSettings:
    """How long the demonstration is; times in s (simulated unless stated).

    seed: of the simulated robot. speed: simulated seconds per second of the wall, at most. budget: of the excitation's search, wall time.
    period, repeats: of the exciting motion.
    """

    seed: int = 0
    speed: float = 2.0
    budget: float = 12.0
    period: float = 10.0
    repeats: int = 2


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

    @property
    def the_robot(self) -> DemoRobot:
        """The robot, which `start` has made."""
        if self.robot is None:
            raise JointDynamicsError('demo: expected the robot to be started first')
        return self.robot

    def node(self, name: str, parameters: dict[str, Any], remap: dict[str, str] | None = None) -> None:
        """Start one node as a process of its own, with parameters by name (nested for per-joint ones); it configures and activates itself."""
        path = self.folder / 'logs' / f'{name}.yaml'
        path.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': {'autostart': True, **parameters}}}), encoding='utf-8')
        arguments = ['--ros-args', '--params-file', str(path)]
        for source, target in (remap or {}).items():
            arguments += ['-r', f'{source}:={target}']
        self.processes.start(name, f'{NODES}.{name}', arguments)


def start(story: Story) -> None:
    """Start the robot and the node that identifies it."""
    from joint_dynamics.nodes.demo_robot import DemoRobot
    with story.display.stage('Start the nodes') as step:
        story.node('simulator', {'seed': story.settings.seed, 'real_time_factor': story.settings.speed})
        step(0.2, 'the first run of an installation compiles the plant')
        story.robot = DemoRobot(story.conductor)
        joints, nominal = story.robot.joint_names, story.robot.truth['friction']['nominal_gain']
        terms = story.folder / 'logs' / 'identification.yaml'
        terms.write_text(yaml.safe_dump({'identification': {'terms': {joint: [{'friction': name} for name in FRICTION_TERMS]
                                                                      for joint in joints}}}), encoding='utf-8')
        story.node('identifier', {
            'inputs': ['joint_states', 'motor_states', 'temperatures'], 'joint_states_effort': 'none', 'motor_states_effort': 'current',
            'reliable_inputs': True, 'drive_gain': dict(zip(joints, nominal, strict=True)), 'config_file': str(terms),
            'output_folder': str(story.folder / 'identified')})
        story.conductor.until_active('/identifier')
        step(1.0, f'a UR5e with {len(joints)} flexible joints, {1 + len(story.processes.pids)} processes')


def excite(story: Story) -> None:
    """Optimise an exciting motion, play it, and have it recorded."""
    from joint_dynamics.excitation import ExcitationSettings, optimise
    from joint_dynamics.robot import RobotModel
    from joint_dynamics.simulation import ur5e_urdf
    from joint_dynamics.simulation.robot import HOME
    use, robot = story.settings, story.the_robot
    with story.display.stage('Optimise the excitation') as step:
        def watch(progress: Any) -> None:
            story.processes.check()
            step(progress.seconds / use.budget, '' if progress.best is None else f'condition number {progress.best:.3g}')
        result = optimise(RobotModel.load(ur5e_urdf()), ExcitationSettings(period=use.period, repeats=use.repeats, posture=list(HOME),
                                                                           time_budget=use.budget), watch)
        motion = result.trajectory.sample(50.0)
        story.summary['excitation'] = {'condition_number': result.condition_number, 'before': result.before.condition_number,
                                       'margins': result.margins, 'seconds': result.seconds}
    with story.display.stage('Play and record it') as step:
        story.conductor.trigger('/identifier/start_recording')
        over = robot.play(motion.time, motion.q, motion.dq, motion.ddq)
        robot.wait(over, lambda share: step(share, f'{over:.0f} s of simulated time'))
        step(1.0, story.conductor.trigger('/identifier/stop_recording'))


def identify(story: Story) -> None:
    """Let the identifier identify, and compare with the truth."""
    with story.display.stage('Identify') as step:
        step(0.1)
        story.results['truth'] = story.the_robot.truth
        line = story.conductor.trigger('/identifier/identify', 120.0)
        step(1.0, line.partition('; results')[0])
        found = json.loads((story.folder / 'identified' / 'summary.json').read_text(encoding='utf-8'))
        comparison = compare_parameters(found['parameters'], story.results['truth'])
        story.results['parameters'] = comparison
        story.summary['parameter_coverage_percent'] = comparison.coverage_percent
        story.summary['identification'] = {
            'residual_percent': found['training_overall_percent'], 'condition_number': found['condition_number'],
            'base_parameters': len(comparison.rows), 'median_error_percent': comparison.median_error_percent,
            'median_error_deviations': comparison.median_error_deviations}


STAGES = (start, excite, identify)
