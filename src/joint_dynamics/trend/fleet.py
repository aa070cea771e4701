"""A trend from a folder tree: the reference of each robot, the runs still to be measured, and the result."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joint_dynamics.arrays import finite
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.documents import parse_json, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.trend.analysis import Alarm, Series, TrendSettings, find_alarms, rows_of, series_of
from joint_dynamics.trend.execution import Execution, Processes
from joint_dynamics.trend.measure import FORMAT, Measurement
from joint_dynamics.trend.runs import REFERENCE, Run, content_hash, find_runs
from joint_dynamics.version import __version__

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Trend:
    """The result for a folder of runs.

    Attributes
    ----------
    runs
        the measured runs, and how many of them were measured this time.
    series, alarms
        over time.
    left_out
        {path: reason}.
    notes : sequence of str
        on references that are not reliable.
    settings
        as used.
    """

    runs: Sequence[Run]
    anew: int
    series: Sequence[Series]
    alarms: Sequence[Alarm]
    left_out: Mapping[str, str]
    settings: TrendSettings
    notes: Sequence[str] = ()

    @property
    def robots(self) -> list[str]:
        """Names of the robots."""
        return sorted({run.robot for run in self.runs})

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table, see `table.COLUMNS`."""
        return rows_of(self.series)

    def summary(self) -> dict[str, Any]:
        """Return summary.json: plain keys and values."""
        return {
            'robots': self.robots,
            'runs': len(self.runs),
            'measured_anew': self.anew,
            'false_alarm_rate': self.settings.false_alarm_rate,
            'alarms': [
                {
                    'robot': alarm.robot,
                    'joint': alarm.joint,
                    'quantity': alarm.quantity,
                    'date': alarm.date.isoformat(),
                    'since': alarm.since.isoformat(),
                    'run': str(alarm.run.path),
                    'before': dict(zip(('value', 'std'), map(finite, alarm.before), strict=True)),
                    'after': dict(zip(('value', 'std'), map(finite, alarm.after), strict=True)),
                    'change_percent': alarm.change_percent,
                    'z': alarm.z,
                }
                for alarm in self.alarms
            ],
            'left_out': dict(self.left_out),
            'notes': list(self.notes),
        }


def _key_of(task: Mapping[str, Any], contents: list[str]) -> str:
    """Return the key of a task; contents: digest of the content of each of its paths."""
    rest = {name: value for name, value in task.items() if name not in ('paths', 'name', 'robot')}
    text = json.dumps([FORMAT, __version__, contents, rest], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class _Store:
    """What has been measured, one small file per run in a folder, so that it is not done again; None: nothing is kept.

    The name is a digest of all that the result follows from: the content of the recording, what it is compared with,
    the settings, and the version that measured it. A run that is moved or renamed is known again; one that is changed
    is not.
    """

    def __init__(self, folder: Path | None):
        self.folder = folder

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the outcome, None where there is none or it cannot be read."""
        if self.folder is None:
            return None
        with contextlib.suppress(JointDynamicsError):
            path = self._path(key)
            if path.is_file():
                outcome = parse_json(read_text(path, str(path)), str(path))
                return outcome if isinstance(outcome, dict) else None
        return None

    def put(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Keep an outcome, whole or not at all; one that was lost with its process is measured again next time."""
        if self.folder is not None and not outcome.get('lost'):
            write_atomically(self._path(key), json.dumps(outcome, allow_nan=False) + '\n')

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f'{key}.json'


@dataclass
class _Work:
    """Tasks and outcomes of one trend."""

    store: _Store
    execution: Execution
    progress: Progress
    left_out: dict[str, str]
    anew: int = 0

    def outcomes(self, tasks: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield (task, outcome): what is stored first, then the rest as it is done."""
        waiting: dict[str, list[dict[str, Any]]] = {}
        done = 0
        for task in tasks:
            try:
                key = _key_of(task, [content_hash(Path(path)) for path in task['paths']])
            except JointDynamicsError as error:
                yield task, {'error': str(error)}
                continue
            known = self.store.get(key)
            if known is None:
                waiting.setdefault(key, []).append(task)
            else:
                done += 1
                yield task, known
        for key, outcome in self.execution.run((key, alike[0]) for key, alike in waiting.items()):
            self.store.put(key, outcome)
            for task in waiting[key]:
                done += 1
                self.anew += 1
                yield task, outcome
            self.progress(done, len(tasks))


def trend(
    root: str | Path,
    settings: TrendSettings | None = None,
    *,
    robot: str | Path | None = None,
    reference: str | Path | None = None,
    config: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    execution: Execution | None = None,
    progress: Progress | None = None,
) -> Trend:
    """Measure all runs below a folder, each against the reference of its robot, and detect changes over time.

    Parameters
    ----------
    root
        a folder per robot, or the runs of one.
    settings
        of the comparison.
    robot
        URDF or MDH table of the robots without a reference, which are identified from their earliest recordings.
    reference
        description with which robots are compared that have none of their own (`reference.yaml` in their folder).
    config
        sections `robot`, `recording` and `identification` of a configuration.
    out
        folder whose `runs/` stores the measurements; None: nothing is stored.
    execution
        where runs are measured; None: in processes on this machine.
    progress
        called with the number of runs done, and of all runs.

    Raises
    ------
    JointDynamicsError
        Where there is no run, or no reference.
    """
    settings, config = settings or TrendSettings(), config or {}
    runs, left_out = find_runs(root, out)
    store = _Store(None if out is None else Path(out).expanduser() / 'runs')
    place: contextlib.AbstractContextManager[Execution] = (
        contextlib.closing(Processes(settings.processes)) if execution is None else contextlib.nullcontext(execution)
    )
    with place as where:
        work = _Work(store, where, progress or (lambda done, of: None), left_out)
        references, notes = _references(Path(root).expanduser(), runs, settings, robot, reference, config, work)
        measured = list(_measured(runs, references, config, work))
    series, alarms = find_alarms(series_of(measured, settings.quantities), settings)
    return Trend([run for run, _ in measured], work.anew, series, alarms, work.left_out, settings, notes)


def _sections(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of each task that every measurement follows from."""
    return {name: dict(config.get(name, {})) for name in ('recording', 'identification')}


def _references(
    root: Path,
    runs: Sequence[Run],
    settings: TrendSettings,
    robot: str | Path | None,
    reference: str | Path | None,
    config: Mapping[str, Any],
    work: _Work,
) -> tuple[dict[str, str], list[str]]:
    """Return the reference of each robot that has recordings, as YAML, and notes on those that are not reliable."""
    references: dict[str, str] = {}
    tasks = []
    for name in dict.fromkeys(run.robot for run in runs if not run.estimate):
        own = [folder / REFERENCE for folder in (root / name, root) if (folder / REFERENCE).is_file()]
        if own or reference is not None:
            references[name] = DynamicsDescription.load(own[0] if own else reference or '').to_yaml()
            continue
        if robot is None:
            raise JointDynamicsError(
                f'trend: expected what the recordings of {name} are compared with, found neither {REFERENCE} in its'
                ' folder nor --reference DESCRIPTION; with --robot FILE one is identified from its earliest recordings'
            )
        first = [run for run in runs if run.robot == name and not run.estimate]
        tasks.append(
            {
                'kind': 'reference',
                'name': name,
                # as many again, for those that cannot be read
                'paths': [str(run.path.resolve()) for run in first[: 2 * settings.reference_runs]],
                'count': settings.reference_runs,
                'robot': str(Path(robot).resolve()),
                'robot_content': content_hash(Path(robot)),
                'robot_options': dict(config.get('robot', {})),
                **_sections(config),
            }
        )
    notes = []
    for task, outcome in work.outcomes(tasks):
        if 'error' in outcome:
            for run in runs:
                if run.robot == task['name'] and not run.estimate:
                    work.left_out[str(run.path)] = f'{run.robot} has no reference: {outcome["error"]}'
            continue
        references[task['name']] = outcome['description']
        notes += [f'{task["name"]}: its reference is not reliable: {reason}' for reason in outcome['reasons']]
    work.anew = 0
    return references, notes


def _measured(
    runs: Sequence[Run], references: Mapping[str, str], config: Mapping[str, Any], work: _Work
) -> Iterator[tuple[Run, Measurement]]:
    by_path = {str(run.path.resolve()): run for run in runs}
    tasks = []
    for run in runs:
        task: dict[str, Any] = {
            'kind': 'estimate' if run.estimate else 'recording',
            'paths': [str(run.path.resolve())],
            **_sections(config),
        }
        if not run.estimate:
            if run.robot not in references:
                continue
            task['reference'] = references[run.robot]
        tasks.append(task)
    for task, outcome in work.outcomes(tasks):
        run = by_path[task['paths'][0]]
        if 'error' in outcome:
            work.left_out[str(run.path)] = outcome['error']
        else:
            yield run, Measurement.from_document(outcome)
