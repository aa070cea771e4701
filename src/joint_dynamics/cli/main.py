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

"""The command `joint-dynamics`: subcommands, and one place where errors become exit statuses.

Exit status 0 done; 1 where a command's answer is a warning (check-compensation, trend); 2 bad input or usage; 3 done,
but not reliable.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence

from joint_dynamics import __version__
from joint_dynamics.errors import JointDynamicsError, NotReliableError

# Module by command; imported only when the command runs, so that --help stays quick.
COMMANDS = {
    'calibrate': ('calibrate', 'one command beside a driver: look, plan, move, identify, hand over'),
    'identify': ('identify', 'identify a robot from recordings of its motion'),
    'validate': ('validate', 'predict the torque of recordings from a dynamics description'),
    'identify-joint': ('identify_joint', "identify one joint's physics from a test made for it"),
    'excite': ('excite', 'plan a trajectory that excites the robot, within its limits'),
    'check-compensation': ('check_compensation', 'check an applied friction compensation before it is sent to a robot'),
    'gains': ('gains', 'gains of an effort controller from the inertia of the arm'),
    'export': ('export', 'write identified dynamics as URDF or MJCF'),
    'node': ('node', 'start a node, as `ros2 run joint_dynamics` does'),
    'watch': ('watch', 'show what a running estimator learns, live'),
    'trend': ('trend', 'follow friction, stiffness and backlash over many runs, and tell where they change'),
    'demo': ('demo', 'run the whole story on a simulated UR5e'),
    'doctor': ('doctor', 'tell what of the installation works, or what is wrong with a recording'),
}
RENAMED = {
    'export-urdf': 'export DESCRIPTION --into ROBOT --out FILE.urdf',
    'export-mjcf': 'export DESCRIPTION --to mjcf --out FILE.xml',
}
"""Commands that are gone, and what takes their place."""
YOUNG_OBJECTS = 200_000
"""New objects after which Python looks for garbage in cycles: more than a short command ever has at once (65,000)."""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; with `only` the arguments of that command are known, the others just listed."""
    parser = argparse.ArgumentParser(
        prog='joint-dynamics',
        description='What the joints of a robot arm really do: identify, validate, excite, check.',
    )
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    subparsers = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, (module, summary) in COMMANDS.items():
        command = subparsers.add_parser(name, help=summary)
        if name == only:
            importlib.import_module(f'joint_dynamics.cli.{module}').add_arguments(command)
    return parser


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
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and arguments[0] in RENAMED:
        print(f'joint-dynamics {arguments[0]}: is now joint-dynamics {RENAMED[arguments[0]]}', file=sys.stderr)
        return 2
    command = next((argument for argument in arguments if argument in COMMANDS), None)
    args = build_parser(command).parse_args(arguments)
    try:
        status = importlib.import_module(f'joint_dynamics.cli.{COMMANDS[args.command][0]}').run(args)
        if sys.stdout is not None:  # None: closed by whoever started this
            sys.stdout.flush()
        return int(status)
    except NotReliableError as error:
        print(f'joint-dynamics {args.command}: not reliable: {error}', file=sys.stderr)
        return 3
    except JointDynamicsError as error:
        # What is refused by a function of the same name says so itself.
        line = str(error) if str(error).startswith(args.command) else f'{args.command}: {error}'
        print(f'joint-dynamics {line}', file=sys.stderr)
        return 2
    except BrokenPipeError:
        _abandon_output()  # the reader went away (head, less): nothing more to say, and nothing to say it to
        return 141
    except OSError as error:
        if error.filename is None:
            _abandon_output()  # a full disk would refuse the rest once more when Python ends
        where = 'the output' if error.filename is None else str(error.filename)[:100]
        reason = error.strerror or error
        print(
            f'joint-dynamics {args.command}: {where}: expected a file that can be used, found: {reason}',
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print(f'joint-dynamics {args.command}: interrupted', file=sys.stderr)
        return 130


def _abandon_output() -> None:
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == '__main__':
    sys.exit(main())
