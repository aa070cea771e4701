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

"""The files of one identification.

A description, a summary and a report of the same run, which replace those of the run before together.
"""

from __future__ import annotations

import json
import shlex
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.output_files import remove_files, write_set

NAMES = ('dynamics.yaml', 'summary.json', 'report.html')
NOT_RELIABLE = 'not_reliable'
"""Part of the names of a result that is not reliable: it never takes the place of one that is."""


class Page(Protocol):
    """A report as `report.html.Report` makes it."""

    def add_text(self, text: str, kind: Literal['', 'warning', 'good'] = '') -> None:
        """Add a paragraph."""

    def to_html(self) -> str:
        """Return the whole page."""


def write_result(
    folder: str | Path,
    description: DynamicsDescription,
    summary: Mapping[str, Any],
    report: Page | None,
    reliable: bool,
) -> list[str]:
    """Write dynamics.yaml, summary.json and report.html as one set, and return their names.

    Without a report, one that an earlier run left under that name is removed: it would tell of another result.

    Each tells the same `run` (provenance.run in the description). A result that is not reliable gets names of its own
    (dynamics.not_reliable.yaml, …) and leaves the set that is there as it is; a reliable one removes what runs
    before left that were not.

    Raises
    ------
    JointDynamicsError
        Where that fails, leaving everything as it was.
    """
    run = uuid.uuid4().hex[:12]
    description.document.setdefault('provenance', {})['run'] = run
    contents = [description.to_yaml(), summary_text({**summary, 'run': run})]
    if report is not None:
        report.add_text(f'Run {run}; the description and the summary of this run name it, too.')
        contents.append(report.to_html())
    names = list(NAMES) if reliable else [not_reliable_name(name) for name in NAMES]
    written, left = names[: len(contents)], names[len(contents) :]
    write_set(folder, dict(zip(written, contents, strict=True)))
    remove_files(folder, [*left, *(not_reliable_name(name) for name in NAMES if reliable)])
    return written


CONTROLLER_RATES = (50, 100, 125, 200, 250, 400, 500, 1000, 2000)
"""Update rates [Hz] that controller managers usually have."""
RATE_TOLERANCE = 0.05
"""Relative distance of a measured rate from one of these that is attributed to jitter and lost samples."""


def controller_rate(rate: float) -> float:
    """Return the usual update rate [Hz] of a controller manager near a measured one, else the measured one."""
    usual = min(CONTROLLER_RATES, key=lambda known: abs(known - rate))
    return usual if abs(usual - rate) <= RATE_TOLERANCE * usual else rate


def next_command(robot: str | Path, folder: str | Path, rate: float, config: str | None = None) -> str:
    """Return the command line that makes a controller's gains of a description in `folder`, to be pasted into a shell.

    Parameters
    ----------
    robot, config
        files that the description was identified with.
    rate
        of the joint states [Hz]: a controller manager updates as often or oftener, which tolerates more.
    """
    words = ['joint-dynamics', 'gains', '--robot', str(robot), *(['--config', config] if config else [])]
    words += ['--description', str(Path(folder) / NAMES[0]), '--rate', f'{controller_rate(rate):.0f}', '--plugin']
    return shlex.join([*words, '--out', 'controllers.yaml'])


def not_reliable_name(name: str) -> str:
    """Return the name of a file of a result that is not reliable."""
    path = Path(name)
    return f'{path.stem}.{NOT_RELIABLE}{path.suffix}'


def summary_text(summary: Mapping[str, Any]) -> str:
    """Return a summary as JSON text; NaN and infinity never get there."""
    return json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False) + '\n'
