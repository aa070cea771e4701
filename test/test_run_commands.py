"""Every command of README and docs/ is run, or stands in a list here with the test that does it or the reason why none.

Those that need files only are run here, as they stand on the page, on recordings of the simulated robot; a form
(`[--out DIR]`, `…`) is run as one of the commands it stands for. A new command fails until it is in a list.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.cli.main import COMMANDS
from joint_dynamics.recording import BagWriter, Recording
from joint_dynamics.simulation import FlexibleJointRobot, Payload, TrajectoryPoints, record, ur5e_description

_spec = importlib.util.spec_from_file_location('shown', Path(__file__).with_name('shown.py'))
_shown = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shown)
ROOT, SHOWN = _shown.ROOT, _shown.SHOWN
KIND = 'sensor_msgs/msg/JointState'

#: Pages whose commands are run in their order in one folder, the first as a beginner does.
START, MINE = 'docs/start.md', 'docs/how-to/identify-my-robot.md'
#: Complete commands with the folder (`torques` or `currents`) they are run in.
HERE = {
    'joint-dynamics identify run1 run2 --robot robot.urdf --config physical.yaml --validate run3 --out result': (
        'torques'
    ),
    'joint-dynamics validate result/dynamics.yaml run4': 'torques',
    'joint-dynamics export result/dynamics.yaml --into robot.urdf --out identified.urdf': 'torques',
    'joint-dynamics gains --robot robot.urdf --description dynamics.yaml --rate 500 --plugin --out controllers.yaml': (
        'torques'
    ),
    'joint-dynamics gains --robot robot.urdf --description result/dynamics.yaml --rate 500 --out controllers.yaml': (
        'torques'
    ),
    'joint-dynamics gains --robot robot.urdf --description dynamics.yaml --rate 500 --out controllers.yaml': 'torques',
    'joint-dynamics export dynamics.yaml --into robot.urdf --out identified.urdf --solver solver.yaml': 'torques',
    'joint-dynamics identify recordings/run1 recordings/run2@3:20 table.csv --robot robot.urdf --config robot.yaml'
    ' --out result': 'currents',
    'joint-dynamics excite --robot robot.urdf --out plan': 'torques',
    'python3 -m joint_dynamics.nodes.framework.security --namespace left --robot robot.urdf --initial-joint-controller'
    ' scaled_joint_trajectory_controller --out left.policy.xml': 'torques',
}
#: A command for each form, and the folder it is run in; `…` at its end is what the page leaves out.
FILLED = {
    'joint-dynamics identify --method tls --loaded … …': (
        'joint-dynamics identify run1 --method tls --loaded loaded --payload-mass 4.59 --robot robot.urdf'
        ' --config robot.yaml --out tls',
        'currents',
    ),
    'joint-dynamics identify --method irls …': (
        'joint-dynamics identify run1 --method irls --robot robot.urdf --out irls',
        'torques',
    ),
    'joint-dynamics identify --prior FILE …': (
        'joint-dynamics identify run1 --prior robot.urdf --config physical.yaml --robot robot.urdf --out prior',
        'torques',
    ),
    'joint-dynamics identify --config …': (
        'joint-dynamics identify run1 --config robot.yaml --robot robot.urdf --out configured',
        'currents',
    ),
    'joint-dynamics identify run1 --loaded loaded --payload-mass 4.59 --method tls --robot robot.urdf'
    ' --config robot.yaml --out result …': (
        'joint-dynamics identify run1 --loaded loaded --payload-mass 4.59 --method tls --robot robot.urdf'
        ' --config robot.yaml --out result',
        'currents',
    ),
    'joint-dynamics identify-joint friction sweep --joint joint_2 --description result/dynamics.yaml'
    ' --config robot.yaml --out joint_2 …': (
        'joint-dynamics identify-joint friction sweep --joint joint_2 --description result/dynamics.yaml'
        ' --config robot.yaml --out joint_2',
        'currents',
    ),
    'joint-dynamics check-compensation DESCRIPTION --applied FILE [--out DIR]': (
        'joint-dynamics check-compensation dynamics.yaml --applied applied.yaml --out checked',
        'torques',
    ),
    'joint-dynamics doctor RECORDING [RECORDING …] --robot FILE [--config FILE]': (
        'joint-dynamics doctor run1 run2 --robot robot.urdf --config robot.yaml',
        'currents',
    ),
    'joint-dynamics excite --robot FILE [--profile fourier|…] [--config FILE] [--joint NAME] [--time-budget S]'
    ' [--seed N] --out DIR': (
        'joint-dynamics excite --robot robot.urdf --profile trapezoids --joint elbow_joint --out sweeps',
        'torques',
    ),
    'joint-dynamics export DESCRIPTION --out FILE [--to urdf|mjcf|sdf|python] [--into FILE]'
    ' [--payload merged|apart|without] [--solver FILE]': (
        'joint-dynamics export dynamics.yaml --to urdf --into robot.urdf --out robot.xml --payload apart',
        'torques',
    ),
    'joint-dynamics gains --robot FILE [--config FILE] [--description dynamics.yaml] [--rate HZ] [--ratio 0.4]'
    ' [--damping ZETA] [--delay S] [--stiffness N·m/rad ...] [--joint-damping 0.02] [--feedback link|motor]'
    ' [--out controllers.yaml] [--plugin]': (
        'joint-dynamics gains --robot robot.urdf --description dynamics.yaml --rate 1000 --ratio 0.3 --damping 0.2',
        'torques',
    ),
    'joint-dynamics identify-joint TEST RECORDING... --out DIR [--joint NAME] [--robot FILE] [--description FILE]'
    ' [--config FILE]': (
        'joint-dynamics identify-joint friction sweep --out joint_2 --joint joint_2 --robot robot.urdf'
        ' --description result/dynamics.yaml --config robot.yaml',
        'currents',
    ),
    'joint-dynamics identify RECORDING... --robot FILE [--config FILE] [--method ols|wls|irls|i-irls|tls]'
    ' [--validate RECORDING]... [--loaded RECORDING... --payload-mass KG] [--prior FILE] [--proceed] [--no-report]'
    ' --out DIR': ('joint-dynamics identify run1 --robot robot.urdf --method ols --validate run2 --out ols', 'torques'),
    'joint-dynamics trend FOLDER --out DIR [--robot FILE] [--reference DESCRIPTION] [--config FILE] [--processes N]'
    ' [--dask ADDRESS] [--parquet]': (
        'joint-dynamics trend recordings --out trend --robot robot.urdf --reference dynamics.yaml --processes 1',
        'torques',
    ),
    'joint-dynamics validate DESCRIPTION RECORDING... [--config FILE] [--out DIR]': (
        'joint-dynamics validate dynamics.yaml run1 run2 --out validated',
        'torques',
    ),
}
#: Done over DDS or in a process of its own by these tests.
ELSEWHERE = {
    'joint-dynamics doctor --live': 'ros/test_shown_calls.py',
    'joint-dynamics watch': 'ros/test_shown_calls.py',
    'joint-dynamics demo': 'demo/test_demo_command.py',
    'joint-dynamics node': 'ros/test_shown_calls.py',
    'ros2 service call': 'ros/test_shown_calls.py',
    'ros2 param set': 'ros/test_shown_calls.py',
    'ros2 topic echo': 'ros/test_shown_calls.py',
    'ros2 run joint_dynamics': 'ros/test_shown_calls.py',
    'ros2 launch joint_dynamics': 'launch/test_shown_launches.py',
    'ros2 topic pub --once /feedforward_trajectory_controller/joint_trajectory': 'launch/test_controller_plugin.py',
}
NOT_RUN = {
    'make env': 'makes the environment that runs this test, from the network; continuous integration does it first',
    'make test': 'is what runs this test',
    'make demo': 'the command behind it is run: demo/test_demo_command.py',
    'make demo [ENGINE=mujoco]': 'as above',
}


def plain(command):
    return ' '.join(command.split())


def of_pages(*pages):
    """Commands of pages that are run in their order by a test of their own."""
    return [plain(command) for page, command in SHOWN if page in pages and not command.endswith('…')]


def begins(command, words):
    return command == words or command.startswith(words + ' ')


def test_every_command_is_in_one_list_and_the_lists_hold_no_other():
    shown = {plain(command) for _, command in SHOWN}
    run = {*HERE, *FILLED, *of_pages(START, MINE)}
    unlisted = [
        command
        for command in sorted(shown - run - set(NOT_RUN))
        if not any(begins(command, words) for words in ELSEWHERE)
    ]
    assert unlisted == [], 'shown, and neither run nor listed with a reason'
    assert sorted({*HERE, *FILLED, *NOT_RUN} - shown) == [], 'listed, and shown no more'
    for words, path in ELSEWHERE.items():
        assert any(begins(command, words) for command in shown), words
        assert (ROOT / 'test' / path).is_file(), path
    concrete = [*HERE, *(command for command, _ in FILLED.values()), *of_pages(START, MINE), *ELSEWHERE]
    done = {command.split()[1] for command in concrete if begins(command, 'joint-dynamics')}
    assert done == set(COMMANDS)


def test_what_is_run_for_a_form_has_no_option_that_the_form_has_not():
    for form, (command, _) in FILLED.items():
        given, known = (set(re.findall(r'--[\w-]+', text)) for text in (command, form))
        # What a page leaves out by an ellipsis at the end may be anything.
        assert given <= known or form.endswith('…'), form
        assert known <= given or '[' in form, form


def echoed(page, folder):
    """Write the files that a page writes by `echo`; return their names."""
    text = (ROOT / page).read_text(encoding='utf-8')
    found = dict(re.findall(r"^echo ('.*') > (\S+)$", text, re.MULTILINE))
    for content, name in found.items():
        (folder / name).write_text(shlex.split(content)[0] + '\n', encoding='utf-8')
    return set(found.values())


def run(command, folder):
    """Run a command of a page in a folder as if the package were on the PATH; return what it says."""
    words = shlex.split(command)
    if words[:2] == ['python3', '-m']:
        start, rest = [sys.executable, '-m', words[2]], words[3:]
    elif words[0] == 'python':
        # From two folders down, as the page has it.
        start, rest = [sys.executable, str(ROOT / words[1].removeprefix('../../'))], words[2:]
    else:
        start, rest = [sys.executable, '-m', 'joint_dynamics'], words[1:]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([*start, *rest], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{command}\n{done.stdout}\n{done.stderr}'
    return done.stdout


def written_by(command, folder):
    """What a command was told to write."""
    words = shlex.split(command)
    return folder / words[words.index('--out') + 1] if '--out' in words else None


def page_config():
    """The configuration of the page for a robot of one's own."""
    (text,) = re.findall(r'```yaml\n(.*?)```', (ROOT / MINE).read_text(encoding='utf-8'), re.DOTALL)
    return yaml.safe_load(text)


@pytest.fixture(scope='module')
def started(tmp_path_factory):
    """The folder in which the commands of the first page were run, and what each said."""
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    folder = tmp_path_factory.mktemp('start')
    assert echoed(START, folder) == {'physical.yaml'}
    return folder, {command: run(command, folder) for command in of_pages(START) if command not in NOT_RUN}


@pytest.mark.slow
def test_the_first_page_does_what_it_says(started):
    folder, said = started
    assert [command.split()[1] for command in said] == [
        '../../examples/record_bags.py', 'doctor', 'identify', 'validate', 'identify', 'export',
    ]  # fmt: skip
    doctor, identify, validate = list(said.values())[1:4]
    assert doctor.rstrip().endswith('nothing wrong found')
    page = (ROOT / START).read_text(encoding='utf-8')
    percent = float(re.match(r'verdict: reliable within ([\d.]+) % of the torque below [\d.]+ Hz\n', identify).group(1))
    assert percent < float(re.search(r'less than ([\d.]+) %', page).group(1))
    assert validate.startswith('verdict: reliable')
    assert (folder / 'identified.urdf').is_file()
    for name in re.findall(r'^\| `([\w.]+)` \|', page, re.MULTILINE):
        assert (folder / 'result' / name).is_file()


def run_all(where, folder):
    """Run the commands of a folder in the order of the lists, forms last; what each was told to write is there."""
    listed = [(command, place) for command, place in HERE.items() if not begins(command, 'joint-dynamics excite')]
    said = {}
    for command, place in [*listed, *FILLED.values()]:
        if place == where:
            before = written_by(command, folder)
            if before is not None and before.is_dir():
                shutil.rmtree(before)
            elif before is not None:
                before.unlink(missing_ok=True)
            said[command] = run(command, folder)
            if before is not None:
                assert before.exists(), command
    return said


@pytest.mark.slow
def test_commands_on_recordings_with_torques(started, tmp_path):
    """On those of the first page; `run3` and `run4` are its two once more."""
    folder = shutil.copytree(started[0], tmp_path / 'torques')
    shutil.rmtree(folder / 'result')
    (folder / 'physical.yaml').unlink()
    assert echoed('README.md', folder) == {'physical.yaml'}
    for name, of in (
        ('run3', 'run2'),
        ('run4', 'run1'),
        ('recordings/arm/2026-01-05', 'run1'),
        ('recordings/arm/2026-01-06', 'run2'),
    ):
        shutil.copytree(folder / of, folder / name)
    # For a simulator and a controller: with the masses of bodies, as the page asks for.
    shutil.copy(folder / 'physical' / 'dynamics.yaml', folder / 'dynamics.yaml')
    applied = {'joints': {'elbow_joint': {'parameters': {'F_C0': 1.0, 'F_V1': 1.0}, 'speed_limit': 2.0}}}
    (folder / 'applied.yaml').write_text(yaml.safe_dump(applied), encoding='utf-8')
    said = run_all('torques', folder)
    assert next(iter(said.values())).startswith('verdict: reliable')


@pytest.mark.slow
def test_the_search_for_a_motion(tmp_path):
    (tmp_path / 'robot.urdf').write_text(ur5e_description(), encoding='utf-8')
    (command,) = (command for command in HERE if begins(command, 'joint-dynamics excite'))
    run(command, tmp_path)
    page = (ROOT / MINE).read_text(encoding='utf-8')
    for name in re.findall(r'`plan/([\w.]+)`', page):
        assert (tmp_path / 'plan' / name).is_file()


def test_commands_that_need_a_robot_file_only(tmp_path):
    (tmp_path / 'robot.urdf').write_text(ur5e_description(), encoding='utf-8')
    for command in HERE:
        if command.startswith('python3'):
            pytest.importorskip('rclpy', reason='ROS 2 is not installed')
            run(command, tmp_path)
            assert '<policy' in (tmp_path / 'left.policy.xml').read_text()


def write_bag(folder, recording):
    """A bag of /joint_states with the current in `effort`, as the driver of a UR gives it."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {name.rpartition('/')[2]: cls for name, cls in store.types.items()}
    folder.mkdir()
    writer = BagWriter(folder)
    dq = np.gradient(recording.q, recording.time, axis=0) if recording.dq is None else recording.dq
    for time, *row in zip(recording.time, recording.q, dq, recording.current, strict=True):
        stamp = round(1e9 * time) + 10**9
        message = types['JointState'](
            types['Header'](types['Time'](*divmod(stamp, 10**9)), ''), list(recording.joint_names), *row
        )
        writer.write('/joint_states', KIND, stamp, bytes(store.serialize_cdr(message, KIND)))
    writer.close()


def motion(seed, seconds=20.0):
    """A motion of all joints, at rest at both ends."""
    time = np.arange(0.0, seconds, 0.01)
    omega = 2 * np.pi / seconds * np.arange(1, 11)[:, None]
    a, b = np.random.default_rng(seed).normal(scale=0.4, size=(2, 10, 6))
    a[-1] -= a.sum(axis=0)
    b[-1] -= (b * omega).sum(axis=0) / omega[-1]
    sine, cosine = np.sin(omega * time).T, np.cos(omega * time).T
    q = sine @ (a / omega) - (cosine - 1) @ (b / omega)
    return TrajectoryPoints(time, q, cosine @ a + sine @ b, cosine @ (b * omega) - sine @ (a * omega))


def sweep(joint):
    """Speeds of one joint, held to and fro with smooth ways between them, the others at rest."""
    rise = 0.5 * (1 - np.cos(np.pi * np.arange(50) / 50))
    shape = np.concatenate([rise, np.ones(80), rise[::-1], np.zeros(20)])
    omega = np.concatenate([side * speed * shape for speed in (0.2, 0.5, 0.8, 1.1) for side in (1, -1)])
    q, dq, ddq = np.zeros((3, omega.size, 6))
    q[:, joint], dq[:, joint], ddq[:, joint] = np.cumsum(omega) / 100, omega, np.gradient(omega, 0.01)
    return TrajectoryPoints(np.arange(omega.size) / 100, q, dq, ddq)


@pytest.fixture(scope='module')
def currents(tmp_path_factory):
    """A folder with a robot, its joints named as on the page, and recordings of its currents."""
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    folder, config, urdf = tmp_path_factory.mktemp('currents'), page_config(), ur5e_description()
    robot = FlexibleJointRobot(seed=1)
    names = tuple(config['identification']['drive_gains'])
    for old, new in zip(robot.joint_names, names, strict=True):
        urdf = urdf.replace(f'"{old}"', f'"{new}"')
    (folder / 'robot.urdf').write_text(urdf, encoding='utf-8')
    # What the data sheet of the drives says, not what they have.
    gains = robot.drives.nominal_gain.tolist()
    config['identification']['drive_gains'] = dict(zip(names, gains, strict=True))
    (folder / 'robot.yaml').write_text(yaml.safe_dump(config), encoding='utf-8')
    runs = ('run1', motion(1), 0.0), ('run2', motion(2), 0.0), ('loaded', motion(3), 4.59), ('sweep', sweep(1), 0.0)
    for name, way, mass in runs:
        robot = FlexibleJointRobot(seed=1)
        if mass:
            robot.attach_payload(Payload(mass, (0.02, -0.03, 0.1)))
        seen = record(robot, way, every=5)
        write_bag(folder / name, Recording(names, seen.time, seen.q, dq=seen.dq, current=seen.current))
        if name == 'run1':
            Recording(names, seen.time, seen.q, dq=seen.dq, current=seen.current).save_csv(folder / 'table.csv')
    for name in ('run1', 'run2'):
        shutil.copytree(folder / name, folder / 'recordings' / name)
    return folder


@pytest.mark.slow
def test_commands_on_recordings_with_currents(currents):
    said = run_all('currents', currents)
    for command, words in said.items():
        if begins(command, 'joint-dynamics identify'):
            assert words.startswith('verdict: reliable'), command


@pytest.mark.slow
def test_the_commands_for_a_robot_of_ones_own(currents):
    """With the file of the page, its drive gains those of the data sheet of the simulated robot."""
    pytest.importorskip('mujoco', reason='the extra mujoco is not installed')
    commands = [command for command in of_pages(MINE) if not begins(command, 'joint-dynamics excite')]
    assert [command.split()[1] for command in commands] == ['doctor', 'identify', 'validate', 'export', 'export']
    said = [run(command, currents) for command in commands]
    assert said[1].startswith('verdict: reliable')
    assert (currents / 'identified.xml').is_file()
