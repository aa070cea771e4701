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

"""`joint-dynamics identify-joint` from the outside: files, exit statuses, one test's result taken up by the next."""

import json

import numpy as np
import pytest
import yaml

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.recording import Recording

SPEEDS = np.linspace(0.2, 2.0, 5)
TRUTH = {'F_C': 6.0, 'F_V': 14.0, 'F_C1': 1.2e-3, 'F_T1': -0.09}


def drive(speeds, load=0.0, temperature=30.0, seed=0):
    """Trapezoids of two joints at 500 Hz, the second at rest; friction of the first in closed form, with noise."""
    rng = np.random.default_rng(seed)
    omega = np.concatenate([np.r_[np.linspace(0, s, 40), np.full(500, s), np.linspace(s, 0, 40)] for s in speeds])
    q = np.cumsum(omega) / 500
    tau_J = load * np.sin(3 * q)
    T = np.full_like(q, temperature)
    friction = (
        np.sign(omega) * (TRUTH['F_C'] + TRUTH['F_C1'] * tau_J**2 + np.sqrt(np.abs(omega)) * TRUTH['F_T1'] * (T - 30))
        + TRUTH['F_V'] * omega
    )
    tau = friction + tau_J + 0.3 * rng.standard_normal(q.size)
    still = np.zeros_like(q)

    def both(x, y=still):
        return np.column_stack([x, y])

    return Recording(
        ('a', 'b'),
        np.arange(q.size) / 500,
        both(q),
        current=both(tau / 10),
        theta=both(q),
        temperature=both(T, T),
        load_torque=both(tau_J),
    )


@pytest.fixture
def config(tmp_path):
    return with_settings(tmp_path, {'drive_gains': {'joint_1': 10.0}, 'load': {'form': 'quadratic'}})


def with_settings(folder, section):
    """Write the section `joint` of a configuration; return its path."""
    (folder / 'joint.yaml').write_text(yaml.safe_dump({'joint': section}))
    return folder / 'joint.yaml'


@pytest.fixture
def tested(run, config, tmp_path):
    """A function that evaluates a test of a joint; returns the outcome of the command and its output folder."""

    def call(kind, *files, config=config, **options):
        given = [word for name, value in {'config': config, **options}.items() for word in (f'--{name}', value)]
        out = tmp_path / f'out_{kind}'
        return run('identify-joint', kind, *files, *given, '--out', out), out

    return call


@pytest.fixture
def csv(tmp_path):
    def write(name, recording):
        path = tmp_path / f'{name}.csv'
        recording.save_csv(path)
        return path

    return write


BOTH = np.ravel(np.column_stack([SPEEDS, -SPEEDS]))


def test_one_test_after_another_into_one_description(tested, csv):
    speed, out = tested('friction', csv('speed', drive(BOTH)))
    assert speed.status == 0, speed.err
    assert sorted(item.name for item in out.iterdir()) == ['dynamics.yaml', 'report.html', 'summary.json']
    summary = json.loads((out / 'summary.json').read_text())
    values = {item['name']: item for item in summary['parameters']}
    assert summary['joint'] == 'joint_1'
    assert abs(values['F_C']['value'] / TRUTH['F_C'] - 1) < 0.03
    assert values['F_V1']['unit'] == 'N·m·s/rad'
    assert values['F_V1']['std'] > 0
    load, second = tested('load', csv('load', drive([0.5, -0.5] * 3, load=80.0)), description=out / 'dynamics.yaml')
    assert load.status == 0, load.err
    files = (csv(f'warm{T}', drive([0.5, -0.5, 1.5, -1.5], temperature=T)) for T in (20.0, 40.0))
    warm, out = tested('temperature', *files, description=second / 'dynamics.yaml')
    assert warm.status == 0, warm.err
    friction = Arm.of_joints(DynamicsDescription.load(out / 'dynamics.yaml')).friction
    omega = 1.2
    expected = TRUTH['F_C'] + TRUTH['F_C1'] * 60**2 + TRUTH['F_V'] * omega + np.sqrt(omega) * TRUTH['F_T1'] * 8
    assert np.isclose(friction.static([omega], 60.0, 38.0)[0], expected, rtol=0.01)


def test_what_is_not_reliable_exits_with_3_and_still_writes(run, tested, csv, tmp_path):
    done, out = tested('friction', csv('one', drive(SPEEDS)))
    assert done.status == 3
    assert 'one direction only' in done.error
    assert json.loads((out / 'summary.not_reliable.json').read_text())['believable'] is False
    t = np.arange(2000) / 500
    swing = Recording(('a',), t, np.sin(6 * t)[:, None], tau=np.cos(6 * t)[:, None])
    nothing = run('identify-joint', 'friction', csv('swing', swing), '--out', tmp_path / 'none')
    assert nothing.status == 3
    assert not list((tmp_path / 'none').iterdir())


def test_load_without_a_friction_map_stays_out_of_the_file(tested, csv):
    done, out = tested('load', csv('load', drive([0.5, -0.5] * 3, load=80.0)))
    assert done.status == 0, done.err
    assert 'run the friction test first' in done.out
    assert 'friction' not in yaml.safe_load((out / 'dynamics.yaml').read_text())['joints']['joint_1']


@pytest.mark.parametrize(
    ('section', 'message'),
    [
        ({'drive_gains': {'joint_1': 'ten'}}, 'joint.drive_gains'),
        ({'cutoff': -1}, 'joint.cutoff'),
        ({'friction': {'method': 'motion'}}, 'joint.friction.method'),
        ({'friction': {'modle': 'auto'}}, "'modle'"),
        ({'friction': {'plateaus': {'min_speed': 'slow'}}}, 'joint.friction.plateaus.min_speed'),
        ({'colour': 1}, 'joint: expected the keys cutoff'),
        ({}, 'drive gain'),
    ],
)
def test_bad_configuration_names_the_field(tested, csv, tmp_path, section, message):
    done, _ = tested('friction', csv('speed', drive(BOTH)), config=with_settings(tmp_path, section))
    assert done.status == 2
    assert message in done.error


def test_the_joint_must_be_named_when_several_move(run, csv, tmp_path):
    recording = drive(BOTH)
    moving = Recording(recording.joint_names, recording.time, recording.q[:, [0, 0]], tau=recording.current[:, [0, 0]])
    done = run('identify-joint', 'friction', csv('two', moving), '--out', tmp_path / 'out')
    assert done.status == 2
    assert '--joint' in done.error
    assert run('identify-joint', 'wobble', 'x.csv', '--out', tmp_path).status == 2


@pytest.mark.parametrize('joint', ['joint_2', 'joint_3'])
def test_a_real_single_plateau_is_not_enough(run, data, tmp_path, joint):
    """The trapezoids of the Gen3 have one plateau of 0.42 rad/s in one direction per joint."""
    done = run('identify-joint', 'friction', data / 'gen3' / f'{joint}_trapez', '--out', tmp_path / 'out')
    assert done.status == 3
    assert f'{joint}: expected 2 plateaus' in done.error and 'found 1 at 1' in done.error
