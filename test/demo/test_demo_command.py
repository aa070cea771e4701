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

"""The demonstration as a whole, shortened, and its end by signals at any time: no process is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from joint_dynamics.cli.demo import run_demo
from joint_dynamics.demo import DemoSettings
from joint_dynamics.demo.report import demo_report
from joint_dynamics.demo.stages import CALIBRATION
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.terminal import Terminal

# Only a test that fails waits so long, s.
PATIENCE = 300.0


def descendants(marker):
    """Numbers of the processes, zombies aside, whose environment holds the marker."""
    found = []
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / 'stat').read_text().rpartition(')')[2].split()[0]
                if state != 'Z' and marker.encode() in (entry / 'environ').read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_for(condition, what, out=None):
    """Wait for a condition; fail with its description and the last lines of each log in the output folder."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            logs = sorted((out / 'logs').glob('*.log')) if out else []
            said = [f'{log.name}: {" | ".join(log.read_text(errors="replace").splitlines()[-5:])}' for log in logs]
            pytest.fail('\n'.join([f'waited {PATIENCE:g} s in vain for {what}', *said]))
        time.sleep(0.05)


@pytest.fixture
def demo(tmp_path):
    """The command in a process of its own, with a marker that everything it starts inherits."""
    marker = f'DEMO_TEST={tmp_path}'
    process = subprocess.Popen(
        [sys.executable, '-m', 'joint_dynamics.cli.main', 'demo', '--out', str(tmp_path / 'out')],
        env={**os.environ, 'DEMO_TEST': str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process, marker, tmp_path / 'out'
    if process.poll() is None:
        process.kill()
    process.communicate()
    wait_for(lambda: not descendants(marker), f'still there: {descendants(marker)}')


@pytest.mark.parametrize(
    ('number', 'moment'),
    [(signal.SIGINT, 'calibrate'), (signal.SIGTERM, 'simulator'), (signal.SIGKILL, 'calibrate')],
    ids=['interrupted', 'terminated', 'killed'],
)
def test_interrupted_demo_leaves_no_process_and_no_result(demo, number, moment):
    process, marker, out = demo
    # a log is there before the process that writes it
    log = out / 'logs' / f'{moment}.log'
    wait_for(lambda: process.poll() is not None or (log.exists() and len(descendants(marker)) >= 2), moment, out)
    assert process.poll() is None, process.stderr.read()
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    wait_for(lambda: not descendants(marker), f'still there: {descendants(marker)}')
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert errors.strip().splitlines()[-1] == 'joint-dynamics demo: interrupted'
        assert 'Traceback' not in errors
    assert not (out / 'summary.json').exists()


def test_node_that_dies_ends_the_demo_with_status_2(demo):
    process, marker, out = demo
    wait_for(lambda: (out / 'logs' / 'calibrate.log').exists() or process.poll() is not None, 'calibrate to start', out)

    def simulators():
        module = b'joint_dynamics.nodes.simulator.node'
        return [pid for pid in descendants(marker) if module in Path(f'/proc/{pid}/cmdline').read_bytes()]

    wait_for(simulators, 'the simulator', out)
    for pid in simulators():
        os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert errors.strip().startswith('joint-dynamics demo: simulator: ')
    assert len(errors.strip().splitlines()) == 1
    assert not descendants(marker)


def test_output_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / 'file').write_text('')
    command = [sys.executable, '-m', 'joint_dynamics.cli.main', 'demo', '--out', str(tmp_path / 'file' / 'out')]
    done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert 'joint-dynamics demo: output folder' in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_seed_is_a_number_from_0(tmp_path, monkeypatch, capsys):
    from joint_dynamics.cli import main as command

    monkeypatch.setattr('importlib.util.find_spec', lambda name: object())
    assert command.main(['demo', '--out', str(tmp_path), '--seed', '-1']) == 2
    assert 'demo.seed: expected a whole number, ≥ 0, found -1' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_calibration_finds_the_robot(tmp_path):
    summary, results = run_demo(DemoSettings(seed=1), tmp_path, Terminal(), CALIBRATION)
    assert summary['validation_moving_percent'] < 3.0
    assert summary['median_error_percent'] < 15.0
    assert 0.0 < summary['parameter_coverage_percent'] <= 100.0
    assert set(summary['seconds']) >= {'Calibrate the robot', 'total'}
    json.dumps(summary, allow_nan=False)
    DynamicsDescription.load(tmp_path / 'dynamics.yaml')
    demo_report(summary, results).save(tmp_path / 'report.html')
    assert not (tmp_path / 'summary.json').exists()
    nobody_was_told_the_truth(tmp_path, results['truth'])


def nobody_was_told_the_truth(folder, truth):
    """No number of the truth stands in the parameters of the nodes, except those of the simulator."""
    sheet = set(truth['friction']['nominal_gain'])
    secret = {value for value in every_number(truth) if len(repr(value)) > 8} - sheet
    told = [path for path in sorted(folder.glob('**/logs/*.yaml')) if path.name != 'simulator.yaml']
    assert {path.stem for path in told} >= {'calibrate', 'identifier', 'excitation'}
    for path in told:
        assert not secret & set(every_number(yaml.safe_load(path.read_text()))), path
    assert secret & set(every_number({'drive_gain': truth['drive_gain']}))


def every_number(document):
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        for item in document:
            yield from every_number(item)
    elif isinstance(document, float):
        yield document
