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

"""`joint-dynamics identify`, `validate`, `export` from the outside.

Files, exit statuses, one line for bad input.
"""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import yaml

from joint_dynamics.description import DynamicsDescription, export
from joint_dynamics.recording import Recording


def check_next_command(printed, robot, description):
    """The next command is `gains` of the same robot and the new description."""
    (command,) = (line for line in printed.splitlines() if line.startswith('next: '))
    words = shlex.split(command)
    assert words[1:3] == ['joint-dynamics', 'gains']
    assert words[words.index('--robot') + 1] == str(robot)
    assert words[words.index('--description') + 1] == str(description)


def test_without_a_report_there_is_none_of_an_earlier_run_either(run, ur, motion, arm_file, run_file, tmp_path):
    t, q, tau = motion
    rotors = 0.5 * np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    path, out = tmp_path / 'rotors.csv', tmp_path / 'out'
    Recording(ur.joint_names, t, q, tau=tau + rotors).save_csv(path)
    for options, files in (
        ([], ['dynamics.yaml', 'report.html', 'summary.json']),
        (['--no-report'], ['dynamics.yaml', 'summary.json']),
    ):
        done = run('identify', f'{path}@0:6', '--robot', arm_file, '--out', out, *options)
        assert done.status == 0, done.err
        assert sorted(item.name for item in out.iterdir()) == files
        assert ('report.html' in done.out) == ('report.html' in files)
        # what a base parameter is made of is in the report; each column has a name
        lines = done.out.partition('Parameters (SI')[2].splitlines()
        assert max(map(len, lines[:40])) < 100 and all(map(str.strip, lines[2].strip('┃').split('┃')))
        check_next_command(done.out, arm_file, out / 'dynamics.yaml')
    summary = json.loads((out / 'summary.json').read_text())
    assert summary['run'] == yaml.safe_load((out / 'dynamics.yaml').read_text())['provenance']['run']
    # a rotor that comes out below 0, and known to
    Recording(ur.joint_names, t, q, tau=tau - 0.1 * rotors).save_csv(path)
    done = run('identify', f'{path}@0:6', '--robot', arm_file, '--out', out)
    assert done.status == 0 and 'next: the same with identification: {physical: true}' in done.out


NOT_NEEDED = {
    'cvxpy', 'matplotlib', 'rosbags', 'scipy.fft', 'scipy.integrate', 'scipy.interpolate',
    'scipy.ndimage', 'scipy.optimize', 'scipy.signal', 'scipy.sparse', 'scipy.spatial', 'scipy.stats',
    'joint_dynamics.control', 'joint_dynamics.estimation', 'joint_dynamics.excitation', 'joint_dynamics.report',
    'joint_dynamics.simulation', 'joint_dynamics.trend',
}  # fmt: skip


def test_run_without_a_report_loads_no_needless_module(arm_file, run_file, tmp_path):
    """A third of the command are its imports as it is, half where they are not watched; from a CSV file."""
    arguments = ['identify', f'{run_file()}@0:6', '--robot', arm_file, '--out', tmp_path / 'out', '--no-report']
    code = (
        'import sys\nfrom joint_dynamics.cli.main import main\n'
        'assert main(sys.argv[1:]) == 0\nprint(*sys.modules, file=sys.stderr)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert 'Parameters' in done.stdout and 'joint_dynamics.identification.identify' in loaded
    assert sorted(loaded & NOT_NEEDED) == []


def test_from_recording_to_description_and_back(run, arm_file, run_file, tmp_path):
    path = run_file()
    out = tmp_path / 'out'
    done = run('identify', f'{path}@0:6', '--robot', arm_file, '--validate', f'{path}@6:8', '--out', out)
    assert done.status == 0, done.err
    assert sorted(item.name for item in out.iterdir()) == ['dynamics.yaml', 'report.html', 'summary.json']
    summary = json.loads((out / 'summary.json').read_text())
    assert {'method', 'samples', 'base_parameters', 'condition_number', 'seconds', 'training'} <= set(summary)
    entry = summary['validation'][0]
    residuals = {'residual_percent', 'moving_residual_percent', 'raw_residual_percent', 'rmse'}
    assert set(entry) == {'recording', 'band_hz', 'fixed_band', *residuals}
    assert entry['residual_percent']['overall'] < 10
    assert set(entry['residual_percent']) == {*(f'joint_{k}' for k in range(1, 7)), 'overall'}
    assert {'name', 'value', 'std', 'relative_std_percent'} <= set(summary['parameters'][0])
    again = run('validate', out / 'dynamics.yaml', f'{path}@6:8', '--out', tmp_path / 'again')
    assert again.status == 0, again.err
    checked = json.loads((tmp_path / 'again' / 'summary.json').read_text())['validation'][0]
    assert checked['residual_percent']['overall'] == pytest.approx(entry['residual_percent']['overall'], rel=0.02)


@pytest.fixture
def still_file(tmp_path, ur, motion):
    """A recording in which the wrist rests."""
    t, q, tau = (array.copy() for array in motion)
    q[:, 3:] = q[0, 3:]
    Recording(ur.joint_names, t, q, tau=tau).save_csv(tmp_path / 'still.csv')
    return tmp_path / 'still.csv'


def test_motion_with_little_excitation_exits_with_3(run, arm_file, still_file, tmp_path):
    arguments = ('identify', still_file, '--robot', arm_file, '--out', tmp_path / 'out')
    done = run(*arguments)
    assert done.status == 3
    assert 'do not excite the robot enough' in done.out.splitlines()[0]
    assert 'Fv_5' in done.out.splitlines()[0]
    assert 'not reliable' in done.error
    not_reliable = ['dynamics.not_reliable.yaml', 'report.not_reliable.html', 'summary.not_reliable.json']
    assert sorted(item.name for item in (tmp_path / 'out').iterdir()) == not_reliable
    assert run(*arguments, '--proceed').status == 0
    reliable = ['dynamics.yaml', 'report.html', 'summary.json']
    assert sorted(item.name for item in (tmp_path / 'out').iterdir()) == reliable


def test_unreliable_result_leaves_an_earlier_good_one(run, arm_file, run_file, still_file, tmp_path):
    assert run('identify', run_file(), '--robot', arm_file, '--out', tmp_path / 'out').status == 0
    before = {item.name: item.read_bytes() for item in (tmp_path / 'out').iterdir()}
    done = run('identify', still_file, '--robot', arm_file, '--out', tmp_path / 'out')
    assert done.status == 3
    assert f'kept: {tmp_path}/out/dynamics.yaml of an earlier run' in done.out
    assert 'dynamics.not_reliable.yaml' in done.out
    assert {name: (tmp_path / 'out' / name).read_bytes() for name in before} == before
    description = DynamicsDescription.load(tmp_path / 'out' / 'dynamics.not_reliable.yaml')
    assert description.document['provenance']['believable'] is False


def without(first, last):
    """Return a function that leaves lines out of a CSV file."""

    def change(text):
        lines = text.splitlines()
        return '\n'.join([*lines[:first], *lines[last:]]) + '\n'

    return change


# What else is wrong with recordings is refused in test/recording.
BAD_RECORDINGS = {
    'a gap': (without(300, 700), r'gap|without'),
    'no torque': (lambda text: '\n'.join(','.join(line.split(',')[:7]) for line in text.splitlines()), r'torque'),
    'empty': (lambda text: '', r'expected|empty|found'),
}


def test_a_recording_with_a_few_gaps_is_used_in_pieces(run, arm_file, run_file, tmp_path):
    """Pieces and whole give the same parameters within their deviations."""
    found = {}
    for name, change in (('whole', None), ('holed', without(600, 625))):
        done = run('identify', run_file(f'{name}.csv', change), '--robot', arm_file, '--out', tmp_path / name)
        assert done.status == 0, done.err
        found[name] = yaml.safe_load((tmp_path / name / 'summary.json').read_text())
    assert len(found['whole']['training']) == 1 and len(found['holed']['training']) == 2
    assert any('used in 2 pieces, because of gaps' in note for note in found['holed']['notes'])
    assert not any('pieces' in note for note in found['whole']['notes'])
    whole, holed = ({entry['name']: entry for entry in one['parameters']} for one in found.values())
    assert whole.keys() == holed.keys()
    for name, entry in holed.items():
        assert abs(entry['value'] - whole[name]['value']) <= 3.0 * np.hypot(entry['std'], whole[name]['std']), name


@pytest.mark.parametrize('case', BAD_RECORDINGS)
def test_a_bad_recording_is_refused_with_one_line(run, arm_file, run_file, tmp_path, case):
    change, pattern = BAD_RECORDINGS[case]
    path = run_file(change=change)
    done = run('identify', path, '--robot', arm_file, '--out', tmp_path / 'out')
    assert done.status == 2, (done.out, done.err)
    assert re.search(pattern, done.error), done.error
    assert 'run.csv' in done.error
    assert list((tmp_path / 'out').iterdir()) == [], 'nothing half-written stays behind'


def test_other_bad_input_is_refused_with_one_line(run, arm_file, run_file, tmp_path):
    path = run_file()
    out = tmp_path / 'out'
    unknown = tmp_path / 'config.yaml'
    cases = []
    unknown.write_text(yaml.safe_dump({'recordings': {}}))
    cases.append((('identify', path, '--robot', arm_file, '--config', unknown, '--out', out), "found 'recordings'"))
    cases.append((('identify', path, '--robot', tmp_path / 'none.urdf', '--out', out), 'No such file'))
    cases.append((('identify', tmp_path / 'none', '--robot', arm_file, '--out', out), 'none'))
    (tmp_path / 'file').write_text('')
    cases.append((('identify', path, '--robot', arm_file, '--out', tmp_path / 'file'), 'output folder'))
    cases.append((('identify', path, '--robot', arm_file, '--out', tmp_path / 'file' / 'out'), 'output folder'))
    cases.append((('validate', tmp_path / 'none.yaml', path), 'none.yaml'))
    for arguments, text in cases:
        done = run(*arguments)
        assert done.status == 2, arguments
        assert text in done.error
    assert run('identify', path, '--robot', arm_file).status == 2, 'usage: --out is missing'
    assert run('identfy').status == 2


def test_currents_need_drive_gains(run, arm_file, run_file, tmp_path):
    path = run_file(change=lambda text: text.replace('tau', 'cur'))
    done = run('identify', path, '--robot', arm_file, '--out', tmp_path / 'out')
    assert done.status == 2
    assert 'drive gains' in done.error
    config = tmp_path / 'config.yaml'
    config.write_text(yaml.safe_dump({'identification': {'drive_gains': {f'joint_{k}': 9.0 for k in range(1, 7)}}}))
    assert run('identify', path, '--robot', arm_file, '--config', config, '--out', tmp_path / 'out').status == 0


def turned(text):
    """A recording as CSV with the torque of the second joint of opposite sign."""
    lines = text.splitlines()
    column = lines[0].split(',').index('tau2')
    rows = [line.split(',') for line in lines[1:]]
    for row in rows:
        row[column] = str(-float(row[column]))
    return '\n'.join([lines[0], *(','.join(row) for row in rows)])


def test_the_verdict_comes_first_and_validate_has_its_own(run, arm_file, run_file, tmp_path):
    """A prediction that fails exits with 3 and says how; the same words are in summary and report."""
    path = run_file()
    out = tmp_path / 'out'
    done = run('identify', path, '--robot', arm_file, '--out', out)
    assert done.out.splitlines()[0].startswith('verdict: reliable within')
    assert json.loads((out / 'summary.json').read_text())['verdict'] == 'reliable'
    assert '<p class="weak">Reliable within' in (out / 'report.html').read_text()
    wrong = run('validate', out / 'dynamics.yaml', run_file('turned.csv', turned), '--out', tmp_path / 'again')
    assert wrong.status == 3
    assert wrong.out.splitlines()[0].startswith(
        'verdict: not reliable, because the torque of joint_2 has the opposite sign'
    )
    summary = json.loads((tmp_path / 'again' / 'summary.json').read_text())
    # on stderr every reason as a whole, in the report each once
    assert all(reason['text'] in wrong.error for reason in summary['reasons'])
    assert (tmp_path / 'again' / 'report.html').read_text().count('has the opposite sign') == 1
    assert summary['verdict'] == 'not reliable'
    assert summary['reasons'][0]['code'] == 'torque_sign'
    # called by the last component of its path
    assert str(tmp_path) not in summary['verdict_line'] + wrong.out.partition('written')[0]


def test_a_prior_decides_and_one_that_is_none_is_refused_at_once(run, arm_file, run_file, tmp_path, ur):
    pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
    body = {'XX': 0.05, 'XY': 0, 'XZ': 0, 'YY': 0.05, 'YZ': 0, 'ZZ': 0.05, 'MX': 0, 'MY': 0, 'MZ': 0, 'M': 2.0}
    description = DynamicsDescription(
        {
            'robot': {'joint_names': list(ur.joint_names), **ur.kinematics()},
            'joints': {name: {} for name in ur.joint_names},
            'inertial': {'standard': dict.fromkeys(ur.joint_names, body)},
        }
    )
    export(description, tmp_path / 'prior.urdf')
    path, out = run_file(), tmp_path / 'out'
    done = run('identify', path, '--robot', arm_file, '--prior', tmp_path / 'prior.urdf', '--out', out)
    assert done.status == 0, done.err
    physical = json.loads((out / 'summary.json').read_text())['physical']
    assert physical['prior'] == str(tmp_path / 'prior.urdf')
    links = DynamicsDescription.load(out / 'dynamics.yaml').document['inertial']['standard']
    # without a prior an MDH table gives links of nearly no mass; these weigh something like the prior's
    assert all(0.2 < link['M'] < 20.0 for link in links.values())
    (tmp_path / 'page.xml').write_text('<html/>')
    done = run('identify', path, '--robot', arm_file, '--prior', tmp_path / 'page.xml', '--out', tmp_path / 'none')
    assert done.status == 2
    assert 'expected a URDF or MJCF' in done.error
