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

"""The commands on README and docs/ exist, with their options, arguments, services, parameters and files.

They are checked against the parsers, the launch files and the nodes' own tables; `test_run_commands.py` runs those of
the pages for beginners, `launch/test_shown_launches.py` loads the launch files.
"""

import argparse
import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from joint_dynamics.cli.main import COMMANDS, build_parser

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).with_name('shown.py'))
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
FORM = _shown.FORM
NODES = _shown.NODES
ROOT = _shown.ROOT
SHOWN = _shown.SHOWN
starts = _shown.starts


def shown(*words):
    """Parameters of a test: the commands that begin so."""
    found = [pytest.param(command, id=f'{page}: {command[:60]}') for page, command in SHOWN if starts(command, words)]
    assert found
    return found


def options_of(name):
    parser = build_parser(name)
    (subparsers,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return [action for action in subparsers.choices[name]._actions if action.dest != 'help']


def test_commands_are_found_and_every_one_of_them_is_checked():
    kinds = ('joint-dynamics',), ('ros2', 'launch'), ('ros2', 'run'), ('ros2', 'service'), ('ros2', 'param')
    kinds += ('ros2', 'topic'), ('make',), ('python',), ('python3',), ('pytest',)
    assert len(SHOWN) > 80
    assert [command for _, command in SHOWN if not any(starts(command, words) for words in kinds)] == []


@pytest.mark.parametrize('command', shown('joint-dynamics'))
def test_a_command_line_is_accepted(command):
    words = shlex.split(command.replace('$PWD/', ''))[1:]
    if FORM.search(command):
        options = {option for action in options_of(words[0]) for option in action.option_strings}
        assert set(re.findall(r'--[\w-]+', command)) <= options
    else:
        build_parser(words[0]).parse_args(words)


@pytest.mark.parametrize('name', COMMANDS)
def test_every_option_of_a_command_stands_on_its_page(name):
    reference = ROOT / 'docs' / 'reference'
    page = (reference / 'commands' / f'{name}.md').read_text(encoding='utf-8')
    common = (reference / 'index.md').read_text(encoding='utf-8').partition('has two more options:')[2]
    page += common.partition('| node |')[0]
    named = [action.option_strings[-1] if action.option_strings else str(action.metavar) for action in options_of(name)]
    assert [option for option in named if not re.search(rf'(?<![\w-]){re.escape(option)}(?![\w-])', page)] == []


@cache
def launch_arguments(name):
    """Names of the arguments of a launch file and their choices, as declared in its text."""
    text = (ROOT / 'launch' / name).read_text(encoding='utf-8')
    declared = re.split(r"DeclareLaunchArgument\(\s*(?=')|^    \(\s*(?=')", text, flags=re.MULTILINE)[1:]
    # a file takes the arguments of those that it includes, too
    found = {}
    for included in re.findall(r"with_name\('([\w.]+)'\)", text):
        found |= launch_arguments(included)
    # nodes.launch.py has a table of its arguments
    found |= {name: [] for name in re.findall(r"^    '(\w+)': \(", text, re.MULTILINE)}
    for part in declared:
        argument = re.match(r"'(\w+)'", part)
        choices = re.search(r'choices=\[([^\]]*)\]', part)
        found[argument.group(1)] = re.findall(r"'([^']*)'", choices.group(1)) if choices else []
    return found


@pytest.mark.parametrize('command', shown('ros2', 'launch'))
def test_a_launch_command_has_arguments_that_are_declared(command):
    package, file, *arguments = re.sub(r'\$\([^)]*\)', 'share', command).split()[2:]
    assert package == 'joint_dynamics'
    for argument in arguments:
        name, _, value = argument.partition(':=')
        choices = launch_arguments(file)[name]
        assert not choices or value in choices, argument
        if value.startswith('share/'):
            assert (ROOT / value.removeprefix('share/')).is_file(), value


@cache
def tables(node):
    """Parameters, and private topics and services of a node.

    From its page and that of all nodes, which are held against the nodes themselves.
    """
    reference = ROOT / 'docs' / 'reference'
    text = ''.join(
        path.read_text(encoding='utf-8') for path in (reference / 'nodes.md', reference / 'nodes' / f'{node}.md')
    )
    parameters = ''.join(re.findall(r'<!-- parameters -->\n(.*?)<!-- end -->', text, re.DOTALL))
    topics = ''.join(re.findall(r'<!-- topics -->\n(.*?)<!-- end -->', text, re.DOTALL))
    return (
        set(re.findall(r'^\| `([^`]+)` \|', parameters, re.MULTILINE)),
        {
            name.removeprefix('~/'): kind
            for name, kind in re.findall(r'^\| `([^`]+)` \| `([^`]+)` \|', topics, re.MULTILINE)
        },
    )


@pytest.mark.parametrize('command', shown('ros2', 'run'))
def test_a_node_that_is_run_has_these_parameters(command):
    node = command.split()[3]
    assert node in NODES
    known = {name.partition('.')[0] for name in tables(node)[0]}
    for name in re.findall(r'-p ([\w.]+):=', command):
        assert name.partition('.')[0] in known, name
    for name in re.findall(r'-r \'?~/(\w+):=', command):
        assert name in tables(node)[1], name
    for name in re.findall(r'--params-file (\S+)', command):
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize('command', shown('ros2', 'service'))
def test_a_service_that_is_called_is_offered(command):
    node, service = command.split()[3].strip('/').rsplit('/', 1)
    assert tables(node.rpartition('/')[2])[1][service] == command.split()[4].replace('/srv/', '/')


@pytest.mark.parametrize('command', shown('make'))
def test_a_target_of_make_exists(command):
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    assert re.search(rf'^{re.escape(command.split()[1])}:', makefile, re.MULTILINE)
