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

"""The command `joint-dynamics`: one place where errors become exit statuses, and output goes where it is asked for."""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from joint_dynamics.cli.parser import COMMANDS, build_parser
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.terminal import Terminal

RENAMED = {
    'export-urdf': 'export DESCRIPTION --into ROBOT --out FILE.urdf',
    'export-mjcf': 'export DESCRIPTION --to mjcf --out FILE.xml',
}
"""Commands that are gone, and what takes their place."""
YOUNG_OBJECTS = 200_000
"""New objects after which Python looks for garbage in cycles: more than a short command ever has at once (65,000)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    # Many small matrices: threads of the linear algebra library wait for each other longer than they work, above all on
    # a busy machine.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    # Nearly all that a command makes stays to its end, modules above all, and garbage in cycles is rare: looking for it
    # at every 700 objects, and through everything once more at the end, would be a twentieth of a short command's time.
    gc.set_threshold(YOUNG_OBJECTS)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors='replace')  # a terminal of ASCII shows ? for ±
    if '_ARGCOMPLETE' in os.environ:
        _complete()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and arguments[0] in RENAMED:
        print(f'joint-dynamics {arguments[0]}: is now joint-dynamics {RENAMED[arguments[0]]}', file=sys.stderr)
        return 2
    args = build_parser(_command(arguments)).parse_args(arguments)
    terminal = Terminal(
        args.command, getattr(args, 'yes', False), getattr(args, 'quiet', False), getattr(args, 'json', '')
    )
    status = _guarded(terminal, lambda: _run(args, terminal))
    return max(status, _guarded(terminal, lambda: terminal.close(status)))


def _run(args: argparse.Namespace, terminal: Terminal) -> int:
    terminal.record()
    status = importlib.import_module(f'joint_dynamics.cli.{COMMANDS[args.command].module}').run(args, terminal)
    if sys.stdout is not None:  # None: closed by whoever started this
        sys.stdout.flush()
    return int(status)


def _guarded(terminal: Terminal, act: Callable[[], int]) -> int:
    """Return the exit status of `act`; an error of its becomes one line on stderr."""
    try:
        return act()
    except NotReliableError as error:
        terminal.problem(f'not reliable: {error}')
        return 3
    except JointDynamicsError as error:
        terminal.problem(str(error))
        return 2
    except BrokenPipeError:
        _abandon_output()  # the reader went away (head, less): nothing more to say, and nothing to say it to
        return 141
    except OSError as error:
        if error.filename is None:
            _abandon_output()  # a full disk would refuse the rest once more when Python ends
        where = 'the output' if error.filename is None else str(error.filename)[:100]
        terminal.problem(f'{where}: expected a file that can be used, found: {error.strerror or error}')
        return 2
    except KeyboardInterrupt:
        terminal.problem('interrupted')
        return 130


def _abandon_output() -> None:
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(words: Sequence[str]) -> str | None:
    return next((word for word in words if word in COMMANDS), None)


def _complete() -> None:
    """Print the completions that the shell asks for, and end, where argcomplete is installed."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(build_parser(_command(os.environ.get('COMP_LINE', '').split())))


if __name__ == '__main__':
    sys.exit(main())
