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

"""`joint-dynamics check-compensation` from the outside: exit status 1 when a robot would run away."""

import json
import re

import pytest
import yaml

IDENTIFIED = {
    'format': 'joint_dynamics',
    'version': 1,
    'robot': {'joint_names': ['a', 'b']},
    'joints': {
        'a': {
            'friction': {'parameters': {'F_C0': 5.0, 'F_V1': 10.0}, 'standard_deviations': {'F_C0': 0.1, 'F_V1': 0.2}}
        },
        'b': {},
    },
}

BODY = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@pytest.fixture
def check(run, tmp_path):
    def call(applied, *more):
        (tmp_path / 'dynamics.yaml').write_text(yaml.safe_dump(IDENTIFIED))
        (tmp_path / 'applied.yaml').write_text(applied if isinstance(applied, str) else yaml.safe_dump(applied))
        return run('check-compensation', tmp_path / 'dynamics.yaml', '--applied', tmp_path / 'applied.yaml', *more)

    return call


def compensation(F_C0, F_V1, **more):
    return {'joints': {'a': {'parameters': {'F_C0': F_C0, 'F_V1': F_V1}, 'speed_limit': 2.0, **more}}}


def test_under_compensation_passes(check):
    done = check(compensation(4.0, 9.0))
    assert done.status == 0, done.err
    assert 'under-compensated' in done.out
    assert 'not checked' in done.out
    assert not done.err


def test_over_and_repelling_exit_with_1(check):
    for values in ((6.0, 11.0), (4.0, 11.0)):
        done = check(compensation(*values))
        assert done.status == 1
        assert done.error.endswith('would run away: a')


def test_limit_cycle_is_told_and_is_not_a_runaway(check, tmp_path):
    done = check(compensation(6.0, 9.0, spring=80.0, inertia=1.5), '--out', tmp_path / 'out')
    assert done.status == 0, done.err
    assert 'stable limit cycle of ±1.27 rad/s' in done.out
    summary = json.loads((tmp_path / 'out' / 'summary.json').read_text())
    assert summary['runs_away'] is False
    assert summary['checks'][0]['directions'][0]['crossings'] == [{'speed': pytest.approx(1.0), 'kind': 'attracting'}]
    assert 'class="arrays"' in (tmp_path / 'out' / 'report.html').read_text()


def test_units_are_those_of_the_joint(run, tmp_path):
    """A lift has its speeds in m/s and its friction in N, in the table, the sentence and the report."""
    urdf = (
        f'<robot name="lift"><link name="base"/><link name="up">{BODY}</link><link name="arm">{BODY}</link>'
        '<joint name="a" type="prismatic"><parent link="base"/><child link="up"/><axis xyz="0 0 1"/>'
        '<limit lower="0" upper="1" velocity="2" effort="100"/></joint>'
        '<joint name="b" type="revolute"><parent link="up"/><child link="arm"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="2" effort="100"/></joint></robot>'
    )
    described = IDENTIFIED | {'robot': {'joint_names': ['a', 'b'], 'urdf': urdf}}
    (tmp_path / 'dynamics.yaml').write_text(yaml.safe_dump(described))
    (tmp_path / 'applied.yaml').write_text(yaml.safe_dump(compensation(6.0, 9.0, spring=80.0, inertia=1.5)))
    called = ('check-compensation', tmp_path / 'dynamics.yaml', '--applied', tmp_path / 'applied.yaml')
    done = run(*called, '--out', tmp_path / 'out')
    assert done.status == 0, done.err
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert re.search(r'limit cycle of ±1.27 m/s, ±0.\d+ m, period', done.out)
    assert '>[N]<' in page and 'speed along the motion [m/s]' in page
    for text in (done.out, page):
        assert 'N·m' not in text and 'rad' not in re.sub(r'<(script|style).*?</\1>', '', text, flags=re.S)


@pytest.mark.parametrize(
    ('applied', 'message'),
    [
        ('joints: [', 'YAML'),
        ('[]', 'applied.yaml'),
        ({'joints': {'c': {'parameters': {'F_C0': 1}}}}, "'c'"),
        ({'joints': {'b': {'parameters': {'F_C0': 1}, 'speed_limit': 1}}}, 'friction in the description'),
        ({'joints': {'a': {'parameters': {'F_C0': 1}}}}, 'speed_limit'),
        ({'joints': {'a': {'parameters': {'F_X': 1}, 'speed_limit': 1}}}, 'F_X'),
    ],
)
def test_bad_input_is_one_line_and_exit_2(check, applied, message):
    done = check(applied)
    assert done.status == 2
    assert message in done.error
