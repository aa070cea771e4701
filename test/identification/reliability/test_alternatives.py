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

"""Other explanations of the same samples: a fault of a good recording is the first reason."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import gain
from joint_dynamics.identification.reliability.filtered_samples import samples_of

BOTH = np.arange(2)
TURNS = {'+90°': np.pi / 2, '-90°': -np.pi / 2, '+180°': np.pi}
LEANING = {'+90°': 'up along −x', '-90°': 'up along +x', '+180°': 'up along −z'}


@pytest.fixture(scope='module')
def samples(two_links, observed, truth, base_parameters_of):
    """Samples of two links with 3 % noise; two recordings."""
    rng = np.random.default_rng(0)
    chi = base_parameters_of(two_links, truth)
    runs = [observed(3, 600), observed(5, 500)]
    torques = [full_rate_torque(Problem(two_links, runs), run, chi) for run in runs]
    noisy = [
        replace(run, tau=tau + 0.03 * tau.std(axis=0) * rng.normal(size=tau.shape))
        for run, tau in zip(runs, torques, strict=True)
    ]
    return samples_of(Problem(two_links, noisy))


def clear(model, samples):
    """Return (code, text) of the clear alternatives, the best first."""
    found = Alternatives(model, samples).better_alternatives()
    gains = [one.gain for one in found]
    assert gains == sorted(gains, reverse=True)
    return [(one.code, one.text) for one in found]


def moved_in_time(samples, scale):
    """Samples whose stamps are `scale` times as far apart as they were."""
    order = {'dq': 1, 'dtheta': 1, 'ddq': 2, 'ddtheta': 2}
    return replace(samples, **{name: getattr(samples, name) / scale**power for name, power in order.items()})


def moved(samples, source, factor):
    """Samples with the motion of joint `source[j]` times `factor[j]` at joint j, and with its weights."""
    scaled = {
        name: getattr(samples, name)[source] * factor[:, None] for name in ('q', 'dq', 'ddq', 'dtheta', 'ddtheta')
    }
    sign = samples.sign[source] * np.sign(factor)[:, None]
    return replace(samples, **scaled, sign=sign, weight=samples.weight[source])


def only(j, value, other=1.0):
    return np.where(j == BOTH, value, other)


def test_good_samples_have_no_better_explanation(two_links, samples):
    assert clear(two_links, samples) == []


@pytest.mark.parametrize('j', [0, 1])
def test_signs_and_scales_of_one_joint(two_links, samples, j):
    name = two_links.joint_names[j]
    sign = only(j, -1.0)
    turned = moved(samples, BOTH, sign)
    torque = replace(samples, tau=samples.tau * sign[:, None])
    assert clear(two_links, torque)[0] == ('torque_sign', f'the torque of {name} has the opposite sign')
    assert clear(two_links, turned)[0] == ('position_sign', f'the position of {name} has the opposite sign')
    text = f'position and torque of {name} both have the opposite sign: its axis points the other way'
    assert clear(two_links, replace(turned, tau=torque.tau))[0] == ('axis_sign', text)
    for factor in (0.5, 2.0):
        doubled = replace(samples, tau=samples.tau * only(j, factor)[:, None])
        text = f'the torque of {name} is about {factor:g} times its expected value'
        assert ('drive_gain', text) in clear(two_links, doubled)[:2]


def test_signs_order_and_units_of_all_joints(two_links, samples):
    first, second = two_links.joint_names
    assert clear(two_links, replace(samples, tau=-samples.tau))[0] == (
        'torque_sign', 'the torques of all joints have the opposite sign',
    )  # fmt: skip
    for factor, text in (
        (180 / np.pi, 'the positions are in degrees, not in rad'),
        (np.pi / 180, 'the positions were converted from degrees twice'),
    ):
        assert clear(two_links, moved(samples, BOTH, np.full(2, factor)))[0] == ('degrees', text)
    swapped = moved(samples, BOTH[::-1], np.ones(2))
    for changed, found in (
        (replace(samples, tau=samples.tau[::-1]), ('torque_order', f'the torques of {first} and {second} are swapped')),
        (
            replace(swapped, weight=samples.weight),
            ('position_order', f'the positions of {first} and {second} are swapped'),
        ),
        (replace(swapped, tau=samples.tau[::-1]), ('joint_order', f'the columns of {first} and {second} are swapped')),
    ):
        assert clear(two_links, changed)[0] == found


def test_time_that_runs_backwards(two_links, samples):
    backwards = replace(samples, dq=-samples.dq, dtheta=-samples.dtheta, sign=-samples.sign)
    assert clear(two_links, backwards)[0] == ('time_reversed', 'the recordings run backwards in time')
    tau = samples.tau.copy()
    for index in (0, 1):
        tau[:, samples.part == index] = tau[:, samples.part == index][:, ::-1]
    text = 'torques and positions run in opposite directions of time'
    assert clear(two_links, replace(samples, tau=tau))[0] == ('time_reversed', text)


@pytest.mark.parametrize('factor', [10.0, 2.0, 0.5, 0.1])
def test_time_in_other_units(two_links, samples, factor):
    faster = moved_in_time(samples, 1.0 / factor)
    text = f'the recordings lasted {factor:g} times as long as their stamps say'
    assert clear(two_links, faster)[0] == ('time_scale', text)


@pytest.mark.parametrize('turn', list(TURNS))
def test_zero_of_the_first_joint_equals_a_leaning_base(two_links, samples, turn):
    """Both joints turn about one horizontal direction: nothing tells an offset of the first from a base that leans."""
    shifted = replace(samples, q=samples.q + np.array([[TURNS[turn]], [0.0]]))
    assert set(clear(two_links, shifted)[:2]) == {
        ('position_offset', f'the position of {two_links.joint_names[0]} is off by about {turn} throughout'),
        ('mounting', f'the base has another orientation, with {LEANING[turn]} of its own frame'),
    }


@pytest.mark.parametrize('turn', [0.2, np.pi / 2])
def test_the_zero_of_the_last_joint_is_its_link_turned(true_robot, problem_of, turn):
    """With its inertials free, every torque is explained as well."""
    recording = true_robot.record(0, 5.0, rate=100.0, noise=0.05, frequency=0.4)
    model, left = true_robot.model, []
    for q in (recording.q, recording.q + turn * np.eye(model.n)[-1]):
        left.append(Alternatives(model, samples_of(problem_of(model, [replace(recording, q=q)]))).given.unexplained)
    # normal equations square the condition number, which takes half the digits
    np.testing.assert_allclose(left[1], left[0], rtol=1e-6)


def test_time_is_not_doubted_where_speeds_confirm_it(two_links, samples):
    """Torques that hold nothing of the accelerations are explained best by a slower motion."""
    still = moved_in_time(samples, 2.0)
    assert 'time_scale' in dict(clear(two_links, still))
    assert 'time_scale' not in dict(clear(two_links, replace(still, timed=True)))


def test_longer_time_does_not_matter_without_accelerations(two_links, samples):
    """Torques of the weight and friction alone: any slower motion leaves less over, the slowest as little."""
    quiet = replace(samples, dq=0 * samples.dq, ddq=0 * samples.ddq, ddtheta=0 * samples.ddtheta)
    chi = Alternatives(two_links, samples).given.chi
    at_rest = np.einsum('jbs,b->js', Alternatives(two_links, quiet).rows, chi)
    noise = 0.01 * at_rest.std(axis=1)[:, None] * np.random.default_rng(0).normal(size=at_rest.shape)
    assert list(Alternatives(two_links, replace(samples, tau=at_rest + noise)).times()) == []
    (found,) = Alternatives(two_links, moved_in_time(samples, 0.5)).times()
    assert found.clear and found.mend.time_scale == pytest.approx(2.0)


def test_wrong_torque_does_not_lower_the_sample_number(resting_problem, two_links, base_parameters_of):
    """The residual of a torque doubled half-way has few effective samples, and the gain counts more."""
    rng = np.random.default_rng(3)
    chi = base_parameters_of(two_links, {'ZZ_1': 0.5, 'ZZ_2': 0.3, 'M_2': 2.0, 'MX_2': 0.6, 'Ia_1': 0.4, 'Ia_2': 0.2})
    plain = Problem(two_links, resting_problem.observations)
    torques = [full_rate_torque(plain, run, chi) for run in plain.observations]
    noisy = [
        replace(run, tau=tau + 0.05 * tau.std(axis=0) * rng.normal(size=tau.shape))
        for run, tau in zip(plain.observations, torques, strict=True)
    ]
    good = samples_of(Problem(two_links, noisy))
    given = good.tau.copy()
    given[1, good.tau.shape[1] // 2 :] *= 2.0
    bad = Alternatives(two_links, replace(good, tau=given))
    other = good.tau.copy()
    other[0] += 0.03 * other[0].std() * rng.normal(size=other.shape[1])
    found = bad.fitted('code', 'text', bad.normal, other)
    assert gain(bad.given, bad.normal.fit(other), bad.count) < 0
    assert found.gain > 20
