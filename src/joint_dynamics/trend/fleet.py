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

"""A trend from a folder tree: the reference of each robot, the measurement of every run, and the result.

Every run is measured in a process of its own, so that a recording which kills its process costs that run only; on a
Dask cluster, every run is a task.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.python_process import ONE_THREAD, cores, environment, module_command
from joint_dynamics.settings import Settings, setting
from joint_dynamics.trend.measure import Figure, work
from joint_dynamics.trend.series import REFERENCE, Run, Series, find_runs, rows_of, series_of

Task = dict[str, Any]
Outcome = dict[str, Any]
Execute = Callable[[Sequence[Task]], Iterator[Outcome]]
SCHEDULER_TIMEOUT = 30.0  # s; a busy scheduler answers within a few seconds


@dataclass(frozen=True)
class TrendSettings(Settings):
    """How runs are compared over time."""

    SECTION = 'trend'
    GONE: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ('before', 'after', 'window', 'least_change', 'false_alarm_rate'),
            'trend tests slopes over time instead of single changes; set trend.significance',
        ),
        'quantities': 'the table has all of them',
        'reference_runs': 'identify the earliest recordings, and give the result with --reference',
    }

    significance: float = setting(
        0.01,
        'probability of a significant slope on an unchanged robot, over all joints and quantities',
        lower=1e-6,
        upper=0.5,
    )
    processes: int | None = setting(None, 'recordings at the same time', lower=1, upper=1024, none='one per core')


@dataclass(frozen=True)
class Trend:
    """The result for a folder of runs.

    Attributes
    ----------
    runs
        the measured ones.
    series
        over time.
    left_out
        {path: reason}.
    """

    runs: Sequence[Run]
    series: Sequence[Series]
    left_out: Mapping[str, str]
    settings: TrendSettings

    @property
    def robots(self) -> list[str]:
        """Names of the robots."""
        return sorted({run.robot for run in self.runs})

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table: one row per run, joint and quantity."""
        return rows_of(self.series)

    @property
    def significant(self) -> list[Series]:
        """Series whose slope is significant, the most significant first; the level is shared by a robot's series."""
        counts = Counter(each.robot for each in self.series)
        rated = [(slope.significance * counts[each.robot], each) for each in self.series if (slope := each.slope)]
        rated.sort(key=lambda item: item[0])
        return [each for level, each in rated if level < self.settings.significance]

    def summary(self) -> dict[str, Any]:
        """Return summary.json: plain keys and values."""
        return {
            'robots': self.robots,
            'runs': len(self.runs),
            'significance': self.settings.significance,
            'slopes': [
                {'robot': each.robot, 'joint': each.joint, 'quantity': each.quantity, **vars(slope)}
                for each in self.series
                if (slope := each.slope) is not None
            ],
            'significant': [[each.robot, each.joint, each.quantity] for each in self.significant],
            'left_out': dict(self.left_out),
        }


def in_processes(tasks: Sequence[Task], count: int | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each task, in order; `count` processes at a time, one per core where it is None."""

    def measured(task: Task) -> Outcome:
        command = module_command('joint_dynamics.trend.measure:main')
        done = subprocess.run(
            command, input=json.dumps(task), env=environment(ONE_THREAD), capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return dict(json.loads(done.stdout.splitlines()[-1]))
        last = (done.stderr.strip().splitlines() or ['it said nothing'])[-1]
        return {'error': f'expected its process to end with status 0, found {done.returncode}: {last}'}

    with ThreadPoolExecutor(count or cores()) as pool:
        try:
            yield from pool.map(measured, tasks)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def on_cluster(address: str) -> Execute:
    """Return the function that measures on the Dask cluster of a scheduler, whose workers see the same paths.

    Raises
    ------
    JointDynamicsError
        Where the package distributed is missing, or no scheduler answers.
    """
    try:
        import distributed
    except ImportError:
        raise JointDynamicsError(
            '--dask: expected the package distributed, not found (pip install joint_dynamics[dask])'
        ) from None
    try:
        client = distributed.Client(address, timeout=SCHEDULER_TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise JointDynamicsError(
            f'--dask {address}: expected the address of a scheduler, as tcp://host:8786, found: {one_line(error)}'
        ) from None

    def execute(tasks: Sequence[Task]) -> Iterator[Outcome]:
        for future in client.map(work, tasks, pure=False):
            error = future.exception()
            yield future.result() if error is None else {'error': one_line(error)}

    return execute


def trend(
    root: str | Path,
    settings: TrendSettings | None = None,
    *,
    reference: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    leave_out: str | Path | None = None,
    execute: Execute | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trend:
    """Measure all runs below a folder, each against the reference of its robot.

    Parameters
    ----------
    root
        a folder per robot, or the runs of one; `reference.yaml` in it is the description of the robot when new.
    settings
        of the comparison.
    reference
        description of the robots that have none of their own.
    config
        sections `recording` and `identification` of a configuration.
    leave_out
        a folder below `root` to ignore, such as that of the results.
    execute
        where runs are measured (`on_cluster`); None: in processes on this machine.
    progress
        called with the number of runs done, and of all runs.

    Raises
    ------
    JointDynamicsError
        Where there is no run, or no reference.
    """
    settings, config = settings or TrendSettings(), config or {}
    execute = execute or (lambda tasks: in_processes(tasks, settings.processes))
    runs, left_out = find_runs(root, leave_out)
    references = {name: _reference(Path(root).expanduser(), name, reference) for name in {run.robot for run in runs}}
    sections = {name: dict(config.get(name, {})) for name in ('recording', 'identification')}
    tasks = [{'path': str(run.path.resolve()), 'reference': references[run.robot], **sections} for run in runs]
    measured = []
    for k, (run, outcome) in enumerate(zip(runs, execute(tasks), strict=True), start=1):
        if 'error' in outcome:
            left_out[str(run.path)] = outcome['error']
        else:
            measured.append((run, [Figure(**each) for each in outcome['figures']]))
        if progress is not None:
            progress(k, len(runs))
    return Trend([run for run, _ in measured], series_of(measured), left_out, settings)


def _reference(root: Path, robot: str, reference: str | Path | None) -> str:
    """Return the reference of a robot as YAML."""
    own = next((path for path in (root / robot / REFERENCE, root / REFERENCE) if path.is_file()), reference)
    if own is None:
        raise JointDynamicsError(
            f'trend: expected a reference of {robot}, found neither {REFERENCE} in its'
            ' folder nor --reference DESCRIPTION; joint-dynamics identify makes one from early recordings'
        )
    return DynamicsDescription.load(own).to_yaml()
