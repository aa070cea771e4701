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

"""The command `joint-dynamics`: its commands and their parser; one place where errors become exit statuses."""

from __future__ import annotations

import argparse
import atexit
import difflib
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from joint_dynamics import __version__
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.terminal import Terminal

SIMILAR = 0.7  # least similarity of a suggested word, 0 … 1
NOT_RELIABLE = '3 done, but not reliable'


class Command(NamedTuple):
    """One subcommand.

    Attributes
    ----------
    module
        in `joint_dynamics.cli`; imported only when the command runs, so that --help stays quick.
    summary
        one line of help.
    statuses
        exit statuses other than 0, 2 and 130.
    """

    module: str
    summary: str
    statuses: str = ''


COMMANDS = {
    'calibrate': Command(
        'calibrate', 'one command beside a driver: look, plan, move, identify, hand over', NOT_RELIABLE
    ),
    'identify': Command('identify', 'identify a robot from recordings of its motion', NOT_RELIABLE),
    'validate': Command('validate', 'predict the torque of recordings from a dynamics description', NOT_RELIABLE),
    'identify-joint': Command('identify_joint', "identify one joint's physics from a test made for it", NOT_RELIABLE),
    'excite': Command('excite', 'plan a trajectory that excites the robot, within its limits', NOT_RELIABLE),
    'check-compensation': Command(
        'check_compensation', 'check a friction compensation before a robot applies it', '1 a joint would run away'
    ),
    'gains': Command('gains', 'gains of an effort controller from the inertia of the arm'),
    'export': Command(
        'export', 'write identified dynamics as URDF or MJCF', '3 written, but a link is no physical body'
    ),
    'node': Command('node', 'start a node, as `ros2 run joint_dynamics` does'),
    'watch': Command('watch', 'show what a running estimator learns, live'),
    'trend': Command('trend', 'follow friction, stiffness and backlash over many runs', '1 a slope is significant'),
    'demo': Command('demo', 'run the whole chain on a simulated UR5e', NOT_RELIABLE),
    'doctor': Command('doctor', 'check the installation, or a recording', '3 something is wrong with a recording'),
}
UNPRINTED = ('node',)
"""Commands without output of their own, and therefore without --json and --quiet."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest a known word for a misspelt one."""

    given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; unknown words end with the usage of this command."""
        self.given = list(sys.argv[1:] if args is None else args)
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f'unrecognized arguments: {" ".join(unknown)}')
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """End with status 2 and the usage; name the nearest word for each that is not known."""
        hints = [near for word in self.given for near in self._nearest(word.partition('=')[0])]
        super().error(f'{message}; did you mean {", ".join(hints)}?' if hints else message)

    def _nearest(self, word: str) -> list[str]:
        options = [option for action in self._actions for option in action.option_strings]
        commands = next((list(action.choices or ()) for action in self._actions if action.dest == 'command'), [])
        if word.startswith('--'):
            # argparse completes the beginning of an option by itself
            known = [] if any(option.startswith(word) for option in options) else options
        else:
            known = commands if word == self.given[0] and word not in commands else []
        return difflib.get_close_matches(word, known, 1, SIMILAR)


def build_parser(only: str | None = None) -> Parser:
    """Return the parser; with `only` the arguments of that command are known, the others just listed."""
    parser = Parser(
        prog='joint-dynamics', description='Joint dynamics of robot arms: identify, validate, excite, check.'
    )
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    subparsers = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, command in COMMANDS.items():
        statuses = filter(None, ('0 done', '2 bad input or usage', command.statuses, '130 interrupted'))
        end = f'Exit status: {"; ".join(sorted(statuses, key=lambda each: int(each.split()[0])))}.'
        added = subparsers.add_parser(name, help=command.summary, epilog=end)
        if name == only:
            importlib.import_module(f'joint_dynamics.cli.{command.module}').add_arguments(added)
            if name not in UNPRINTED:
                _add_output_arguments(added)
    return parser


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('output')
    group.add_argument('--json', default='', metavar='FILE', help='write what is shown, and the exit status, to FILE')
    group.add_argument('--quiet', action='store_true', help='show problems and questions only')


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
