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

"""`joint-dynamics node`: starts a node where there is no `ros2 run`, as after a plain pip install."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys

from joint_dynamics.python_process import environment, module_command, need_ros
from joint_dynamics.terminal import Terminal

NODES = ('estimator', 'excitation', 'feedforward', 'gazebo_model', 'identifier', 'simulator')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = 'Starts a node of this package in the place of this process.'
    parser.add_argument('name', choices=NODES, metavar='NAME', help=', '.join(NODES))
    parser.add_argument(
        'arguments', nargs=argparse.REMAINDER, metavar='ARGUMENTS', help='of the node, as in --ros-args -p name:=value'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Become the node; returns only where that cannot be."""
    need_ros('node')
    command = module_command('joint_dynamics.cli.node:start', [args.name, *args.arguments])
    os.execve(command[0], command, environment())


def start() -> int:
    """Run the node that the first argument names; a signal while it is being loaded ends the process at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    name = sys.argv.pop(1)
    return int(importlib.import_module(f'joint_dynamics.nodes.{name}.node').main())
