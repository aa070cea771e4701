"""What the stages of a demonstration share, and what it shows of itself meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from joint_dynamics.calibration.processes import Processes
from joint_dynamics.demo import DemoSettings, scenario
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

if TYPE_CHECKING:
    from joint_dynamics.calibration.client import RosClient
    from joint_dynamics.demo.robot import DemoRobot

NODES = 'joint_dynamics.nodes'
#: Every node hears the robot in the same form.
INPUTS = {
    'inputs': ['joint_states', 'motor_states', 'temperatures'],
    'joint_states_effort': 'none',
    'motor_states_effort': 'current',
    'reliable_inputs': True,
}
#: Called with the share of the stage that is done, 0 … 1, and, if it likes, a few words.
Step = Callable[..., None]


class Display:
    """A bar per stage on a terminal, a line per stage elsewhere; `seconds` holds how long each took."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.seconds: dict[str, float] = {}
        self._console = Console()
        self._live = self._console.is_terminal
        self._progress = Progress(
            TextColumn('{task.description:<24}'),
            BarColumn(24),
            TimeElapsedColumn(),
            TextColumn('{task.fields[words]}'),
            console=self._console,
            disable=not self._live,
        )

    def __enter__(self) -> Display:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, line: str) -> None:
        """Show one line above the bars."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Step]:
        """Run one stage; its value is called as the stage goes on."""
        began = time.monotonic()
        if not self._live:
            print(f'{name} …', flush=True)
        task = self._progress.add_task(name, total=1.0, words='')
        last = ''

        def step(share: float, words: str = '') -> None:
            nonlocal last
            self._progress.update(task, completed=share, words=words)
            last = words or last

        yield step
        self.seconds[name] = time.monotonic() - began
        self._progress.update(task, completed=1.0, words=last)
        self._progress.stop_task(task)
        if not self._live:
            print(f'{name}: {self.seconds[name]:.1f} s{f", {last}" if last else ""}', flush=True)


@dataclass
class DemoContext:
    """What all stages share.

    Attributes
    ----------
    folder
        for results and logs.
    robot
        the simulated one, once it is started.
    summary
        figures for summary.json.
    results
        arrays and documents for the report, by name.
    model
        what its maker says of the robot.
    """

    settings: DemoSettings
    folder: Path
    display: Display
    processes: Processes
    client: RosClient
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
            self.results['work'] = scenario.cycle()
        return self.results['work']

    def node(self, name: str, parameters: dict[str, Any], remap: dict[str, str] | None = None) -> None:
        """Start one node as a process of its own, with parameters by name (nested for per-joint ones).

        The node configures and activates itself.
        """
        path = self.folder / 'logs' / f'{name}.yaml'
        path.write_text(
            yaml.safe_dump({f'/{name}': {'ros__parameters': {'autostart': True, **parameters}}}), encoding='utf-8'
        )
        arguments = ['--ros-args', '--params-file', str(path)]
        for source, target in (remap or {}).items():
            arguments += ['-r', f'{source}:={target}']
        self.processes.start(name, f'{NODES}.{name}.node', arguments)
