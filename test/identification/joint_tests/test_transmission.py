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

"""Stiffness and kinematic error from one fit, on a motion with a gravity as periodic as the kinematic error."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.transmission import (
    BACKLASH,
    identify_transmission,
    identify_transmissions,
)
from joint_dynamics.joint import FourierSeries, PeriodicMap, TorsionalStiffness

ALPHA = (4.6e3, 5e7)
ERROR = FourierSeries(2e-5, [9e-5, -4e-5, 2e-5], [5e-5, 6e-5, -3e-5])


def wound_up(phi):
    """The torque of a spring of 2.2 kN·m/rad that is twice as stiff where it is wound up, at 0.6 mrad."""
    return 4.4e3 * phi - 2.2e3 * 6e-4 * np.tanh(phi / 6e-4)


def run(
    seed=0, load=9.0, noise=2e-6, seconds=20.0, sign=1.0, lash=0.0, bias=0.0, inertia=1.2, lag=0.0, change=0.0, soft=0
):
    """A joint that swings with gravity m g l cos q and inertia; `lash` floats the link where the load is small.

    The load that takes it up lags by `lag` s; over the turn it changes by Re(change e^{iθ}).
    """
    rng = np.random.default_rng(seed)
    rate = 500.0
    time = np.arange(round(seconds * rate)) / rate
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = rng.normal(size=(2, 5)) * 0.5
    q = np.sin(np.outer(time, w)) @ a + np.cos(np.outer(time, w)) @ b
    ddq = -(np.sin(np.outer(time, w)) @ (a * w**2) + np.cos(np.outer(time, w)) @ (b * w**2))
    dq = np.cos(np.outer(time, w)) @ (a * w) - np.sin(np.outer(time, w)) @ (b * w)
    tau_J = bias + load * np.cos(q) + inertia * ddq
    grid = np.linspace(-0.01, 0.01, 20001)
    theta = q + (np.interp(tau_J, wound_up(grid), grid) if soft else TorsionalStiffness(ALPHA).deformation(tau_J))
    late = tau_J.copy()
    for k in range(1, len(late)):
        late[k] = late[k - 1] + min(1.0 / (rate * max(lag, 1e-9)), 1.0) * (tau_J[k] - late[k - 1])
    lash *= 1.0 + np.real(change * np.exp(1j * theta))
    theta += ERROR(theta) + lash * np.sign(dq) / (1 + (late / 0.3) ** 2)
    quantum = 2 * np.pi / 2**19
    theta = np.round((sign * (theta - q) + q + rng.normal(scale=noise, size=q.size)) / quantum) * quantum
    return JointData('wrist', 'run', time, rate, q, theta, dq, ddq, 20.0, True, tau_J=tau_J)


@pytest.mark.parametrize('seed', range(4))
def test_both_come_out_as_they_are(seed):
    data = run(seed)
    result = identify_transmission([data])
    assert result.reliable
    stiffness = TorsionalStiffness.from_dict(result.document['stiffness'])
    phi = np.linspace(*result.document['stiffness']['range'], 101)
    true = TorsionalStiffness(ALPHA).torque(phi)
    assert np.linalg.norm(stiffness.torque(phi) - true) < 0.02 * np.linalg.norm(true)
    grid = np.linspace(data.theta.min(), data.theta.max(), 200)
    found = PeriodicMap.from_dict(result.document['kinematic_error'])(grid)
    assert np.std(found - ERROR(grid)) < 0.3 * np.std(ERROR(grid))


def test_the_deviation_of_the_kinematic_error_covers_it():
    """At unrecorded angles the deviation is the plausible one, 0.15 mrad · √Σ 1/h² about an unknown mean.

    The load deforms the joint so little that the cubic part is insignificant.
    """
    away, plausible = [], 0.15e-3 * np.sqrt(np.sum(1.0 / np.arange(1, 7) ** 2.0))
    for seed in range(8):
        data = run(seed, load=3.0, inertia=0.4)
        document = identify_transmission([data]).document['kinematic_error']
        deviation = np.array(document['standard_deviations'])
        grid = np.arange(len(deviation)) * 2.0 * np.pi / len(deviation)
        wrong = PeriodicMap.from_dict(document)(grid) - ERROR(grid)
        recorded = np.histogram(np.mod(data.theta, 2.0 * np.pi), np.append(grid, 2.0 * np.pi))[0] > 0
        # the encoder has steps of 12 µrad
        assert np.all(np.abs(wrong) < 4.0 * np.hypot(deviation, 12e-6 / np.sqrt(12.0)))
        assert np.median(deviation[recorded]) < 10e-6
        away += deviation[~recorded].tolist()
    assert 0.7 * plausible < max(away) < 1.4 * plausible


@pytest.mark.parametrize('seed', range(3))
def test_a_spring_that_is_soft_about_zero_torque_is_described_so(seed):
    """Over all loads one cubic part makes it 60 % too stiff below 0.1 mrad, or more."""
    runs = [run(seed + 10 * k, soft=True, lash=4e-4, lag=0.1) for k in (0, 1)]
    stiffness = TorsionalStiffness.from_dict(identify_transmission(runs, limit=28.0).document['stiffness'])
    for phi, tolerance in ((1e-4, 0.15), (1e-3, 0.05), (2e-3, 0.03)):
        assert stiffness.torque(phi) == pytest.approx(wound_up(phi), rel=tolerance)


@pytest.mark.parametrize('seed', range(4))
def test_an_insignificant_cubic_part_is_omitted(seed):
    """A load of 0.3 N·m bends the same joint by 0.07 mrad, of which the cubic part makes 0.005 %; deviations always."""
    told, untold = (
        identify_transmission([run(seed, load=load, inertia=inertia)]).document['stiffness']
        for load, inertia in ((9.0, 1.2), (0.1, 0.02))
    )
    assert np.shape(told['coefficients']) == np.shape(told['standard_deviations']) == (2,)
    assert np.all(np.array(told['coefficients']) > 2.0 * np.array(told['standard_deviations']))
    assert np.shape(untold['coefficients']) == np.shape(untold['standard_deviations']) == (1,)
    assert np.all(np.array(told['standard_deviations']) > 0.0) and untold['standard_deviations'][0] > 0.0


def test_the_deviation_of_the_play_covers_it():
    """A part that follows the direction of the motion is backlash: it changes no stiffness."""
    found = identify_transmission([run(1, lash=5e-4), run(2, lash=5e-4)], limit=28.0)
    value = found.parameters['backlash']
    # The true load that halves it is not one of the two in the model.
    assert value.value == pytest.approx(5e-4, rel=0.3)
    assert 0 < value.std < 0.2 * value.value
    assert found.document['backlash']['mean'] == value.value
    none = identify_transmission([run(1), run(2)], limit=28.0)
    value = none.parameters['backlash']
    assert value.value < 5e-5
    assert none.document['backlash']['standard_deviations'] == [value.std]
    stiffness = TorsionalStiffness.from_dict(found.document['stiffness'])
    phi = np.linspace(*found.document['stiffness']['range'], 101)
    true = TorsionalStiffness(ALPHA).torque(phi)
    assert np.linalg.norm(stiffness.torque(phi) - true) < 0.03 * np.linalg.norm(true)


@pytest.mark.parametrize('lag', [0.0, 0.05, 0.2])
def test_a_play_that_follows_its_load_late_is_as_wide_as_it_is(lag):
    """Small loads pass within a tenth of a second: taken to follow at once, it looks half as wide."""
    document = identify_transmission([run(k, lash=5e-4, lag=lag) for k in (1, 2)], limit=28.0).document['backlash']
    assert document['mean'] == pytest.approx(5e-4, rel=0.3)
    assert document['load_lag'] == pytest.approx(lag, rel=0.2, abs=0.025)
    assert sum(document['load_shares']) == pytest.approx(1.0) and min(document['load_shares']) >= 0.0


def test_a_changing_play_is_known_along_the_motion():
    change = 0.4 * np.exp(1j)
    for seed in range(3):
        runs = [run(seed + 10 * k, lash=5e-4, change=change, lag=0.1) for k in (0, 1)]
        document = identify_transmission(runs, limit=28.0).document['backlash']
        theta = np.concatenate([data.theta for data in runs])
        wrong = PeriodicMap.from_dict(document)(theta) - 5e-4 * (1.0 + np.real(change * np.exp(1j * theta)))
        # one number for the turn would be off by 0.14 mrad, the change as a root mean square
        assert np.sqrt(np.mean(wrong**2)) < 0.07e-3
        assert document['standard_deviations'][0] < 0.14e-3


def test_the_play_of_a_never_unloaded_joint_is_unknown():
    """Not found is not none: who reads the description has to know how much there may be."""
    free, held = (identify_transmission([run(1, bias=bias), run(2, bias=bias)], limit=150.0) for bias in (0.0, 60.0))
    assert held.reliable
    value, std = held.document['backlash']['mean'], held.document['backlash']['standard_deviations'][0]
    assert value < 2.0 * std
    assert std > 20.0 * free.parameters['backlash'].std
    # nor more than is plausible
    assert std <= BACKLASH


def test_bad_input_has_one_line():
    data = run()
    with pytest.raises(JointDynamicsError):
        identify_transmission([replace(data, tau_J=None)])
    with pytest.raises(NotReliableError):
        identify_transmission([run(seconds=1.0)])


T = 1e-3 * np.arange(12000)


def test_a_joint_that_is_hardly_loaded_or_deforms_the_wrong_way(signals):
    theta = np.sin(0.8 * T) * 2.0
    load = 60.0 * np.sin(2.3 * T)
    q = theta + load / 2e4
    found = identify_transmission([signals(q, theta, tau_J=load)])
    assert len(found.reasons) == 1 and found.document == {}
    with pytest.raises(NotReliableError, match=r'^transmission: j: .* found 0$'):
        identify_transmission([signals(theta, theta, tau_J=np.zeros(len(T)))])
    good = identify_transmission([signals(theta - load / 2e4, theta, tau_J=load)])
    assert good.parameters['alpha_1'].value == pytest.approx(2e4, rel=0.02)
    assert good.document['stiffness']['method'] == 'from motion, with kinematic error and backlash'
    reach = good.document['stiffness']['range'][1]
    assert good.document['stiffness']['range'] == [-reach, reach]


@pytest.mark.parametrize('stiffening', [0.03, 0.13, 0.25])
def test_a_hardening_spring_bends_no_kinematic_error(signals, stiffening):
    """τ = k φ + k₃ φ³ by so much stiffer at the largest load, of one sign mostly as that of a lifted arm."""
    u, theta = 0.45 - 0.55 * np.cos(2.3 * T), np.sin(0.8 * T) * 2.0
    phi = 3e-3 * u
    for _ in range(30):
        phi -= (phi + stiffening * phi**3 / 9e-6 - 3e-3 * u) / (1.0 + 3.0 * stiffening * phi**2 / 9e-6)
    found = identify_transmission([signals(theta - phi, theta, tau_J=60.0 * u)])
    assert found.parameters['alpha_1'].value == pytest.approx(2e4, rel=0.01)
    assert np.abs(PeriodicMap.from_dict(found.document['kinematic_error'])(theta)).max() < 1e-5


@pytest.mark.parametrize('share', [None, 0.05, {'b': 0.05}])
def test_undetermined_transmissions_are_omitted_with_a_note(monkeypatch, ur, share):
    """Each joint by its own torque limit; a stiffness is as uncertain as the drive gain that its torque came from."""
    names, limits = ur.joint_names, {}

    def identified(data, limit):
        joint = data[0]
        limits[joint] = limit
        if joint == names[2]:
            raise NotReliableError('transmission: hardly loaded')
        document = {'stiffness': {'coefficients': [2e4, 1e8], 'standard_deviations': [300.0, 4e6]}}
        return SimpleNamespace(document=document, reasons=['one', 'two'] if joint == names[3] else [])

    home = 'joint_dynamics.identification.joint_tests.transmission'
    monkeypatch.setattr(f'{home}.joint_data', lambda recording, name, arm: name)
    monkeypatch.setattr(f'{home}.identify_transmission', identified)
    shares = {names[1]: share['b']} if isinstance(share, dict) else share
    arm = Arm(ur, np.ones(84))
    found, notes = identify_transmissions(arm, [SimpleNamespace(theta=np.zeros((2, 6)))], shares)
    stated = [limit if np.isfinite(limit) else None for limit in ur.limits.effort]
    assert limits == dict(zip(names, stated, strict=True))
    assert len(notes) == 3 and all(names[3] in note for note in notes[1:])
    assert list(found) == [name for k, name in enumerate(names) if k not in (2, 3)]
    for name, document in found.items():
        of_gain = 0.0 if share is None else 0.05 if not isinstance(share, dict) or name == names[1] else 0.0
        assert document['stiffness']['standard_deviations'] == pytest.approx(
            [math.hypot(300.0, of_gain * 2e4), math.hypot(4e6, of_gain * 1e8)]
        )
    assert identify_transmissions(arm, [SimpleNamespace(theta=None)]) == ({}, [])
