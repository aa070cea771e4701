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

"""`joint-dynamics watch`: what a running estimator learns, as a live table in the terminal."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from joint_dynamics.arrays import finite
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.python_process import need_ros
from joint_dynamics.terminal import Terminal

if TYPE_CHECKING:
    from joint_dynamics.report.live_table import Watched

NODE_NAME = re.compile(r'/?([A-Za-z_]\w*/)*[A-Za-z_]\w*', re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Shows the estimates of a running estimator node, joint by joint, with health, contacts and the state of its'
        ' inputs; Ctrl-C ends it. It only listens.'
    )
    parser.add_argument(
        'node', nargs='?', default='/estimator', metavar='NODE', help='full name of the node (default: %(default)s)'
    )
    parser.add_argument('--once', action='store_true', help='show one table and end')
    parser.add_argument(
        '--timeout', type=float, metavar='S', help='end after so many seconds (with --once: 10 by default)'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Show until interrupted; return 0, or 2 where the node was never heard."""
    need_ros('watch')
    if args.timeout is not None and not args.timeout > 0:
        raise JointDynamicsError(f'--timeout: expected seconds above 0, found {args.timeout:g}')
    if not NODE_NAME.fullmatch(args.node):
        raise JointDynamicsError(f'watch: expected the name of a node, as /estimator, found {args.node[:80]!a}')
    from rich.console import Console
    from rich.live import Live

    from joint_dynamics.nodes.interfaces.listening import watch
    from joint_dynamics.report.live_table import live_table

    console = Console(quiet=terminal.quiet)
    # Piped into a file there is no width to respect.
    console = console if console.is_terminal else Console(width=160, quiet=terminal.quiet)
    last: list[tuple[Watched, float | None]] = []
    if args.once:
        heard = watch(args.node, lambda *shown: last.append(shown), seconds=args.timeout or 10.0, once=True)
        if heard:
            console.print(live_table(*last[-1]))
    else:
        with Live(console=console, auto_refresh=False, screen=False) as live:

            def show(watched: Watched, age: float | None) -> None:
                last[:] = [(watched, age)]
                live.update(live_table(watched, age), refresh=True)

            try:
                heard = watch(args.node, show, seconds=args.timeout)
            except KeyboardInterrupt:
                heard = True
    if heard and last:
        _record(terminal, last[-1][0])
    if not heard:
        raise JointDynamicsError(
            f'watch: expected an estimator named {args.node}, found none that publishes: check `ros2 node list` and '
            'ROS_DOMAIN_ID'
        )
    return 0


def _record(terminal: Terminal, watched: Watched) -> None:
    """Keep the last values in the file of --json."""
    values = {
        quantity: {joint: finite(value) for joint, value in one.items()} for quantity, one in watched.values.items()
    }
    terminal.record(node=watched.node, joints=watched.joints, values=values, statuses=watched.statuses)
