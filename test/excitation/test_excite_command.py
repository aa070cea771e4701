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

"""`joint-dynamics excite` from the outside: files, tables, exit status."""

import json
import re
import signal
import subprocess

import numpy as np
import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.excitation import load_trajectory
from joint_dynamics.excitation.files import load_plan
from joint_dynamics.python_process import environment, module_command

QUICK = {
    'limits': {'acceleration': 4.0},
    'fourier': {'period': 6.0, 'harmonics': 3, 'starts': 1, 'candidates': 1},
    'rate': 50,
}


@pytest.fixture
def excite(tmp_path, make_urdf, monkeypatch):
    """Run the command on the planar arm in this process; return (status, folder)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, config=None, urdf=None):
        (tmp_path / 'arm.urdf').write_text(make_urdf() if urdf is None else urdf)
        if config is not None:
            (tmp_path / 'config.yaml').write_text(yaml.safe_dump({'excitation': config}))
            arguments = (*arguments, '--config', 'config.yaml')
        return main(['excite', '--robot', 'arm.urdf', '--out', 'out', *arguments]), tmp_path / 'out'

    return run


def test_trajectory_summary_and_report_are_written(excite):
    status, folder = excite(config=QUICK)
    assert status == 0
    files = ['report.html', 'summary.json', 'trajectory.csv', 'trajectory.yaml']
    assert sorted(path.name for path in folder.iterdir()) == files
    summary = json.loads((folder / 'summary.json').read_text())
    assert 1 < summary['condition_number'] < summary['before']['condition_number']
    assert min(summary['margins'].values()) >= 0
    table = np.genfromtxt(folder / 'trajectory.csv', delimiter=',', names=True)
    assert table.dtype.names == ('time', *(f'{kind}{k}' for kind in ('q', 'dq', 'ddq') for k in (1, 2, 3)))
    assert table['time'][-1] == pytest.approx(6.0 * 1.4)
    assert np.abs(table['ddq1']).max() <= 4.0
    by_points, by_coefficients = load_trajectory(folder / 'trajectory.yaml'), load_trajectory(folder / 'summary.json')
    t = np.linspace(0, by_points.duration, 50)
    np.testing.assert_allclose(by_points.position(t), by_coefficients.position(t), atol=1e-6)
    # position, speed, acceleration and torque
    assert (folder / 'report.html').read_text().count('<figure class="chart') == 4


def test_a_profile_of_one_joint_needs_no_search(excite):
    status, folder = excite('--profile', 'slow-reversals', '--joint', 'a', config={'slow_reversals': {'span': 0.5}})
    assert status == 0
    summary = json.loads((folder / 'summary.json').read_text())
    assert summary['profile'] == 'slow_reversals'
    assert summary['condition_number'] is None
    assert summary['before'] is None
    assert summary['seconds'] > 0
    assert load_trajectory(folder / 'summary.json').duration == pytest.approx(summary['duration'])
    assert 'made for a test of one joint' in (folder / 'report.html').read_text()


def test_poor_condition_number_ends_with_3(excite, capsys):
    status, folder = excite(config={**QUICK, 'condition_limit': 1.5})
    assert status == 3
    assert 'not reliable: condition number' in capsys.readouterr().err
    assert (folder / 'summary.json').exists()


@pytest.mark.parametrize(
    ('config', 'arguments', 'message'),
    [
        ({'fourrier': {}}, (), "excitation: expected the keys .*, found 'fourrier'; meant fourier"),
        ({'fourier': {'weights': [1, 2]}}, (), r'excitation\.fourier: .*0\.3\.0'),
        ({'fourier': {'time_budget': 60.0}}, (), r'excitation\.fourier: .*0\.3\.0.*time_budget'),
        ({'fourier': {'perod': 1}}, (), "excitation.fourier: expected the keys .*, found 'perod'; meant period"),
        ({}, ('--profile', 'trapezoids'), 'trapezoids.joint: expected one of a, b, c, found none'),
        ({}, ('--joint', 'a'), 'excitation.fourier: '),
        ({'fourier': {'starts': 1}, 'limits': {'height': [5, 6]}}, (), 'expected a motion that keeps every limit'),
    ],
)
def test_bad_input_ends_with_2_and_one_line(excite, capsys, config, arguments, message):
    status, _ = excite(*arguments, config=config)
    error = capsys.readouterr().err
    assert status == 2
    assert re.search(message, error)
    # a slow machine shows how far the search is
    (line,) = (line for line in error.splitlines() if ' s: searching; ' not in line)
    assert line.startswith('joint-dynamics excite: ')


def test_missing_inertials_need_torque_limit_false(excite, make_urdf, capsys):
    urdf = make_urdf(inertials=False)
    assert excite(urdf=urdf)[0] == 2
    assert 'set limits.torque_limit: false' in capsys.readouterr().err
    config = {'limits': {'torque_limit': False}, 'waypoints': {'waypoints': [[0, 0, 0], [20, -10, 30]]}}
    status, folder = excite('--profile', 'waypoints', urdf=urdf, config=config)
    assert status == 0
    assert 'torque' not in json.loads((folder / 'summary.json').read_text())['margins']
    assert load_plan(folder / 'summary.json')[1] is False, 'the plan says it itself'


def test_interrupt_writes_the_first_result(tmp_path, make_urdf):
    (tmp_path / 'arm.urdf').write_text(make_urdf())
    settings = {**QUICK, 'fourier': {**QUICK['fourier'], 'starts': 500, 'patience': 500}}
    (tmp_path / 'config.yaml').write_text(yaml.safe_dump({'excitation': settings}))
    command = ['excite', '--robot', 'arm.urdf', '--config', 'config.yaml', '--out', 'out']
    process = subprocess.Popen(
        module_command('joint_dynamics.cli.main', command),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = next(line for line in process.stderr if 'condition number' in line)
    process.send_signal(signal.SIGINT)
    complaints = process.communicate(timeout=120)[1]
    assert re.search(r'condition number \d+\.\d\d', line)
    assert process.returncode in (0, 3), complaints
    summary = json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert summary['ended'] == 'interrupted'
    assert min(summary['margins'].values()) >= 0
    assert load_trajectory(tmp_path / 'out' / 'summary.json').duration == pytest.approx(6.0 * 1.4)
