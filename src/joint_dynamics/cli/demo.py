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

"""`joint-dynamics demo`: the whole story on a simulated UR5e, over real topics, every node its own process.

See docs/reference/commands/demo.md.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joint_dynamics.demo import DemoSettings
from joint_dynamics.output_files import prepare_folder
from joint_dynamics.python_process import need_ros
from joint_dynamics.settings import declarations
from joint_dynamics.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    declared = declarations(DemoSettings)
    parser.description = (
        'Calibrates, wears, estimates and compensates a simulated UR5e over ROS 2 topics, and compares everything with'
        ' the truth. Takes about four minutes; needs ROS 2, whose Python packages are enough.'
    )
    parser.add_argument(
        '--out',
        metavar='DIR',
        default='out/demo',
        help='folder for summary.json, report.html, dynamics.yaml and the logs (default: %(default)s)',
    )
    parser.add_argument(
        '--seed', type=int, default=DemoSettings.seed, help=f'{declared["seed"][1].meaning} (default: %(default)s)'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Run all stages, show the table, write; return 0."""
    from joint_dynamics.cli.common import show_written, write_report
    from joint_dynamics.demo.comparison import headlines
    from joint_dynamics.demo.report import demo_report

    need_ros('demo')
    settings = DemoSettings(seed=args.seed)
    folder = prepare_folder(args.out)
    summary, results = run_demo(settings, folder, terminal)
    terminal.table('Found beside the truth', ['', 'here', 'published'], headlines(summary))
    write_report(folder, summary, demo_report(summary, results))
    terminal.say(f'{summary["seconds"]["total"]:.0f} s')
    show_written(terminal, folder, ('report.html', 'summary.json'))
    return 0


def run_demo(
    settings: DemoSettings, folder: Path, terminal: Terminal, stages: Sequence[Callable[[Any], None]] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run the stages (None: all) with processes of their own, and end every one of them.

    Return the summary and the results for the report.
    """
    from joint_dynamics.calibration.client import own_domain, ros_client
    from joint_dynamics.calibration.processes import Processes
    from joint_dynamics.demo.stages import STAGES, DemoContext
    from joint_dynamics.python_process import terminated_like_interrupted

    began = time.monotonic()
    # The results of an earlier run must not be taken for those of one that failed.
    for name in ('summary.json', 'report.html'):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / 'calibration', ignore_errors=True)
    logs = prepare_folder(folder / 'logs')
    with (
        terminated_like_interrupted(),
        own_domain(),
        Processes(logs) as processes,
        ros_client(processes.check) as client,
    ):
        context = DemoContext(settings, folder, terminal, processes, client)
        for stage in STAGES if stages is None else stages:
            stage(context)
    context.summary['seconds'] = {**context.seconds, 'total': time.monotonic() - began}
    return context.summary, context.results
