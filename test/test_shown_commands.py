"""Every command of README and docs/ is one that exists: its options, topics, services, parameters and files are known.

What the pages for beginners show is run as it stands there; the other commands, which need a robot or take long, are
held against the parsers, the launch files and the nodes' own tables.
"""

import argparse
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from joint_dynamics.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]
NODES = sorted(path.name for path in (ROOT / 'resource' / 'executables').iterdir())
#: What is not ours: said as it is, and not checked here.
OTHERS = re.compile(
    r'(sudo apt|cd |git clone|export |colcon|rosdep|pip install|\. |ros2 (bag|control|doctor|security|pkg|lifecycle) '
    r'|ros2 run (controller_manager|my_package) |ros2 launch ur_robot_driver '
    r'|ros2 service call /friction_model_controller/)'
)
OURS = re.compile(r'(joint-dynamics|ros2|make|python3?|pytest)\s')
#: Words of a command's form, which stand for what the user gives.
FORM = re.compile(r'\[|…|\.\.\.|\|')


def blocks(text):
    """Shown blocks: fenced without a language of its own, or indented after an empty line."""
    fenced = re.compile(r'^( *)```(\w*)\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
    yield from (body for _, language, body in fenced.findall(text) if language in ('', 'bash', 'sh'))
    yield from re.findall(r'(?:^ {4,}\S.*\n)+', fenced.sub('', text), re.MULTILINE)


def commands(page):
    """Commands of a page, one line each, without comments and what is set before them."""
    text = page.read_text(encoding='utf-8') + '\n'
    # within a line a command may be cut short: its options count
    yield from (f'{command} …' for command in re.findall(r'`(joint-dynamics \w[^`]* -[^`]*)`', text))
    for block in blocks(text):
        for line in re.sub(r'\\\n\s*', ' ', block).splitlines():
            for part in re.split(r' && |; |\|(?= grep)', re.sub(r'\s+#\s.*', '', line)):
                command = re.sub(r'^(?:[A-Z_]+=\S+ )+', '', part.strip())
                if OURS.match(command) and not OTHERS.match(command):
                    yield command


SHOWN = [(str(page.relative_to(ROOT)), command) for page in PAGES for command in commands(page)]


def shown(*words):
    """Parameters of a test: the commands that begin so."""
    found = [pytest.param(command, id=f'{page}: {command[:60]}') for page, command in SHOWN if starts(command, words)]
    assert found
    return found


def starts(command, words):
    return command.split()[: len(words)] == list(words)


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
    page = (ROOT / 'docs' / 'reference' / 'commands' / f'{name}.md').read_text(encoding='utf-8')
    named = [action.option_strings[-1] if action.option_strings else str(action.metavar) for action in options_of(name)]
    assert [option for option in named if not re.search(rf'(?<![\w-]){re.escape(option)}(?![\w-])', page)] == []


@cache
def launch_arguments(name):
    """Names of the arguments of a launch file and what they may be, as its text declares them."""
    text = (ROOT / 'launch' / name).read_text(encoding='utf-8')
    declared = re.split(r"DeclareLaunchArgument\(\s*(?=')|^    \(\s*(?=')", text, flags=re.MULTILINE)[1:]
    found = {}
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
        if name == 'feedforward_file':
            assert (ROOT / value.removeprefix('share/joint_dynamics/').removeprefix('share/')).is_file(), value


@cache
def tables(node):
    """Parameters and private topics and services of a node, from its page, which is held against the node itself."""
    page = (ROOT / 'docs' / 'reference' / 'nodes' / f'{node}.md').read_text(encoding='utf-8')
    parameters = re.search(r'<!-- parameters -->\n(.*?)<!-- end -->', page, re.DOTALL).group(1)
    topics = re.search(r'<!-- topics -->\n(.*?)<!-- end -->', page, re.DOTALL).group(1)
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


@pytest.mark.parametrize('command', shown('ros2', 'param'))
def test_a_parameter_that_is_set_exists(command):
    _, _, verb, node, *rest = command.split()
    assert verb in ('set', 'get', 'list')
    if rest:
        known = {name.partition('.')[0] for name in tables(node.strip('/'))[0]}
        assert rest[0].partition('.')[0] in known


@pytest.mark.parametrize('command', shown('ros2', 'topic'))
def test_a_topic_that_is_heard_is_published(command):
    topic = next(word for word in command.split()[3:] if word.startswith('/'))
    node, _, name = topic.strip('/').rpartition('/')
    if node in NODES:
        assert name in tables(node)[1], topic
    else:
        assert topic in ('/joint_states', '/diagnostics') or 'controller' in node, topic


@pytest.mark.parametrize('command', shown('make'))
def test_a_target_of_make_exists(command):
    makefile = (ROOT / 'Makefile').read_text(encoding='utf-8')
    assert re.search(rf'^{re.escape(command.split()[1])}:', makefile, re.MULTILINE)


def program(path):
    """A program as a page names it, which may have gone two folders down before."""
    return ROOT / path.removeprefix('../../')


@pytest.mark.parametrize('command', shown('python') + shown('python3'))
def test_a_program_that_is_started_exists(command):
    words = command.split()
    if words[1] == '-m':
        assert importlib.util.find_spec(words[2]), words[2]
    else:
        assert program(words[1]).is_file(), words[1]


def run(command, folder):
    """Run a command of a page in a folder as if the package were on the PATH; return what it says."""
    words = shlex.split(command)
    start = [sys.executable, program(words[1])] if words[0] == 'python' else [sys.executable, '-m', 'joint_dynamics']
    rest = words[2:] if words[0] == 'python' else words[1:]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([*start, *rest], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{command}\n{done.stdout}\n{done.stderr}'
    return done.stdout


@pytest.fixture(scope='module')
def started(tmp_path_factory):
    """The folder in which the commands of the first page were run, and what each said."""
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    folder = tmp_path_factory.mktemp('start')
    page = ROOT / 'docs' / 'start.md'
    for text, file in re.findall(r"^echo '(.*)' > (\S+)$", page.read_text(encoding='utf-8'), re.MULTILINE):
        (folder / file).write_text(text, encoding='utf-8')
    page = [command for command in commands(page) if command.split()[0] in ('python', 'joint-dynamics')]
    return folder, {command: run(command, folder) for command in page}


@pytest.mark.slow
def test_the_first_page_does_what_it_says(started):
    folder, said = started
    assert [command.split()[1] for command in said] == [
        '../../examples/record_bags.py', 'doctor', 'identify', 'validate', 'identify', 'export-urdf',
    ]  # fmt: skip
    doctor, identify, validate = list(said.values())[1:4]
    assert doctor.rstrip().endswith('nothing wrong found')
    page = (ROOT / 'docs' / 'start.md').read_text(encoding='utf-8')
    percent = float(re.match(r'verdict: reliable within ([\d.]+) % of the torque\n', identify).group(1))
    assert percent < float(re.search(r'less than ([\d.]+) %', page).group(1))
    assert validate.startswith('verdict: reliable')
    assert (folder / 'identified.urdf').is_file()
    for name in re.findall(r'^\| `([\w.]+)` \|', page, re.MULTILINE):
        assert (folder / 'result' / name).is_file()


@pytest.mark.slow
def test_the_commands_for_a_robot_of_ones_own_run_on_the_simulated_one(started):
    """With the file of the page: its joints by the simulated robot's names, gains of 1 for its torques in `effort`."""
    pytest.importorskip('mujoco', reason='the extra mujoco is not installed')
    folder, _ = started
    page = ROOT / 'docs' / 'how-to' / 'identify-my-robot.md'
    (config,) = re.findall(r'```yaml\n(.*?)```', page.read_text(encoding='utf-8'), re.DOTALL)
    config = yaml.safe_load(config)
    names = re.findall(r'<joint name="(\w+)" type="revolute"', (folder / 'robot.urdf').read_text(encoding='utf-8'))
    assert len(names) == len(config['identification']['drive_gains'])
    config['identification']['drive_gains'] = dict.fromkeys(names, 1.0)
    (folder / 'robot.yaml').write_text(yaml.safe_dump(config), encoding='utf-8')
    said = {
        command.split()[1]: run(command, folder)
        for block in blocks(page.read_text(encoding='utf-8'))
        for command in block.strip().splitlines()
        if command.strip().startswith('joint-dynamics') and 'excite' not in command
    }
    assert list(said) == ['doctor', 'identify', 'validate', 'export-urdf', 'export-mjcf']
    assert said['identify'].startswith('verdict: reliable')
    assert (folder / 'identified.xml').is_file()
